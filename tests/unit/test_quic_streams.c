/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Streams in: delivery exactly once, acknowledgements, stream and connection credit. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server s;

static struct raw_peer *
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	return raw_established(&s);
}

static uint64_t
drops(enum ps_drop why)
{
	return s.drops.n[why];
}

static bool
delivered(uint64_t id, size_t len)
{
	const struct raw_stream *r = raw_stream_of(&s, id);

	if (r == NULL || r->delivered != 1 || r->final != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (r->bytes[i] != raw_content(id, i))
			return false;
	return true;
}

static void
test_whole(void)
{
	struct raw_peer *p = start();

	raw_send_stream(p, 2, 0, 1100, true);
	CU_ASSERT_TRUE(delivered(2, 1100));
	raw_send_stream(p, 6, 0, 1, true);
	CU_ASSERT_TRUE(delivered(6, 1));
	CU_ASSERT_EQUAL(s.stats->streams_done, 2);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	raw_server_stop(&s);
}

static void
test_fragments(void)
{
	struct raw_peer *p = start();

	raw_send_stream(p, 2, 3000, 1096, true);
	raw_send_stream(p, 2, 1000, 1000, false);
	raw_send_stream(p, 2, 900, 600, false);
	CU_ASSERT_EQUAL(s.stats->streams_open, 1);
	raw_send_stream(p, 2, 2000, 1000, false);
	CU_ASSERT_EQUAL(s.delivered, 0);
	raw_send_stream(p, 2, 0, 1000, false);
	CU_ASSERT_TRUE(delivered(2, 4096));
	/* the end alone, in a frame without bytes */
	raw_send_stream(p, 6, 0, 200, false);
	raw_send_stream(p, 6, 200, 0, true);
	CU_ASSERT_TRUE(delivered(6, 200));
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	raw_server_stop(&s);
}

static void
test_twice_is_once(void)
{
	uint8_t frame[300], buf[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n;

	n = ps_frame_stream_put(frame, sizeof(frame), 2, 0, (const uint8_t *)"hello", 5, true);
	n = raw_packet(p, PS_LEVEL_APP, frame, n, NULL, buf);
	raw_send_bytes(p, buf, n);
	raw_send_bytes(p, buf, n);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DUPLICATE), 1);
	/* under another packet number: whole, and a part */
	raw_send_stream(p, 2, 0, 5, true);
	raw_send_stream(p, 2, 0, 3, false);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_STREAM_DONE), 2);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	raw_server_stop(&s);
}

static bool
acked(const struct raw_peer *p, uint64_t pn)
{
	for (unsigned int i = 0; i < p->n_frames; i++) {
		const struct ps_ack *ack = &p->frame[i].f.ack;
		const uint8_t *cursor;
		struct ps_range r;

		if (p->frame[i].f.type != PS_FRAME_ACK || p->frame[i].pkt != PS_PKT_1RTT)
			continue;
		cursor = ack->ranges;
		for (uint64_t k = 0; k <= ack->range_count; k++) {
			ps_ack_range(ack, k, &cursor, &r);
			if (r.lo <= pn && pn <= r.hi)
				return true;
		}
	}
	return false;
}

static void
test_refused_is_never_received(void)
{
	uint8_t frame[1200], buf[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	uint64_t pn = p->next_pn[PS_LEVEL_APP];
	size_t n, m;

	n = ps_frame_stream_put(frame, sizeof(frame), 2, 0, (const uint8_t *)"hello", 5, true);
	n += ps_frame_stream_put(
		frame + n, sizeof(frame) - n, 6, 0, (const uint8_t *)"part", 4, false);
	m = raw_packet(p, PS_LEVEL_APP, frame, n, NULL, buf);
	s.refuse = true;
	raw_send_bytes(p, buf, m);
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_SINK_FULL), 1);
	CU_ASSERT_EQUAL(s.n_streams, 0);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_TRUE(acked(p, pn + 1));
	CU_ASSERT_FALSE(acked(p, pn));
	s.refuse = false;
	raw_send_bytes(p, buf, m);
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(s.stats->streams_open, 1);
	CU_ASSERT_TRUE(acked(p, pn));
	raw_server_stop(&s);
}

static void
test_ack_ranges(void)
{
	static const uint64_t pns[] = {1, 2, 5, 6, 9};
	static const struct ps_range want[] = {{9, 9}, {5, 6}, {0, 2}};
	struct raw_peer *p = start();
	const struct raw_frame *f;
	const uint8_t *cursor;
	struct ps_range r;

	CU_ASSERT_EQUAL_FATAL(p->next_pn[PS_LEVEL_APP], 1);
	for (size_t i = 0; i < sizeof(pns) / sizeof(pns[0]); i++)
		raw_send_how(p, PS_LEVEL_APP, "\x01", 1,
			&(struct raw_how){.set_pn = true, .pn = pns[i]});
	f = raw_last(p, PS_FRAME_ACK);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL_FATAL(f->f.ack.range_count, 2);
	cursor = f->f.ack.ranges;
	for (uint64_t i = 0; i <= 2; i++) {
		ps_ack_range(&f->f.ack, i, &cursor, &r);
		CU_ASSERT_TRUE(r.lo == want[i].lo && r.hi == want[i].hi);
	}
	raw_server_stop(&s);
}

static void
test_ack_times(void)
{
	struct raw_peer *p = start();
	uint64_t sent_ns;

	raw_run(&s, 10 * PS_MS_NS + 300 * PS_US_NS); /* not at a tick of any clock */
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	sent_ns = s.now_ns;
	raw_run(&s, 15 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 0);
	raw_run(&s, 15 * PS_MS_NS);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_ACK), 1);
	CU_ASSERT_TRUE(raw_nth(p, PS_FRAME_ACK, 0)->at_ns - sent_ns <= 25 * PS_MS_NS);
	/* the delay is reported, in units of 8 us */
	CU_ASSERT_EQUAL(raw_nth(p, PS_FRAME_ACK, 0)->f.ack.delay,
		(raw_nth(p, PS_FRAME_ACK, 0)->at_ns - sent_ns) / PS_US_NS / 8);
	/* the second one within a millisecond, with what else has come by then */
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_run(&s, 10 * PS_MS_NS);
	for (int i = 0; i < 6; i++)
		raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 1);
	sent_ns = s.now_ns;
	raw_run(&s, 2 * PS_MS_NS);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_ACK), 2);
	CU_ASSERT_TRUE(raw_nth(p, PS_FRAME_ACK, 1)->at_ns - sent_ns <= PS_MS_NS);
	CU_ASSERT_EQUAL(raw_nth(p, PS_FRAME_ACK, 1)->f.ack.largest, p->next_pn[PS_LEVEL_APP] - 1);
	/* the eighth at once; the entries that stood for the others are old ones then */
	for (int i = 0; i < 8; i++)
		raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 3);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	sent_ns = s.now_ns;
	raw_run(&s, 5 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 3);
	raw_run(&s, 25 * PS_MS_NS);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_ACK), 4);
	CU_ASSERT_TRUE(raw_nth(p, PS_FRAME_ACK, 3)->at_ns - sent_ns <= 25 * PS_MS_NS);
	/* out of order: at once */
	p->next_pn[PS_LEVEL_APP] += 3;
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 5);
	/* packets that ask for nothing get nothing, ever */
	raw_ack(p, PS_LEVEL_APP);
	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 5);
	raw_server_stop(&s);
}

static void
test_reset(void)
{
	static const uint8_t reset[] = {PS_FRAME_RESET_STREAM, 2, 0, 0x47, 0xd0}; /* ends at 2000 */
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.conn_bytes = 3000;
	raw_server_start(&s);
	p = raw_established(&s);
	raw_send_stream(p, 2, 0, 1000, false);
	raw_send(p, PS_LEVEL_APP, reset, sizeof(reset));
	CU_ASSERT_EQUAL(raw_stream_of(&s, 2)->abandoned, 1);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_EQUAL(s.stats->streams_done, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_STREAM_RESET), 1);
	/* its 2000 bytes count: the window moved on from there */
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw_last(p, PS_FRAME_MAX_DATA));
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_MAX_DATA)->f.limit.max, 5000);
	raw_send(p, PS_LEVEL_APP, reset, sizeof(reset));
	raw_send_stream(p, 2, 0, 1000, false);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static void
test_max_data_moves(void)
{
	uint64_t limit = 6000, sent = 0;
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.conn_bytes = 6000;
	raw_server_start(&s);
	p = raw_established(&s);
	for (uint64_t i = 0; i < 100; i++) {
		CU_ASSERT_TRUE_FATAL(sent + 1000 <= limit);
		raw_send_stream(p, i << 2 | 2, 0, 1000, true);
		sent += 1000;
		if (raw_last(p, PS_FRAME_MAX_DATA) != NULL)
			limit = raw_last(p, PS_FRAME_MAX_DATA)->f.limit.max;
		CU_ASSERT_TRUE(limit <= sent + 6000);
		raw_ack(p, PS_LEVEL_APP);
	}
	CU_ASSERT_EQUAL(s.delivered, 100);
	/* a limit that is lost comes again, by the probe */
	raw_peer_clear(p);
	for (uint64_t i = 100; raw_count(p, PS_FRAME_MAX_DATA) == 0 && i < 110; i++)
		raw_send_stream(p, i << 2 | 2, 0, 1000, true);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_MAX_DATA), 1);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_MAX_DATA) > 1);
	raw_server_stop(&s);
}

/* One stream after the other, never above what was granted and never with more than the window
 * open, and no end to it. */
static void
test_credit_rolls(void)
{
	uint64_t granted = 16;
	struct raw_peer *p = start();

	for (uint64_t i = 0; i < 900; i++) {
		CU_ASSERT_TRUE_FATAL(i < granted);
		raw_send_stream(p, i << 2 | 2, 0, 200, true);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		CU_ASSERT_TRUE(granted <= i + 1 + 16);
		if (i % 8 == 0) {
			raw_ack(p, PS_LEVEL_APP);
			raw_peer_clear(p);
		}
	}
	CU_ASSERT_EQUAL(s.delivered, 900);
	CU_ASSERT_EQUAL(s.stats->streams_done, 900);
	raw_server_stop(&s);
}

/* The first stream stays open: the others go on until the window of finished streams ends. */
static void
test_credit_behind_an_open_stream(void)
{
	uint64_t granted = 16, i;
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.stream_deadline_ms = 60000;
	raw_server_start(&s);
	p = raw_established(&s);
	raw_send_stream(p, 2, 0, 10, false);
	for (i = 1; i < granted && i < 1020; i++) {
		raw_send_stream(p, i << 2 | 2, 0, 10, true);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		raw_ack(p, PS_LEVEL_APP);
		if (i % 8 == 0)
			raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(s.delivered, i - 1);
	CU_ASSERT_TRUE(i >= 1020 && granted <= 1024);
	raw_send_stream(p, 2, 10, 10, true);
	CU_ASSERT_TRUE(delivered(2, 20));
	CU_ASSERT_TRUE(raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max > 1024);
	raw_server_stop(&s);
}

static void
test_credit_follows_room(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.room = 0;
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_MAX_STREAMS_UNI), 0);
	CU_ASSERT_TRUE(s.stats->credit_refused > 0);
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_MAX_STREAMS_UNI), 0);
	s.room = 1;
	raw_run(&s, 10 * PS_MS_NS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw_last(p, PS_FRAME_MAX_STREAMS_UNI));
	CU_ASSERT_TRUE(raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max < 16);
	s.room = 1000;
	raw_send_stream(p, 2, 0, 200, true);
	raw_run(&s, 10 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max, 17);
	raw_server_stop(&s);
}

static void
test_slow_stream(void)
{
	struct raw_peer *p = start();

	raw_send_stream(p, 2, 0, 10, false);
	raw_run(&s, 1000 * PS_MS_NS);
	raw_send_stream(p, 2, 10, 10, false); /* the deadline is of the first byte */
	raw_send_stream(p, 6, 0, 10, false);
	raw_run(&s, 1100 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_stream_of(&s, 2)->abandoned, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_STREAM_LATE), 1);
	CU_ASSERT_TRUE_FATAL(raw_count(p, PS_FRAME_STOP_SENDING) > 0);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_STOP_SENDING)->f.reset.id, 2);
	CU_ASSERT_EQUAL(s.stats->streams_open, 1);
	raw_send_stream(p, 2, 20, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 0);
	raw_send_stream(p, 6, 10, 10, true);
	CU_ASSERT_TRUE(delivered(6, 20));
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static void
test_stream_table_full(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.limits.streams = 2;
	raw_server_start(&s);
	p = raw_established(&s);
	raw_send_stream(p, 2, 0, 10, false);
	raw_send_stream(p, 6, 0, 10, false);
	raw_send_stream(p, 10, 0, 10, false);
	CU_ASSERT_EQUAL(s.stats->streams_open, 2);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_SINK_FULL), 1);
	raw_send_stream(p, 14, 0, 10, true); /* whole: needs no entry */
	CU_ASSERT_TRUE(delivered(14, 10));
	raw_send_stream(p, 2, 10, 10, true);
	raw_send_stream(p, 10, 0, 10, false);
	raw_send_stream(p, 10, 10, 10, true);
	CU_ASSERT_TRUE(delivered(2, 20) && delivered(10, 20));
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static void
test_other_address(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	struct ps_flow4 flow = p->flow;
	size_t n = raw_packet(p, PS_LEVEL_APP, "\x0b\x02\x01x", 4, NULL, buf);

	flow.sport_be ^= 0x0100;
	raw_inject(&s, flow, buf, n);
	flow = p->flow;
	flow.saddr_be ^= 0x01000000;
	raw_inject(&s, flow, buf, n);
	CU_ASSERT_EQUAL(s.delivered, 1); /* authentic wherever it comes from, but only once */
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DUPLICATE), 1);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.unrouted, 1); /* the challenge to the first new address */
	CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
	raw_run(&s, 25 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 1); /* still at the old address */
	raw_server_stop(&s);
}

/* The same stream ids on many connections are different streams, also when there are more
 * connections than places in the stream table. */
static void
test_same_ids_on_many_connections(void)
{
	struct raw_peer *p[16];
	uint8_t frame[] = {0x0e, 0, 0, 1, 0};

	raw_server_defaults(&s);
	s.limits.conns = 72;
	raw_server_start(&s);
	for (unsigned int i = 0; i < 72; i++) {
		struct raw_peer *one = raw_established(&s);

		if (i < 8 || i >= 64)
			p[i < 8 ? i : i - 56] = one;
	}
	for (uint8_t part = 0; part < 3; part++)
		for (uint8_t id = 2; id < 18; id += 4)
			for (uint8_t i = 0; i < 16; i++) {
				frame[0] = part == 2 ? 0x0f : 0x0e;
				frame[1] = id;
				frame[2] = part;
				frame[4] = i;
				raw_send(p[i], PS_LEVEL_APP, frame, sizeof(frame));
			}
	CU_ASSERT_EQUAL(s.delivered, 64);
	CU_ASSERT_EQUAL(s.n_streams, 64);
	for (unsigned int i = 0; i < s.n_streams; i++) {
		const struct raw_stream *r = &s.stream[i];

		CU_ASSERT_TRUE(r->bytes[0] == r->bytes[1] && r->bytes[1] == r->bytes[2]);
	}
	raw_server_stop(&s);
}

/* One whole stream of one byte, in a packet that is only made. */
static size_t
make_packet(struct raw_peer *p, uint64_t id, uint8_t *buf)
{
	uint8_t frame[32];
	size_t n = ps_frame_stream_put(frame, sizeof(frame), id, 0, (const uint8_t *)"x", 1, true);

	return raw_packet(p, PS_LEVEL_APP, frame, n, NULL, buf);
}

static void
test_key_update(void)
{
	uint8_t early[2][PS_UDP_PAYLOAD_MAX], bad[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n[2], m;

	n[0] = make_packet(p, 2, early[0]);
	n[1] = make_packet(p, 6, early[1]);
	raw_key_update(p);
	m = make_packet(p, 10, bad);
	bad[m - 1] ^= 1;
	raw_send_bytes(p, bad, m);
	CU_ASSERT_EQUAL(s.stats->key_updates, 0);
	raw_send_stream(p, 14, 0, 100, true);
	CU_ASSERT_TRUE(delivered(14, 100));
	CU_ASSERT_EQUAL(s.stats->key_updates, 1);
	/* the answers are under the new keys, and number 1 under the old ones still counts */
	CU_ASSERT_EQUAL(p->undecoded, 0);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_ACK) > 0);
	raw_send_bytes(p, early[0], n[0]);
	CU_ASSERT_EQUAL(s.delivered, 2);
	/* but not for long */
	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DECRYPT), 1);
	raw_send_bytes(p, early[1], n[1]);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DECRYPT), 2);
	CU_ASSERT_EQUAL(s.delivered, 2);
	for (uint64_t id = 18; id < 42; id += 4) {
		raw_key_update(p);
		raw_send_stream(p, id, 0, 100, true);
		CU_ASSERT_TRUE(delivered(id, 100));
	}
	CU_ASSERT_EQUAL(s.stats->key_updates, 7);
	CU_ASSERT_EQUAL(p->undecoded, 0);
	raw_server_stop(&s);
}

/* A packet newer than those of the new phase, under the old keys. */
static void
test_key_update_undone(void)
{
	uint8_t old[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n;

	p->next_pn[PS_LEVEL_APP] += 10;
	n = make_packet(p, 2, old);
	p->next_pn[PS_LEVEL_APP] -= 11;
	raw_key_update(p);
	raw_send_stream(p, 6, 0, 100, true);
	CU_ASSERT_EQUAL(s.stats->key_updates, 1);
	raw_send_bytes(p, old, n);
	raw_pump(&s);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_KEY_UPDATE_ERROR, 0));
	CU_ASSERT_EQUAL(s.delivered, 1);
	raw_server_stop(&s);
}

/* A stream that was never begun while a thousand later ones were: given up after the deadline, so
 * that it does not end all credit. */
static void
test_stream_never_begun(void)
{
	uint64_t granted = 16, i;
	struct raw_peer *p = start();

	for (i = 1; i < granted && i < 1100; i++) {
		raw_send_stream(p, i << 2 | 2, 0, 10, true);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		raw_ack(p, PS_LEVEL_APP);
		if (i % 8 == 0)
			raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(granted, 1024);
	CU_ASSERT_EQUAL(s.delivered, 1023);
	raw_run(&s, 3 * PS_SEC_NS);
	CU_ASSERT_TRUE(raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max > 1024);
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw_last(p, PS_FRAME_STOP_SENDING)); /* the peer is told */
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_STOP_SENDING)->f.reset.id, 2);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_STREAM_DONE), 1);
	raw_send_stream(p, 1024 << 2 | 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1024);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"a stream in one frame", test_whole},
	{"fragments in any order", test_fragments},
	{"twice is once", test_twice_is_once},
	{"refused is never received", test_refused_is_never_received},
	{"ACK ranges", test_ack_ranges},
	{"ACK times", test_ack_times},
	{"RESET_STREAM is accounted", test_reset},
	{"MAX_DATA moves on and comes again", test_max_data_moves},
	{"stream credit rolls", test_credit_rolls},
	{"stream credit behind an open stream", test_credit_behind_an_open_stream},
	{"stream credit follows room", test_credit_follows_room},
	{"a slow stream ends alone", test_slow_stream},
	{"stream table full", test_stream_table_full},
	{"1-RTT from another address", test_other_address},
	{"the same ids on many connections", test_same_ids_on_many_connections},
	{"key updates are followed", test_key_update},
	{"key update undone", test_key_update_undone},
	{"a stream that is never begun", test_stream_never_begun},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_streams", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
