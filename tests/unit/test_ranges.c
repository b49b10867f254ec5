/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <string.h>

#include "cunit_run.h"
#include "ranges.h"
#include "wire.h"

static struct ps_ranges set;

/* Descending, disjoint, not adjacent, nothing below the floor. */
static bool
well_formed(void)
{
	if (set.n > PS_RANGES_MAX)
		return false;
	for (uint32_t i = 0; i < set.n; i++) {
		if (set.r[i].lo > set.r[i].hi || set.r[i].lo < set.floor)
			return false;
		if (i > 0 && set.r[i].hi + 1 >= set.r[i - 1].lo)
			return false;
	}
	return true;
}

static void
test_empty(void)
{
	ps_ranges_init(&set);
	CU_ASSERT_EQUAL(set.n, 0);
	CU_ASSERT_EQUAL(set.floor, 0);
	CU_ASSERT_FALSE(ps_ranges_contains(&set, 0));
	CU_ASSERT_FALSE(ps_ranges_contains(&set, PS_VARINT_MAX));
}

static void
test_merge(void)
{
	ps_ranges_init(&set);
	CU_ASSERT_TRUE(ps_ranges_add(&set, 5));
	CU_ASSERT_FALSE(ps_ranges_add(&set, 5));
	CU_ASSERT_TRUE(ps_ranges_add(&set, 7));
	CU_ASSERT_EQUAL(set.n, 2);
	CU_ASSERT_TRUE(ps_ranges_add(&set, 6));
	CU_ASSERT_EQUAL(set.n, 1);
	CU_ASSERT_EQUAL(set.r[0].lo, 5);
	CU_ASSERT_EQUAL(set.r[0].hi, 7);
	CU_ASSERT_TRUE(ps_ranges_add(&set, 8));
	CU_ASSERT_TRUE(ps_ranges_add(&set, 4));
	CU_ASSERT_TRUE(ps_ranges_add(&set, 0));
	CU_ASSERT_TRUE(ps_ranges_add(&set, 1));
	CU_ASSERT_EQUAL(set.n, 2);
	CU_ASSERT_EQUAL(set.r[0].lo, 4);
	CU_ASSERT_EQUAL(set.r[0].hi, 8);
	CU_ASSERT_EQUAL(set.r[1].lo, 0);
	CU_ASSERT_EQUAL(set.r[1].hi, 1);
	CU_ASSERT_FALSE(ps_ranges_contains(&set, 2));
	CU_ASSERT_FALSE(ps_ranges_contains(&set, 9));
}

static void
test_overflow(void)
{
	ps_ranges_init(&set);
	for (uint64_t i = 0; i < PS_RANGES_MAX; i++)
		CU_ASSERT_TRUE(ps_ranges_add(&set, 100 + 10 * i));
	CU_ASSERT_EQUAL(set.n, PS_RANGES_MAX);
	CU_ASSERT_EQUAL(set.floor, 0);

	/* One more at the top costs the lowest, 100. */
	CU_ASSERT_TRUE(ps_ranges_add(&set, 1000));
	CU_ASSERT_EQUAL(set.n, PS_RANGES_MAX);
	CU_ASSERT_EQUAL(set.floor, 101);
	CU_ASSERT_EQUAL(set.r[0].lo, 1000);
	CU_ASSERT_EQUAL(set.r[PS_RANGES_MAX - 1].lo, 110);
	CU_ASSERT_TRUE(ps_ranges_contains(&set, 100));
	CU_ASSERT_TRUE(ps_ranges_contains(&set, 0));
	CU_ASSERT_FALSE(ps_ranges_add(&set, 50));

	/* A new lowest is itself what is forgotten. */
	CU_ASSERT_TRUE(ps_ranges_add(&set, 105));
	CU_ASSERT_EQUAL(set.n, PS_RANGES_MAX);
	CU_ASSERT_EQUAL(set.floor, 106);
	CU_ASSERT_FALSE(ps_ranges_add(&set, 105));

	/* Growing a range needs no room. */
	CU_ASSERT_TRUE(ps_ranges_add(&set, 109));
	CU_ASSERT_EQUAL(set.floor, 106);
	CU_ASSERT_TRUE(well_formed());
}

static void
test_forget(void)
{
	ps_ranges_init(&set);
	for (uint64_t v = 10; v < 20; v++)
		ps_ranges_add(&set, v);
	ps_ranges_add(&set, 30);
	ps_ranges_forget(&set, 14);
	CU_ASSERT_EQUAL(set.floor, 15);
	CU_ASSERT_EQUAL(set.n, 2);
	CU_ASSERT_EQUAL(set.r[1].lo, 15);
	CU_ASSERT_FALSE(ps_ranges_add(&set, 12));
	ps_ranges_forget(&set, 3);
	CU_ASSERT_EQUAL(set.floor, 15);
	ps_ranges_forget(&set, 30);
	CU_ASSERT_EQUAL(set.n, 0);
	CU_ASSERT_FALSE(ps_ranges_add(&set, 30));
	CU_ASSERT_TRUE(ps_ranges_add(&set, 31));
}

static void
test_extremes(void)
{
	ps_ranges_init(&set);
	CU_ASSERT_TRUE(ps_ranges_add(&set, PS_VARINT_MAX));
	CU_ASSERT_TRUE(ps_ranges_add(&set, 0));
	CU_ASSERT_TRUE(ps_ranges_add(&set, PS_VARINT_MAX - 1));
	CU_ASSERT_FALSE(ps_ranges_add(&set, PS_VARINT_MAX));
	CU_ASSERT_EQUAL(set.n, 2);
	CU_ASSERT_EQUAL(set.r[0].lo, PS_VARINT_MAX - 1);
	ps_ranges_forget(&set, PS_VARINT_MAX);
	CU_ASSERT_EQUAL(set.n, 0);
	CU_ASSERT_TRUE(ps_ranges_contains(&set, PS_VARINT_MAX));
}

#define UNIVERSE 400

/* The model: a bitmap, and the floor it must have. */
static bool held[UNIVERSE];
static uint64_t model_floor;

static uint32_t
model_ranges(uint64_t *lowest_hi)
{
	uint32_t n = 0;

	for (uint64_t v = UNIVERSE; v-- > 0;) {
		if (held[v] && (v + 1 == UNIVERSE || !held[v + 1])) {
			n++;
			*lowest_hi = v;
		}
	}
	return n;
}

static void
model_forget(uint64_t v)
{
	if (v + 1 > model_floor)
		model_floor = v + 1;
	for (uint64_t i = 0; i <= v; i++)
		held[i] = false;
}

static bool
model_add(uint64_t v)
{
	uint64_t lowest_hi;

	if (v < model_floor || held[v])
		return false;
	held[v] = true;
	if (model_ranges(&lowest_hi) > PS_RANGES_MAX)
		model_forget(lowest_hi);
	return true;
}

static bool
agrees(void)
{
	uint64_t lowest_hi;

	if (!well_formed() || set.floor != model_floor || set.n != model_ranges(&lowest_hi))
		return false;
	for (uint64_t v = 0; v < UNIVERSE; v++) {
		if (ps_ranges_contains(&set, v) != (v < model_floor || held[v]))
			return false;
	}
	return true;
}

static void
test_model(void)
{
	uint32_t x = 2463534242, overflows = 0;

	for (int round = 0; round < 200; round++) {
		ps_ranges_init(&set);
		memset(held, 0, sizeof(held));
		model_floor = 0;
		for (int step = 0; step < 300; step++) {
			uint64_t v, floor_before = model_floor;

			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			v = x % UNIVERSE;
			if (x >> 24 == 0) {
				v /= 4;
				ps_ranges_forget(&set, v);
				model_forget(v);
			} else {
				CU_ASSERT_EQUAL_FATAL(ps_ranges_add(&set, v), model_add(v));
				overflows += model_floor != floor_before;
			}
			CU_ASSERT_TRUE_FATAL(agrees());
		}
	}
	CU_ASSERT_TRUE(overflows > 1000);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"empty", test_empty},
		{"merge", test_merge},
		{"overflow", test_overflow},
		{"forget", test_forget},
		{"extremes", test_extremes},
		{"bitmap model", test_model},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"ranges", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
