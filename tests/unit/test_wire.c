/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <string.h>

#include "cunit_run.h"
#include "wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
test_varint(void)
{
	static const struct {
		uint8_t bytes[8];
		size_t len;
		uint64_t v;
	} samples[] = {
		{{0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c}, 8, UINT64_C(151288809941952652)},
		{{0x9d, 0x7f, 0x3e, 0x7d}, 4, 494878333},
		{{0x7b, 0xbd}, 2, 15293},
		{{0x25}, 1, 37},
		{{0x40, 0x25}, 2, 37},
	};
	static const uint64_t edges[] = {
		0, 63, 64, 16383, 16384, (1 << 30) - 1, 1 << 30, PS_VARINT_MAX};
	static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};
	uint8_t out[9];
	uint64_t v;

	for (size_t i = 0; i < COUNT(samples); i++) {
		const uint8_t *p = samples[i].bytes;

		v = 0;
		CU_ASSERT_EQUAL(ps_varint_get(p, p + samples[i].len, &v), samples[i].len);
		CU_ASSERT_EQUAL(v, samples[i].v);
		for (size_t cut = 0; cut < samples[i].len; cut++)
			CU_ASSERT_EQUAL(ps_varint_get(p, p + cut, &v), 0);
		if (i < 4) {
			CU_ASSERT_EQUAL(ps_varint_put(out, samples[i].v), samples[i].len);
			CU_ASSERT_EQUAL(memcmp(out, p, samples[i].len), 0);
		}
	}
	for (size_t i = 0; i < COUNT(edges); i++) {
		memset(out, 0xaa, sizeof(out));
		CU_ASSERT_EQUAL(ps_varint_size(edges[i]), sizes[i]);
		CU_ASSERT_EQUAL(ps_varint_put(out, edges[i]), sizes[i]);
		CU_ASSERT_EQUAL(out[sizes[i]], 0xaa);
		CU_ASSERT_EQUAL(ps_varint_get(out, out + sizes[i], &v), sizes[i]);
		CU_ASSERT_EQUAL(v, edges[i]);
	}
}

static void
test_packet_number(void)
{
	/* RFC 9000 appendix A.2 and A.3 */
	CU_ASSERT_EQUAL(ps_pn_size(0xac5c02, 0xabe8b3 + 1), 2);
	CU_ASSERT_EQUAL(ps_pn_size(0xace8fe, 0xabe8b3 + 1), 3);
	CU_ASSERT_EQUAL(ps_pn_decode(0xa82f30ea + 1, 0x9b32, 2), 0xa82f9b32);

	CU_ASSERT_EQUAL(ps_pn_size(0, 0), 1);
	CU_ASSERT_EQUAL(ps_pn_size(127, 0), 1);
	CU_ASSERT_EQUAL(ps_pn_size(128, 0), 2);
	CU_ASSERT_EQUAL(ps_pn_size(0x7fff, 0), 2);
	CU_ASSERT_EQUAL(ps_pn_size(0x8000, 0), 3);
	CU_ASSERT_EQUAL(ps_pn_size(0x7fffff, 0), 3);
	CU_ASSERT_EQUAL(ps_pn_size(0x800000, 0), 4);
	CU_ASSERT_EQUAL(ps_pn_decode(0, 0, 1), 0);
	CU_ASSERT_EQUAL(ps_pn_decode(0, 0xff, 1), 0xff);
	CU_ASSERT_EQUAL(ps_pn_decode(0x100, 0xff, 1), 0xff);
	CU_ASSERT_EQUAL(ps_pn_decode(0xff, 0x00, 1), 0x100);
	/* exactly half a window away: the higher one */
	CU_ASSERT_EQUAL(ps_pn_decode(0x180, 0x00, 1), 0x200);
	CU_ASSERT_EQUAL(ps_pn_decode(0x100, 0x80, 1), 0x180);
	CU_ASSERT_EQUAL(ps_pn_decode(PS_VARINT_MAX, 0x01, 1), PS_VARINT_MAX - 0xfe);

	/* Whatever size the sender picks, the receiver that missed all since from finds pn. */
	for (uint64_t from = 0; from < 600; from += 7) {
		for (uint64_t span = 0; span < 70000; span = span * 3 / 2 + 1) {
			uint64_t pn = from + span;
			unsigned int n = ps_pn_size(pn, from);
			uint64_t truncated = pn & ((UINT64_C(1) << 8 * n) - 1);

			CU_ASSERT_EQUAL(ps_pn_decode(from, truncated, n), pn);
			CU_ASSERT_EQUAL(ps_pn_decode(pn, truncated, n), pn);
		}
	}
}

static const struct ps_cid dcid = {8, "destinat"};
static const struct ps_cid scid = {5, "sourc"};

static enum ps_drop
header(struct ps_pkt_hdr *h, const uint8_t *p, size_t len)
{
	return ps_pkt_hdr_parse(h, p, len, 8);
}

static void
test_long_header(void)
{
	uint8_t packet[256] = {0};
	static const uint8_t token[70] = {1, 2, 3};
	static const enum ps_pkt_type types[] = {PS_PKT_INITIAL, PS_PKT_HANDSHAKE};
	struct ps_pkt_hdr h;
	size_t at;

	for (size_t i = 0; i < COUNT(types); i++) {
		size_t token_len = types[i] == PS_PKT_INITIAL ? sizeof(token) : 0;
		size_t head = ps_pkt_long_put(
			packet, types[i], &dcid, &scid, token, token_len, 0x12345, 3, &at);
		size_t size = head + 30 + PS_AEAD_TAG;

		ps_pkt_long_finish(packet, at, 3, 30);
		CU_ASSERT_EQUAL_FATAL(header(&h, packet, size + 9), PS_DROP_COUNT);
		CU_ASSERT_EQUAL(h.type, types[i]);
		CU_ASSERT_EQUAL(h.version, PS_QUIC_V1);
		CU_ASSERT_EQUAL(h.size, size);
		CU_ASSERT_EQUAL(h.pn_offset, head - 3);
		CU_ASSERT_EQUAL(packet[0] & 3, 2);
		CU_ASSERT_EQUAL(memcmp(packet + h.pn_offset, "\x01\x23\x45", 3), 0);
		CU_ASSERT_EQUAL(h.dcid_len, dcid.len);
		CU_ASSERT_EQUAL(memcmp(h.dcid, dcid.id, dcid.len), 0);
		CU_ASSERT_EQUAL(h.scid_len, scid.len);
		CU_ASSERT_EQUAL(memcmp(h.scid, scid.id, scid.len), 0);
		CU_ASSERT_EQUAL(h.token_len, token_len);
		if (token_len > 0)
			CU_ASSERT_EQUAL(memcmp(h.token, token, token_len), 0);
		for (size_t cut = 0; cut < size; cut++)
			CU_ASSERT_EQUAL(header(&h, packet, cut), PS_DROP_QUIC_SHORT);
	}
}

static void
test_long_header_refused(void)
{
	uint8_t packet[256] = {0};
	struct ps_pkt_hdr h;
	size_t at, head;

	head = ps_pkt_long_put(packet, PS_PKT_HANDSHAKE, &dcid, &scid, NULL, 0, 7, 1, &at);
	ps_pkt_long_finish(packet, at, 1, 3);
	CU_ASSERT_EQUAL(header(&h, packet, head + 3 + PS_AEAD_TAG), PS_DROP_COUNT);
	CU_ASSERT_EQUAL(h.size, h.pn_offset + 4 + PS_HP_SAMPLE);
	ps_pkt_long_finish(packet, at, 1, 2);
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_SHORT);
	ps_pkt_long_finish(packet, at, 1, 3);
	packet[0] &= ~0x40;
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_FIXED_BIT);
	packet[0] |= 0x40;
	packet[5] = 21;
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_CID_LENGTH);
	packet[5] = 8;
	packet[6 + 8] = 21;
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_CID_LENGTH);
	/* token length 2^62-1 */
	head = ps_pkt_long_put(packet, PS_PKT_INITIAL, &dcid, &scid, NULL, 0, 7, 1, &at);
	memset(packet + at - 1, 0xff, 8);
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_SHORT);
	memset(packet + at - 1, 0, 1);
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_SHORT);
}

static void
test_short_header(void)
{
	uint8_t packet[64] = {0};
	struct ps_pkt_hdr h;

	CU_ASSERT_EQUAL(ps_pkt_short_put(packet, &dcid, true, 0xabcdef, 2), 11);
	CU_ASSERT_EQUAL(packet[0], 0x45);
	CU_ASSERT_EQUAL(memcmp(packet + 9, "\xcd\xef", 2), 0);
	CU_ASSERT_EQUAL_FATAL(header(&h, packet, sizeof(packet)), PS_DROP_COUNT);
	CU_ASSERT_EQUAL(h.type, PS_PKT_1RTT);
	CU_ASSERT_EQUAL(h.size, sizeof(packet));
	CU_ASSERT_EQUAL(h.pn_offset, 9);
	CU_ASSERT_EQUAL(memcmp(h.dcid, dcid.id, 8), 0);
	CU_ASSERT_EQUAL(header(&h, packet, 9 + 4 + PS_HP_SAMPLE), PS_DROP_COUNT);
	for (size_t cut = 0; cut < 9 + 4 + PS_HP_SAMPLE; cut++)
		CU_ASSERT_EQUAL(header(&h, packet, cut), PS_DROP_QUIC_SHORT);
	packet[0] = 0x05;
	CU_ASSERT_EQUAL(header(&h, packet, sizeof(packet)), PS_DROP_QUIC_FIXED_BIT);
}

static void
test_version_negotiation(void)
{
	uint8_t ids[255], packet[600];
	struct ps_pkt_hdr h;
	size_t size = 7 + 255 + 200 + 8;

	memset(ids, 0x5a, sizeof(ids));
	CU_ASSERT_EQUAL(ps_pkt_vn_put(packet, size - 1, ids, 255, ids, 200, 0x3f), 0);
	CU_ASSERT_EQUAL_FATAL(ps_pkt_vn_put(packet, size, ids, 255, ids, 200, 0x3f), size);
	CU_ASSERT_EQUAL_FATAL(header(&h, packet, size), PS_DROP_COUNT);
	CU_ASSERT_EQUAL(h.type, PS_PKT_VERSION_NEGOTIATION);
	CU_ASSERT_EQUAL(h.dcid_len, 255);
	CU_ASSERT_EQUAL(h.scid_len, 200);
	CU_ASSERT_EQUAL(memcmp(h.dcid, ids, 255), 0);
	CU_ASSERT_EQUAL(memcmp(h.scid, ids, 200), 0);
	CU_ASSERT_EQUAL(h.size, size);
	CU_ASSERT_EQUAL(memcmp(packet + size - 8, "\0\0\0\1", 4), 0);
	for (size_t i = size - 4; i < size; i++)
		CU_ASSERT_EQUAL(packet[i] & 0x0f, 0x0a);

	/* The same ids in a version that is unknown, fixed bit or not. */
	packet[1] = 0xfa;
	packet[0] = 0x80;
	CU_ASSERT_EQUAL_FATAL(header(&h, packet, size), PS_DROP_COUNT);
	CU_ASSERT_EQUAL(h.type, PS_PKT_OTHER_VERSION);
	CU_ASSERT_EQUAL(h.version, 0xfa000000u);
	CU_ASSERT_EQUAL(h.dcid_len, 255);
	CU_ASSERT_EQUAL(h.scid_len, 200);
	for (size_t cut = 0; cut < size - 8; cut++)
		CU_ASSERT_EQUAL(header(&h, packet, cut), PS_DROP_QUIC_SHORT);
}

static void
test_retry(void)
{
	uint8_t packet[128] = {0};
	struct ps_pkt_hdr h;
	size_t n = ps_pkt_retry_put(packet, &dcid, &scid, (const uint8_t *)"token", 5, 0xff);

	CU_ASSERT_EQUAL(n, 7 + 8 + 5 + 5);
	CU_ASSERT_EQUAL_FATAL(header(&h, packet, n + PS_AEAD_TAG), PS_DROP_COUNT);
	CU_ASSERT_EQUAL(h.type, PS_PKT_RETRY);
	CU_ASSERT_EQUAL(h.pn_offset, 0);
	CU_ASSERT_EQUAL(h.token_len, 5);
	CU_ASSERT_EQUAL(memcmp(h.token, "token", 5), 0);
	CU_ASSERT_EQUAL(header(&h, packet, n + PS_AEAD_TAG - 5), PS_DROP_QUIC_SHORT);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"integers", test_varint},
		{"packet numbers", test_packet_number},
		{"long header", test_long_header},
		{"long header refused", test_long_header_refused},
		{"short header", test_short_header},
		{"version negotiation", test_version_negotiation},
		{"retry", test_retry},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"wire", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
