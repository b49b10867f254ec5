/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The two shortcuts of the receive path. Packets of whole streams take a straight path: the same
 * packets go to two servers, once as they are and once behind a PADDING frame, which sends them the
 * general way, and both must come to the same. And acknowledgements wait in two queues with one
 * entry a connection: none may be late, whatever the queues still hold from before. */

#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

#define ACK_MAX_NS (25 * PS_MS_NS)
#define ROUNDS     60
#define PACKETS    400

static struct raw_server s, other;

/* -- the straight path against the general one -- */

static uint64_t rng;
static unsigned int compared; /* streams delivered */

static uint64_t
draw(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

static size_t
put_stream(uint8_t *at, size_t cap, uint64_t id, uint64_t offset, size_t len, bool fin)
{
	uint8_t bytes[4096];

	for (size_t i = 0; i < len; i++)
		bytes[i] = raw_content(id, offset + i);
	return ps_frame_stream_put(at, cap, id, offset, bytes, len, fin);
}

/* Mostly whole streams in order; now and then what the straight path must leave alone: a stream
 * again or twice in the packet, a piece, or ids left out. */
static size_t
make_packet(uint8_t *text, size_t cap, unsigned int frames, uint64_t *next, uint64_t limit)
{
	size_t n = 0;

	while (frames-- > 0 && (n == 0 || *next < limit)) {
		uint64_t id = 4 * (*next)++ + 2, odd = draw(400);

		if (odd < 12 && *next > 3)
			id -= 4 * draw(3);
		else if (odd < 18 && *next + 3 < limit)
			*next += draw(3);
		n += put_stream(text + n, cap - n, id, odd >= 20 && odd < 26 ? 7 : 0, 1 + draw(200),
			odd < 26 || odd > 32);
	}
	return n;
}

static void
same_counts(void)
{
	CU_ASSERT_EQUAL(s.delivered, other.delivered);
	CU_ASSERT_EQUAL(s.n_streams, other.n_streams);
	CU_ASSERT_EQUAL(s.closed, other.closed);
	CU_ASSERT_EQUAL(s.why.code, other.why.code);
	CU_ASSERT_EQUAL(s.why.app, other.why.app);
	CU_ASSERT_EQUAL(s.why.frame_type, other.why.frame_type);
	CU_ASSERT_EQUAL(s.stats->packets_rx, other.stats->packets_rx);
	CU_ASSERT_EQUAL(s.stats->streams_done, other.stats->streams_done);
	CU_ASSERT_EQUAL(s.stats->streams_open, other.stats->streams_open);
	CU_ASSERT_EQUAL(s.stats->ecn_ce, other.stats->ecn_ce);
	CU_ASSERT_EQUAL(memcmp(s.drops.n, other.drops.n, sizeof(s.drops.n)), 0);
}

static void
same_streams(void)
{
	for (unsigned int i = 0; i < s.n_streams && i < other.n_streams; i++) {
		const struct raw_stream *a = &s.stream[i], *b = &other.stream[i];

		CU_ASSERT_TRUE(a->id == b->id && a->final == b->final && a->filled == b->filled &&
			       a->delivered == b->delivered &&
			       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0);
	}
}

static void
same_ack(const struct raw_frame *x, const struct raw_frame *y)
{
	CU_ASSERT_EQUAL(x == NULL, y == NULL);
	if (x == NULL || y == NULL)
		return;
	CU_ASSERT_EQUAL(x->f.ack.largest, y->f.ack.largest);
	CU_ASSERT_EQUAL(x->f.ack.first_range, y->f.ack.first_range);
	CU_ASSERT_EQUAL(x->f.ack.range_count, y->f.ack.range_count);
	CU_ASSERT_EQUAL(x->f.ack.ect0, y->f.ack.ect0);
	CU_ASSERT_EQUAL(x->f.ack.ce, y->f.ack.ce);
}

static uint64_t
limit_of(const struct raw_peer *p, unsigned int type, uint64_t first)
{
	const struct raw_frame *f = raw_last(p, type);

	return f == NULL ? first : f->f.limit.max;
}

/* Acknowledgements and credit. With several frames in a packet the straight path looks at stream
 * credit once, the general one after each: a step may come a few streams, and its packet with an
 * acknowledgement in it some packets, apart. */
static void
same_answers(const struct raw_peer *a, const struct raw_peer *b, unsigned int frames)
{
	uint64_t x = limit_of(a, PS_FRAME_MAX_STREAMS_UNI, 0);
	uint64_t y = limit_of(b, PS_FRAME_MAX_STREAMS_UNI, 0);

	if (s.closed == 0)
		same_ack(raw_last(a, PS_FRAME_ACK_ECN), raw_last(b, PS_FRAME_ACK_ECN));
	CU_ASSERT_EQUAL(limit_of(a, PS_FRAME_MAX_DATA, 0), limit_of(b, PS_FRAME_MAX_DATA, 0));
	if (frames > 1) {
		CU_ASSERT_TRUE(x < y + s.config.stream_window / 8 + frames &&
			       y < x + s.config.stream_window / 8 + frames);
		return;
	}
	CU_ASSERT_EQUAL(x, y);
	CU_ASSERT_EQUAL(s.stats->acks_tx, other.stats->acks_tx);
	CU_ASSERT_EQUAL(raw_count(a, PS_FRAME_ACK_ECN), raw_count(b, PS_FRAME_ACK_ECN));
	for (unsigned int i = 0; i < raw_count(a, PS_FRAME_ACK_ECN); i++) {
		const struct raw_frame *f = raw_nth(a, PS_FRAME_ACK_ECN, i);
		const struct raw_frame *g = raw_nth(b, PS_FRAME_ACK_ECN, i);

		same_ack(f, g);
		CU_ASSERT_TRUE(g != NULL && f->at_ns == g->at_ns);
	}
}

static struct raw_peer *
begin(struct raw_server *server, uint32_t window, uint64_t conn_bytes)
{
	struct raw_peer *p;

	raw_server_defaults(server);
	server->config.stream_window = window;
	server->config.conn_bytes = conn_bytes;
	raw_server_start(server);
	p = raw_peer_new(server, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_ack(p, PS_LEVEL_APP);
	raw_run(server, 100 * PS_MS_NS);
	raw_peer_clear(p);
	server->n_streams = 0;
	return p;
}

/* One packet in two forms, and sometimes a while after it. */
static void
send_both(struct raw_peer *a, struct raw_peer *b, const uint8_t *text, size_t len,
	const struct raw_how *how)
{
	s.refuse = other.refuse = draw(30) == 0;
	s.ecn = other.ecn = draw(10) == 0 ? 3 : 2;
	raw_send_how(a, PS_LEVEL_APP, text + 1, len, how);
	raw_send_how(b, PS_LEVEL_APP, text, len + 1, how);
	if (draw(4) == 0) {
		uint64_t ns = draw(3 * PS_MS_NS);

		raw_run(&s, ns);
		raw_run(&other, ns);
	}
}

/* A client that sends one frame a packet minds no limit: it is closed for the same. */
static void
compare(uint32_t window, uint64_t conn_bytes, unsigned int frames)
{
	uint8_t text[1300] = {PS_FRAME_PADDING};
	struct raw_peer *a = begin(&s, window, conn_bytes);
	struct raw_peer *b = begin(&other, window, conn_bytes);
	struct raw_how how = {.set_pn = true, .pn = a->next_pn[PS_LEVEL_APP]};
	uint64_t next = 0;

	CU_ASSERT_EQUAL_FATAL(a->next_pn[PS_LEVEL_APP], b->next_pn[PS_LEVEL_APP]);
	for (unsigned int i = 0; i < PACKETS && s.n_streams < RAW_STREAMS - 8; i++) {
		uint64_t x = limit_of(a, PS_FRAME_MAX_STREAMS_UNI, window);
		uint64_t y = limit_of(b, PS_FRAME_MAX_STREAMS_UNI, window);
		uint64_t limit = x < y ? x : y, odd = draw(40);

		if (frames > 1 && next >= limit)
			break;
		if (odd == 0)
			how.pn += draw(4); /* a gap */
		else if (odd == 1 && how.pn > 12)
			how.pn -= draw(4); /* late, or a copy */
		send_both(a, b, text,
			make_packet(text + 1, 1200, 1 + (unsigned int)draw(frames), &next, limit),
			&how);
		how.pn++;
	}
	raw_run(&s, 30 * PS_MS_NS);
	raw_run(&other, 30 * PS_MS_NS);
	same_counts();
	same_streams();
	same_answers(a, b, frames);
	compared += s.delivered;
	raw_server_stop(&s);
	raw_server_stop(&other);
}

static void
test_same(void)
{
	static const uint32_t window[] = {1, 7, 16, 100, 512};
	static const uint64_t conn_bytes[] = {20000, 8 << 20, 380};

	rng = 88172645463325252u;
	compared = 0;
	for (unsigned int i = 0; i < ROUNDS; i++)
		compare(window[i % 5], conn_bytes[i % 3], i % 2 == 0 ? 1 : 5);
	CU_ASSERT_TRUE(compared > ROUNDS * 100);
}

/* RFC 9000 section 17.3.1: whatever the packet carries. */
static void
test_reserved_bits(void)
{
	for (uint8_t bits = 0x08; bits <= 0x18; bits += 8) {
		struct raw_how how = {.first_byte_xor = bits};
		struct raw_peer *p = begin(&s, 16, 8 << 20);

		raw_send_how(p, PS_LEVEL_APP, "\x0b\x02\x01x", 4, &how);
		CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0));
		CU_ASSERT_EQUAL(s.delivered, 0);
		raw_server_stop(&s);
	}
}

/* -- acknowledgements -- */

static void
ping(struct raw_peer *p)
{
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
}

static struct raw_peer *
start(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_established(&s);
	raw_run(&s, 50 * PS_MS_NS);
	return p;
}

/* Eight are acknowledged at once, which leaves the entry of the first behind. */
static void
leave_entry(struct raw_peer *p)
{
	for (int i = 0; i < 8; i++)
		ping(p);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_ACK) > 0);
	raw_peer_clear(p);
}

/* The acknowledgement comes within the delay that we promise. */
static void
acked_in_time(struct raw_peer *p, uint64_t sent_ns)
{
	const struct raw_frame *ack = raw_nth(p, PS_FRAME_ACK, 0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(ack);
	CU_ASSERT_EQUAL(ack->f.ack.largest, p->next_pn[PS_LEVEL_APP] - 1);
	CU_ASSERT_TRUE(ack->at_ns - sent_ns <= ACK_MAX_NS);
}

/* One more packet comes shortly before the acknowledgement is due, with an older entry filed. */
static void
test_ack_second_late(void)
{
	for (uint64_t us = 22000; us < 24600; us += 100) {
		struct raw_peer *p = start();
		uint64_t sent_ns;

		leave_entry(p);
		raw_run(&s, 500 * PS_US_NS);
		ping(p);
		sent_ns = s.now_ns;
		raw_run(&s, us * PS_US_NS);
		if (raw_count(p, PS_FRAME_ACK) == 0)
			ping(p);
		raw_run(&s, 20 * PS_MS_NS);
		acked_in_time(p, sent_ns);
		raw_server_stop(&s);
	}
}

/* An older entry comes up while others wait in the queue for longer than it may. */
static void
test_ack_behind_others(void)
{
	for (uint64_t ms = 1; ms < 24; ms++) {
		struct raw_peer *p = start(), *q;
		uint64_t sent_ns;

		q = raw_peer_new(&s, NULL);
		CU_ASSERT_TRUE_FATAL(raw_handshake(q));
		raw_ack(q, PS_LEVEL_APP);
		raw_run(&s, 50 * PS_MS_NS);
		leave_entry(p);
		raw_run(&s, ms * PS_MS_NS);
		ping(p);
		sent_ns = s.now_ns;
		raw_run(&s, (24 - ms) * PS_MS_NS - 100 * PS_US_NS);
		ping(q);
		raw_run(&s, 40 * PS_MS_NS);
		acked_in_time(p, sent_ns);
		raw_server_stop(&s);
	}
}

/* A place that is used again may still have entries of the connection before. */
static void
test_ack_slot_reused(void)
{
	struct raw_peer *p, *q;
	uint64_t sent_ns;

	raw_server_defaults(&s);
	s.limits.conns = s.limits.handshakes = 1;
	raw_server_start(&s);
	for (int i = 0; i < 100; i++) { /* more often than a queue has places */
		p = raw_peer_new(&s, NULL);
		CU_ASSERT_TRUE_FATAL(raw_handshake(p));
		ping(p);
		ping(p); /* an entry in each queue */
		raw_send(p, PS_LEVEL_APP, "\x1d\x00\x00", 3);
		while (s.closed <= (unsigned int)i || s.stats->conns_open > 0)
			raw_run(&s, PS_MS_NS);
		raw_run(&s,
			PS_SEC_NS * (i % 2)); /* the place is free by then, or its entries are */
		raw_run(&s, 5 * PS_SEC_NS);
		raw_peer_free(p);
		s.n_peers = 0;
	}
	q = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(q));
	raw_ack(q, PS_LEVEL_APP);
	raw_run(&s, 50 * PS_MS_NS);
	raw_peer_clear(q);
	ping(q);
	sent_ns = s.now_ns;
	raw_run(&s, 30 * PS_MS_NS);
	acked_in_time(q, sent_ns);
	CU_ASSERT_EQUAL(raw_count(q, PS_FRAME_ACK), 1);
	raw_server_stop(&s);
}

/* Random packets of several connections, more of them than a power of two: none is late, and the
 * queues hold all. */
static void
test_ack_many(void)
{
	struct raw_peer *p[5];
	uint64_t owed_ns[5] = {0};

	raw_server_defaults(&s);
	s.limits.conns = s.limits.handshakes = 5;
	raw_server_start(&s);
	for (int i = 0; i < 5; i++) {
		p[i] = raw_peer_new(&s, NULL);
		CU_ASSERT_TRUE_FATAL(raw_handshake(p[i]));
		raw_ack(p[i], PS_LEVEL_APP);
	}
	raw_run(&s, 100 * PS_MS_NS);
	for (int i = 0; i < 5; i++)
		raw_peer_clear(p[i]);
	rng = 4711;
	for (int step = 0; step < 20000; step++) {
		int i = (int)draw(5);

		if (draw(3) == 0)
			raw_run(&s, draw(draw(4) == 0 ? 30 * PS_MS_NS : PS_MS_NS));
		for (int k = 0; k < 5; k++) {
			if (raw_count(p[k], PS_FRAME_ACK) > 0) {
				const struct raw_frame *f = raw_nth(p[k], PS_FRAME_ACK, 0);

				CU_ASSERT_TRUE(
					owed_ns[k] != 0 && f->at_ns - owed_ns[k] <= ACK_MAX_NS);
				owed_ns[k] = 0;
			}
			CU_ASSERT_TRUE(owed_ns[k] == 0 || s.now_ns - owed_ns[k] <= ACK_MAX_NS);
			raw_peer_clear(p[k]);
		}
		if (owed_ns[i] == 0)
			owed_ns[i] = s.now_ns;
		ping(p[i]);
	}
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"the straight path comes to the same", test_same},
	{"reserved bits on the straight path", test_reserved_bits},
	{"a second packet shortly before the ACK", test_ack_second_late},
	{"an ACK is not late behind others", test_ack_behind_others},
	{"entries of a connection before", test_ack_slot_reused},
	{"no ACK of many is late", test_ack_many},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic_whole", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
