/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The cache of expanded keys: the right key is found whatever stands there, and nothing is left. */

#include "protect_help.h"

/* A packet sealed by a ps_protect of its own, so that no shared cache can hide a wrong key. */
static bool
opens(struct ps_protect *p, struct ps_pkt_key *k, unsigned int seed)
{
	struct ps_protect *sender = make_protect(1);
	struct ps_pkt_key tx = make_suite_key(k->suite, seed);
	uint8_t pkt[64];
	bool ok;

	memset(pkt, 0, sizeof(pkt));
	pkt[0] = 0x41; /* two bytes of packet number */
	ps_seal(sender, &tx, seed, pkt, 10, 2, 30);
	free(sender);
	unmask(k, pkt, 8);
	ps_key_prefetch(p, k, 30);
	ok = ps_open(p, k, seed, pkt, 10, 30);
	for (unsigned int i = 0; i < 30; i++)
		ok = ok && pkt[10 + i] == 0;
	return ok;
}

/* Four times as many keys as lines, in an order that evicts all the time, and hints of every kind
 * of wrongness: stale, out of range, another key's line. */
static void
test_cache(void)
{
	struct ps_protect *p = make_protect(LINES), *tiny = make_protect(1);
	struct ps_pkt_key key[4 * LINES];
	unsigned int bad = 0, at = 1;

	for (unsigned int i = 0; i < 4 * LINES; i++)
		key[i] = make_suite_key(i % PS_SUITES, i);
	for (unsigned int i = 0; i < 300; i++) {
		at = (at * 5 + 3) % (4 * LINES);
		bad += !opens(p, &key[at], at);
		bad += !opens(p, &key[at], at);
		bad += !opens(tiny, &key[at], at);
	}
	for (unsigned int i = 0; i < 4 * LINES; i++) {
		key[i].cached = key[(i + 1) % (4 * LINES)].cached;
		bad += !opens(p, &key[i], i);
		key[i].cached = UINT32_MAX >> 2;
		bad += !opens(p, &key[i], i);
	}
	CU_ASSERT_EQUAL(bad, 0);
	ps_protect_wipe(p);
	ps_protect_wipe(tiny);
	free(p);
	free(tiny);
}

/* Keys that differ in one bit meet on the line of the first: each must get its own. */
static void
similar_keys(enum ps_suite suite)
{
	struct ps_protect *p = make_protect(LINES);
	struct ps_pkt_key tx = make_suite_key(suite, 6), k;
	uint8_t sealed[64] = {0x41}, pkt[64];
	unsigned int opened = 0;

	ps_seal(p, &tx, 1, sealed, 10, 2, 30);
	unmask(&tx, sealed, 8);
	for (unsigned int bit = 0; bit < 8 * ps_suite_key_bytes(suite); bit++) {
		memcpy(pkt, sealed, sizeof(pkt));
		CU_ASSERT(ps_open(p, &tx, 1, pkt, 10, 30));
		k = tx;
		k.key[bit / 8] ^= (uint8_t)(1u << bit % 8);
		memcpy(pkt, sealed, sizeof(pkt));
		opened += ps_open(p, &k, 1, pkt, 10, 30);
	}
	CU_ASSERT_EQUAL(opened, 0);
	free(p);
}

static void
test_similar_keys(void)
{
	for (enum ps_suite s = 0; s < PS_SUITES; s++)
		similar_keys(s);
}

/* A key of zeroes must not take a cache line never used for its own expanded form, nor that of a
 * key of the other size. The GCM specification's test cases 2 and 14. */
static void
test_zero_key(void)
{
	struct ps_protect *p = make_protect(1);
	struct ps_pkt_key aes128 = {.suite = PS_AES_128_GCM_SHA256};
	struct ps_pkt_key aes256 = {.suite = PS_AES_256_GCM_SHA384};
	uint8_t pkt[1 + 16 + 16];

	for (unsigned int i = 0; i < 6; i++) {
		struct ps_pkt_key *k = i % 3 ? &aes128 : &aes256;

		memset(pkt, 0, sizeof(pkt));
		ps_seal(p, k, 0, pkt, 1, 1, 16);
		CU_ASSERT(equals_hex(pkt + 1, 16,
			i % 3 ? "0388dace60b6a392f328c2b971b2fe78"
			      : "cea7403d4d606b6e074ec5d3baf39d18"));
	}
	free(p);
	p = make_protect(1);
	memset(pkt, 0, sizeof(pkt));
	ps_seal(p, &aes128, 0, pkt, 1, 1, 16);
	CU_ASSERT(equals_hex(pkt + 1, 16, "0388dace60b6a392f328c2b971b2fe78"));
	free(p);
}

static void
test_wipe(void)
{
	static const struct ps_pkt_key zero;
	struct ps_protect *p = make_protect(LINES);
	size_t bytes = ps_protect_footprint(LINES);
	struct ps_pkt_key k = make_key(5);
	unsigned int left = 0;

	CU_ASSERT(opens(p, &k, 5));
	ps_protect_wipe(p);
	for (size_t i = 0; i < bytes; i++)
		left += ((const uint8_t *)p)[i] != 0;
	CU_ASSERT_EQUAL(left, 0);
	free(p);
	ps_pkt_key_wipe(&k);
	CU_ASSERT(memcmp(&k, &zero, sizeof(k)) == 0);
}

int
main(void)
{
	static const struct protect_test tests[] = {
		{"more keys than cache lines", test_cache},
		{"similar keys", test_similar_keys},
		{"all-zero key", test_zero_key},
		{"wiping", test_wipe},
	};

	return run_protect_tests("protect cache", tests, sizeof(tests) / sizeof(tests[0]));
}
