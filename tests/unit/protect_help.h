/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the tests of packet protection share: one ps_protect of the whole program, more of them on
 * demand, keys and bytes that follow from a number, and the way to run. */
#ifndef PS_TEST_PROTECT_HELP_H
#define PS_TEST_PROTECT_HELP_H

#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "protect.h"

#define LINES 8 /* of the cache under test */

static struct ps_protect *protect;

static inline struct ps_protect *
make_protect(uint32_t cache_keys)
{
	static const struct ps_static_keys keys = {{1, 2, 3}, {4, 5, 6}};
	size_t bytes = (ps_protect_footprint(cache_keys) + 63) & ~(size_t)63;
	void *mem = aligned_alloc(64, bytes);
	struct ps_protect *p;

	if (mem == NULL)
		return NULL;
	memset(mem, 0x5a, bytes);
	p = ps_protect_new(mem, cache_keys);
	if (p != NULL)
		ps_protect_static_keys(p, &keys);
	else
		free(mem);
	return p;
}

/* Bytes written. */
static inline size_t
from_hex(uint8_t *out, const char *hex)
{
	size_t n = 0;

	for (; hex[0] != '\0'; hex += 2) {
		char pair[3] = {hex[0], hex[1], '\0'};
		out[n++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return n;
}

static inline bool
equals_hex(const uint8_t *bytes, size_t len, const char *hex)
{
	uint8_t want[1500];

	return strlen(hex) == 2 * len && from_hex(want, hex) == len &&
	       memcmp(bytes, want, len) == 0;
}

static inline void
fill(uint8_t *p, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed = seed * 1103515245u + 12345u, seed >> 16);
}

static inline struct ps_pkt_key
make_suite_key(enum ps_suite suite, unsigned int seed)
{
	struct ps_pkt_key k;
	uint8_t secret[PS_HASH_MAX];

	fill(secret, sizeof(secret), seed);
	ps_pkt_key_derive(&k, suite, secret);
	return k;
}

static inline struct ps_pkt_key
make_key(unsigned int seed)
{
	return make_suite_key(PS_AES_128_GCM_SHA256, seed);
}

/* Removes header protection as a receiver does; the packet number's length comes out. */
static inline unsigned int
unmask(const struct ps_pkt_key *k, uint8_t *pkt, size_t pn_at)
{
	const struct ps_pkt_key *const keys[1] = {k};
	const uint8_t *const samples[1] = {pkt + pn_at + 4};
	uint8_t mask[1][5];
	unsigned int pn_len;

	ps_hp_masks(protect, keys, samples, mask, 1);
	pkt[0] ^= mask[0][0] & (pkt[0] & 0x80 ? 0x0f : 0x1f);
	pn_len = (pkt[0] & 3) + 1;
	for (unsigned int i = 0; i < pn_len; i++)
		pkt[pn_at + i] ^= mask[0][1 + i];
	return pn_len;
}

struct protect_test {
	const char *name;
	void (*run)(void);
};

/* The program's exit code. */
static inline int
run_protect_tests(const char *name, const struct protect_test *tests, size_t n)
{
	CU_pSuite suite;
	unsigned int failures;

	protect = make_protect(LINES);
	if (protect == NULL || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite(name, NULL, NULL);
	if (suite == NULL)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (CU_add_test(suite, tests[i].name, tests[i].run) == NULL)
			return 1;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	free(protect);
	return failures != 0;
}

#endif
