/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The client role sends no larger bursts than RFC 9002 section 7.7 has, and is not slower for it.
 */

#include "cunit_run.h"
#include "../sim/world.h"
#include "engine.h"

#define DATAGRAM 1200

static struct conn
sender(uint64_t window, uint64_t threshold, uint64_t rtt_ns)
{
	return (struct conn){.datagram_bytes = DATAGRAM,
		.rtt = {.smoothed_ns = rtt_ns},
		.send = {.window = window, .threshold = threshold}};
}

/* Datagrams that leave in so many ticks, at most most[0] of them at the first one and most[1] at
 * any other. */
static unsigned int
leave(struct conn *c, unsigned int ticks, const unsigned int most[2])
{
	uint64_t now_ns = 1000 * PS_SEC_NS;
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ticks; i++, now_ns += TICK_NS) {
		unsigned int n = 0;

		for (; pace_open(c, now_ns); n++)
			pace_sent(c, DATAGRAM, now_ns);
		CU_ASSERT_TRUE(n <= most[i > 0]);
		sum += n;
	}
	return sum;
}

/* After a pause an initial window at once, then five quarters of a window in a round trip. */
static void
test_rate(void)
{
	struct conn c = sender(100 * DATAGRAM, 0, 100 * PS_MS_NS);
	unsigned int n = leave(&c, 1000, (unsigned int[]){10, 2});

	CU_ASSERT_TRUE(n >= 1250 && n <= 1262);
	c.send.pace_ns = 0;
	c.send.threshold = PS_NEVER; /* a fast start: two windows */
	n = leave(&c, 1000, (unsigned int[]){10, 3});
	CU_ASSERT_TRUE(n >= 2000 && n <= 2012);
}

/* More per tick than an initial window: the rate is kept all the same. */
static void
test_fast_path(void)
{
	struct conn c = sender(1000 * DATAGRAM, 0, 20 * PS_MS_NS);
	unsigned int n = leave(&c, 1000, (unsigned int[]){135, 126 / 2 + 1});

	CU_ASSERT_TRUE(n >= 62500 && n <= 62700);
	c = sender(1000 * DATAGRAM, 0, PS_MS_NS); /* a window and a half each tick */
	CU_ASSERT_TRUE(leave(&c, 100, (unsigned int[]){2600, 1300}) >= 125000);
}

/* A timer that is late by a tick costs nothing. */
static void
test_late_timer(void)
{
	struct conn c = sender(400 * DATAGRAM, 0, 20 * PS_MS_NS);
	uint64_t now_ns = 1000 * PS_SEC_NS;
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 500; i++, now_ns += 2 * TICK_NS)
		for (; pace_open(&c, now_ns); sum++)
			pace_sent(&c, DATAGRAM, now_ns);
	CU_ASSERT_TRUE(sum >= 25000 - 50);
}

/* -- the whole endpoint -- */

static struct world *
bulk(uint64_t way_ns, unsigned int streams)
{
	struct world_options o = {.seed = 1,
		.link = {.delay_ns = way_ns},
		.conns = 1,
		.streams = streams,
		.min_bytes = 4096,
		.max_bytes = 4096,
		.stream_window = 512};

	return world_new(&o);
}

/* 800 KB over 100 ms to and fro: windows of hundreds, bursts of a few. */
static void
test_bulk(void)
{
	struct world *w = bulk(50 * PS_MS_NS, WORLD_STREAMS);
	uint64_t start_ns = w->now_ns;

	CU_ASSERT_TRUE(world_run(w, 10 * PS_SEC_NS));
	CU_ASSERT_TRUE(w->burst_max >= 10);
	CU_ASSERT_TRUE(w->burst_max <= 20);
	/* handshake, six windows that double, the last acknowledgement */
	CU_ASSERT_TRUE(w->now_ns - start_ns < 1200 * PS_MS_NS);
	CU_ASSERT_EQUAL(ps_quic_stats(w->client.q)->packets_lost, 0);
	CU_ASSERT_EQUAL(ps_quic_stats(w->client.q)->probes, 0);
	world_free(w);
}

/* The first flight is the initial window, at once. */
static void
test_first_flight(void)
{
	struct world *w = bulk(50 * PS_MS_NS, 20);

	world_run(w, 210 * PS_MS_NS);
	CU_ASSERT_EQUAL(w->burst_max, 10);
	world_free(w);
}

/* Round trips far below a tick: the pacer holds nothing back. */
static void
test_near(void)
{
	struct world *w = bulk(50 * PS_US_NS, WORLD_STREAMS);
	uint64_t start_ns = w->now_ns;

	CU_ASSERT_TRUE(world_run(w, PS_SEC_NS));
	CU_ASSERT_TRUE(w->now_ns - start_ns < 4 * PS_MS_NS);
	world_free(w);
}

static CU_TestInfo tests[] = {
	{"rate and burst", test_rate},
	{"more than a burst each tick", test_fast_path},
	{"late timers", test_late_timer},
	{"bulk over a long path", test_bulk},
	{"the first flight", test_first_flight},
	{"bulk over a short path", test_near},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_pacing", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
