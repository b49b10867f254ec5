/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the bridge decides without a network: duplicates, whose turn it is, what a feed may release,
 * and the table of stakes. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cunit_run.h"
#include "ps_b58.h"
#include "queue.h"
#include "seen.h"
#include "stakes.h"

static const uint8_t hash_key[16] = {1, 2, 3};

/* -- seen -- */

static void
test_seen_window(void)
{
	struct ps_bridge_seen s;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_seen_new(&s, 8, hash_key), 0);
	for (uint64_t h = 1; h <= 8; h++)
		CU_ASSERT_TRUE(ps_bridge_seen_add(&s, h));
	for (uint64_t h = 1; h <= 8; h++)
		CU_ASSERT_FALSE(ps_bridge_seen_add(&s, h));
	CU_ASSERT_TRUE(ps_bridge_seen_add(&s, 9)); /* 1 goes */
	CU_ASSERT_TRUE(ps_bridge_seen_add(&s, 1)); /* 2 goes */
	CU_ASSERT_FALSE(ps_bridge_seen_add(&s, 9));
	CU_ASSERT_FALSE(ps_bridge_seen_add(&s, 3));
	ps_bridge_seen_free(&s);
}

/* One that was forgotten and came again stays for a whole window from then on. */
static void
test_seen_forget(void)
{
	struct ps_bridge_seen s;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_seen_new(&s, 4, hash_key), 0);
	CU_ASSERT_TRUE(ps_bridge_seen_add(&s, 7));
	ps_bridge_seen_forget(&s, 7);
	ps_bridge_seen_forget(&s, 99);
	CU_ASSERT_TRUE(ps_bridge_seen_add(&s, 7));
	CU_ASSERT_FALSE(ps_bridge_seen_add(&s, 7));
	for (uint64_t h = 20; h < 23; h++)
		CU_ASSERT_TRUE(ps_bridge_seen_add(&s, h));
	CU_ASSERT_FALSE(ps_bridge_seen_add(&s, 7));
	CU_ASSERT_TRUE(ps_bridge_seen_add(&s, 23));
	CU_ASSERT_TRUE(ps_bridge_seen_add(&s, 7));
	ps_bridge_seen_free(&s);
}

/* Hashes that share their places, against the plainest model: the last n that were added. */
static void
test_seen_model(void)
{
	enum { N = 16, ROUNDS = 20000 };
	uint64_t model[N] = {0}, r = 1;
	unsigned int next = 0;
	struct ps_bridge_seen s;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_seen_new(&s, N, hash_key), 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t h;
		int at = -1;

		r = r * UINT64_C(6364136223846793005) + 1442695040888963407;
		h = ((r >> 33) % 40 << 5 | (r >> 60)) + 1;
		for (int k = 0; k < N; k++)
			if (model[k] == h)
				at = k;
		if ((r >> 55) % 4 == 0) {
			ps_bridge_seen_forget(&s, h);
			if (at >= 0)
				model[at] = 0;
			continue;
		}
		CU_ASSERT_EQUAL_FATAL(ps_bridge_seen_add(&s, h), at < 0);
		if (at < 0) {
			model[next] = h;
			next = (next + 1) % N;
		}
	}
	ps_bridge_seen_free(&s);
}

/* A signature on other bytes is no duplicate of the transaction it was taken from. */
static void
test_seen_hash(void)
{
	uint8_t a[200] = {1}, b[200] = {1};
	struct ps_bridge_seen s, none;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_seen_new(&s, 8, hash_key), 0);
	CU_ASSERT_EQUAL_FATAL(ps_bridge_seen_new(&none, 0, hash_key), 0);
	CU_ASSERT_EQUAL(ps_bridge_seen_hash(&s, a, 200), ps_bridge_seen_hash(&s, b, 200));
	b[199] = 1;
	CU_ASSERT_NOT_EQUAL(ps_bridge_seen_hash(&s, a, 200), ps_bridge_seen_hash(&s, b, 200));
	CU_ASSERT_NOT_EQUAL(ps_bridge_seen_hash(&s, a, 200), ps_bridge_seen_hash(&s, a, 199));
	CU_ASSERT_TRUE(ps_bridge_seen_add(&none, 5));
	CU_ASSERT_TRUE(ps_bridge_seen_add(&none, 5));
	ps_bridge_seen_forget(&none, 5);
	ps_bridge_seen_free(&none);
	ps_bridge_seen_free(&s);
}

/* -- queue -- */

static struct penstock_feed_record record[64];

static void
put(struct ps_bridge_queue *q, uint32_t feed, unsigned int i, uint64_t stake)
{
	CU_ASSERT_TRUE_FATAL(q->n_free > 0);
	ps_bridge_queue_put(q, feed, &record[i], stake, i + 1);
}

/* Sends the next one; which it was. */
static long
send_next(struct ps_bridge_queue *q, bool throttled)
{
	const uint32_t i = ps_bridge_queue_next(q, throttled);

	if (i == PS_BRIDGE_NONE)
		return -1;
	ps_bridge_queue_sent(q, i, throttled);
	return q->item[i].record - record;
}

static uint32_t
item_of(const struct ps_bridge_queue *q, unsigned int r)
{
	for (uint32_t i = 0; i < q->n_items; i++)
		if (q->item[i].state != PS_BRIDGE_FREE && q->item[i].record == &record[r])
			return i;
	return PS_BRIDGE_NONE;
}

static void
test_queue_order(void)
{
	struct ps_bridge_queue q;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_queue_new(&q, 16, 0), 0);
	put(&q, 0, 0, 0);
	put(&q, 1, 1, 5);
	put(&q, 0, 2, 0);
	put(&q, 1, 3, 9);
	put(&q, 1, 4, 5);
	put(&q, 1, 5, 9);
	CU_ASSERT_EQUAL(send_next(&q, false), 0); /* as they came */
	CU_ASSERT_EQUAL(send_next(&q, true), 3);  /* by stake, of equal ones as they came */
	CU_ASSERT_EQUAL(send_next(&q, true), 5);
	CU_ASSERT_EQUAL(send_next(&q, true), 1);
	CU_ASSERT_EQUAL(send_next(&q, false), 2);
	CU_ASSERT_EQUAL(send_next(&q, true), 4);
	CU_ASSERT_EQUAL(send_next(&q, true), -1);
	CU_ASSERT_EQUAL(q.n_sent, 6);
	ps_bridge_queue_free(&q);
}

/* With 25 percent, every fourth turn while both wait. */
static void
test_queue_share(void)
{
	struct ps_bridge_queue q;
	unsigned int without = 0;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_queue_new(&q, 64, 25), 0);
	for (unsigned int i = 0; i < 64; i++)
		put(&q, 0, i, i < 32 ? 0 : i);
	for (unsigned int i = 0; i < 40; i++)
		without += send_next(&q, true) < 32;
	CU_ASSERT_EQUAL(without, 10);
	for (unsigned int i = 40; i < 42; i++)
		CU_ASSERT_TRUE(send_next(&q, true) >= 32);
	for (unsigned int i = 42; i < 64; i++)
		CU_ASSERT_TRUE(send_next(&q, true) >= 0);
	CU_ASSERT_EQUAL(q.n_waiting, 0);
	ps_bridge_queue_free(&q);
}

/* Each feed releases in its own order and only what is through; places come back. */
static void
test_queue_release(void)
{
	struct ps_bridge_queue q;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_queue_new(&q, 4, 0), 0);
	for (unsigned int round = 0; round < 5; round++) {
		put(&q, 0, 0, 0);
		put(&q, 7, 1, 3);
		put(&q, 0, 2, 3);
		put(&q, 0, 3, 0);
		CU_ASSERT_EQUAL(q.n_free, 0);
		CU_ASSERT_EQUAL(send_next(&q, false), 0);
		ps_bridge_queue_done(&q, item_of(&q, 2)); /* discarded while it waited */
		CU_ASSERT_PTR_NULL(ps_bridge_queue_release(&q, 0));
		ps_bridge_queue_done(&q, item_of(&q, 0));
		CU_ASSERT_PTR_EQUAL(ps_bridge_queue_release(&q, 0), &record[2]);
		CU_ASSERT_PTR_NULL(ps_bridge_queue_release(&q, 0));
		CU_ASSERT_EQUAL(send_next(&q, true), 1);
		CU_ASSERT_PTR_NULL(ps_bridge_queue_release(&q, 7));
		ps_bridge_queue_done(&q, item_of(&q, 1));
		CU_ASSERT_PTR_EQUAL(ps_bridge_queue_release(&q, 7), &record[1]);
		ps_bridge_queue_done(&q, item_of(&q, 3));
		CU_ASSERT_PTR_EQUAL(ps_bridge_queue_release(&q, 0), &record[3]);
		CU_ASSERT_EQUAL(q.n_free, 4);
		CU_ASSERT_EQUAL(q.n_waiting + q.n_sent, 0);
	}
	ps_bridge_queue_free(&q);
}

/* The oldest of either kind go first, and only what waits. */
static void
test_queue_age(void)
{
	struct ps_bridge_queue q;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_queue_new(&q, 8, 0), 0);
	for (unsigned int i = 0; i < 4; i++) {
		record[i].published_ns = 1000 + 10 * i;
		put(&q, 0, i, i % 2);
	}
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1100, 100), PS_BRIDGE_NONE);
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1101, 0), PS_BRIDGE_NONE);
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 5, 1), PS_BRIDGE_NONE); /* from the future */
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1101, 100), item_of(&q, 0));
	CU_ASSERT_EQUAL(send_next(&q, false), 0);
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1101, 100), PS_BRIDGE_NONE);
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1111, 100), item_of(&q, 1));
	ps_bridge_queue_done(&q, item_of(&q, 1));
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1121, 100), item_of(&q, 2));
	ps_bridge_queue_done(&q, item_of(&q, 2));
	CU_ASSERT_EQUAL(ps_bridge_queue_old(&q, 1121, 100), PS_BRIDGE_NONE);
	CU_ASSERT_TRUE(ps_bridge_item_is_old(&q.item[item_of(&q, 3)], 1131, 100));
	ps_bridge_queue_free(&q);
}

/* Whatever is put and taken out of the middle, the largest stake is next. */
static void
test_queue_model(void)
{
	struct ps_bridge_queue q;
	uint64_t r = 7;

	CU_ASSERT_EQUAL_FATAL(ps_bridge_queue_new(&q, 64, 0), 0);
	for (unsigned int i = 0; i < 5000; i++) {
		uint32_t best = PS_BRIDGE_NONE, pick = PS_BRIDGE_NONE;

		r = r * UINT64_C(6364136223846793005) + 1442695040888963407;
		if (q.n_free > 0 && (r >> 40) % 2 == 0)
			put(&q, 0, 0, 1 + (r >> 33) % 8);
		for (uint32_t k = 0; k < q.n_items; k++) {
			const struct ps_bridge_item *a = &q.item[k], *b;

			if (a->state != PS_BRIDGE_WAITING)
				continue;
			if ((r >> 45) % 64 == k)
				pick = k;
			b = best != PS_BRIDGE_NONE ? &q.item[best] : NULL;
			if (b == NULL || a->stake > b->stake ||
				(a->stake == b->stake && a->arrival < b->arrival))
				best = k;
		}
		CU_ASSERT_EQUAL_FATAL(ps_bridge_queue_next(&q, true), best);
		if (pick != PS_BRIDGE_NONE)
			ps_bridge_queue_done(&q, pick);
		else if (best != PS_BRIDGE_NONE && (r >> 50) % 4 == 0)
			ps_bridge_queue_done(&q, best);
		ps_bridge_queue_release(&q, 0);
	}
	ps_bridge_queue_free(&q);
}

/* -- stakes -- */

static struct ps_err err;
static const char twice[] = "staked_map_id:\n 11111111111111111111111111111111: 1\n"
			    " 11111111111111111111111111111111: 2\n";

static int
load(struct ps_bridge_stakes *t, const char *text, size_t len)
{
	char path[] = "/tmp/penstock-stakes.XXXXXX";
	const int fd = mkstemp(path);
	int rc;

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, len), (ssize_t)len);
	close(fd);
	rc = ps_bridge_stakes_load(t, path, &err);
	unlink(path);
	return rc;
}

static void
test_stakes(void)
{
	const uint8_t key[3][32] = {{0, 0, 1}, {[31] = 9}, {255, 254, 253}};
	char text[512] = "# overrides\nstaked_map_id:\n", name[PS_B58_MAX_CHARS];
	struct ps_bridge_stakes t = {0};

	for (int i = 0; i < 3; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  %s: %d\n",
			ps_b58_encode(name, key[i], 32), 100 + i);
	CU_ASSERT_EQUAL_FATAL(load(&t, text, strlen(text)), 0);
	CU_ASSERT_EQUAL(t.n, 3);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(ps_bridge_stakes_of(&t, key[i]), 100u + (unsigned int)i);
	CU_ASSERT_EQUAL(ps_bridge_stakes_of(&t, (uint8_t[32]){7}), 0);
	/* what is wrong changes nothing */
	CU_ASSERT(load(&t, "staked_map_id: {", 16) < 0);
	CU_ASSERT(ps_bridge_stakes_load(&t, "/nonexistent", &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "No such file"));
	CU_ASSERT_EQUAL(ps_bridge_stakes_of(&t, key[2]), 102);
	CU_ASSERT_EQUAL(load(&t, "staked_map_id: {}", 17), 0);
	CU_ASSERT_EQUAL(ps_bridge_stakes_of(&t, key[2]), 0);
	ps_bridge_stakes_free(&t);
}

static void
test_stakes_refused(void)
{
	static const char one[] = "11111111111111111111111111111111";
	static const char *const text[] = {"", "a", "- 1", "other: {}",
		"staked_map_id:", "staked_map_id: 5", "staked_map_id: [1]",
		"staked_map_id: {}\nmore: {}", "staked_map_id: {x: 1}", "staked_map_id: {0OIl: 1}",
		"staked_map_id: {[a]: 1}", "\"staked_map_id: {",
		/* one digit too few, too many, a number too large, no number */
		"staked_map_id: {1111111111111111111111111111111: 1}",
		"staked_map_id: {111111111111111111111111111111111: 1}",
		"staked_map_id: {zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz: 1}",
		"staked_map_id: {11111111111111111111111111111111: 18446744073709551616}",
		"staked_map_id: {11111111111111111111111111111111: -1}",
		"staked_map_id: {11111111111111111111111111111111: 1.5}",
		"staked_map_id: {11111111111111111111111111111111: {}}", twice};
	struct ps_bridge_stakes t = {0};
	char good[128];

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		CU_ASSERT(load(&t, text[i], strlen(text[i])) < 0);
		CU_ASSERT(strlen(err.text) > 0 && strchr(err.text, '\n') == NULL);
	}
	CU_ASSERT(load(&t, "staked\0map", 10) < 0);
	snprintf(good, sizeof(good), "staked_map_id: {%s: 18446744073709551615}", one);
	CU_ASSERT_EQUAL(load(&t, good, strlen(good)), 0);
	CU_ASSERT_EQUAL(ps_bridge_stakes_of(&t, (uint8_t[32]){0}), UINT64_MAX);
	ps_bridge_stakes_free(&t);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"seen: window", test_seen_window},
		{"seen: forget", test_seen_forget},
		{"seen: model", test_seen_model},
		{"seen: all bytes count", test_seen_hash},
		{"queue: order", test_queue_order},
		{"queue: share", test_queue_share},
		{"queue: release", test_queue_release},
		{"queue: age", test_queue_age},
		{"queue: model", test_queue_model},
		{"stakes", test_stakes},
		{"stakes: refused", test_stakes_refused},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"bridge", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
