/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The transport error cases that h3spec has for servers, by its names. It opens bidirectional
 * streams; here the ids are those of an endpoint that takes unidirectional ones only. */

#include <CUnit/Basic.h>
#include <string.h>

#include "raw_peer.h"

static struct raw_server s;

/* Where the offence stands. */
enum place {
	ONE_RTT,
	HANDSHAKE,
	HANDSHAKE_TLS,
	PARAMETER,
	NO_SCID,
	RESERVED,
	HELLO_LACKS,
	ZERO_RTT
};

#define BYTES(...)                                                                                 \
	sizeof((const uint8_t[]){__VA_ARGS__}),                                                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define ID4 0xa1, 0xa2, 0xa3, 0xa4
#define ID8 ID4, ID4

static const struct h3spec {
	const char *name;
	enum place place;
	uint64_t code;
	uint8_t len, bytes[48]; /* frames, TLS message, parameter, bits or extension */
} cases[] = {
	{"FLOW_CONTROL_ERROR if a STREAM frame with a large offset is received [Transport 4.1]",
		ONE_RTT, 0x3, BYTES(0x0e, 2, 0xbf, 0xff, 0xff, 0xff, 1, 'x')},
	{"STREAM_LIMIT_ERROR if a stream beyond the limit is opened [Transport 4.6]", ONE_RTT, 0x4,
		BYTES(0x0a, 0x40, 0x42, 1, 'x')},
	{"TRANSPORT_PARAMETER_ERROR if initial_source_connection_id is missing [Transport 7.3]",
		NO_SCID, 0x8, 0, {0}},
	{"TRANSPORT_PARAMETER_ERROR if original_destination_connection_id is received [Transport "
	 "18.2]",
		PARAMETER, 0x8, BYTES(0x00, 8, ID8)},
	{"TRANSPORT_PARAMETER_ERROR if preferred_address is received [Transport 18.2]", PARAMETER,
		0x8, BYTES(0x0d, 45, 127, 0, 0, 1, 1, 1, ID8, ID8, 1, 1, 4, ID4, ID8, ID8)},
	{"TRANSPORT_PARAMETER_ERROR if retry_source_connection_id is received [Transport 18.2]",
		PARAMETER, 0x8, BYTES(0x10, 8, ID8)},
	{"TRANSPORT_PARAMETER_ERROR if stateless_reset_token is received [Transport 18.2]",
		PARAMETER, 0x8, BYTES(0x02, 16, ID8, ID8)},
	{"TRANSPORT_PARAMETER_ERROR if max_udp_payload_size < 1200 [Transport 7.4 and 18.2]",
		PARAMETER, 0x8, BYTES(0x03, 2, 0x44, 0xaf)},
	{"TRANSPORT_PARAMETER_ERROR if ack_delay_exponent > 20 [Transport 7.4 and 18.2]", PARAMETER,
		0x8, BYTES(0x0a, 1, 21)},
	{"TRANSPORT_PARAMETER_ERROR if max_ack_delay >= 2^14 [Transport 7.4 and 18.2]", PARAMETER,
		0x8, BYTES(0x0b, 4, 0x80, 0, 0x40, 0)},
	{"FRAME_ENCODING_ERROR if a frame of unknown type is received [Transport 12.4]", ONE_RTT,
		0x7, BYTES(0x20)},
	{"PROTOCOL_VIOLATION on no frames [Transport 12.4]", ONE_RTT, 0xa, 0, {0}},
	{"PROTOCOL_VIOLATION if reserved bits in Handshake are non-zero [Transport 17.2]", RESERVED,
		0xa, BYTES(0x0c)},
	{"PROTOCOL_VIOLATION if reserved bits in Short are non-zero [Transport 17.2]", RESERVED,
		0xa, BYTES(0x18)},
	{"PROTOCOL_VIOLATION if PATH_CHALLENGE in Handshake is received [Transport 17.2.4]",
		HANDSHAKE, 0xa, BYTES(0x1a, ID8)},
	{"STREAM_STATE_ERROR if RESET_STREAM is received for a send-only stream [Transport 19.4]",
		ONE_RTT, 0x5, BYTES(0x04, 3, 0, 0)},
	{"STREAM_STATE_ERROR if STOP_SENDING is received for a non-existing stream [Transport "
	 "19.5]",
		ONE_RTT, 0x5, BYTES(0x05, 1, 0)},
	{"PROTOCOL_VIOLATION if NEW_TOKEN is received [Transport 19.7]", ONE_RTT, 0xa,
		BYTES(0x07, 4, ID4)},
	{"STREAM_STATE_ERROR if STREAM is received for a local stream not yet created [Transport "
	 "19.8]",
		ONE_RTT, 0x5, BYTES(0x0a, 1, 1, 'x')},
	{"STREAM_STATE_ERROR if STREAM is received for a send-only stream [Transport 19.8]",
		ONE_RTT, 0x5, BYTES(0x0a, 3, 1, 'x')},
	{"STREAM_STATE_ERROR if MAX_STREAM_DATA is received for a non-existing stream [Transport "
	 "19.10]",
		ONE_RTT, 0x5, BYTES(0x11, 1, 1)},
	{"STREAM_STATE_ERROR if MAX_STREAM_DATA is received for a receive-only stream [Transport "
	 "19.10]",
		ONE_RTT, 0x5, BYTES(0x11, 2, 1)},
	{"FRAME_ENCODING_ERROR if invalid MAX_STREAMS is received [Transport 19.11]", ONE_RTT, 0x7,
		BYTES(0x12, 0xd0, 0, 0, 0, 0, 0, 0, 1)},
	{"STREAM_LIMIT_ERROR or FRAME_ENCODING_ERROR if invalid STREAMS_BLOCKED is received "
	 "[Transport 19.14]",
		ONE_RTT, 0x7, BYTES(0x16, 0xd0, 0, 0, 0, 0, 0, 0, 1)},
	{"FRAME_ENCODING_ERROR if NEW_CONNECTION_ID has an invalid Retire_Prior_To [Transport "
	 "19.15]",
		ONE_RTT, 0x7, BYTES(0x18, 1, 2, 4, ID4, ID8, ID8)},
	{"FRAME_ENCODING_ERROR if NEW_CONNECTION_ID has a 0-byte CID [Transport 19.15]", ONE_RTT,
		0x7, BYTES(0x18, 1, 0, 0, ID8, ID8)},
	{"PROTOCOL_VIOLATION if HANDSHAKE_DONE is received [Transport 19.20]", ONE_RTT, 0xa,
		BYTES(0x1e)},
	{"unexpected_message TLS alert if KeyUpdate in Handshake is received [TLS 6]",
		HANDSHAKE_TLS, 0x10a, BYTES(24, 0, 0, 1, 0)},
	{"unexpected_message TLS alert if KeyUpdate in 1-RTT is received [TLS 6]", ONE_RTT, 0x10a,
		BYTES(0x06, 0, 5, 24, 0, 0, 1, 0)},
	{"no_application_protocol TLS alert if no application protocols are supported [TLS 8.1]",
		HELLO_LACKS, 0x178, BYTES(16)},
	{"missing_extension TLS alert if the quic_transport_parameters extension is not included "
	 "[TLS 8.2]",
		HELLO_LACKS, 0x16d, BYTES(57)},
	{"missing_extension TLS alert if signature_algorithms is not included", HELLO_LACKS, 0x16d,
		BYTES(13)},
	{"unexpected_message TLS alert if EndOfEarlyData is received [TLS 8.3]", HANDSHAKE_TLS,
		0x10a, BYTES(5, 0, 0, 0)},
	{"PROTOCOL_VIOLATION if CRYPTO in 0-RTT is received [TLS 8.3] (no 0-RTT: dropped)",
		ZERO_RTT, 0, BYTES(0x06, 0, 1, 'x')},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void
first_flight(struct raw_peer *p)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_INITIAL],
		p->io.out_len[PS_LEVEL_INITIAL]);

	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
}

/* Cuts an extension out of the ClientHello. */
static void
cut_extension(struct raw_peer *p, uint16_t type)
{
	uint8_t *hello = p->io.out[PS_LEVEL_INITIAL], *at = hello + 4 + 2 + 32, *list;
	uint16_t len = p->io.out_len[PS_LEVEL_INITIAL], size;

	at += 1 + at[0];
	at += 2 + ps_be16_load(at);
	at += 1 + at[0];
	list = at;
	for (at += 2; at < hello + len; at += size) {
		size = (uint16_t)(4 + ps_be16_load(at + 2));
		if (ps_be16_load(at) != type)
			continue;
		memmove(at, at + size, (size_t)(hello + len - at - size));
		p->io.out_len[PS_LEVEL_INITIAL] = (uint16_t)(len - size);
		ps_be16_store(list, (uint16_t)(ps_be16_load(list) - size));
		ps_be16_store(hello + 2, (uint16_t)(ps_be16_load(hello + 2) - size));
		return;
	}
	CU_FAIL_FATAL("no such extension");
}

/* A packet of the 0-RTT type behind the ClientHello's, in one datagram. No such keys exist. */
static void
send_0rtt(struct raw_peer *p, const struct h3spec *c)
{
	uint8_t d[PS_UDP_PAYLOAD_MAX];
	size_t hdr, length_at;

	hdr = ps_pkt_long_put(d, PS_PKT_0RTT, &p->dcid, &p->scid, NULL, 0, 0, 4, &length_at);
	memcpy(d + hdr, c->bytes, c->len);
	ps_pkt_long_finish(d, length_at, 4, c->len);
	ps_seal(p->protect, &p->tx[PS_LEVEL_INITIAL], 0, d, hdr, 4, c->len);
	raw_send_bytes(p, d, hdr + c->len + PS_AEAD_TAG);
	raw_pump(&s);
}

static void
offend(struct raw_peer *p, const struct h3spec *c)
{
	struct raw_how how = {.first_byte_xor = c->bytes[0]};
	uint8_t frame[64];
	size_t n;

	p->no_scid = c->place == NO_SCID;
	if (c->place == PARAMETER)
		memcpy(p->tp_more, c->bytes, p->tp_more_len = c->len);
	raw_hello(p);
	if (c->place == HELLO_LACKS)
		cut_extension(p, c->bytes[0]);
	first_flight(p);
	if (c->place == ZERO_RTT)
		send_0rtt(p, c);
	if (c->place == ONE_RTT || c->place == ZERO_RTT ||
		(c->place == RESERVED && c->bytes[0] == 0x18))
		raw_flush(p, 900);
	if (c->place == ONE_RTT) {
		raw_send(p, PS_LEVEL_APP, c->bytes, c->len);
	} else if (c->place == HANDSHAKE) {
		raw_send(p, PS_LEVEL_HANDSHAKE, c->bytes, c->len);
	} else if (c->place == RESERVED) {
		raw_send_how(p, how.first_byte_xor == 0x18 ? PS_LEVEL_APP : PS_LEVEL_HANDSHAKE,
			"\x01", 1, &how);
	} else if (c->place == HANDSHAKE_TLS) {
		n = ps_frame_crypto_put(frame, sizeof(frame), 0, c->bytes, c->len);
		raw_send(p, PS_LEVEL_HANDSHAKE, frame, n);
	}
}

/* What the close has to name: the frame at fault, CRYPTO for TLS, none for a packet. */
static uint64_t
frame_type(const struct h3spec *c)
{
	if (c->place == RESERVED || c->len == 0)
		return c->place == NO_SCID ? PS_FRAME_CRYPTO : 0;
	return c->place == ONE_RTT || c->place == HANDSHAKE ? c->bytes[0] : PS_FRAME_CRYPTO;
}

/* The last level that it is sent at: what a client can read. */
static enum ps_pkt_type
level(const struct h3spec *c)
{
	if (c->place == ONE_RTT || (c->place == RESERVED && c->bytes[0] == 0x18))
		return PS_PKT_1RTT;
	return c->place == HANDSHAKE || c->place == HANDSHAKE_TLS || c->place == RESERVED
		       ? PS_PKT_HANDSHAKE
		       : PS_PKT_INITIAL;
}

/* CUnit runs the tests in the order of the table. */
static void
test_next(void)
{
	static unsigned int next;
	const struct h3spec *c = &cases[next++];
	const struct raw_frame *f;
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	offend(p, c);
	f = raw_last(p, PS_FRAME_CONNECTION_CLOSE);
	if (c->place == ZERO_RTT) {
		CU_ASSERT_PTR_NULL(f);
		CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_TYPE], 1);
		CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	} else {
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(f->f.close.error, c->code);
		CU_ASSERT_EQUAL(f->f.close.frame_type, frame_type(c));
		CU_ASSERT_EQUAL(f->pkt, level(c));
		CU_ASSERT_EQUAL(s.stats->conns_open + s.stats->half_open, 0);
	}
	raw_server_stop(&s);
}

int
main(void)
{
	unsigned int failures;
	CU_pSuite suite;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite("h3spec", NULL, NULL);
	for (unsigned int i = 0; suite != NULL && i < CASES; i++)
		if (CU_add_test(suite, cases[i].name, test_next) == NULL)
			return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + (CU_get_number_of_tests_run() != CASES);
	CU_cleanup_registry();
	return failures != 0;
}
