/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a peer must not send, and the exact error that the endpoint closes with. */

#include <string.h>

#include "cunit_run.h"
#include "ps_be.h"
#include "raw_peer.h"

static struct raw_server s;

#define BYTES(...)                                                                                 \
	sizeof((const uint8_t[]){__VA_ARGS__}),                                                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* One 1-RTT packet each, on a connection with 16 streams of 4096 bytes granted. */
static const struct bad_frames {
	const char *name;
	bool app;
	uint64_t code, frame_type;
	size_t len;
	uint8_t bytes[40];
} bad_frames[] = {
	{"empty stream", true, 5, 0, BYTES(0x0b, 2, 0)},
	{"empty stream without length", true, 5, 0, BYTES(0x09, 2)},
	{"beyond the stream window", false, 0x3, 0x0e, BYTES(0x0e, 2, 0x50, 0x00, 1, 'x')},
	{"reset beyond the stream window", false, 0x3, 4, BYTES(0x04, 2, 0, 0x50, 0x01)},
	{"over the stream limit", false, 0x4, 0x0b, BYTES(0x0b, 0x40, 0x42, 1, 'x')},
	{"reset over the stream limit", false, 0x4, 4, BYTES(0x04, 0x40, 0x42, 0, 1)},
	{"blocked over the stream limit", false, 0x4, 0x15, BYTES(0x15, 0x40, 0x42, 0)},
	{"bidirectional stream", false, 0x4, 0x0b, BYTES(0x0b, 0, 1, 'x')},
	{"bidirectional stream by its reset", false, 0x4, 0x04, BYTES(0x04, 0, 0, 1)},
	{"bidirectional stream by its block", false, 0x4, 0x15, BYTES(0x15, 0, 0)},
	{"bidirectional stream by its stop", false, 0x4, 0x05, BYTES(0x05, 0, 0)},
	{"bidirectional stream by its window", false, 0x4, 0x11, BYTES(0x11, 4, 1)},
	{"server's unidirectional stream", false, 0x5, 0x0b, BYTES(0x0b, 3, 1, 'x')},
	{"server's bidirectional stream", false, 0x5, 0x0b, BYTES(0x0b, 1, 1, 'x')},
	{"MAX_STREAM_DATA of no stream", false, 0x5, 0x11, BYTES(0x11, 3, 0)},
	{"STOP_SENDING of no stream", false, 0x5, 0x05, BYTES(0x05, 3, 0)},
	{"STOP_SENDING of its own stream", false, 0x5, 0x05, BYTES(0x05, 2, 0)},
	{"data beyond the end", false, 0x6, 0x0e, BYTES(0x0f, 2, 10, 1, 'x', 0x0e, 2, 20, 1, 'x')},
	{"two ends", false, 0x6, 0x0f, BYTES(0x0f, 2, 10, 1, 'x', 0x0f, 2, 11, 1, 'x')},
	{"end before data", false, 0x6, 0x0f, BYTES(0x0e, 2, 10, 1, 'x', 0x0f, 2, 5, 1, 'x')},
	{"reset at another end", false, 0x6, 4, BYTES(0x0f, 2, 10, 1, 'x', 0x04, 2, 0, 12)},
	{"reset before data", false, 0x6, 4, BYTES(0x0e, 2, 10, 1, 'x', 0x04, 2, 0, 10)},
	{"unknown frame", false, 0x7, 0x21, BYTES(0x21)},
	{"unknown frame of two bytes", false, 0x7, 0x1234, BYTES(0x52, 0x34)},
	{"frame cut short", false, 0x7, 0x0e, BYTES(0x0e, 2)},
	{"stream longer than the packet", false, 0x7, 0x0a, BYTES(0x0a, 2, 9, 'x')},
	{"ACK range below zero", false, 0x7, 2, BYTES(0x02, 0, 0, 0, 5)},
	{"stream limit above 2^60, bidirectional", false, 0x7, 0x12,
		BYTES(0x12, 0xd0, 0, 0, 0, 0, 0, 0, 1)},
	{"blocked above 2^60", false, 0x7, 0x17, BYTES(0x17, 0xd0, 0, 0, 0, 0, 0, 0, 1)},
	{"CRYPTO offset above 2^62", false, 0x7, 0x06,
		BYTES(0x06, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'x')},
	{"empty NEW_TOKEN", false, 0x7, 0x07, BYTES(0x07, 0)},
	{"stream limit above 2^60", false, 0x7, 0x13, BYTES(0x13, 0xd0, 0, 0, 0, 0, 0, 0, 1)},
	{"offset above 2^62", false, 0x7, 0x0e,
		BYTES(0x0e, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'x')},
	{"frame type in more bytes than needed", false, 0xa, 0x01, BYTES(0x40, 0x01)},
	{"no frames", false, 0xa, 0, 0, {0}},
	{"acknowledges what was not sent", false, 0xa, 2, BYTES(0x02, 1, 0, 0, 0)},
	{"HANDSHAKE_DONE from a client", false, 0xa, 0x1e, BYTES(0x1e)},
	{"NEW_TOKEN from a client", false, 0xa, 0x07, BYTES(0x07, 1, 'x')},
	{"RETIRE_CONNECTION_ID of the only id", false, 0xa, 0x19, BYTES(0x19, 0)},
	{"a second TLS flight", false, 0x10a, 0x06, BYTES(0x06, 0, 4, 24, 0, 0, 0)},
};

static void
check_closed(const struct raw_peer *p, const struct bad_frames *b)
{
	if (!raw_closed_with(p, b->app, b->code, b->frame_type))
		CU_FAIL(b->name);
	CU_ASSERT_EQUAL(p->frame[p->n_frames - 1].pkt, PS_PKT_1RTT);
	CU_ASSERT_TRUE(s.why.app == b->app && s.why.code == b->code && !s.why.by_peer);
	CU_ASSERT_EQUAL(s.stats->conns_open, 0);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_EQUAL(s.delivered, 0);
}

static void
test_bad_frames(void)
{
	const size_t n = sizeof(bad_frames) / sizeof(bad_frames[0]);

	raw_server_defaults(&s);
	s.limits.conns = n;
	raw_server_start(&s);
	for (size_t i = 0; i < n; i++) {
		const struct bad_frames *b = &bad_frames[i];
		struct raw_peer *p = raw_established(&s);

		raw_send(p, PS_LEVEL_APP, b->bytes, b->len);
		check_closed(p, b);
		CU_ASSERT_EQUAL(s.closed, i + 1);
	}
	CU_ASSERT_EQUAL(s.stats->closed_app, 2);
	CU_ASSERT_EQUAL(s.stats->closed_transport, n - 2);
	raw_server_stop(&s);
}

static void
test_reserved_bits(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	for (uint8_t bits = 0x08; bits <= 0x10; bits += 0x08) {
		struct raw_how how = {.first_byte_xor = bits};
		struct raw_peer *p = raw_established(&s);

		raw_send_how(p, PS_LEVEL_APP, "\x01", 1, &how);
		CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0));
	}
	for (uint8_t bits = 0x04; bits <= 0x08; bits += 0x04) {
		struct raw_how how = {.first_byte_xor = bits};
		struct raw_peer *p = raw_peer_new(&s, NULL);

		raw_hello(p);
		raw_send_how(p, PS_LEVEL_INITIAL, "\x01", 1, &how);
		CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0));
	}
	raw_server_stop(&s);
}

/* Reserved bits of a packet that does not verify prove nothing. */
static void
test_unverified_is_ignored(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct raw_how how = {.first_byte_xor = 0x18};
	struct raw_peer *p;
	size_t n;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_established(&s);
	n = raw_packet(p, PS_LEVEL_APP, "\x21", 1, &how, buf);
	buf[n - 1] ^= 1;
	raw_send_bytes(p, buf, n);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_DECRYPT], 1);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	CU_ASSERT_EQUAL(p->n_frames, 0);
	raw_server_stop(&s);
}

static void
first_flight(struct raw_peer *p)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n = ps_frame_crypto_put(
		frame, sizeof(frame), 0, p->io.out[0], p->io.out_len[PS_LEVEL_INITIAL]);

	raw_send(p, PS_LEVEL_INITIAL, frame, n);
}

static void
test_frames_of_other_levels(void)
{
	static const struct {
		uint8_t bytes[8];
		size_t len;
	} frames[] = {{{0x0b, 2, 1, 'x'}, 4}, {{0x13, 1}, 2}, {{0x1e}, 1}, {{0x1d, 0, 0}, 3},
		{{0x07, 1, 'x'}, 3}};

	raw_server_defaults(&s);
	s.limits.handshakes = 16;
	raw_server_start(&s);
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct raw_peer *p = raw_peer_new(&s, NULL);

		raw_hello(p);
		raw_send(p, PS_LEVEL_INITIAL, frames[i].bytes, frames[i].len);
		CU_ASSERT_TRUE(
			raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, frames[i].bytes[0]));
		CU_ASSERT_EQUAL(p->frame[p->n_frames - 1].pkt, PS_PKT_INITIAL);
		p = raw_peer_new(&s, NULL);
		raw_hello(p);
		first_flight(p);
		raw_send(p, PS_LEVEL_HANDSHAKE, frames[i].bytes, frames[i].len);
		CU_ASSERT_TRUE(
			raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, frames[i].bytes[0]));
		CU_ASSERT_EQUAL(p->frame[p->n_frames - 1].pkt, PS_PKT_HANDSHAKE);
	}
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	raw_server_stop(&s);
}

/* Sections 7.4 and 18.2, in the ClientHello; h3spec has the rest. */
static void
test_transport_parameters(void)
{
	static const struct {
		uint8_t len, bytes[12];
	} bad[] = {
		{BYTES(0x0e, 1, 1)},                         /* active_connection_id_limit 1 */
		{BYTES(0x08, 8, 0xd0, 0, 0, 0, 0, 0, 0, 1)}, /* streams above 2^60 */
		{BYTES(0x09, 8, 0xd0, 0, 0, 0, 0, 0, 0, 1)},
		{BYTES(0x05, 1, 1, 0x05, 1, 1)},    /* twice */
		{BYTES(0x0c, 1, 0)},                /* disable_active_migration with a value */
		{BYTES(0x0f, 3, 0xaa, 0xaa, 0xaa)}, /* initial_source_connection_id twice */
	};

	raw_server_defaults(&s);
	raw_server_start(&s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct raw_peer *p = raw_peer_new(&s, NULL);

		memcpy(p->tp_more, bad[i].bytes, p->tp_more_len = bad[i].len);
		raw_hello(p);
		first_flight(p);
		CU_ASSERT_TRUE(raw_closed_with(
			p, false, PS_QUIC_TRANSPORT_PARAMETER_ERROR, PS_FRAME_CRYPTO));
		CU_ASSERT_EQUAL(p->frame[p->n_frames - 1].pkt, PS_PKT_INITIAL);
		raw_run(&s, 3 * PS_SEC_NS);
	}
	CU_ASSERT_EQUAL(s.stats->handshakes_failed, sizeof(bad) / sizeof(bad[0]));
	raw_server_stop(&s);
}

/* RFC 9001 section 8.4. */
static void
test_session_id(void)
{
	struct ps_tls_config tls = raw_client_tls();
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	tls.priority = "NORMAL:-VERS-ALL:+VERS-TLS1.3"; /* as over TCP, to please middleboxes */
	p = raw_peer_new(&s, &tls);
	raw_hello(p);
	first_flight(p);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_CRYPTO));
	raw_server_stop(&s);
}

/* Section 6.1: ids of any length come back the other way round, one answer each 100 us. */
static void
test_versions(void)
{
	uint8_t d[1200] = {0xc0, 0x0a, 0x1a, 0x2a, 0x3a, 255}, buf[PS_UDP_PAYLOAD_MAX];
	const struct ps_flow4 flow = {1, 2, 3, 4};
	struct ps_datagram out, *o = &out;
	unsigned int answers = 0;

	raw_server_defaults(&s);
	raw_server_start(&s);
	memset(d + 6, 0x11, 255);
	d[6 + 255] = 254;
	memset(d + 7 + 255, 0x22, 254);
	for (unsigned int i = 0; i < 1000; i++, s.now_ns += 10 * PS_US_NS) {
		raw_inject(&s, flow, d, sizeof(d));
		out = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(s.q, &o, 1, s.now_ns) == 0)
			continue;
		answers++;
		CU_ASSERT_EQUAL(ps_be32_load(buf + 1), 0);
		CU_ASSERT_EQUAL(buf[5], 254);
		CU_ASSERT_EQUAL(memcmp(buf + 6, d + 7 + 255, 254), 0);
		CU_ASSERT_EQUAL(buf[6 + 254], 255);
		CU_ASSERT_EQUAL(memcmp(buf + 7 + 254, d + 6, 255), 0);
		CU_ASSERT_TRUE(out.len < sizeof(d));
	}
	CU_ASSERT_EQUAL(answers, 100);
	raw_server_stop(&s);
}

/* Sections 17.2 and 17.3: without the fixed bit it is no packet, whatever it protects. */
static void
test_fixed_bit(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;
	size_t n;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_established(&s);
	n = raw_packet(p, PS_LEVEL_APP, "\x21", 1, &(struct raw_how){.first_byte_xor = 0x40}, buf);
	raw_send_bytes(p, buf, n);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	n = raw_packet(p, PS_LEVEL_INITIAL, "\x21", 1,
		&(struct raw_how){.first_byte_xor = 0x40, .pad_to = 1200}, buf);
	raw_send_bytes(p, buf, n);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_FIXED_BIT], 2);
	CU_ASSERT_EQUAL(p->datagrams, 0);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* conn_bytes + 1 in two streams, the second by an offset alone. */
static void
test_beyond_connection_window(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.conn_bytes = 3000;
	raw_server_start(&s);
	p = raw_established(&s);
	raw_send_stream(p, 2, 0, 1000, false);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_send_stream(p, 6, 1999, 1, false);
	CU_ASSERT_EQUAL(s.closed, 0);
	p = raw_established(&s);
	raw_send_stream(p, 2, 0, 1000, false);
	raw_send_stream(p, 6, 2000, 1, false);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_FLOW_CONTROL_ERROR, 0x0e));
	p = raw_established(&s); /* by a final size alone: 3,001 bytes that never came */
	raw_send(p, PS_LEVEL_APP, (const uint8_t[]){0x04, 2, 0, 0x4b, 0xb9}, 5);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_FLOW_CONTROL_ERROR, 0x04));
	raw_server_stop(&s);
}

/* Frames that are none of a server's business change nothing and are acknowledged. */
static void
test_harmless_frames(void)
{
	static const uint8_t frames[] = {0x14, 0x10, 0x16, 0x01, 0x17, 0x01, 0x10, 0x3f, 0x12, 0x3f,
		0x13, 0x3f, 0x1a, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 2, 0};
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_established(&s);
	raw_send(p, PS_LEVEL_APP, frames, sizeof(frames));
	raw_run(&s, 30 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_PTR_NOT_NULL(raw_last(p, PS_FRAME_ACK));
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"bad frames", test_bad_frames},
	{"reserved bits", test_reserved_bits},
	{"what does not verify is ignored", test_unverified_is_ignored},
	{"frames that a level does not carry", test_frames_of_other_levels},
	{"transport parameters", test_transport_parameters},
	{"a session id in the ClientHello", test_session_id},
	{"versions: any ids, not often", test_versions},
	{"the fixed bit", test_fixed_bit},
	{"beyond the connection window", test_beyond_connection_window},
	{"harmless frames", test_harmless_frames},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_errors", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
