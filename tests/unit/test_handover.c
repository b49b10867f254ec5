/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The rings between workers, with real buffers in an EAL without devices. After each test every
 * buffer is back in the pool, and no reference to one was given back twice. */

#include "cunit_run.h"
#include "handover.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "ps_time.h"

#define WORKERS   4
#define BUFFERS   1023
#define RING      255 /* datagrams that a ring holds */
#define BURST     64
#define MANY      200000
#define PATIENCE  (60 * PS_SEC_NS)
#define BYTES     900
#define SERVICE   7u
#define FIRST_IP  0x0a000001u
#define LINK(seq) (UINT64_C(0x123400000000) + (seq))

static struct rte_mempool *pool;
static struct ps_handover *h;

static int
begin(void)
{
	static char *argv[] = {"test_handover", "--no-huge", "--no-pci", "--no-shconf", "-l", "0",
		"-m", "64", "--log-level=error", NULL};

	if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("test", BUFFERS, 0, 0, 2048, SOCKET_ID_ANY);
	return pool != NULL ? 0 : -1;
}

static void
open_rings(void)
{
	struct ps_err e;

	CU_ASSERT_EQUAL_FATAL(ps_handover_new(&h, WORKERS, &e), 0);
}

static void
close_rings(void)
{
	ps_handover_free(h);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), BUFFERS);
}

static uint8_t
byte_of(uint32_t seq, unsigned int i)
{
	return (uint8_t)(seq * 31 + i);
}

/* A datagram as receiving makes it: the giver has the one reference to its frame. */
static struct ps_datagram
make(uint32_t seq)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct ps_datagram dg = {
		.len = (uint16_t)(BYTES + seq % 100),
		.ecn = seq & 3,
		.flow = {FIRST_IP + seq, ~seq, (uint16_t)seq, (uint16_t)(seq >> 8)},
		.link = LINK(seq),
		.frame = m,
	};

	if (m == NULL) {
		fprintf(stderr, "out of buffers\n");
		exit(1);
	}
	dg.data = rte_pktmbuf_mtod_offset(m, uint8_t *, 42);
	for (unsigned int i = 0; i < dg.len; i++)
		dg.data[i] = byte_of(seq, i);
	return dg;
}

/* As a worker does with the frames of its burst, given away or not. */
static bool
give(unsigned int from, unsigned int to, uint32_t seq)
{
	struct ps_datagram dg = make(seq);
	const bool given = ps_handover_give(h, from, to, &dg, SERVICE + seq % 5);

	rte_pktmbuf_free(dg.frame);
	return given;
}

/* Whether this is datagram seq in every part; frees it. */
static bool
is_whole(const struct ps_handed *in, uint32_t seq)
{
	const struct ps_datagram *dg = &in->dg;
	const struct ps_flow4 flow = {FIRST_IP + seq, ~seq, (uint16_t)seq, (uint16_t)(seq >> 8)};
	struct rte_mbuf *m = dg->frame;
	bool same = in->service == SERVICE + seq % 5 && dg->len == BYTES + seq % 100 &&
		    dg->ecn == (seq & 3) && memcmp(&dg->flow, &flow, sizeof(flow)) == 0 &&
		    dg->link == LINK(seq) && dg->data == rte_pktmbuf_mtod_offset(m, uint8_t *, 42);

	for (unsigned int i = 0; same && i < dg->len; i++)
		same = dg->data[i] == byte_of(seq, i);
	rte_pktmbuf_free(m);
	return same;
}

static void
test_unchanged(void)
{
	struct ps_handed in[BURST];

	open_rings();
	CU_ASSERT_TRUE(give(0, 2, 5));
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 1);
	CU_ASSERT_EQUAL_FATAL(ps_handover_take(h, 2, 0, in, BURST), 1);
	CU_ASSERT_EQUAL(rte_mbuf_refcnt_read((struct rte_mbuf *)in[0].dg.frame), 1);
	CU_ASSERT_TRUE(is_whole(&in[0], 5));
	CU_ASSERT_EQUAL(ps_handover_take(h, 2, 0, in, BURST), 0);
	close_rings();
}

/* Every worker has a ring to every other one, and what is in it comes out nowhere else. */
static void
test_pairs(void)
{
	struct ps_handed in[BURST];

	open_rings();
	for (unsigned int from = 0; from < WORKERS; from++)
		for (unsigned int to = 0; to < WORKERS; to++)
			CU_ASSERT_EQUAL(give(from, to, from * 16 + to), from != to);
	for (unsigned int to = 0; to < WORKERS; to++) {
		for (unsigned int from = 0; from < WORKERS; from++) {
			CU_ASSERT_EQUAL_FATAL(ps_handover_take(h, to, from, in, BURST), from != to);
			if (from != to)
				CU_ASSERT_TRUE(is_whole(&in[0], from * 16 + to));
		}
	}
	close_rings();
}

static void
test_refused(void)
{
	struct ps_datagram dg = make(1);

	open_rings();
	CU_ASSERT_FALSE(ps_handover_give(h, 0, WORKERS, &dg, SERVICE));
	CU_ASSERT_FALSE(ps_handover_give(h, 0, UINT8_MAX, &dg, SERVICE));
	CU_ASSERT_FALSE(ps_handover_give(h, 1, 1, &dg, SERVICE));
	CU_ASSERT_EQUAL(rte_mbuf_refcnt_read((struct rte_mbuf *)dg.frame), 1);
	rte_pktmbuf_free(dg.frame);
	/* From a kernel socket: its bytes are the giver's, and overwritten in its next round. */
	dg.frame = NULL;
	CU_ASSERT_FALSE(ps_handover_give(h, 0, 1, &dg, SERVICE));
	close_rings();
}

/* What finds no room stays with its giver, who counts it; what is in the ring is not touched. */
static void
test_full(void)
{
	struct ps_handed in[RING + 1];

	open_rings();
	for (uint32_t seq = 0; seq < RING; seq++)
		CU_ASSERT_TRUE_FATAL(give(1, 3, seq));
	for (uint32_t seq = RING; seq < RING + 100; seq++) {
		struct ps_datagram dg = make(seq);

		CU_ASSERT_FALSE(ps_handover_give(h, 1, 3, &dg, SERVICE));
		CU_ASSERT_EQUAL(rte_mbuf_refcnt_read((struct rte_mbuf *)dg.frame), 1);
		rte_pktmbuf_free(dg.frame);
	}
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), RING);
	CU_ASSERT_TRUE(give(2, 3, 1)); /* another ring */
	CU_ASSERT_EQUAL_FATAL(ps_handover_take(h, 3, 1, in, RING + 1), RING);
	for (uint32_t seq = 0; seq < RING; seq++)
		CU_ASSERT_TRUE(is_whole(&in[seq], seq));
	CU_ASSERT_TRUE(give(1, 3, 0)); /* there is room again */
	close_rings();
}

/* Both ends of a ring come round many times, in portions that do not divide it. */
static void
test_order(void)
{
	struct ps_handed in[BURST];
	uint32_t given = 0, taken = 0;

	open_rings();
	for (unsigned int round = 0; round < 100; round++) {
		unsigned int n;

		for (unsigned int i = 0; i < 50; i++)
			given += give(3, 0, given);
		n = ps_handover_take(h, 0, 3, in, 37);
		for (unsigned int i = 0; i < n; i++)
			CU_ASSERT_TRUE(is_whole(&in[i], taken++));
	}
	CU_ASSERT_EQUAL(taken, 100 * 37);
	CU_ASSERT_EQUAL(given - taken, rte_mempool_in_use_count(pool));
	close_rings(); /* frees what nobody took */
}

/* -- two threads -- */

static uint64_t deadline_ns;

static void *
give_many(void *refusals)
{
	for (uint32_t seq = 0; seq < MANY && ps_now_ns() < deadline_ns;) {
		if (give(0, 1, seq)) {
			seq++;
		} else {
			++*(uint64_t *)refusals;
			sched_yield();
		}
	}
	return NULL;
}

static void
test_threads(void)
{
	struct ps_handed in[BURST];
	uint32_t taken = 0, wrong = 0;
	uint64_t refusals = 0;
	pthread_t giver;

	open_rings();
	deadline_ns = ps_now_ns() + PATIENCE;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&giver, NULL, give_many, &refusals), 0);
	while (taken < MANY && ps_now_ns() < deadline_ns) {
		const unsigned int n = ps_handover_take(h, 1, 0, in, BURST);

		for (unsigned int i = 0; i < n; i++)
			wrong += !is_whole(&in[i], taken++);
		if (n == 0)
			sched_yield();
	}
	pthread_join(giver, NULL);
	CU_ASSERT_EQUAL(taken, MANY);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(ps_handover_take(h, 1, 0, in, BURST), 0);
	printf("(%" PRIu64 " refused) ", refusals);
	close_rings();
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"a datagram arrives as it was given", test_unchanged},
		{"each of four workers to each other one", test_pairs},
		{"no such worker, itself, no frame", test_refused},
		{"a full ring", test_full},
		{"order, and an end with frames in it", test_order},
		{"two threads", test_threads},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{.pName = "handover", .pInitFunc = begin, .pTests = tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
