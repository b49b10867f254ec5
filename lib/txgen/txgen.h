/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Deterministic generator of real, correctly signed Solana transactions, for the load generator,
 * the interop clients and the feed checker. Anybody may call it after sodium_init(); it keeps no
 * state. Sizes in bytes.
 *
 * The same algorithm stands in tests/interop/quinn/src/txgen.rs; a test compares both digests.
 *
 *   mix(z):  z += 9e3779b97f4a7c15; z = (z ^ z >> 30) * bf58476d1ce4e5b9;
 *            z = (z ^ z >> 27) * 94d049bb133111eb; return z ^ z >> 31      (splitmix64, mod 2^64)
 *   stream(seed, n): state = mix(mix(seed) + n); each draw returns mix(state), then
 *            state += 9e3779b97f4a7c15. "32 bytes" are four draws, little endian.
 *
 *   payer     Ed25519 key whose seed is 32 bytes of stream(seed, 2^63 + index % 16)
 *   the rest  from stream(seed, index): one draw r, 32 bytes recent blockhash, 32 bytes recipient,
 *             then one draw per memo filler character ('a' + draw % 26)
 *   version   v0 when index is odd and max >= 136, else legacy
 *   transfer  when index is a multiple of 3, not 0, and min <= 215 and max >= 217:
 *             1,000,000 + index lamports; 215 bytes legacy, 217 v0
 *   otherwise the wanted size is min for index 0, max for 1 and 2, min + r % (max - min + 1) after;
 *     bare    below 170 (v0: 172) bytes there is no room for a memo: a transaction without
 *             instructions of 134 (v0: 136) bytes when that lies within min..max, else a memo of
 *             170 (172) bytes
 *     memo    exactly the wanted size. The text is "penstock SEED INDEX " (SEED 16 hex digits,
 *             INDEX decimal) and filler, cut to length. Where the two-byte length of a text of 128
 *             or more leaves one byte over, the instruction also names the payer as its signer.
 *
 * A large (v1, SIMD-0385) transaction is a memo of exactly the wanted size (same rule, no
 * transfers): 81 01 00 01, u32 0 config mask, blockhash, 01 instruction, 02 addresses, payer, memo
 * program, instruction header 01 00 u16 length, text, and last the signature of all before it. */
#ifndef PS_TXGEN_H
#define PS_TXGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_TXGEN_SIZE_MIN       134
#define PS_TXGEN_SIZE_MAX       1232
#define PS_TXGEN_LARGE_SIZE_MIN 175
#define PS_TXGEN_LARGE_SIZE_MAX 4096

/* Which transactions: all that share a seed differ by their index. */
struct ps_txgen {
	uint64_t seed;
	unsigned min, max;
	bool large;
};

/* False when no transaction of the range exists for some index. A legacy or v0 range may go up to
 * 4,096: sizes above 1,232 are invalid on the network and there to be refused. */
bool ps_txgen_valid(const struct ps_txgen *g);

/* "MIN-MAX" or "SIZE" into g; false when it is neither. */
bool ps_txgen_parse_sizes(struct ps_txgen *g, const char *arg);

/* Where max is 0: 134-1232, large 1233-4096. */
void ps_txgen_default_sizes(struct ps_txgen *g);

/* Writes transaction index of a valid g to out (room for PS_TXGEN_LARGE_SIZE_MAX bytes), returns
 * its length. */
size_t ps_txgen_make(const struct ps_txgen *g, uint64_t index, uint8_t *out);

#endif
