/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* AES-128-GCM (NIST SP 800-38D) of a short text, from the raw key. Private to protect.c: an
 * acknowledgement has a dozen bytes, and to make its round keys and one hash key on the way takes
 * less than to bring an expanded key of 1 KB from memory. Without branches on secrets. Needs
 * AES-NI, PCLMUL and SSSE3. */
#ifndef PS_QUIC_GCM_H
#define PS_QUIC_GCM_H

#include <stddef.h>

#include "aes.h"

#define PS_GCM_SMALL 32 /* bytes of text, and of header, at most */

static inline __m128i
ps_gcm_reverse(__m128i block)
{
	return _mm_shuffle_epi8(block, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f));
}

/* The hash key times x, which spares each product a shift (bits of a block stand in GCM's order
 * reversed). */
static inline __m128i
ps_gcm_key(__m128i h)
{
	const __m128i poly = _mm_set_epi64x((long long)0xc200000000000000, 1);
	__m128i top = _mm_shuffle_epi32(_mm_srai_epi32(h, 31), 0xff); /* all ones: x^127 was set */

	h = _mm_or_si128(_mm_slli_epi64(h, 1), _mm_slli_si128(_mm_srli_epi64(h, 63), 8));
	return _mm_xor_si128(h, _mm_and_si128(top, poly));
}

/* a times b in GF(2^128), section 6.3; b from ps_gcm_key(). The upper half of the product is folded
 * in two steps of 64 bits. */
static inline __m128i
ps_gcm_multiply(__m128i a, __m128i b)
{
	const __m128i poly = _mm_set_epi64x((long long)0xc200000000000000, 1);
	__m128i lo = _mm_clmulepi64_si128(a, b, 0x00), hi = _mm_clmulepi64_si128(a, b, 0x11);
	__m128i mid =
		_mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));

	lo = _mm_xor_si128(lo, _mm_slli_si128(mid, 8));
	hi = _mm_xor_si128(hi, _mm_srli_si128(mid, 8));
	for (int i = 0; i < 2; i++)
		lo = _mm_xor_si128(
			_mm_shuffle_epi32(lo, 0x4e), _mm_clmulepi64_si128(lo, poly, 0x10));
	return _mm_xor_si128(hi, lo);
}

/* The first n bytes of a block, zeros behind them; n <= 16. */
static inline __m128i
ps_gcm_first(__m128i block, size_t n)
{
	static const uint8_t keep[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	return _mm_and_si128(block, _mm_loadu_si128((const void *)(keep + 16 - n)));
}

/* Hashes len bytes that stand at the start of two blocks; len <= 32. */
static inline __m128i
ps_gcm_hash(__m128i sum, __m128i first, __m128i second, size_t len, __m128i key)
{
	if (len > 0)
		sum = ps_gcm_multiply(_mm_xor_si128(sum, ps_gcm_reverse(ps_gcm_first(
								 first, len < 16 ? len : 16))),
			key);
	if (len > 16)
		sum = ps_gcm_multiply(
			_mm_xor_si128(sum, ps_gcm_reverse(ps_gcm_first(second, len - 16))), key);
	return sum;
}

#define PS_GCM_LANES 4 /* the hash key, the mask of the tag, and two blocks of text */

/* Seals len bytes of text behind aad_len bytes of header in place, and puts the tag behind them;
 * each is PS_GCM_SMALL at most. 48 bytes from the text on are read and written, whatever len is.
 * nonce: its 12 bytes, and 4 zeros. */
static inline void
ps_gcm_seal_small(const uint8_t key[16], __m128i nonce, uint8_t *pkt, size_t aad_len, size_t len)
{
	__m128i *text = (void *)(pkt + aad_len), *aad = (void *)pkt;
	__m128i k = _mm_loadu_si128((const void *)key), block[PS_GCM_LANES], sum;

	block[0] = k;
	for (int i = 1; i < PS_GCM_LANES; i++) /* counters are the last word, big-endian */
		block[i] = _mm_xor_si128(_mm_or_si128(nonce, _mm_set_epi32(i << 24, 0, 0, 0)), k);
	for (unsigned int r = 0; r < PS_AES_ROUNDS; r++) {
		k = ps_aes_next_key(k, r);
		for (int i = 0; i < PS_GCM_LANES; i++)
			block[i] = r + 1 < PS_AES_ROUNDS ? _mm_aesenc_si128(block[i], k)
							 : _mm_aesenclast_si128(block[i], k);
	}
	k = ps_gcm_key(ps_gcm_reverse(block[0]));
	sum = ps_gcm_hash(
		_mm_setzero_si128(), _mm_loadu_si128(aad), _mm_loadu_si128(aad + 1), aad_len, k);
	block[2] = _mm_xor_si128(block[2], _mm_loadu_si128(text));
	block[3] = _mm_xor_si128(block[3], _mm_loadu_si128(text + 1));
	_mm_storeu_si128(text, block[2]);
	_mm_storeu_si128(text + 1, block[3]);
	sum = ps_gcm_hash(sum, block[2], block[3], len, k);
	sum = _mm_xor_si128(sum, _mm_set_epi64x((long long)aad_len * 8, (long long)len * 8));
	sum = ps_gcm_reverse(ps_gcm_multiply(sum, k));
	_mm_storeu_si128((void *)((uint8_t *)text + len), _mm_xor_si128(sum, block[1]));
}

#endif
