/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The control thread's watch over the ports' steering and the validator's ports: looks once per
 * period and after every event, says what it sees, puts back what was lost, or ends the program. */

#include "app.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "ps_time.h"

#define HOLD_NS (PS_SEC_NS)

/* -- workers off a port -- */

static bool
all_hold(const struct ps_app *app, uint32_t bit, bool on)
{
	for (unsigned int w = 0; w < app->n_workers; w++)
		if (((atomic_load(&app->worker[w]->held) & bit) != 0) != on)
			return false;
	return true;
}

static int
hold(struct ps_app *app, struct ps_port *p, bool on, struct ps_err *e)
{
	const uint32_t bit = UINT32_C(1) << p->index;
	const uint64_t deadline = ps_now_ns() + HOLD_NS;

	for (unsigned int w = 0; w < app->n_workers; w++) {
		if (on)
			atomic_fetch_or(&app->worker[w]->hold, bit);
		else
			atomic_fetch_and(&app->worker[w]->hold, ~bit);
	}
	while (on && !all_hold(app, bit, on)) {
		if (ps_now_ns() > deadline)
			return ps_fail(
				e, ETIMEDOUT, "[port %s] a worker does not answer", p->conf->name);
		nanosleep(&(struct timespec){.tv_nsec = 100 * PS_US_NS}, NULL);
	}
	return 0;
}

/* The address that answers come from. */
static int
follow_mac(struct ps_app *app, struct ps_port *p, struct ps_err *e)
{
	int rc = ps_port_read_mac(p, e);

	for (unsigned int w = 0; rc == 0 && w < app->n_workers; w++)
		for (unsigned int i = 0; i < app->worker[w]->n_ports; i++)
			if (app->worker[w]->port[i].id == p->id)
				app->worker[w]->port[i].mac = p->mac;
	return rc;
}

static int
put_back(struct ps_app *app, struct ps_port *p, enum ps_watch_do action, struct ps_err *e)
{
	struct ps_err unused;
	int rc = hold(app, p, true, e);

	if (rc == 0 && action == PS_WATCH_RESET_PORT)
		rc = ps_port_reset(p, e);
	if (rc == 0)
		rc = follow_mac(app, p, e);
	hold(app, p, false, &unused);
	return rc == 0 ? ps_port_reinstall(p, e) : rc;
}

/* -- verdicts -- */

static int
act(struct ps_app *app, struct ps_port *p, struct ps_watch_verdict v, uint64_t now_ns,
	struct ps_err *e)
{
	for (;;) {
		int rc;

		if (v.action == PS_WATCH_STOP)
			return ps_fail(e, EIO, "[port %s] %s: %s; mend it and start again",
				p->conf->name, v.cause, ps_port_heir(p));
		if (v.cause != NULL)
			ps_log(v.alarm ? PS_LOG_WARN : PS_LOG_INFO, "[port %s] %s%s", p->conf->name,
				v.alarm ? "alarm: " : "", v.cause);
		if (v.action == PS_WATCH_NOTHING)
			return 0;
		rc = put_back(app, p, v.action, e);
		if (rc < 0)
			ps_log(PS_LOG_WARN, "%s", e->text);
		v = ps_watch_done(&p->watch, v.action, rc, now_ns);
	}
}

/* -- looking -- */

static void
sum_counts(const struct ps_app *app, const struct ps_port *p)
{
	memset(app->sum, 0, (app->steer.n + 1) * sizeof(*app->sum));
	for (unsigned int w = 0; w < app->n_workers; w++)
		for (unsigned int i = 0; i < app->worker[w]->n_ports; i++)
			if (app->worker[w]->port[i].id == p->id)
				ps_steer_add(
					app->sum, app->worker[w]->port[i].steer, app->steer.n + 1);
}

static int
look(struct ps_app *app, struct ps_port *p, uint64_t now_ns, struct ps_err *e)
{
	struct ps_watch_sample sample;
	struct ps_err cause = {0};

	sum_counts(app, p);
	if (ps_port_verify(p, app->sum, app->steer.n + 1, now_ns, &sample, &cause) < 0 ||
		sample.kernel_differs)
		ps_log(PS_LOG_WARN, "[port %s] %s", p->conf->name, cause.text);
	return act(app, p, ps_watch_observe(&p->watch, &sample, now_ns), now_ns, e);
}

int
ps_control_watch(struct ps_app *app, bool now, struct ps_err *e)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < app->n_ports; i++) {
		struct ps_port *p = &app->port[i];
		const uint64_t now_ns = ps_now_ns();

		ps_port_hear(p);
		rc = act(app, p, ps_watch_step(&p->watch, now_ns), now_ns, e);
		if (rc == 0 && (now || ps_watch_due(&p->watch, now_ns)))
			rc = look(app, p, now_ns, e);
	}
	ps_drift_look(&app->drift, &app->conf, ps_now_ns());
	return rc;
}

void
ps_control_reload(struct ps_app *app)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < app->n_ports; i++) {
		struct ps_port *p = &app->port[i];
		struct ps_err e;

		if (p->conf->deny[0] == '\0')
			continue;
		n++;
		if (ps_port_reload(p, &e) < 0)
			ps_log(PS_LOG_WARN, "%s", e.text);
		else
			ps_log(PS_LOG_INFO, "[port %s] deny list %s: %u prefixes", p->conf->name,
				p->conf->deny, p->deny.n);
	}
	if (n == 0)
		ps_log(PS_LOG_INFO, "SIGHUP: no port has a deny list, nothing to read again");
}
