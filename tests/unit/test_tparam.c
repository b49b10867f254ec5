/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "tparam.h"

static struct ps_tparam got;
static uint8_t block[PS_TPARAM_MAX_BYTES + 8];
static size_t block_len;

static void
add(uint64_t id, const void *value, size_t len)
{
	block_len += ps_varint_put(block + block_len, id);
	block_len += ps_varint_put(block + block_len, len);
	memcpy(block + block_len, value, len);
	block_len += len;
}

static void
add_int(uint64_t id, uint64_t v)
{
	uint8_t value[8];

	add(id, value, ps_varint_put(value, v));
}

static int
parse(bool from_client)
{
	return ps_tparam_parse(&got, block, block_len, from_client);
}

static int
parse_int(uint64_t id, uint64_t v)
{
	block_len = 0;
	add_int(id, v);
	return parse(true);
}

static void
test_defaults(void)
{
	block_len = 0;
	memset(&got, 0xff, sizeof(got));
	CU_ASSERT_EQUAL(parse(true), 0);
	CU_ASSERT_EQUAL(got.max_idle_timeout_ms, 0);
	CU_ASSERT_EQUAL(got.max_udp_payload_size, 65527);
	CU_ASSERT_EQUAL(got.initial_max_data, 0);
	CU_ASSERT_EQUAL(got.initial_max_stream_data_uni, 0);
	CU_ASSERT_EQUAL(got.initial_max_streams_uni, 0);
	CU_ASSERT_EQUAL(got.ack_delay_exponent, 3);
	CU_ASSERT_EQUAL(got.max_ack_delay_ms, 25);
	CU_ASSERT_EQUAL(got.active_connection_id_limit, 2);
	CU_ASSERT_FALSE(got.disable_active_migration);
	CU_ASSERT_FALSE(got.has_initial_scid);
	CU_ASSERT_FALSE(got.has_reset_token);
}

static void
test_ranges(void)
{
	CU_ASSERT_EQUAL(parse_int(0x01, UINT64_C(1) << 50), 0);
	CU_ASSERT_EQUAL(got.max_idle_timeout_ms, UINT64_C(1) << 40);
	CU_ASSERT_EQUAL(parse_int(0x03, 1199), -EPROTO);
	CU_ASSERT_EQUAL(parse_int(0x03, 1200), 0);
	CU_ASSERT_EQUAL(got.max_udp_payload_size, 1200);
	CU_ASSERT_EQUAL(parse_int(0x03, 65528), 0);
	CU_ASSERT_EQUAL(parse_int(0x04, PS_VARINT_MAX), 0);
	CU_ASSERT_EQUAL(got.initial_max_data, PS_VARINT_MAX);
	CU_ASSERT_EQUAL(parse_int(0x05, 5), 0);
	CU_ASSERT_EQUAL(got.initial_max_stream_data_bidi_local, 5);
	CU_ASSERT_EQUAL(parse_int(0x06, 6), 0);
	CU_ASSERT_EQUAL(got.initial_max_stream_data_bidi_remote, 6);
	CU_ASSERT_EQUAL(parse_int(0x07, 7), 0);
	CU_ASSERT_EQUAL(got.initial_max_stream_data_uni, 7);
	for (uint64_t id = 0x08; id <= 0x09; id++) {
		CU_ASSERT_EQUAL(parse_int(id, PS_UNI_STREAM_MAX), 0);
		CU_ASSERT_EQUAL(parse_int(id, PS_UNI_STREAM_MAX + 1), -EPROTO);
	}
	CU_ASSERT_EQUAL(parse_int(0x0a, 20), 0);
	CU_ASSERT_EQUAL(got.ack_delay_exponent, 20);
	CU_ASSERT_EQUAL(parse_int(0x0a, 21), -EPROTO);
	CU_ASSERT_EQUAL(parse_int(0x0b, (1 << 14) - 1), 0);
	CU_ASSERT_EQUAL(got.max_ack_delay_ms, (1 << 14) - 1);
	CU_ASSERT_EQUAL(parse_int(0x0b, 1 << 14), -EPROTO);
	CU_ASSERT_EQUAL(parse_int(0x0e, 1), -EPROTO);
	CU_ASSERT_EQUAL(parse_int(0x0e, 2), 0);
	CU_ASSERT_EQUAL(parse_int(0x0e, PS_VARINT_MAX), 0);
}

static void
test_ids(void)
{
	static const uint8_t bytes[21] = {1, 2, 3};

	block_len = 0;
	add(0x0f, bytes, 20);
	CU_ASSERT_EQUAL(parse(true), 0);
	CU_ASSERT_TRUE(got.has_initial_scid);
	CU_ASSERT_EQUAL(got.initial_scid.len, 20);
	CU_ASSERT_EQUAL(memcmp(got.initial_scid.id, bytes, 20), 0);
	block_len = 0;
	add(0x0f, bytes, 0);
	CU_ASSERT_EQUAL(parse(true), 0);
	CU_ASSERT_TRUE(got.has_initial_scid);
	block_len = 0;
	add(0x0f, bytes, 21);
	CU_ASSERT_EQUAL(parse(true), -EPROTO);
	block_len = 0;
	add(0x0c, bytes, 0);
	CU_ASSERT_EQUAL(parse(true), 0);
	CU_ASSERT_TRUE(got.disable_active_migration);
	block_len = 0;
	add(0x0c, bytes, 1);
	CU_ASSERT_EQUAL(parse(true), -EPROTO);
}

static void
test_server_only(void)
{
	uint8_t bytes[64] = {0};
	static const struct {
		uint64_t id;
		size_t len;
	} params[] = {{0x00, 8}, {0x02, 16}, {0x0d, 45}, {0x10, 8}};

	bytes[24] = 4; /* id length in preferred_address */
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		block_len = 0;
		add(params[i].id, bytes, params[i].len);
		CU_ASSERT_EQUAL(parse(true), -EPROTO);
		CU_ASSERT_EQUAL(parse(false), 0);
	}
	for (size_t len = 0; len < 64; len++) {
		block_len = 0;
		add(0x0d, bytes, len);
		CU_ASSERT_EQUAL(parse(false), len == 45 ? 0 : -EPROTO);
		block_len = 0;
		add(0x02, bytes, len);
		CU_ASSERT_EQUAL(parse(false), len == 16 ? 0 : -EPROTO);
	}
	bytes[24] = 0;
	block_len = 0;
	add(0x0d, bytes, 41);
	CU_ASSERT_EQUAL(parse(false), -EPROTO);
	bytes[24] = 21;
	block_len = 0;
	add(0x0d, bytes, 62);
	CU_ASSERT_EQUAL(parse(false), -EPROTO);
}

static void
test_duplicates(void)
{
	static const uint64_t ints[] = {1, 3, 4, 5, 6, 7, 8, 9, 0x0a, 0x0b, 0x0e};

	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		uint64_t v = ints[i] == 3 ? 1300 : 9;

		CU_ASSERT_EQUAL(parse_int(ints[i], v), 0);
		add_int(0x21, 1);
		add_int(ints[i], v);
		CU_ASSERT_EQUAL(parse(true), -EPROTO);
	}
	block_len = 0;
	add(0x0c, "", 0);
	add(0x0c, "", 0);
	CU_ASSERT_EQUAL(parse(true), -EPROTO);
	block_len = 0;
	add(0x0f, "abcd", 4);
	add(0x0f, "abcd", 4);
	CU_ASSERT_EQUAL(parse(true), -EPROTO);
}

static void
test_unknown(void)
{
	block_len = 0;
	add(0x1b * 31 + 27, "grease", 6);
	add(PS_VARINT_MAX, "", 0);
	add(0x11, "no integer", 10);
	add_int(0x09, 77);
	CU_ASSERT_EQUAL(parse(true), 0);
	CU_ASSERT_EQUAL(got.initial_max_streams_uni, 77);
}

static void
test_broken(void)
{
	static const uint8_t wide[] = {0x09, 0x08, 0xc0, 0, 0, 0, 0, 0, 0, 5};
	static const uint8_t empty_int[] = {0x04, 0x00};
	static const uint8_t short_int[] = {0x04, 0x01, 0x40};
	static const uint8_t spare_byte[] = {0x04, 0x02, 0x01, 0x01};
	static const uint8_t long_length[] = {0x04, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint8_t big[PS_TPARAM_MAX_BYTES + 1] = {0x21, 0x41, 0xfe};

	CU_ASSERT_EQUAL(ps_tparam_parse(&got, wide, sizeof(wide), true), 0);
	CU_ASSERT_EQUAL(got.initial_max_streams_uni, 5);
	CU_ASSERT_EQUAL(ps_tparam_parse(&got, empty_int, sizeof(empty_int), true), -EPROTO);
	CU_ASSERT_EQUAL(ps_tparam_parse(&got, short_int, sizeof(short_int), true), -EPROTO);
	CU_ASSERT_EQUAL(ps_tparam_parse(&got, spare_byte, sizeof(spare_byte), true), -EPROTO);
	CU_ASSERT_EQUAL(ps_tparam_parse(&got, long_length, sizeof(long_length), true), -EPROTO);
	CU_ASSERT_EQUAL(ps_tparam_parse(&got, big, sizeof(big), true), -EPROTO);
	big[2] = 0xfd;
	CU_ASSERT_EQUAL(ps_tparam_parse(&got, big, sizeof(big) - 1, true), 0);
}

static void
fill(struct ps_tparam *t)
{
	ps_tparam_defaults(t);
	t->max_idle_timeout_ms = 30000;
	t->max_udp_payload_size = 1472;
	t->initial_max_data = 1 << 20;
	t->initial_max_stream_data_bidi_local = 1;
	t->initial_max_stream_data_bidi_remote = 64;
	t->initial_max_stream_data_uni = 4096;
	t->initial_max_streams_bidi = 3;
	t->initial_max_streams_uni = PS_UNI_STREAM_MAX;
	t->ack_delay_exponent = 0;
	t->max_ack_delay_ms = 0;
	t->active_connection_id_limit = 8;
	t->disable_active_migration = true;
	t->has_original_dcid = t->has_initial_scid = true;
	t->has_retry_scid = t->has_reset_token = true;
	t->original_dcid = (struct ps_cid){20, "0123456789abcdefghi"};
	t->initial_scid = (struct ps_cid){8, "abcdefgh"};
	t->retry_scid = (struct ps_cid){1, "x"};
	memcpy(t->reset_token, "fedcba9876543210", 16);
}

static void
test_round_trip(void)
{
	struct ps_tparam t;
	size_t cuts_ok = 0;

	fill(&t);
	block_len = ps_tparam_put(&t, block, PS_TPARAM_MAX_BYTES);
	CU_ASSERT_TRUE_FATAL(block_len > 0);
	CU_ASSERT_EQUAL(parse(false), 0);
	CU_ASSERT_EQUAL(memcmp(&got, &t, sizeof(t)), 0);
	CU_ASSERT_EQUAL(parse(true), -EPROTO);
	for (size_t cap = 0; cap < block_len; cap++)
		CU_ASSERT_EQUAL(ps_tparam_put(&t, block, cap), 0);
	CU_ASSERT_EQUAL(ps_tparam_put(&t, block, block_len), block_len);

	/* 16 parameters: a cut is whole at their 15 borders and at 0 only. */
	for (size_t cut = 0; cut < block_len; cut++)
		cuts_ok += ps_tparam_parse(&got, block, cut, false) == 0;
	CU_ASSERT_EQUAL(cuts_ok, 16);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"defaults", test_defaults},
		{"ranges of integers", test_ranges},
		{"connection ids and flag", test_ids},
		{"server only", test_server_only},
		{"duplicates", test_duplicates},
		{"unknown are skipped", test_unknown},
		{"broken encodings", test_broken},
		{"round trip and cuts", test_round_trip},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"tparam", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
