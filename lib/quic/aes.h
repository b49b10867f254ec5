/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Single AES blocks (FIPS 197) with the processor's instructions. Private to protect.c: for header
 * protection (AES-128 and AES-256), connection ids and random bytes (AES-128), where a library call
 * per block costs more than the block. Needs AES-NI and SSSE3. */
#ifndef PS_QUIC_AES_H
#define PS_QUIC_AES_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#include <immintrin.h>

#define PS_AES_ROUNDS 10 /* of AES-128 */
#define PS_AES256_PAIRS                                                                            \
	7 /* of round keys after the key itself; the last one's half is not used                   \
	   */

struct ps_aes_key {
	__m128i round[PS_AES_ROUNDS + 1];
};

static const uint32_t ps_aes_rcon[PS_AES_ROUNDS] = {
	0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};

/* k carried on by a transformed word in each of four places. */
static inline __m128i
ps_aes_carry_key(__m128i k, __m128i word)
{
	k = _mm_xor_si128(k, _mm_slli_si128(k, 4));
	k = _mm_xor_si128(k, _mm_slli_si128(k, 8));
	return _mm_xor_si128(k, word);
}

/* RotWord and SubWord of the last word of k, with round constant n, four times over. The last AES
 * round applied to four copies of a word is SubWord with the round constant: ShiftRows changes
 * nothing there. It is faster than AESKEYGENASSIST and takes n at run time. */
static inline __m128i
ps_aes_key_word(__m128i k, unsigned int n)
{
	return _mm_aesenclast_si128(_mm_shuffle_epi8(k, _mm_set1_epi32(0x0c0f0e0d)),
		_mm_set1_epi32((int)ps_aes_rcon[n]));
}

/* AES-128: the round key after k; n = 0..9. */
static inline __m128i
ps_aes_next_key(__m128i k, unsigned int n)
{
	return ps_aes_carry_key(k, ps_aes_key_word(k, n));
}

/* AES-256: the round keys after the pair k; n = 0..6. */
static inline void
ps_aes_next_pair(__m128i k[2], unsigned int n)
{
	__m128i word;

	k[0] = ps_aes_carry_key(k[0], ps_aes_key_word(k[1], n));
	word = _mm_shuffle_epi32(k[0], 0xff);
	k[1] = ps_aes_carry_key(k[1], _mm_aesenclast_si128(word, _mm_setzero_si128()));
}

static inline void
ps_aes_expand(struct ps_aes_key *a, const uint8_t key[16])
{
	a->round[0] = _mm_loadu_si128((const __m128i *)key);
	for (unsigned int i = 0; i < PS_AES_ROUNDS; i++)
		a->round[i + 1] = ps_aes_next_key(a->round[i], i);
}

/* Round keys for decryption from those for encryption. */
static inline void
ps_aes_invert(struct ps_aes_key *dec, const struct ps_aes_key *enc)
{
	dec->round[0] = enc->round[PS_AES_ROUNDS];
	for (unsigned int i = 1; i < PS_AES_ROUNDS; i++)
		dec->round[i] = _mm_aesimc_si128(enc->round[PS_AES_ROUNDS - i]);
	dec->round[PS_AES_ROUNDS] = enc->round[0];
}

static inline __m128i
ps_aes_encrypt(const struct ps_aes_key *a, __m128i block)
{
	block = _mm_xor_si128(block, a->round[0]);
	for (unsigned int i = 1; i < PS_AES_ROUNDS; i++)
		block = _mm_aesenc_si128(block, a->round[i]);
	return _mm_aesenclast_si128(block, a->round[PS_AES_ROUNDS]);
}

static inline __m128i
ps_aes_decrypt(const struct ps_aes_key *a, __m128i block)
{
	block = _mm_xor_si128(block, a->round[0]);
	for (unsigned int i = 1; i < PS_AES_ROUNDS; i++)
		block = _mm_aesdec_si128(block, a->round[i]);
	return _mm_aesdeclast_si128(block, a->round[PS_AES_ROUNDS]);
}

#define PS_AES_LANES 4 /* key and block of each lane stay in the 16 registers of SSE */

/* One block each under PS_AES_LANES raw keys: keys are expanded on the way and the lanes
 * hide each other's latency. block: in and out. */
static inline void
ps_aes_encrypt_lanes(const uint8_t *const key[PS_AES_LANES], __m128i block[PS_AES_LANES])
{
	__m128i k[PS_AES_LANES];

	for (unsigned int j = 0; j < PS_AES_LANES; j++) {
		k[j] = _mm_loadu_si128((const __m128i *)key[j]);
		block[j] = _mm_xor_si128(block[j], k[j]);
	}
	for (unsigned int i = 0; i < PS_AES_ROUNDS - 1; i++) {
		for (unsigned int j = 0; j < PS_AES_LANES; j++) {
			k[j] = ps_aes_next_key(k[j], i);
			block[j] = _mm_aesenc_si128(block[j], k[j]);
		}
	}
	for (unsigned int j = 0; j < PS_AES_LANES; j++) {
		k[j] = ps_aes_next_key(k[j], PS_AES_ROUNDS - 1);
		block[j] = _mm_aesenclast_si128(block[j], k[j]);
	}
}

#define PS_AES_WIDE __attribute__((target("avx512f,avx512bw,vaes")))

PS_AES_WIDE static inline __m512i
ps_aes_gather(const uint8_t *const at[PS_AES_LANES])
{
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)at[0]));

	v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)at[1]), 1);
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)at[2]), 2);
	return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)at[3]), 3);
}

/* The same with all lanes in one register. */
PS_AES_WIDE static inline void
ps_aes_encrypt_wide(const uint8_t *const key[PS_AES_LANES], const uint8_t *const in[PS_AES_LANES],
	__m128i out[PS_AES_LANES])
{
	const __m512i last_word = _mm512_set1_epi32(0x0c0f0e0d);
	__m512i k = ps_aes_gather(key), b = _mm512_xor_si512(ps_aes_gather(in), k);

	for (unsigned int i = 0; i < PS_AES_ROUNDS; i++) {
		__m512i word = _mm512_aesenclast_epi128(
			_mm512_shuffle_epi8(k, last_word), _mm512_set1_epi32((int)ps_aes_rcon[i]));

		k = _mm512_xor_si512(k, _mm512_bslli_epi128(k, 4));
		k = _mm512_ternarylogic_epi32(k, _mm512_bslli_epi128(k, 8), word, 0x96); /* xor */
		b = i < PS_AES_ROUNDS - 1 ? _mm512_aesenc_epi128(b, k)
					  : _mm512_aesenclast_epi128(b, k);
	}
	_mm512_storeu_si512(out, b);
}

/* Whether the processor and the system can do that. */
static inline bool
ps_aes_wide(void)
{
	unsigned int a, b, c, d;

	return __builtin_cpu_supports("avx512bw") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       (c & bit_VAES) != 0;
}

/* The same under AES-256 keys, of 32 bytes. */
static inline void
ps_aes256_encrypt_lanes(const uint8_t *const key[PS_AES_LANES], __m128i block[PS_AES_LANES])
{
	__m128i k[PS_AES_LANES][2];

	for (unsigned int j = 0; j < PS_AES_LANES; j++) {
		k[j][0] = _mm_loadu_si128((const __m128i *)key[j]);
		k[j][1] = _mm_loadu_si128((const __m128i *)(key[j] + 16));
		block[j] = _mm_xor_si128(block[j], k[j][0]);
		block[j] = _mm_aesenc_si128(block[j], k[j][1]);
	}
	for (unsigned int i = 0; i < PS_AES256_PAIRS - 1; i++) {
		for (unsigned int j = 0; j < PS_AES_LANES; j++) {
			ps_aes_next_pair(k[j], i);
			block[j] = _mm_aesenc_si128(block[j], k[j][0]);
			block[j] = _mm_aesenc_si128(block[j], k[j][1]);
		}
	}
	for (unsigned int j = 0; j < PS_AES_LANES; j++) {
		ps_aes_next_pair(k[j], PS_AES256_PAIRS - 1);
		block[j] = _mm_aesenclast_si128(block[j], k[j][0]);
	}
}

#endif
