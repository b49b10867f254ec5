/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the cipher library does by itself: the only file beside lib/quic/protect.c that names it. */

#include "open.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#define LINUX /* or its structures are laid out otherwise */
#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>

#include "ps_be.h"

#define AES_ROUNDS     10
#define PREFETCH_AHEAD 6

struct expanded {
	struct gcm_key_data gcm;
	__m128i hp[AES_ROUNDS + 1];
} __attribute__((aligned(64)));

struct bench_limit {
	IMB_MGR *mgr;
	const struct ps_pkt_key *raw; /* for the IVs */
	struct expanded *key;
	struct gcm_context_data ctx;
};

struct bench_limit *
bench_limit_new(const struct ps_pkt_key *keys, unsigned int n)
{
	struct bench_limit *l = aligned_alloc(64, (sizeof(*l) + 63) & ~(size_t)63);
	__m128i unused[AES_ROUNDS + 1];

	if (l == NULL)
		return NULL;
	l->raw = keys;
	l->mgr = alloc_mb_mgr(0);
	l->key = bench_alloc(n * sizeof(*l->key));
	if (l->mgr == NULL || l->key == NULL) {
		bench_limit_free(l);
		return NULL;
	}
	init_mb_mgr_auto(l->mgr, NULL);
	for (unsigned int i = 0; i < n; i++) {
		IMB_AES128_GCM_PRE(l->mgr, keys[i].key, &l->key[i].gcm);
		IMB_AES_KEYEXP_128(l->mgr, keys[i].hp, l->key[i].hp, unused);
	}
	return l;
}

void
bench_limit_free(struct bench_limit *l)
{
	if (l == NULL)
		return;
	if (l->mgr != NULL)
		free_mb_mgr(l->mgr);
	free(l->key);
	free(l);
}

static void
prefetch(const void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const char *)p + i);
}

__attribute__((target("aes"))) static __m128i
mask_of(const __m128i round[AES_ROUNDS + 1], const uint8_t *sample)
{
	__m128i block = _mm_xor_si128(_mm_loadu_si128((const void *)sample), round[0]);

	for (unsigned int i = 1; i < AES_ROUNDS; i++)
		block = _mm_aesenc_si128(block, round[i]);
	return _mm_aesenclast_si128(block, round[AES_ROUNDS]);
}

__attribute__((target("aes"))) unsigned int
bench_limit_burst(struct bench_limit *l, struct packet *packet, const uint32_t of[BURST],
	uint64_t pn, size_t text)
{
	__m128i mask[BURST];
	unsigned int bad = 0;

	for (unsigned int i = 0; i < BURST; i++)
		prefetch(l->key[of[i]].hp, sizeof(l->key[0].hp));
	for (unsigned int i = 0; i < BURST; i++)
		mask[i] = mask_of(l->key[of[i]].hp, packet[i].bytes + OPEN_HDR - OPEN_PN_LEN + 4);
	for (unsigned int i = 0; i < BURST; i++) {
		const struct ps_pkt_key *raw = &l->raw[of[i]];
		uint8_t *pkt = packet[i].bytes, bits[16], nonce[12], tag[PS_AEAD_TAG];

		if (i + PREFETCH_AHEAD < BURST)
			prefetch(&l->key[of[i + PREFETCH_AHEAD]].gcm, sizeof(l->key[0].gcm));
		_mm_storeu_si128((void *)bits, mask[i]);
		pkt[0] ^= bits[0] & 0x1f;
		pkt[OPEN_HDR - 2] ^= bits[1];
		pkt[OPEN_HDR - 1] ^= bits[2];
		memcpy(nonce, raw->iv, 4);
		ps_be64_store(nonce + 4, ps_be64_load(raw->iv + 4) ^ pn);
		IMB_AES128_GCM_DEC(l->mgr, &l->key[of[i]].gcm, &l->ctx, pkt + OPEN_HDR,
			pkt + OPEN_HDR, text, nonce, pkt, OPEN_HDR, tag, sizeof(tag));
		bad += memcmp(tag, pkt + OPEN_HDR + text, sizeof(tag)) != 0;
	}
	return bad;
}
