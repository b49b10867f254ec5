/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ends.h"
#include "runs.h"

void
bench_add(struct ps_bench_result *r, const char *unit, double value, const char *fmt, ...)
{
	struct ps_bench_row *row;
	char what[sizeof(row->what)];
	unsigned int i = 0;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	while (i < r->n && strcmp(r->row[i].what, what) != 0)
		i++;
	row = &r->row[i];
	if (i == r->n) {
		if (i == PS_BENCH_MAX_ROWS)
			return;
		r->n++;
		strcpy(row->what, what);
		row->unit = unit;
		row->n = 0;
	}
	if (row->n < PS_BENCH_MAX_REPS)
		row->value[row->n++] = value;
}

int
bench_go_on(const struct bench_run *run)
{
	return *run->stop ? ps_fail(run->e, EINTR, "interrupted") : 0;
}

/* -- established connections -- */

static int
run_pair(const struct bench_run *run, bool feed)
{
	const struct bench_server_conf conf = {0};
	struct bench *b = bench_new(run->o->size, run->o->conns, run->e);
	int rc = b == NULL ? -ENOMEM : bench_pair(b, feed, &conf, run);

	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		bench_add(run->r, "ns", bench_ns(bench_repetition(b)), "packet");
		rc = bench_go_on(run);
	}
	if (rc == 0)
		rc = bench_settle(b, run->e);
	bench_free(b);
	return rc;
}

static int
run_ingest(const struct bench_run *run)
{
	return run_pair(run, false);
}

static int
run_feed(const struct bench_run *run)
{
	return run_pair(run, true);
}

#define PACKED 6 /* transactions of 176 bytes fill a packet */

static int
run_packed(const struct bench_run *run)
{
	const struct bench_server_conf conf = {0};
	struct bench *b = bench_new(run->o->size, run->o->conns, run->e);
	int rc;

	if (b == NULL)
		return -ENOMEM;
	b->per_packet = PACKED;
	b->group = 1; /* or the window of streams would not do */
	rc = bench_pair(b, false, &conf, run);
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		uint64_t before = b->sent;
		struct bench_spent s = bench_repetition(b);
		double ns = bench_ns(s);

		if (b->sent - before != PACKED * s.packets)
			rc = ps_fail(run->e, EINVAL,
				"%u transactions of %u bytes do not fit in one packet; give --size "
				"176",
				PACKED, run->o->size);
		bench_add(run->r, "ns", ns / PACKED, "transaction");
		bench_add(run->r, "ns", ns, "packet of %u", PACKED);
		if (rc == 0)
			rc = bench_go_on(run);
	}
	if (rc == 0)
		rc = bench_settle(b, run->e);
	bench_free(b);
	return rc;
}

static const struct {
	const char *what;
	int (*run)(const struct bench_run *run);
} benches[] = {
	{"open", bench_run_open},
	{"ingest", run_ingest},
	{"feed", run_feed},
	{"packed", run_packed},
	{"handshake", bench_run_handshake},
	{"retry", bench_run_retry},
	{"unknown-cid", bench_run_unknown_cid},
	{"classify", bench_run_classify},
	{"conns", bench_run_conns},
	{"timers", bench_run_timers},
	{"scale", bench_run_scale},
	{"cores", bench_run_cores},
	{"flood", bench_run_flood},
	{"stages", bench_run_stages},
};

#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

bool
ps_bench_known(const char *what)
{
	for (size_t i = 0; i < N_BENCHES; i++)
		if (strcmp(what, benches[i].what) == 0)
			return true;
	return false;
}

const char *
ps_bench_names(void)
{
	static char names[256];

	if (names[0] == '\0')
		for (size_t i = 0; i < N_BENCHES; i++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				i == 0              ? ""
				: i + 1 < N_BENCHES ? ", "
						    : " or ",
				benches[i].what);
	return names;
}

const char *
ps_bench_curves(void)
{
#ifdef PS_LIB25519
	return "lib25519";
#else
	return "libsodium";
#endif
}

int
ps_bench_run(const struct ps_bench_options *o, struct ps_bench_result *r,
	const volatile sig_atomic_t *stop, struct ps_err *e)
{
	const struct bench_run run = {.o = o, .r = r, .stop = stop, .e = e};
	size_t i = 0;

	while (strcmp(o->what, benches[i].what) != 0)
		i++;
	r->n = 0;
	return benches[i].run(&run);
}
