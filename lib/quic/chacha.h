/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The ChaCha20 block function (RFC 8439 section 2.3), one row of its state a register. Private to
 * protect.c: for header protection, where a library would make a context first. Needs SSSE3. */
#ifndef PS_QUIC_CHACHA_H
#define PS_QUIC_CHACHA_H

#include <stdint.h>

#include <immintrin.h>

static inline __m128i
ps_chacha_rotate(__m128i v, int bits)
{
	return _mm_or_si128(_mm_slli_epi32(v, bits), _mm_srli_epi32(v, 32 - bits));
}

/* Four quarter rounds at once, one a column. */
static inline void
ps_chacha_quarters(__m128i r[4])
{
	const __m128i by16 = _mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2);
	const __m128i by8 = _mm_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3);

	r[0] = _mm_add_epi32(r[0], r[1]);
	r[3] = _mm_shuffle_epi8(_mm_xor_si128(r[3], r[0]), by16);
	r[2] = _mm_add_epi32(r[2], r[3]);
	r[1] = ps_chacha_rotate(_mm_xor_si128(r[1], r[2]), 12);
	r[0] = _mm_add_epi32(r[0], r[1]);
	r[3] = _mm_shuffle_epi8(_mm_xor_si128(r[3], r[0]), by8);
	r[2] = _mm_add_epi32(r[2], r[3]);
	r[1] = ps_chacha_rotate(_mm_xor_si128(r[1], r[2]), 7);
}

static inline void
ps_chacha_double_round(__m128i r[4])
{
	ps_chacha_quarters(r);
	/* the diagonals become columns, and go back */
	r[1] = _mm_shuffle_epi32(r[1], _MM_SHUFFLE(0, 3, 2, 1));
	r[2] = _mm_shuffle_epi32(r[2], _MM_SHUFFLE(1, 0, 3, 2));
	r[3] = _mm_shuffle_epi32(r[3], _MM_SHUFFLE(2, 1, 0, 3));
	ps_chacha_quarters(r);
	r[1] = _mm_shuffle_epi32(r[1], _MM_SHUFFLE(2, 1, 0, 3));
	r[2] = _mm_shuffle_epi32(r[2], _MM_SHUFFLE(1, 0, 3, 2));
	r[3] = _mm_shuffle_epi32(r[3], _MM_SHUFFLE(0, 3, 2, 1));
}

#define PS_CHACHA_LANES 4

/* The first 16 bytes of one block's key stream each under PS_CHACHA_LANES keys; the lanes hide each
 * other's latency. at: in, counter and nonce as they stand in the state; out. */
static inline void
ps_chacha_lanes(const uint8_t *const key[PS_CHACHA_LANES], __m128i at[PS_CHACHA_LANES])
{
	const __m128i constant = _mm_set_epi32(0x6b206574, 0x79622d32, 0x3320646e, 0x61707865);
	__m128i r[PS_CHACHA_LANES][4];

	for (unsigned int j = 0; j < PS_CHACHA_LANES; j++) {
		r[j][0] = constant;
		r[j][1] = _mm_loadu_si128((const void *)key[j]);
		r[j][2] = _mm_loadu_si128((const void *)(key[j] + 16));
		r[j][3] = at[j];
	}
	for (unsigned int i = 0; i < 10; i++) {
		for (unsigned int j = 0; j < PS_CHACHA_LANES; j++)
			ps_chacha_double_round(r[j]);
	}
	for (unsigned int j = 0; j < PS_CHACHA_LANES; j++)
		at[j] = _mm_add_epi32(r[j][0], constant);
}

#endif
