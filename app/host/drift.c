/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "drift.h"

#include <errno.h>
#include <string.h>

#include "contact.h"
#include "ps_time.h"

/* The validator's operator may be writing it just now. */
#define FAILURES_TO_TELL 2

static bool
is_drift(const struct ps_drift *d, unsigned int i, enum ps_contact_verdict v)
{
	/* A udp service need not be the validator's, unless it once was. */
	return v == PS_CONTACT_OTHER || v == PS_CONTACT_KERNEL ||
	       (v == PS_CONTACT_UNKNOWN && d->was_same[i]);
}

static void
compare(struct ps_drift *d, const struct ps_conf *conf, const struct ps_contact *c)
{
	d->n = 0;
	for (unsigned int i = 0; i < conf->n_services; i++) {
		const struct ps_conf_service *s = &conf->service[i];
		char why[200];
		enum ps_contact_verdict v = ps_contact_compare(c, s, why, sizeof(why));
		const bool differs = is_drift(d, i, v);

		if (differs && !d->differs[i])
			ps_log(PS_LOG_WARN,
				"alarm: [service %s] %s, and port %u is served; set port and "
				"address so and start again",
				s->name, why, s->port);
		else if (!differs && d->differs[i])
			ps_log(PS_LOG_INFO, "[service %s] fits the validator's ports again",
				s->name);
		d->differs[i] = differs;
		d->was_same[i] = d->was_same[i] || v == PS_CONTACT_SAME;
		d->n += differs;
	}
}

/* Only of a file: opening a pipe would wait for its writer. */
static int
read_file(struct ps_contact *c, const char *file, const struct stat *st, struct ps_err *e)
{
	if (!S_ISREG(st->st_mode))
		return ps_fail(e, EINVAL,
			"contact info: %s is not a file; write what `agave-validator contact-info "
			"--output json` prints into one",
			file);
	return ps_contact_load(c, file, e);
}

void
ps_drift_look(struct ps_drift *d, const struct ps_conf *conf, uint64_t now_ns)
{
	const char *file = conf->contact_info;
	struct ps_contact c;
	struct stat st;
	struct ps_err e;
	int rc;

	if (file[0] == '\0' || now_ns < d->due_ns)
		return;
	d->due_ns = now_ns + conf->watch_ms * PS_MS_NS;
	if (stat(file, &st) < 0) {
		rc = ps_fail(&e, errno, "contact info: cannot read %s: %s", file, strerror(errno));
	} else {
		if (st.st_ino == d->seen.st_ino && st.st_size == d->seen.st_size &&
			st.st_mtim.tv_sec == d->seen.st_mtim.tv_sec &&
			st.st_mtim.tv_nsec == d->seen.st_mtim.tv_nsec)
			return;
		rc = read_file(&c, file, &st, &e);
	}
	if (rc < 0) {
		if (++d->failures == FAILURES_TO_TELL)
			ps_log(PS_LOG_WARN, "[penstock] %s; what was read before stands", e.text);
		return;
	}
	d->failures = 0;
	d->seen = st;
	compare(d, conf, &c);
}
