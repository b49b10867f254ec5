/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* How costs grow with the number of connections: `bench conns` and `bench timers`. Connections are
 * taken in random order. All sizes exist at once and are measured in turn. */

#include <errno.h>

#include "open.h"
#include "runs.h"

#define LEVELS 5

static const unsigned int levels[LEVELS] = {1, 1000, 4000, 10000, 100000};

/* Loops of `timers`: five seconds of virtual time, longer than the wheel of timers goes round. */
#define LOOPS        50000
#define LOOP_STEP_NS (100 * PS_US_NS)
#define IDLE_MS      3600000

/* -- conns -- */

struct level {
	struct bench *b;
	struct bench_open *open;
};

struct cost {
	double ingest, receive, open; /* ns per packet */
};

static int
measure(struct level *l, struct cost *c, const struct bench_run *run)
{
	struct bench_spent s = bench_repetition(l->b);

	c->receive = (double)s.receive_ns / (double)s.packets;
	c->ingest = bench_ns(s);
	c->open = bench_open_repetition(l->open);
	if (c->open < 0)
		return ps_fail(run->e, EIO, "a packet did not verify");
	bench_add(run->r, "ns", c->ingest, "ingest, %u", l->b->conns);
	bench_add(run->r, "ns", c->receive, "ingest without answers, %u", l->b->conns);
	bench_add(run->r, "ns", c->open, "open, %u", l->b->conns);
	return bench_go_on(run);
}

/* More connections also mean more answers: a burst of one connection is acknowledged with one
 * packet, one of 64 connections with 64. So receiving is compared by itself, too. */
static int
measure_levels(struct level *l, unsigned int n, const struct bench_run *run)
{
	struct cost one, c;
	int rc = measure(&l[0], &one, run);

	for (unsigned int i = 1; rc == 0 && i < n; i++) {
		double open_growth;

		rc = measure(&l[i], &c, run);
		open_growth = c.open / one.open;
		bench_add(run->r, "x", open_growth, "open growth, %u", l[i].b->conns);
		bench_add(run->r, "x", c.ingest / one.ingest / open_growth,
			"ingest growth / open growth, %u", l[i].b->conns);
		bench_add(run->r, "x", c.receive / one.receive / open_growth, "without answers, %u",
			l[i].b->conns);
	}
	return rc;
}

/* Those of levels[] below most, and most itself; how many. */
static unsigned int
choose(unsigned int most, unsigned int conns[LEVELS + 1])
{
	unsigned int n = 0;

	while (n < LEVELS && levels[n] < most) {
		conns[n] = levels[n];
		n++;
	}
	conns[n] = most;
	return n + 1;
}

int
bench_run_conns(const struct bench_run *run)
{
	const struct bench_server_conf conf = {0};
	struct level l[LEVELS + 1] = {0};
	unsigned int conns[LEVELS + 1], n = choose(run->o->conns, conns);
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < n; i++) {
		l[i].b = bench_new(run->o->size, conns[i], run->e);
		l[i].open = bench_open_new(run->o->size, conns[i], run->e);
		rc = l[i].b == NULL || l[i].open == NULL ? -ENOMEM
							 : bench_pair(l[i].b, false, &conf, run);
	}
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++)
		rc = measure_levels(l, n, run);
	for (unsigned int i = 0; i < n; i++) {
		if (rc == 0)
			rc = bench_settle(l[i].b, run->e);
		bench_free(l[i].b);
		bench_open_free(l[i].open);
	}
	return rc;
}

/* -- timers -- */

/* What an idle server does in a loop. */
static double
idle_loops(struct bench *b)
{
	uint64_t start_ns;

	bench_server_tx(b); /* nothing; but there is room for answers now */
	start_ns = ps_now_ns();
	for (unsigned int i = 0; i < LOOPS; i++) {
		b->now_ns += LOOP_STEP_NS;
		ps_quic_service(b->server.quic, b->now_ns);
		ps_quic_tx_burst(b->server.quic, b->out, BURST, b->now_ns);
	}
	return (double)(ps_now_ns() - start_ns) / LOOPS;
}

int
bench_run_timers(const struct bench_run *run)
{
	const struct bench_server_conf conf = {.idle_timeout_ms = IDLE_MS};
	struct bench *b[LEVELS + 1] = {0};
	unsigned int conns[LEVELS + 1], n = choose(run->o->conns, conns);
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < n; i++) {
		b[i] = bench_new(run->o->size, conns[i], run->e);
		rc = b[i] == NULL ? -ENOMEM : bench_pair(b[i], false, &conf, run);
		if (rc == 0)
			rc = bench_settle(b[i], run->e);
	}
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		for (unsigned int i = 0; i < n; i++)
			bench_add(run->r, "ns", idle_loops(b[i]), "loop, %u idle", conns[i]);
		rc = bench_go_on(run);
	}
	for (unsigned int i = 0; i < n; i++)
		bench_free(b[i]);
	return rc;
}
