/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Rows about frames of an established connection. */

#include "hostile.h"

#define F(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define MAX62  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff

/* One packet on a connection of its own ends it with this error. */
static void
closes(uint64_t code, const uint8_t *frames, size_t len)
{
	struct raw_peer *p = raw_established(&s);
	const struct raw_frame *f;

	raw_send(p, PS_LEVEL_APP, frames, len);
	f = raw_last(p, PS_FRAME_CONNECTION_CLOSE);
	CU_ASSERT_TRUE(f != NULL && f->f.close.error == code);
}

/* Acknowledgements are withheld, so that answers could pile up. */
static void
row_1(void)
{
	struct raw_peer *p = hostile_peer();
	uint64_t sent = s.stats->datagrams_tx;
	unsigned int n;

	n = hostile_flood(p, F(0x1a, 1, 2, 3, 4, 5, 6, 7, 8), 20000);
	CU_ASSERT_TRUE(n > 9000 && n < 11000);
	CU_ASSERT_TRUE(s.stats->datagrams_tx - sent <= n);
	CU_ASSERT_EQUAL(s.why.code, PS_QUIC_PROTOCOL_VIOLATION);
	hostile_settle();
}

static void
send_id(struct raw_peer *p, uint8_t seq, uint8_t prior)
{
	uint8_t frame[4 + 5 + 16] = {PS_FRAME_NEW_CONNECTION_ID, seq, prior, 5};

	memset(frame + 4, 0x90 + seq, 5);
	p->scid_was = p->scid;
	memcpy(p->scid.id, frame + 4, 5);
	raw_send(p, PS_LEVEL_APP, frame, sizeof(frame));
}

static void
row_2(void)
{
	struct raw_peer *p = hostile_peer();
	uint8_t seq = 1;

	while (seq < 63 && s.closed == 0) {
		send_id(p, seq, seq);
		seq++;
	}
	CU_ASSERT_TRUE(seq < 48);
	CU_ASSERT_EQUAL(s.why.code, PS_QUIC_CONNECTION_ID_LIMIT_ERROR);
	hostile_settle();
}

static void
row_4(void)
{
	struct raw_peer *p;

	hostile_defaults();
	hostile_start();
	closes(PS_QUIC_PROTOCOL_VIOLATION, F(0x1e));
	p = raw_peer_new(&s, NULL);
	hostile_hello(p);
	CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 0); /* no Finished came yet */
	raw_send(p, PS_LEVEL_HANDSHAKE, F(0x1e));
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0x1e));
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 0);
	hostile_settle();
}

/* A late packet below everything that was acknowledged and forgotten: there is no range to send. */
static void
row_6(void)
{
	uint8_t frame[64] = {PS_FRAME_PING};
	struct raw_how how = {.set_pn = true, .pn = 5};
	struct raw_peer *p = hostile_peer();

	p->next_pn[PS_LEVEL_APP] = 10;
	raw_send_stream(p, 2, 0, 10, true);
	raw_send_stream(p, 6, 0, 10, true);
	raw_send_how(p, PS_LEVEL_APP, frame,
		1 + ps_frame_ack_put(frame + 1, sizeof(frame) - 1, &p->got[PS_LEVEL_APP], 0), &how);
	raw_run(&s, PS_SEC_NS); /* raw_peer checks that no packet is without frames */
	raw_send(p, PS_LEVEL_APP, F(1));
	raw_send(p, PS_LEVEL_APP, F(1));
	raw_run(&s, 2 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->f.ack.largest, 13);
	hostile_settle();
}

static void
row_7(void)
{
	struct raw_peer *p = hostile_peer();

	for (unsigned int i = 0; i < 5000; i++) {
		raw_peer_clear(p);
		p->next_pn[PS_LEVEL_APP]++;
		raw_send(p, PS_LEVEL_APP, F(1));
		if (raw_last(p, PS_FRAME_ACK) == NULL)
			continue;
		CU_ASSERT_TRUE(raw_last(p, PS_FRAME_ACK)->f.ack.range_count < 64);
		CU_ASSERT_TRUE(raw_last(p, PS_FRAME_ACK)->size <= 1200);
	}
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->f.ack.largest, p->next_pn[PS_LEVEL_APP] - 1);
	hostile_settle();
}

static void
row_9(void)
{
	static const uint8_t ack[] = {0x02, 30, 0, 0, 0};
	struct raw_peer *p;

	hostile_defaults();
	hostile_start();
	closes(PS_QUIC_PROTOCOL_VIOLATION, ack, sizeof(ack));
	for (enum ps_level l = PS_LEVEL_INITIAL; l < PS_LEVEL_APP; l++) {
		p = raw_peer_new(&s, NULL);
		hostile_hello(p);
		raw_send(p, l, ack, sizeof(ack));
		CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 2));
	}
	p = raw_peer_new(&s, NULL); /* in the very first packet */
	raw_hello(p);
	raw_send(p, PS_LEVEL_INITIAL, ack, sizeof(ack));
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 2));
	hostile_settle();
}

static void
row_11(void)
{
	struct raw_peer *p;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_send(p, PS_LEVEL_APP, F(0x02, 0, 0, 0, 0));
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.stats->packets_lost, 0);
	CU_ASSERT_EQUAL(s.stats->probes, 0);
	hostile_settle();
}

/* CRYPTO with gaps, during the handshake up to and beyond the buffer, and after it. */
static void
row_12(void)
{
	uint8_t frame[32];
	struct raw_peer *p;
	size_t n;

	hostile_defaults();
	hostile_start();
	closes(0x10a, F(0x06, 0x50, 0, 1, 'x'));
	p = raw_peer_new(&s, NULL);
	hostile_hello(p);
	for (unsigned int at = 1; at < 8192; at += 2) {
		n = ps_frame_crypto_put(frame, sizeof(frame), at, (const uint8_t *)"x", 1);
		raw_send(p, PS_LEVEL_HANDSHAKE, frame, n);
		raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(s.stats->half_open, 1);
	raw_send(p, PS_LEVEL_HANDSHAKE, frame,
		ps_frame_crypto_put(frame, sizeof(frame), 8192, (const uint8_t *)"x", 1));
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_CRYPTO_BUFFER_EXCEEDED, 6));
	hostile_settle();
}

/* One replacement for each that goes, none for a repetition; 10,000 of them end it. */
static void
row_13(void)
{
	struct raw_peer *p;
	uint64_t live[4] = {0}, next = 1;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	p->tp.active_connection_id_limit = 8;
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_ack(p, PS_LEVEL_APP);
	for (unsigned int i = 1; i < 4; i++)
		live[i] = next++;
	for (unsigned int i = 0; i < 2000; i++) {
		uint8_t frame[9] = {PS_FRAME_RETIRE_CONNECTION_ID};
		size_t n = 1 + ps_varint_put(frame + 1, live[1 + i % 3]);

		raw_peer_clear(p);
		raw_send(p, PS_LEVEL_APP, frame, n);
		raw_send(p, PS_LEVEL_APP, frame, n);
		raw_ack(p, PS_LEVEL_APP);
		CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), 1);
		CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_NEW_CONNECTION_ID)->f.ncid.seq, next);
		live[1 + i % 3] = next++;
	}
	CU_ASSERT_TRUE(hostile_flood(p, F(0x19, 1), 20000) < 6100);
	CU_ASSERT_EQUAL(s.why.code, PS_QUIC_PROTOCOL_VIOLATION);
	hostile_settle();
}

/* Every other byte of 16 streams and never the first one. */
static void
row_14(void)
{
	struct raw_peer *p = hostile_peer();

	for (unsigned int at = 1; at < 4096; at += 2)
		for (unsigned int i = 0; i < 16; i++) {
			raw_send_stream(p, i << 2 | 2, at, 1, false);
			raw_peer_clear(p);
		}
	CU_ASSERT_EQUAL(s.stats->streams_open, 16);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_run(&s, 3 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_STREAM_LATE], 16);
	CU_ASSERT_EQUAL(s.delivered, 0);
	/* backwards none of them gets further than the first did: that is not work but play */
	p = raw_established(&s);
	for (unsigned int at = 4095; at > 0 && s.closed == 0; at -= 2)
		for (unsigned int i = 0; i < 16; i++) {
			raw_send_stream(p, i << 2 | 2, at, 1, false);
			raw_peer_clear(p);
		}
	CU_ASSERT_EQUAL(s.closed, 1);
	CU_ASSERT_EQUAL(s.stats->closed_no_progress, 1);
	hostile_settle();
}

static void
row_16(void)
{
	struct raw_peer *p;

	hostile_defaults();
	hostile_start();
	for (unsigned int type = 0x1f; type < 0x40; type += 8)
		closes(PS_QUIC_FRAME_ENCODING_ERROR, F((uint8_t)type));
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(0x7f, 0xff));
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(MAX62));
	for (enum ps_level l = PS_LEVEL_INITIAL; l < PS_LEVEL_APP; l++) {
		p = raw_peer_new(&s, NULL);
		hostile_hello(p);
		raw_send(p, l, F(0x21));
		CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_FRAME_ENCODING_ERROR, 0x21));
	}
	hostile_settle();
}

static void
row_23(void)
{
	hostile_defaults();
	hostile_start();
	closes(PS_QUIC_FINAL_SIZE_ERROR, F(0x0f, 2, 10, 1, 'x', 0x0e, 2, 20, 1, 'x'));
	closes(PS_QUIC_FINAL_SIZE_ERROR, F(0x0e, 2, 10, 1, 'x', 0x04, 2, 0, 5));
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(0x0e, 2, MAX62, 1, 'x'));
	closes(PS_QUIC_FLOW_CONTROL_ERROR, F(0x0e, 2, 0x50, 0, 1, 'x'));
	closes(PS_QUIC_STREAM_LIMIT_ERROR, F(0x0a, 0x40, 0x42, 1, 'x'));
	hostile_settle();
}

static void
row_26(void)
{
	hostile_defaults();
	hostile_start();
	closes(PS_QUIC_STREAM_LIMIT_ERROR,
		F(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 1, 'x'));
	closes(PS_QUIC_STREAM_LIMIT_ERROR,
		F(0x04, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0));
	closes(PS_QUIC_FLOW_CONTROL_ERROR,
		F(0x0e, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 1, 'x'));
	closes(PS_QUIC_FLOW_CONTROL_ERROR, F(0x04, 2, 0, MAX62));
	closes(PS_QUIC_PROTOCOL_VIOLATION, F(0x02, MAX62, 0, 0, MAX62));
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(0x02, 5, 0, MAX62, 0));
	hostile_settle();
}

/* A final size counts once, however often it comes; what it counts is counted. */
static void
row_27(void)
{
	struct raw_peer *p;

	hostile_defaults();
	s.config.conn_bytes = 10000;
	hostile_start();
	p = raw_established(&s);
	CU_ASSERT_EQUAL(hostile_flood(p, F(0x04, 2, 0, 0x50, 0), 100), 100);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_STREAM_RESET], 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	closes(PS_QUIC_FLOW_CONTROL_ERROR, F(0x04, 2, 0, 0x50, 1));
	p = raw_established(&s); /* three at once are beyond the window that is known */
	raw_send(p, PS_LEVEL_APP,
		F(0x0e, 2, 0x4f, 0xff, 1, 'x', 0x0e, 6, 0x4f, 0xff, 1, 'x', 0x04, 10, 0, 0x50, 0,
			0x04, 14, 0, 0x50, 0, 0x04, 18, 0, 0x50, 0));
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_CONNECTION_CLOSE), 0); /* it moves on by itself */
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_MAX_DATA) >= 1);
	hostile_settle();
}

/* Ids retired while the path changes, and by a peer that has none. */
static void
row_29(void)
{
	struct raw_peer *p = hostile_peer();

	raw_move(p, 0, 30000);
	send_id(p, 1, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw_last(p, PS_FRAME_PATH_CHALLENGE));
	send_id(p, 5, 5);
	send_id(p, 6, 6);
	raw_run(&s, 5 * PS_SEC_NS);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	p = raw_peer_new(&s, NULL);
	p->scid.len = 0;
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_send(p, PS_LEVEL_APP,
		F(0x18, 1, 1, 4, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0x18));
	hostile_settle();
}

/* RESET_STREAM before, after and after the end, over and over. */
static void
row_31(void)
{
	struct raw_peer *p = hostile_peer();

	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(hostile_flood(p, F(0x04, 2, 0, 10), 1000), 1000);
	raw_send(p, PS_LEVEL_APP, F(0x04, 6, 0, 10));
	CU_ASSERT_EQUAL(hostile_flood(p, F(0x04, 6, 0, 10, 0x0a, 6, 1, 'x'), 1000), 1000);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_TRUE(hostile_flood(p, F(0x04, 6, 0, 10), 20000) < 8000);
	closes(PS_QUIC_STREAM_STATE_ERROR, F(0x05, 2, 0));
	hostile_settle();
}

static void
row_35(void)
{
	struct raw_peer *p = hostile_peer();

	raw_send_stream(p, 2, 0, 10, false);
	raw_send_stream(p, 2, 10, 0, true);
	CU_ASSERT_EQUAL_FATAL(s.delivered, 1);
	CU_ASSERT_EQUAL(raw_stream_of(&s, 2)->final, 10);
	raw_send_stream(p, 6, 0, 0, true);
	CU_ASSERT_TRUE(raw_closed_with(p, true, 5, 0));
	CU_ASSERT_EQUAL(s.delivered, 1);
	hostile_settle();
}

static void
row_41(void)
{
	hostile_defaults();
	hostile_start();
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(0x12, 0xd0, 0, 0, 0, 0, 0, 0, 1));
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(0x13, 0xd0, 0, 0, 0, 0, 0, 0, 1));
	closes(PS_QUIC_FRAME_ENCODING_ERROR, F(0x17, 0xd0, 0, 0, 0, 0, 0, 0, 1));
	closes(PS_QUIC_PROTOCOL_VIOLATION, F(0x80, 0, 0, 1));
	hostile_settle();
}

/* The last byte of a stream's window, and one more: the sink never sees that. */
static void
row_42(void)
{
	struct raw_peer *p = hostile_peer();

	raw_send_stream(p, 2, 4095, 1, true);
	raw_send_stream(p, 2, 3000, 1096, false);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_send_stream(p, 6, 4095, 2, true);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_FLOW_CONTROL_ERROR, 0x0f));
	CU_ASSERT_PTR_NULL(raw_stream_of(&s, 6));
	hostile_settle();
}

static void
row_44(void)
{
	static const uint8_t frames[][4] = {
		{1, 0x01}, {1, 0x00}, {2, 0x10, 1}, {2, 0x14, 1}, {3, 0x0a, 2, 0}};

	hostile_defaults();
	hostile_start();
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct raw_peer *p = raw_established(&s);

		CU_ASSERT_EQUAL(hostile_flood(p, frames[i] + 1, frames[i][0], 20000), 10001);
		CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0));
	}
	CU_ASSERT_EQUAL(s.stats->closed_no_progress, sizeof(frames) / sizeof(frames[0]));
	hostile_settle();
}

static const struct hostile_row table[] = {
	{"1", "PATH_CHALLENGE flood without acknowledgements", row_1, NULL},
	{"2", "rising Retire Prior To, retirements not acknowledged", row_2, NULL},
	{"4", "HANDSHAKE_DONE from a client, and ours before Finished", row_4, NULL},
	{"6", "an ACK without ranges", row_6, NULL},
	{"7", "5,000 gaps of packet numbers", row_7, NULL},
	{"9", "ACK of packets never sent, every level", row_9, NULL},
	{"11", "ACK of packet 0 alone", row_11, NULL},
	{"12", "CRYPTO with gaps, during and after the handshake", row_12, NULL},
	{"13", "RETIRE_CONNECTION_ID without end", row_13, NULL},
	{"14", "one-byte STREAM fragments with gaps", row_14, NULL},
	{"16", "unknown frames at every level", row_16, NULL},
	{"23", "exact error codes", row_23, NULL},
	{"26", "ids and offsets near 2^62", row_26, NULL},
	{"27", "RESET_STREAM with huge or repeated final size", row_27, NULL},
	{"29", "Retire Prior To while the path changes", row_29, NULL},
	{"31", "late and repeated RESET_STREAM", row_31, NULL},
	{"32", "unvalidated fields written to a log", NULL,
		"not applicable: nothing received is logged"},
	{"35", "STREAM with FIN and no bytes", row_35, NULL},
	{"41", "MAX_STREAMS above 2^60, long frame types", row_41, NULL},
	{"42", "bytes beyond the reassembly slot", row_42, NULL},
	{"44", "floods of frames that move nothing", row_44, NULL},
};

int
main(void)
{
	return hostile_main("hostile_frames", table, sizeof(table) / sizeof(table[0]));
}
