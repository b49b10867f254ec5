/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed_help.h"
#include "tpu.h"
#include "txn.h"

#define FEED_BYTES (UINT64_C(1) << 20)

static struct ps_feed feed;
static struct penstock_feed *consumer;
static struct ps_drops drops;
static struct ps_tpu *tpu;
static struct ps_sink sink;
static void *block;
static uint8_t txn[8192];
static const uint8_t *source = txn; /* what streams carry */
static const struct ps_peer peer = {
	.addr_be = 0x01020304, .port_be = 0x1122, .has_key = true, .key = {9, 8, 7}};

static void
set_up(uint32_t slots, uint64_t feed_bytes)
{
	struct ps_tpu_limits limits = {slots};
	size_t bytes = ps_tpu_footprint(&limits);

	CU_ASSERT_EQUAL_FATAL(open_feed(&feed, feed_bytes), 0);
	consumer = attach(NULL);
	memset(&drops, 0, sizeof(drops));
	block = aligned_alloc(64, bytes); /* the sanitizer watches its end */
	tpu = ps_tpu_create(block, &limits, &feed, &drops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tpu);
	sink = ps_tpu_sink(tpu);
	ps_tpu_tick(tpu, 555, 0x0a0b0c0d, 0x3344);
	for (uint32_t i = 0; i < sizeof(txn); i++)
		txn[i] = (uint8_t)(i * 31 + (i >> 8) + 1);
	txn[0] = 1; /* one signature; the message is legacy */
	txn[65] = 1;
}

static void
tear_down(void)
{
	free(block);
	penstock_feed_detach(consumer);
	ps_feed_close(&feed);
	remove_files();
}

static struct ps_stream_frame
frame(uint64_t id, uint32_t offset, uint32_t len, bool fin, uint32_t slot)
{
	return (struct ps_stream_frame){source + offset, id, offset, (uint16_t)len, fin, slot};
}

/* One frame as the transport gives it: reserve, data, the slot kept for the stream. */
static enum ps_sink_result
give(uint64_t id, uint32_t offset, uint32_t len, bool fin, uint32_t *slot)
{
	struct ps_stream_frame f = frame(id, offset, len, fin, *slot);
	enum ps_sink_result result;

	CU_ASSERT_TRUE_FATAL(sink.reserve(sink.ctx, &f, 1));
	result = sink.data(sink.ctx, &peer, &f);
	*slot = result == PS_SINK_MORE ? f.slot : PS_SLOT_NONE;
	return result;
}

/* The only record since the last call; it is released. */
static void
expect_record(uint32_t len)
{
	const struct penstock_feed_record *r[2];

	ps_feed_publish(&feed);
	CU_ASSERT_EQUAL_FATAL(penstock_feed_poll(consumer, r, 2), 1);
	CU_ASSERT_EQUAL_FATAL(r[0]->payload_bytes, len);
	CU_ASSERT(memcmp(penstock_feed_payload(r[0]), source, len) == 0);
	CU_ASSERT_EQUAL(r[0]->kind, PENSTOCK_FEED_TRANSACTION);
	CU_ASSERT_EQUAL(r[0]->flags, PENSTOCK_FEED_HAS_KEY);
	CU_ASSERT(memcmp(r[0]->peer_key, peer.key, 32) == 0);
	CU_ASSERT_EQUAL(r[0]->saddr_be, peer.addr_be);
	CU_ASSERT_EQUAL(r[0]->sport_be, peer.port_be);
	CU_ASSERT_EQUAL(r[0]->daddr_be, 0x0a0b0c0d);
	CU_ASSERT_EQUAL(r[0]->dport_be, 0x3344);
	CU_ASSERT_EQUAL(r[0]->received, 555);
	penstock_feed_release(consumer, r[0]);
}

static void
expect_no_record(void)
{
	const struct penstock_feed_record *r;

	ps_feed_publish(&feed);
	CU_ASSERT_EQUAL(penstock_feed_poll(consumer, &r, 1), 0);
}

static void
test_whole(void)
{
	uint32_t slot = PS_SLOT_NONE;

	set_up(4, FEED_BYTES);
	CU_ASSERT_EQUAL(give(0, 0, 215, true, &slot), PS_SINK_DONE);
	expect_record(215);
	CU_ASSERT_EQUAL(ps_tpu_free_slots(tpu), 4);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->whole, 1);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->transactions, 1);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->bytes, 215);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->fragments, 0);
	tear_down();
}

static void
test_permutations(void)
{
	static const uint32_t start[] = {0, 1, 64, 700, 1000};
	unsigned int tried = 0;

	set_up(1, FEED_BYTES);
	for (unsigned int code = 0; code < 256; code++) {
		unsigned int order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
		uint32_t slot = PS_SLOT_NONE;

		if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15)
			continue;
		tried++;
		for (unsigned int i = 0; i < 4; i++) {
			unsigned int k = order[i];

			CU_ASSERT_EQUAL(
				give(code, start[k], start[k + 1] - start[k], k == 3, &slot),
				i == 3 ? PS_SINK_DONE : PS_SINK_MORE);
			if (i != 3)
				expect_no_record();
		}
		expect_record(1000);
		CU_ASSERT_EQUAL(ps_tpu_free_slots(tpu), 1);
	}
	CU_ASSERT_EQUAL(tried, 24);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->duplicates, 0);
	tear_down();
}

static void
test_overlap(void)
{
	uint32_t slot = PS_SLOT_NONE;

	set_up(1, FEED_BYTES);
	CU_ASSERT_EQUAL(give(0, 100, 200, false, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(0, 100, 200, false, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(0, 150, 10, false, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->duplicates, 2);
	CU_ASSERT_EQUAL(give(0, 250, 250, true, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(0, 250, 250, true, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->duplicates, 3);
	CU_ASSERT_EQUAL(give(0, 0, 99, false, &slot), PS_SINK_MORE);
	expect_no_record(); /* byte 99 is missing */
	CU_ASSERT_EQUAL(give(0, 90, 100, false, &slot), PS_SINK_DONE);
	expect_record(500);
	/* The end alone, without a byte, completes as well; and it is no duplicate. */
	CU_ASSERT_EQUAL(give(1, 0, 300, false, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(1, 300, 0, true, &slot), PS_SINK_DONE);
	expect_record(300);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->duplicates, 3);
	tear_down();
}

/* A slot used before must not lend its bytes or its coverage to the next stream. */
static void
test_random_streams(void)
{
	static struct {
		uint32_t slot, len;
		bool open;
	} s[8];
	static uint8_t bytes[8][PS_TPU_MAX_BYTES];
	uint64_t done = 0;

	set_up(8, FEED_BYTES);
	srand(11);
	for (unsigned int i = 0; i < 8; i++)
		s[i].slot = PS_SLOT_NONE;
	for (unsigned int round = 0; round < 60000; round++) {
		unsigned int k = (unsigned int)rand() % 8;
		uint32_t from, to;

		if (!s[k].open) {
			s[k].open = true;
			s[k].len = 134 + (uint32_t)rand() % (4096 - 133);
			for (uint32_t i = 0; i < s[k].len; i++)
				bytes[k][i] = (uint8_t)rand();
			bytes[k][0] = 0x81;
		}
		from = (uint32_t)rand() % s[k].len;
		to = from + (uint32_t)rand() % 1400;
		if (rand() % 4 == 0)
			from = 0;
		if (to > s[k].len)
			to = s[k].len;
		source = bytes[k];
		if (rand() % 500 == 0 && s[k].slot != PS_SLOT_NONE) {
			sink.abandon(sink.ctx, s[k].slot);
			s[k].slot = PS_SLOT_NONE;
			s[k].open = false;
			continue;
		}
		if (give(k, from, to - from, to == s[k].len, &s[k].slot) == PS_SINK_DONE) {
			expect_record(s[k].len);
			s[k].open = false;
			done++;
		}
	}
	source = txn;
	CU_ASSERT(done > 500);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->transactions, done);
	CU_ASSERT(ps_tpu_stats(tpu)->abandoned > 0);
	tear_down();
}

static void
test_pool_exhaustion(void)
{
	struct ps_stream_frame f[4];
	uint32_t slot[3] = {PS_SLOT_NONE, PS_SLOT_NONE, PS_SLOT_NONE};

	set_up(3, FEED_BYTES);
	CU_ASSERT_EQUAL(give(0, 0, 100, false, &slot[0]), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(1, 0, 100, false, &slot[1]), PS_SINK_MORE);
	/* Two new streams for one slot: both or none. */
	f[0] = frame(2, 0, 100, false, PS_SLOT_NONE);
	f[1] = frame(3, 0, 100, false, PS_SLOT_NONE);
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, f, 2));
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, f, 2)); /* and asking changed nothing */
	CU_ASSERT_EQUAL(ps_tpu_free_slots(tpu), 1);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->refused, 2);
	/* Two frames of one new stream need one slot. */
	f[1] = frame(2, 100, 100, false, PS_SLOT_NONE);
	CU_ASSERT_TRUE(sink.reserve(sink.ctx, f, 2));
	CU_ASSERT_EQUAL(give(2, 0, 100, false, &slot[2]), PS_SINK_MORE);
	f[0] = frame(3, 0, 100, false, PS_SLOT_NONE);
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, f, 1));
	CU_ASSERT_EQUAL(sink.room(sink.ctx), 0);
	/* Whole ones and known streams go on. */
	f[0] = frame(3, 0, 200, true, PS_SLOT_NONE);
	f[1] = frame(0, 100, 100, true, slot[0]);
	CU_ASSERT_TRUE_FATAL(sink.reserve(sink.ctx, f, 2));
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f[0]), PS_SINK_DONE);
	expect_record(200);
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f[1]), PS_SINK_DONE);
	expect_record(200);
	CU_ASSERT_EQUAL(sink.room(sink.ctx), PS_TPU_STREAMS_PER_SLOT);
	sink.abandon(sink.ctx, slot[1]);
	sink.abandon(sink.ctx, slot[1]); /* twice frees once */
	sink.abandon(sink.ctx, PS_SLOT_NONE);
	CU_ASSERT_EQUAL(ps_tpu_free_slots(tpu), 2);
	CU_ASSERT_EQUAL(ps_tpu_stats(tpu)->abandoned, 1);
	tear_down();
}

static void
test_feed_full(void)
{
	struct ps_stream_frame f[3];
	uint32_t slot = PS_SLOT_NONE, other = PS_SLOT_NONE, room;
	uint64_t before;

	set_up(64, CAPACITY);
	txn[0] = 0x81;
	CU_ASSERT_EQUAL(give(0, 0, 4000, false, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(9, 100, 3996, true, &other), PS_SINK_MORE);
	room = sink.room(sink.ctx);
	CU_ASSERT_EQUAL(room, CAPACITY / ps_feed_record_bytes(1232));
	while (ps_feed_fits(&feed, 2 * ps_feed_record_bytes(1000), ps_feed_record_bytes(1000)))
		CU_ASSERT_PTR_NOT_NULL(ps_feed_put(&feed, 1000));
	ps_feed_publish(&feed);
	/* Room for one: a packet with three finds none, and nothing of it is taken. */
	for (unsigned int i = 0; i < 3; i++)
		f[i] = frame(i + 1, 0, 1000, true, PS_SLOT_NONE);
	before = feed.write;
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, f, 3));
	CU_ASSERT_EQUAL(feed.write, before);
	/* The end of a stream in a slot counts with all its bytes, a middle piece with none. */
	f[0] = frame(0, 4000, 96, true, slot);
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, f, 1));
	f[0] = frame(0, 4000, 90, false, slot);
	CU_ASSERT_TRUE(sink.reserve(sink.ctx, f, 1));
	f[1] = frame(0, 4090, 6, true, slot);
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, f, 2));
	/* So does the piece that fills the last gap of a stream whose end came before. */
	f[2] = frame(9, 0, 100, false, other);
	CU_ASSERT_FALSE(sink.reserve(sink.ctx, &f[2], 1));
	CU_ASSERT(sink.room(sink.ctx) < room);
	CU_ASSERT(ps_tpu_stats(tpu)->refused == 4);
	/* Once the consumer has read, the same packet goes through. */
	for (;;) {
		const struct penstock_feed_record *r[16];

		if (penstock_feed_poll(consumer, r, 16) <= 0)
			break;
		penstock_feed_release(consumer, NULL);
	}
	CU_ASSERT_TRUE_FATAL(sink.reserve(sink.ctx, f, 2));
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f[0]), PS_SINK_MORE);
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f[1]), PS_SINK_DONE);
	expect_record(4096);
	CU_ASSERT_EQUAL(drops.n[PS_DROP_FEED_FULL], 0);
	tear_down();
}

/* What reserve() promised, data() has, in every state of the ring. */
static void
test_promise(void)
{
	uint32_t slot[6];
	unsigned int refused = 0;

	set_up(6, CAPACITY);
	txn[0] = 0x81;
	srand(5);
	for (unsigned int i = 0; i < 6; i++)
		slot[i] = PS_SLOT_NONE;
	for (unsigned int round = 0; round < 5000; round++) {
		const struct penstock_feed_record *r[16];
		struct ps_stream_frame f[6];
		int n;

		for (unsigned int i = 0; i < 6; i++) {
			uint32_t half = 200 + (i * 331) % 1800;

			f[i] = slot[i] == PS_SLOT_NONE && rand() % 2 == 0
				       ? frame(i, 0, half * 2, true, PS_SLOT_NONE)
				       : frame(i, slot[i] == PS_SLOT_NONE ? 0 : half, half,
						 slot[i] != PS_SLOT_NONE, slot[i]);
		}
		if (sink.reserve(sink.ctx, f, 6)) {
			for (unsigned int i = 0; i < 6; i++)
				slot[i] = sink.data(sink.ctx, &peer, &f[i]) == PS_SINK_MORE
						  ? f[i].slot
						  : PS_SLOT_NONE;
		} else {
			refused++;
		}
		ps_feed_publish(&feed);
		n = penstock_feed_poll(consumer, r, (unsigned int)rand() % 8);
		CU_ASSERT_FATAL(n >= 0);
		penstock_feed_release(consumer, NULL);
	}
	CU_ASSERT(refused > 100);
	CU_ASSERT(ps_tpu_stats(tpu)->transactions > 5000);
	CU_ASSERT_EQUAL(drops.n[PS_DROP_FEED_FULL], 0);
	tear_down();
}

static void
set_version(enum ps_txn_version version)
{
	txn[0] = version == PS_TXN_V1 ? 0x81 : 1;
	txn[1] = 1;
	txn[65] = version == PS_TXN_V0 ? 0x80 : 1;
}

static void
test_sizes(void)
{
	static const struct {
		enum ps_txn_version version;
		uint32_t len;
		bool good;
	} rows[] = {
		{PS_TXN_LEGACY, 133, false},
		{PS_TXN_LEGACY, 134, true},
		{PS_TXN_LEGACY, 1232, true},
		{PS_TXN_LEGACY, 1233, false},
		{PS_TXN_LEGACY, 4096, false},
		{PS_TXN_V0, 134, true},
		{PS_TXN_V0, 1232, true},
		{PS_TXN_V0, 1233, false},
		{PS_TXN_V0, 4096, false},
		{PS_TXN_V1, 1, false},
		{PS_TXN_V1, 133, false},
		{PS_TXN_V1, 134, true},
		{PS_TXN_V1, 1232, true},
		{PS_TXN_V1, 1233, true},
		{PS_TXN_V1, 4096, true},
	};
	uint64_t small = 0, large = 0;

	set_up(2, FEED_BYTES);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* In one frame and in two. */
		for (unsigned int pieces = 1; pieces <= 2; pieces++) {
			uint32_t slot = PS_SLOT_NONE, cut = pieces == 1 ? 0 : rows[i].len / 2 + 1;

			set_version(rows[i].version);
			if (cut != 0 && cut < rows[i].len)
				give(i, cut, rows[i].len - cut, true, &slot);
			else
				cut = 0;
			CU_ASSERT_EQUAL(give(i, 0, cut != 0 ? cut : rows[i].len, cut == 0, &slot),
				PS_SINK_DONE);
			if (rows[i].good)
				expect_record(rows[i].len);
			else
				expect_no_record();
			small += rows[i].len < 134;
			large += !rows[i].good && rows[i].len >= 134;
		}
	}
	CU_ASSERT_EQUAL(drops.n[PS_DROP_TPU_UNDERSIZED], small);
	CU_ASSERT_EQUAL(drops.n[PS_DROP_TPU_OVERSIZED], large);
	CU_ASSERT_EQUAL(ps_tpu_free_slots(tpu), 2);
	tear_down();
}

/* What a sound transport never does must still be harmless. */
static void
test_broken_transport(void)
{
	uint32_t slot = PS_SLOT_NONE;
	struct ps_stream_frame f;

	set_up(1, FEED_BYTES);
	f = frame(0, 4000, 97, true, PS_SLOT_NONE);
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f), PS_SINK_DONE);
	f = frame(0, UINT32_MAX, 0, true, PS_SLOT_NONE);
	f.data = txn;
	f.len = 200;
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f), PS_SINK_DONE);
	/* An end before bytes that came: the gap before it may not be filled with a stranger's. */
	CU_ASSERT_EQUAL(give(1, 300, 300, false, &slot), PS_SINK_MORE);
	CU_ASSERT_EQUAL(give(1, 300, 0, true, &slot), PS_SINK_MORE);
	expect_no_record();
	f = frame(2, 0, 100, false, PS_SLOT_NONE); /* no slot, not reserved */
	CU_ASSERT_EQUAL(sink.data(sink.ctx, &peer, &f), PS_SINK_DONE);
	sink.abandon(sink.ctx, slot);
	CU_ASSERT_EQUAL(ps_tpu_free_slots(tpu), 1);
	tear_down();
}

static void
test_look(void)
{
	uint8_t t[400];
	struct ps_txn look;

	memset(t, 1, sizeof(t));
	look = ps_txn_look(t, sizeof(t));
	CU_ASSERT_EQUAL(look.version, PS_TXN_LEGACY);
	CU_ASSERT_EQUAL(look.signature_offset, 1);
	t[0] = 2;
	t[129] = 0x80;
	look = ps_txn_look(t, sizeof(t));
	CU_ASSERT_EQUAL(look.version, PS_TXN_V0);
	CU_ASSERT_EQUAL(look.signature_offset, 1);
	CU_ASSERT_EQUAL(ps_txn_look(t, 129).version, PS_TXN_LEGACY); /* message cut off */
	CU_ASSERT_EQUAL(ps_txn_look(t, 128).signature_offset, PS_TXN_NO_SIGNATURE);
	t[129] = 0x82; /* a version not known */
	CU_ASSERT_EQUAL(ps_txn_look(t, sizeof(t)).version, PS_TXN_LEGACY);
	t[0] = 0;
	CU_ASSERT_EQUAL(ps_txn_look(t, sizeof(t)).signature_offset, PS_TXN_NO_SIGNATURE);
	t[0] = 0x82; /* two bytes: 2 + 0 x 128 */
	t[1] = 0x00;
	CU_ASSERT_EQUAL(ps_txn_look(t, sizeof(t)).signature_offset, 2);
	t[0] = t[1] = t[2] = 0xff; /* a number that never ends */
	CU_ASSERT_EQUAL(ps_txn_look(t, sizeof(t)).signature_offset, PS_TXN_NO_SIGNATURE);
	t[0] = 0x81;
	t[1] = 2;
	look = ps_txn_look(t, sizeof(t));
	CU_ASSERT_EQUAL(look.version, PS_TXN_V1);
	CU_ASSERT_EQUAL(look.signature_offset, sizeof(t) - 128);
	t[1] = 200;
	CU_ASSERT_EQUAL(ps_txn_look(t, sizeof(t)).signature_offset, PS_TXN_NO_SIGNATURE);
	CU_ASSERT_EQUAL(ps_txn_look(t, 1).version, PS_TXN_V1);
	CU_ASSERT_EQUAL(ps_txn_look(t, 0).signature_offset, PS_TXN_NO_SIGNATURE);
}

static void
test_limits(void)
{
	struct ps_tpu_limits limits = {0};

	CU_ASSERT_PTR_NULL(ps_tpu_create(NULL, &limits, &feed, &drops));
	limits.slots = UINT32_MAX;
	CU_ASSERT_PTR_NULL(ps_tpu_create(NULL, &limits, &feed, &drops));
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"whole in one frame", test_whole},
		{"four fragments, every order", test_permutations},
		{"overlaps and duplicates", test_overlap},
		{"random streams, slots used again", test_random_streams},
		{"slots exhausted: all or none", test_pool_exhaustion},
		{"feed full: all or none", test_feed_full},
		{"what reserve promised is there", test_promise},
		{"sizes by version", test_sizes},
		{"a broken transport is harmless", test_broken_transport},
		{"look at a transaction", test_look},
		{"limits out of range", test_limits},
		CU_TEST_INFO_NULL,
	};

	return run_suite("tpu", tests);
}
