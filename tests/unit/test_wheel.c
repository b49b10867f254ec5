/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The timer wheel by itself against a list that is searched: laps, gaps, deadlines put off. */

#include <stdlib.h>

#include "cunit_run.h"
#include "engine.h"

#define CONNS 40
#define STEPS 200000

static struct ps_quic q;
static struct conn conns[CONNS];

static void
start(void)
{
	q = (struct ps_quic){.conns = conns};
	wheel_init(&q.wheel);
	for (uint32_t i = 0; i < CONNS; i++)
		conns[i] =
			(struct conn){.slot = i, .timer_tick = PS_NEVER, .deadline_ns = PS_NEVER};
}

static uint64_t
earliest(void)
{
	uint64_t first = PS_NEVER;

	for (int i = 0; i < CONNS; i++)
		first = min_u64(first, conns[i].deadline_ns);
	return first;
}

/* Some milliseconds, or seconds: within a lap and beyond. */
static uint64_t
some_time(void)
{
	static const unsigned int most_ms[] = {3, 70, 5000, 60000};

	return ((uint64_t)rand() << 16 | (uint64_t)rand() % 65536) %
	       (most_ms[rand() % 4] * PS_MS_NS);
}

/* All that is due by now comes out, and nothing that is not. False when it does not. */
static bool
pop_due(uint64_t now_ns)
{
	struct conn *c;

	while ((c = timer_pop(&q, now_ns)) != NULL) {
		if (c->deadline_ns > now_ns)
			return false;
		c->deadline_ns = PS_NEVER;
	}
	/* at a tick's end */
	return earliest() > now_ns - now_ns % TICK_NS;
}

static void
test_against_list(void)
{
	uint64_t now_ns = 1000 * PS_SEC_NS, next;
	unsigned int bad = 0;

	srand(3);
	start();
	CU_ASSERT_PTR_NULL(timer_pop(&q, now_ns));
	CU_ASSERT_EQUAL(timer_next(&q), PS_NEVER);
	for (int i = 0; i < STEPS; i++) {
		struct conn *c = &conns[rand() % CONNS];

		timer_set(&q, c, rand() % 8 == 0 ? PS_NEVER : now_ns + some_time());
		if (rand() % 3 == 0) {
			now_ns += some_time() / (rand() % 100 == 0 ? 1 : 100);
			bad += !pop_due(now_ns);
		}
		next = timer_next(&q);
		bad += (next == PS_NEVER) != (earliest() == PS_NEVER);
		if (next == PS_NEVER)
			continue;
		/* never later than it is due, and never before now */
		bad += next - TICK_NS > earliest() || next < now_ns - now_ns % TICK_NS;
	}
	CU_ASSERT_EQUAL(bad, 0);
}

/* A wait from wake to wake ends: what timer_next() says brings the deadline nearer each time. */
static void
test_far_deadline(void)
{
	uint64_t now_ns = 5 * PS_MS_NS, due_ns = 3600 * PS_SEC_NS;
	unsigned int wakes = 0;

	start();
	timer_set(&q, &conns[7], due_ns);
	while (now_ns < due_ns && wakes < 2000) {
		CU_ASSERT_PTR_NULL(timer_pop(&q, now_ns));
		now_ns = max_u64(timer_next(&q), now_ns + 1);
		wakes++;
	}
	CU_ASSERT(wakes > 2 && wakes < 2000);
	CU_ASSERT_PTR_EQUAL(timer_pop(&q, now_ns), &conns[7]);
	CU_ASSERT_EQUAL(timer_next(&q), PS_NEVER);
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"against a list", test_against_list},
		{"a far deadline", test_far_deadline},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"timer wheel", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
