/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Established connections at LOAD of what the core can take, beside Initials that never go on and
 * clients that do: `bench flood`. A queue that is fed faster than it is served loses of everything
 * alike, so that the share kept follows from the time that one second of it all needs. */

#include <errno.h>
#include <string.h>

#include "runs.h"

#define LOAD        0.7
#define WARM_BURSTS 256 /* until Retry is on */
#define HANDSHAKES  16  /* timed per repetition, while the flood goes on */

/* Mixes n Initials of the flood into the burst behind the packets that are there. */
static void
add_flood(struct bench *b, unsigned int at, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct packet *from = &b->flood[b->flood_next++ % FLOOD_SOURCES];
		struct packet *to = &b->burst[at + i];

		memcpy(to->bytes, from->bytes, from->d.len);
		to->d = from->d;
		to->d.data = to->bytes;
	}
}

struct spent {
	uint64_t ns, established, initials; /* packets */
};

/* The established load and the flood together, in bursts of their proportion. */
static struct spent
mixed(struct bench *b, unsigned int per_burst, unsigned int bursts)
{
	struct spent s = {0};

	for (unsigned int i = 0; i < bursts; i++) {
		unsigned int n = bench_make(b, BURST - per_burst);

		add_flood(b, n, per_burst);
		s.ns += bench_serve(b, n + per_burst);
		s.established += n;
		s.initials += per_burst;
	}
	return s;
}

/* New clients while Retry is on. */
static int
handshakes(struct bench *b, unsigned int per_burst, unsigned int serial, double *us,
	const struct bench_run *run)
{
	uint64_t ns = 0;
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < HANDSHAKES; i++) {
		mixed(b, per_burst, 1);
		rc = bench_handshake(b, serial + i, &ns, run->e);
	}
	*us = (double)ns / HANDSHAKES / 1000;
	return rc;
}

static int
repetition(struct bench *b, unsigned int rep, const struct bench_run *run)
{
	const double flood_pps = run->o->flood_pps, hs_per_s = run->o->handshakes;
	double alone_ns, load_pps, share, initial_ns, hs_us, left_s, needed_s;
	unsigned int per_burst;
	struct spent s;
	int rc;

	b->step_ns = STEP_NS;
	s = mixed(b, 0, BURSTS);
	alone_ns = (double)s.ns / (double)s.established;
	load_pps = LOAD * 1e9 / alone_ns;
	share = flood_pps / (load_pps + flood_pps) * BURST;
	per_burst = share < 1 ? 1 : share > BURST - 1 ? BURST - 1 : (unsigned int)(share + 0.5);
	b->step_ns = (uint64_t)(BURST * 1e9 / (load_pps + flood_pps));
	mixed(b, per_burst, WARM_BURSTS);
	s = mixed(b, per_burst, BURSTS);
	initial_ns = ((double)s.ns - (double)s.established * alone_ns) / (double)s.initials;
	rc = handshakes(b, per_burst, b->conns + (rep + 1) * HANDSHAKES, &hs_us, run);
	left_s = 1 - LOAD - hs_per_s * hs_us / 1e6;
	needed_s = 1 - left_s + flood_pps * initial_ns / 1e9; /* for one second of all three */
	bench_add(run->r, "ns", alone_ns, "established, alone");
	bench_add(run->r, "ns", initial_ns, "Initial of the flood");
	bench_add(run->r, "us", hs_us, "handshake after Retry");
	bench_add(run->r, "ns", left_s * 1e9 / flood_pps, "Retry budget");
	bench_add(run->r, "%", needed_s > 1 ? 100 / needed_s : 100, "established kept");
	return rc;
}

int
bench_run_flood(const struct bench_run *run)
{
	const struct bench_server_conf conf = {.retry = PS_RETRY_AUTO};
	struct bench *b = bench_new(run->o->size, run->o->conns, run->e);
	int rc = b == NULL ? -ENOMEM : bench_pair(b, false, &conf, run);

	if (rc == 0)
		rc = bench_flood(b, run->e);
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		rc = repetition(b, rep, run);
		if (rc == 0)
			rc = bench_go_on(run);
	}
	if (rc == 0)
		rc = bench_settle(b, run->e);
	bench_free(b);
	return rc;
}
