/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Connection ids and tokens: what we made is read again, and nothing else is. */

#include "protect_help.h"

static void
test_cid(void)
{
	static const struct ps_cid_parts all[] = {{0, 0, 0, 0},
		{255, 0xffffff, UINT32_MAX, UINT32_MAX}, {3, 0x123456, 77, 0xdeadbeef}};
	struct ps_protect *same = make_protect(1);
	uint8_t cid[PS_OUR_CID_LEN], forged[PS_OUR_CID_LEN];
	struct ps_cid_parts got;
	unsigned int accepted = 0;

	for (unsigned int i = 0; i < 3; i++) {
		ps_cid_make(protect, &all[i], cid);
		CU_ASSERT(ps_cid_read(same, cid, &got)); /* the keys are shared, not the object */
		CU_ASSERT(got.worker == all[i].worker && got.slot == all[i].slot);
		CU_ASSERT(got.generation == all[i].generation && got.nonce == all[i].nonce);
		for (unsigned int bit = 0; bit < 128; bit++) {
			memcpy(forged, cid, sizeof(cid));
			forged[bit / 8] ^= (uint8_t)(1u << bit % 8);
			accepted += ps_cid_read(protect, forged, &got);
		}
	}
	for (unsigned int i = 0; i < 1000000; i++) {
		fill(forged, sizeof(forged), i);
		accepted += ps_cid_read(protect, forged, &got);
	}
	CU_ASSERT_EQUAL(accepted, 0);
	free(same);
}

/* AES-128 of the zero block under the zero key (GCM specification, test case 1: the hash key). */
static void
test_cid_cipher(void)
{
	struct ps_protect *p = make_protect(1);
	struct ps_static_keys keys = {0};
	const struct ps_cid_parts zero = {0};
	uint8_t cid[PS_OUR_CID_LEN];

	ps_protect_static_keys(p, &keys);
	ps_cid_make(p, &zero, cid);
	CU_ASSERT(equals_hex(cid, 16, "66e94bd4ef8a2c3b884cfa59ca342b2e"));
	free(p);
}

#define NOW UINT64_C(1000000000000)

static const struct ps_flow4 flow = {0x0100000a, 0x0200000a, 0x1234, 0x5678};
static const struct ps_cid scid = {8, {1, 2, 3, 4, 5, 6, 7, 8}};

static void
make_token(uint8_t token[PS_TOKEN_BYTES], const struct ps_cid *odcid)
{
	uint8_t nonce[12];

	ps_protect_random(protect, nonce, sizeof(nonce));
	ps_token_make(protect, PS_TOKEN_RETRY, token, nonce, &flow, odcid, &scid, NOW);
}

static void
test_token_valid(void)
{
	struct ps_protect *same = make_protect(1);
	uint8_t token[PS_TOKEN_BYTES];
	struct ps_cid odcid = {.len = 0}, got;

	for (uint8_t len = 0; len <= PS_CID_MAX; len++) {
		odcid.len = len;
		fill(odcid.id, len, 40);
		make_token(token, &odcid);
		memset(&got, 0xff, sizeof(got));
		CU_ASSERT(ps_token_check(protect, token, PS_TOKEN_BYTES, &flow, &scid, NOW, &got));
		CU_ASSERT(ps_cid_equal(&got, &odcid));
		CU_ASSERT(ps_token_check(same, token, PS_TOKEN_BYTES, &flow, &scid,
			NOW + PS_TOKEN_LIFE_NS - 1, &got));
	}
	free(same);
}

static bool
token_ok(const uint8_t *token, size_t len, struct ps_flow4 f, struct ps_cid s, uint64_t now_ns)
{
	struct ps_cid got;

	return ps_token_check(protect, token, len, &f, &s, now_ns, &got);
}

static void
test_token_refused(void)
{
	const struct ps_cid odcid = {5, {9, 8, 7, 6, 5}};
	uint8_t token[PS_TOKEN_BYTES + 1] = {0};
	struct ps_flow4 f = flow;
	struct ps_cid s = scid;
	unsigned int accepted = 0;

	make_token(token, &odcid);
	CU_ASSERT(token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW));
	f.saddr_be ^= 1;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, f, scid, NOW));
	f = flow;
	f.sport_be ^= 0x100;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, f, scid, NOW));
	f = flow;
	f.dport_be ^= 0x100;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, f, scid, NOW));
	s.id[7] ^= 1;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, s, NOW));
	s = scid;
	s.len = 7;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, s, NOW));
	s.len = 255;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, s, NOW));
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW + PS_TOKEN_LIFE_NS));
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, scid, UINT64_MAX));
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW - 1));
	for (size_t len = 0; len < PS_TOKEN_BYTES; len++)
		accepted += token_ok(token, len, flow, scid, NOW);
	accepted += token_ok(token, PS_TOKEN_BYTES + 1, flow, scid, NOW);
	for (size_t bit = 0; bit < 8 * PS_TOKEN_BYTES; bit++) {
		token[bit / 8] ^= (uint8_t)(1u << bit % 8);
		accepted += token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW);
		token[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CU_ASSERT_EQUAL(accepted, 0);
	CU_ASSERT(token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW));
}

int
main(void)
{
	static const struct protect_test tests[] = {
		{"connection ids", test_cid},
		{"connection id cipher", test_cid_cipher},
		{"valid tokens", test_token_valid},
		{"tokens refused", test_token_refused},
	};

	return run_protect_tests(
		"connection ids and tokens", tests, sizeof(tests) / sizeof(tests[0]));
}
