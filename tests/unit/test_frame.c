/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "ranges.h"
#include "wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct ps_frame frame;

/* Decodes from memory of exactly this size, so that a sanitizer sees any byte read too many.
 * *used tells how far the parser went; data pointers of the frame are void afterwards. */
static uint64_t
parse_in(enum ps_pkt_type in, const void *bytes, size_t len, size_t *used)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	const uint8_t *p = copy;
	uint64_t err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, bytes, len);
	memset(&frame, 0xee, sizeof(frame));
	err = ps_frame_parse(&frame, in, &p, copy + len);
	*used = p - copy;
	free(copy);
	return err;
}

static uint64_t
parse(const void *bytes, size_t len)
{
	size_t used;
	uint64_t err = parse_in(PS_PKT_1RTT, bytes, len, &used);

	CU_ASSERT_EQUAL(used, err == 0 ? len : 0);
	return err;
}

#define PARSE(...) parse((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* One valid sample of every type but PADDING; no prefix of one is a frame. */
struct sample {
	uint8_t bytes[48];
	size_t len;
};

static const struct sample samples[] = {
	{{0x01}, 1},
	{{0x02, 0x10, 0x40, 0x80, 0x01, 0x02, 0x03, 0x04}, 8},
	{{0x03, 0x10, 0x05, 0x00, 0x02, 0x01, 0x02, 0x40, 0x03}, 9},
	{{0x04, 0x02, 0x41, 0x00, 0x80, 0x00, 0x10, 0x00}, 8},
	{{0x05, 0x02, 0x41, 0x00}, 4},
	{{0x06, 0x40, 0x50, 0x03, 'a', 'b', 'c'}, 7},
	{{0x07, 0x02, 'x', 'y'}, 4},
	{{0x0a, 0x02, 0x03, 'a', 'b', 'c'}, 6},
	{{0x0b, 0x02, 0x03, 'a', 'b', 'c'}, 6},
	{{0x0e, 0x02, 0x44, 0x00, 0x03, 'a', 'b', 'c'}, 8},
	{{0x0f, 0x02, 0x44, 0x00, 0x40, 0x03, 'a', 'b', 'c'}, 9},
	{{0x10, 0x80, 0x00, 0x10, 0x00}, 5},
	{{0x11, 0x06, 0x50, 0x00}, 4},
	{{0x12, 0xd0, 0, 0, 0, 0, 0, 0, 0}, 9},
	{{0x13, 0x40, 0x80}, 3},
	{{0x14, 0x41, 0x00}, 3},
	{{0x15, 0x06, 0x41, 0x00}, 4},
	{{0x16, 0x05}, 2},
	{{0x17, 0xd0, 0, 0, 0, 0, 0, 0, 0}, 9},
	{{0x18, 0x03, 0x02, 0x04, 'a', 'b', 'c', 'd', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
		 14, 15},
		24},
	{{0x19, 0x40, 0x07}, 3},
	{{0x1a, 1, 2, 3, 4, 5, 6, 7, 8}, 9},
	{{0x1b, 1, 2, 3, 4, 5, 6, 7, 8}, 9},
	{{0x1c, 0x41, 0x78, 0x06, 0x02, 'n', 'o'}, 7},
	{{0x1d, 0x05, 0x02, 'n', 'o'}, 5},
	{{0x1e}, 1},
};

static void
test_cuts_and_neighbours(void)
{
	uint8_t bytes[64];
	size_t used;

	for (size_t i = 0; i < COUNT(samples); i++) {
		const struct sample *s = &samples[i];

		CU_ASSERT_EQUAL(parse(s->bytes, s->len), 0);
		for (size_t cut = 0; cut < s->len; cut++)
			CU_ASSERT_EQUAL(parse(s->bytes, cut), PS_QUIC_FRAME_ENCODING_ERROR);
		/* What follows is left alone. */
		memcpy(bytes, s->bytes, s->len);
		memset(bytes + s->len, 0x01, 4);
		CU_ASSERT_EQUAL(parse_in(PS_PKT_1RTT, bytes, s->len + 4, &used), 0);
		CU_ASSERT_EQUAL(used, s->len);
	}
}

/* RFC 9000 table 3: which of I, H, 0, 1 may carry the type. */
static void
test_packet_types(void)
{
	static const enum ps_pkt_type in[] = {
		PS_PKT_INITIAL, PS_PKT_HANDSHAKE, PS_PKT_0RTT, PS_PKT_1RTT};
	static const char *const table[] = {
		"IH01", "IH01", "IH_1", "IH_1", "__01", "__01", "IH_1", "___1", /* 00 */
		"__01", "__01", "__01", "__01", "__01", "__01", "__01", "__01", /* 08 */
		"__01", "__01", "__01", "__01", "__01", "__01", "__01", "__01", /* 10 */
		"__01", "___1", "__01", "___1", "IH01", "__01", "___1",         /* 18 */
	};
	bool covered[COUNT(table)] = {false};
	size_t used;

	for (size_t i = 0; i < COUNT(samples); i++) {
		uint8_t type = samples[i].bytes[0];

		covered[type] = true;
		for (size_t k = 0; k < 4; k++) {
			uint64_t want = table[type][k] == '_' ? PS_QUIC_PROTOCOL_VIOLATION : 0;

			CU_ASSERT_EQUAL(
				parse_in(in[k], samples[i].bytes, samples[i].len, &used), want);
			CU_ASSERT_EQUAL(used, want == 0 ? samples[i].len : 0);
		}
	}
	for (uint8_t type = 0; type < COUNT(table); type++)
		CU_ASSERT_TRUE(covered[type] || type == 0 || (type & ~7) == PS_FRAME_STREAM);
	for (size_t k = 0; k < 4; k++)
		CU_ASSERT_EQUAL(parse_in(in[k], "\0", 1, &used), 0);
}

static void
test_unknown_types(void)
{
	for (unsigned int type = 0x1f; type < 0x40; type++)
		CU_ASSERT_EQUAL(PARSE(type, 0, 0, 0), PS_QUIC_FRAME_ENCODING_ERROR);
	for (unsigned int type = 0; type <= 0x1e; type++) {
		CU_ASSERT_EQUAL(PARSE(0x40, type, 0, 0), PS_QUIC_PROTOCOL_VIOLATION);
		CU_ASSERT_EQUAL(PARSE(0x80, 0, 0, type), PS_QUIC_PROTOCOL_VIOLATION);
		CU_ASSERT_EQUAL(PARSE(0xc0, 0, 0, 0, 0, 0, 0, type), PS_QUIC_PROTOCOL_VIOLATION);
	}
	CU_ASSERT_EQUAL(PARSE(0x40), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x40, 0x1f), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x40, 0x30, 0), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		PS_QUIC_FRAME_ENCODING_ERROR);
}

static void
test_padding(void)
{
	uint8_t bytes[64] = {0};
	size_t used;

	for (size_t run = 1; run < sizeof(bytes); run++) {
		bytes[run] = PS_FRAME_PING;
		CU_ASSERT_EQUAL(parse_in(PS_PKT_INITIAL, bytes, sizeof(bytes), &used), 0);
		CU_ASSERT_EQUAL(frame.type, PS_FRAME_PADDING);
		CU_ASSERT_EQUAL(used, run);
		bytes[run] = 0;
		CU_ASSERT_EQUAL(parse(bytes, run), 0);
	}
}

static void
test_stream(void)
{
	static const uint8_t data[200] = "payload";
	const uint8_t bare[] = {0x08, 0x40, 0x06, 1, 2, 3};
	uint8_t out[256];
	const uint8_t *p = bare;

	CU_ASSERT_EQUAL(ps_frame_parse(&frame, PS_PKT_1RTT, &p, bare + sizeof(bare)), 0);
	CU_ASSERT_EQUAL(frame.type, PS_FRAME_STREAM);
	CU_ASSERT_EQUAL(frame.stream.id, 6);
	CU_ASSERT_EQUAL(frame.stream.offset, 0);
	CU_ASSERT_EQUAL(frame.len, 3);
	CU_ASSERT_PTR_EQUAL(frame.data, bare + 3);
	CU_ASSERT_FALSE(frame.fin);
	CU_ASSERT_EQUAL(PARSE(0x09, 0x02), 0);
	CU_ASSERT_TRUE(frame.fin);
	CU_ASSERT_EQUAL(frame.len, 0);

	for (unsigned int i = 0; i < 4; i++) {
		uint64_t offset = i & 1 ? 1000 : 0;
		size_t n = ps_frame_stream_put(
			out, sizeof(out), 1 << 20, offset, data, sizeof(data), i & 2);

		CU_ASSERT_EQUAL_FATAL(parse(out, n), 0);
		CU_ASSERT_EQUAL(frame.type, PS_FRAME_STREAM);
		CU_ASSERT_EQUAL(frame.stream.id, 1 << 20);
		CU_ASSERT_EQUAL(frame.stream.offset, offset);
		CU_ASSERT_EQUAL(frame.fin, (i & 2) != 0);
		CU_ASSERT_EQUAL(frame.len, sizeof(data));
		CU_ASSERT_EQUAL(memcmp(out + n - sizeof(data), data, sizeof(data)), 0);
		for (size_t cap = 0; cap < n; cap++)
			CU_ASSERT_EQUAL(
				ps_frame_stream_put(out, cap, 1 << 20, offset, data, 200, i & 2),
				0);
	}
	/* offset + length may reach 2^62-1 and no further */
	CU_ASSERT_EQUAL(PARSE(0x0e, 2, 0xff, 255, 255, 255, 255, 255, 255, 0xfe, 1, 'a'), 0);
	CU_ASSERT_EQUAL(PARSE(0x0e, 2, 0xff, 255, 255, 255, 255, 255, 255, 0xff, 1, 'a'),
		PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x0a, 2, 0xff, 255, 255, 255, 255, 255, 255, 0xff, 1, 'a'),
		PS_QUIC_FRAME_ENCODING_ERROR);
}

static void
test_crypto(void)
{
	static const uint8_t data[100] = "hello";
	uint8_t out[128];
	size_t n = ps_frame_crypto_put(out, sizeof(out), 5000, data, sizeof(data));

	CU_ASSERT_EQUAL(n, 1 + 2 + 2 + 100);
	CU_ASSERT_EQUAL(parse(out, n), 0);
	CU_ASSERT_EQUAL(frame.type, PS_FRAME_CRYPTO);
	CU_ASSERT_EQUAL(frame.stream.offset, 5000);
	CU_ASSERT_EQUAL(frame.len, 100);
	CU_ASSERT_EQUAL(memcmp(out + 5, data, 100), 0);
	CU_ASSERT_EQUAL(ps_frame_crypto_put(out, n - 1, 5000, data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(PARSE(0x06, 0xff, 255, 255, 255, 255, 255, 255, 0xfe, 1, 'a'), 0);
	CU_ASSERT_EQUAL(PARSE(0x06, 0xff, 255, 255, 255, 255, 255, 255, 0xff, 1, 'a'),
		PS_QUIC_FRAME_ENCODING_ERROR);
}

static void
test_fit(void)
{
	static const uint8_t data[1500];
	uint8_t out[1500];

	for (size_t cap = 0; cap < 1480; cap++) {
		size_t n = ps_frame_crypto_fit(cap, 70, sizeof(data));

		CU_ASSERT_TRUE(n == 0 || ps_frame_crypto_put(out, cap, 70, data, n) > 0);
		CU_ASSERT_EQUAL(ps_frame_crypto_put(out, cap, 70, data, n + 1), 0);
		n = ps_frame_stream_fit(cap, 6, 0, sizeof(data));
		CU_ASSERT_TRUE(n == 0 || ps_frame_stream_put(out, cap, 6, 0, data, n, true) > 0);
		CU_ASSERT_EQUAL(ps_frame_stream_put(out, cap, 6, 0, data, n + 1, true), 0);
		CU_ASSERT_TRUE(ps_frame_stream_fit(cap, 6, 0, 10) <= 10);
	}
	CU_ASSERT_EQUAL(ps_frame_crypto_fit(1200, 0, 300), 300);
	CU_ASSERT_EQUAL(ps_frame_stream_fit(1200, 2, 4, 63), 63);
}

static void
test_ack(void)
{
	uint8_t out[1500];
	struct ps_ranges s;
	struct ps_range r = {0};
	const uint8_t *p = out, *cursor;
	size_t n;

	ps_ranges_init(&s);
	CU_ASSERT_EQUAL(ps_frame_ack_put(out, sizeof(out), &s, 0), 0);
	for (uint64_t i = 0; i < PS_RANGES_MAX; i++) {
		for (uint64_t k = 0; k <= i * 3; k++)
			ps_ranges_add(&s, i * 1000 + k);
	}
	n = ps_frame_ack_put(out, sizeof(out), &s, 77);
	CU_ASSERT_EQUAL_FATAL(ps_frame_parse(&frame, PS_PKT_INITIAL, &p, out + n), 0);
	CU_ASSERT_PTR_EQUAL(p, out + n);
	CU_ASSERT_EQUAL(frame.type, PS_FRAME_ACK);
	CU_ASSERT_EQUAL(frame.ack.delay, 77);
	CU_ASSERT_EQUAL(frame.ack.range_count, PS_RANGES_MAX - 1);
	cursor = frame.ack.ranges;
	for (uint64_t i = 0; i <= frame.ack.range_count; i++) {
		ps_ack_range(&frame.ack, i, &cursor, &r);
		CU_ASSERT_EQUAL(r.hi, s.r[i].hi);
		CU_ASSERT_EQUAL(r.lo, s.r[i].lo);
	}
	CU_ASSERT_PTR_EQUAL(cursor, p);

	/* With less room the ranges at the low end are left out. */
	for (size_t cap = 0; cap < n; cap++) {
		size_t m = ps_frame_ack_put(out, cap, &s, 77);

		CU_ASSERT_TRUE(m <= cap);
		CU_ASSERT_EQUAL(m == 0, cap < 1 + 4 + 2 + 1 + 2);
		if (m > 0) {
			CU_ASSERT_EQUAL(parse(out, m), 0);
			CU_ASSERT_EQUAL(frame.ack.largest, s.r[0].hi);
		}
	}
}

static void
test_ack_refused(void)
{
	CU_ASSERT_EQUAL(PARSE(0x02, 0, 0, 0, 0), 0);
	CU_ASSERT_EQUAL(PARSE(0x02, 5, 0, 0, 5), 0);
	CU_ASSERT_EQUAL(PARSE(0x02, 5, 0, 0, 6), PS_QUIC_FRAME_ENCODING_ERROR);
	/* 10..9, then the gap 3 leads to 4..: room for 4 at most below */
	CU_ASSERT_EQUAL(PARSE(0x02, 10, 0, 1, 1, 3, 4), 0);
	CU_ASSERT_EQUAL(PARSE(0x02, 10, 0, 1, 1, 3, 5), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x02, 10, 0, 1, 1, 7, 0), 0);
	CU_ASSERT_EQUAL(PARSE(0x02, 10, 0, 1, 1, 8, 0), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x02, 1, 0, 1, 0, 0, 0), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x02, 0, 0, 1, 0, 0, 0), PS_QUIC_FRAME_ENCODING_ERROR);
	/* a count that the packet cannot hold */
	CU_ASSERT_EQUAL(PARSE(0x02, 60, 0, 0xff, 255, 255, 255, 255, 255, 255, 255, 0, 1, 1),
		PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x02, 60, 0, 2, 0, 1, 1, 1), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x03, 7, 1, 0, 7, 1, 2, 0x40, 0x50), 0);
	CU_ASSERT_EQUAL(frame.ack.ect0, 1);
	CU_ASSERT_EQUAL(frame.ack.ect1, 2);
	CU_ASSERT_EQUAL(frame.ack.ce, 0x50);
}

static void
test_stream_control(void)
{
	CU_ASSERT_EQUAL(PARSE(0x04, 2, 0x41, 0, 0x50, 0), 0);
	CU_ASSERT_EQUAL(frame.reset.id, 2);
	CU_ASSERT_EQUAL(frame.reset.error, 0x100);
	CU_ASSERT_EQUAL(frame.reset.final_size, 0x1000);
	CU_ASSERT_EQUAL(PARSE(0x05, 3, 0x41, 1), 0);
	CU_ASSERT_EQUAL(frame.reset.id, 3);
	CU_ASSERT_EQUAL(frame.reset.error, 0x101);
	for (unsigned int type = 0x11; type <= 0x15; type += 4) {
		CU_ASSERT_EQUAL(PARSE(type, 6, 0x50, 0), 0);
		CU_ASSERT_EQUAL(frame.type, type);
		CU_ASSERT_EQUAL(frame.limit.id, 6);
		CU_ASSERT_EQUAL(frame.limit.max, 0x1000);
		CU_ASSERT_EQUAL(PARSE(type - 1, 0xff, 255, 255, 255, 255, 255, 255, 255), 0);
		CU_ASSERT_EQUAL(frame.limit.max, PS_VARINT_MAX);
	}
	for (unsigned int type = 0x12; type <= 0x17; type++) {
		if (type == 0x14 || type == 0x15)
			continue;
		CU_ASSERT_EQUAL(PARSE(type, 0xd0, 0, 0, 0, 0, 0, 0, 0), 0);
		CU_ASSERT_EQUAL(frame.limit.max, PS_UNI_STREAM_MAX);
		CU_ASSERT_EQUAL(
			PARSE(type, 0xd0, 0, 0, 0, 0, 0, 0, 1), PS_QUIC_FRAME_ENCODING_ERROR);
	}
}

static void
test_connection_ids(void)
{
	uint8_t f[64] = {0x18, 5, 5, 20};

	CU_ASSERT_EQUAL(parse(f, 4 + 20 + 16), 0);
	CU_ASSERT_EQUAL(frame.ncid.seq, 5);
	CU_ASSERT_EQUAL(frame.ncid.retire_prior_to, 5);
	CU_ASSERT_EQUAL(frame.len, 20);
	CU_ASSERT_EQUAL(frame.ncid.reset_token - frame.data, 20);
	f[2] = 6;
	CU_ASSERT_EQUAL(parse(f, 4 + 20 + 16), PS_QUIC_FRAME_ENCODING_ERROR);
	f[2] = 0;
	f[3] = 21;
	CU_ASSERT_EQUAL(parse(f, 4 + 21 + 16), PS_QUIC_FRAME_ENCODING_ERROR);
	f[3] = 0;
	CU_ASSERT_EQUAL(parse(f, 4 + 16), PS_QUIC_FRAME_ENCODING_ERROR);
	f[3] = 1;
	CU_ASSERT_EQUAL(parse(f, 4 + 1 + 16), 0);
	CU_ASSERT_EQUAL(PARSE(0x19, 9), 0);
	CU_ASSERT_EQUAL(frame.ncid.seq, 9);
	CU_ASSERT_EQUAL(PARSE(0x1a, 1, 2, 3, 4, 5, 6, 7, 8), 0);
	CU_ASSERT_EQUAL(frame.path[0], 1);
	CU_ASSERT_EQUAL(frame.path[7], 8);
	CU_ASSERT_EQUAL(PARSE(0x07, 0), PS_QUIC_FRAME_ENCODING_ERROR);
	CU_ASSERT_EQUAL(PARSE(0x07, 1, 'a'), 0);
	CU_ASSERT_EQUAL(frame.len, 1);
}

static void
test_close_and_integers(void)
{
	uint8_t out[64];
	size_t n = ps_frame_close_put(out, sizeof(out), false, 0x178, 0x06, "no");

	CU_ASSERT_EQUAL(n, 1 + 2 + 1 + 1 + 2);
	CU_ASSERT_EQUAL(parse(out, n), 0);
	CU_ASSERT_EQUAL(frame.type, PS_FRAME_CONNECTION_CLOSE);
	CU_ASSERT_EQUAL(frame.close.error, 0x178);
	CU_ASSERT_EQUAL(frame.close.frame_type, 0x06);
	CU_ASSERT_EQUAL(frame.len, 2);
	CU_ASSERT_EQUAL(ps_frame_close_put(out, n - 1, false, 0x178, 0x06, "no"), 0);
	n = ps_frame_close_put(out, sizeof(out), true, 4, 0x06, "");
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_EQUAL(parse(out, n), 0);
	CU_ASSERT_EQUAL(frame.type, PS_FRAME_CONNECTION_CLOSE_APP);
	CU_ASSERT_EQUAL(frame.close.error, 4);
	CU_ASSERT_EQUAL(frame.len, 0);
	CU_ASSERT_EQUAL(ps_frame_close_put(out, 2, true, 4, 0, ""), 0);

	n = ps_frame_varint_put(out, sizeof(out), PS_FRAME_MAX_STREAMS_UNI, 16384);
	CU_ASSERT_EQUAL(n, 5);
	CU_ASSERT_EQUAL(parse(out, n), 0);
	CU_ASSERT_EQUAL(frame.type, PS_FRAME_MAX_STREAMS_UNI);
	CU_ASSERT_EQUAL(frame.limit.max, 16384);
	CU_ASSERT_EQUAL(ps_frame_varint_put(out, 4, PS_FRAME_MAX_DATA, 16384), 0);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"every cut of every frame", test_cuts_and_neighbours},
		{"frames by packet type", test_packet_types},
		{"unknown and padded types", test_unknown_types},
		{"padding", test_padding},
		{"stream", test_stream},
		{"crypto", test_crypto},
		{"fit", test_fit},
		{"ack", test_ack},
		{"ack refused", test_ack_refused},
		{"stream control", test_stream_control},
		{"connection ids and path", test_connection_ids},
		{"close and integers", test_close_and_integers},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"frame", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
