/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* curve25519.h without curves: a point is its secret inverted, a signature the hash of what it
 * signs, good under every key. Nine tenths of a handshake's time were theirs. The linker puts these
 * functions in the place of the real ones (--wrap). */

#include "curve25519.h"

#include <string.h>

#include "hkdf.h"

__typeof__(ps_x25519_public) __wrap_ps_x25519_public;
__typeof__(ps_x25519) __wrap_ps_x25519;
__typeof__(ps_ed25519_key) __wrap_ps_ed25519_key;
__typeof__(ps_ed25519_sign) __wrap_ps_ed25519_sign;
__typeof__(ps_ed25519_verify) __wrap_ps_ed25519_verify;

void
__wrap_ps_x25519_public(uint8_t public[32], const uint8_t secret[32])
{
	for (unsigned int i = 0; i < 32; i++)
	public[i] = (uint8_t)~secret[i];
}

/* Zeros stand for all points of small order. */
bool
__wrap_ps_x25519(uint8_t shared[32], const uint8_t secret[32], const uint8_t peer[32])
{
	static const uint8_t zero[32];
	bool good = memcmp(peer, zero, sizeof(zero)) != 0;

	for (unsigned int i = 0; i < 32; i++)
		shared[i] = good ? secret[i] ^ peer[i] : 0;
	return good;
}

void
__wrap_ps_ed25519_key(uint8_t key[64], const uint8_t seed[32])
{
	memcpy(key, seed, 32);
	__wrap_ps_x25519_public(key + 32, seed);
}

static void
signature(uint8_t sig[64], const uint8_t *msg, size_t len)
{
	struct ps_hash h;

	ps_hash_init(&h, 32);
	ps_hash_update(&h, msg, len);
	ps_hash_peek(&h, sig);
	memcpy(sig + 32, sig, 32);
}

void
__wrap_ps_ed25519_sign(uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t key[64])
{
	(void)key;
	signature(sig, msg, len);
}

bool
__wrap_ps_ed25519_verify(
	const uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t public[32])
{
	uint8_t good[64];

	(void)public;
	signature(good, msg, len);
	return memcmp(sig, good, sizeof(good)) == 0;
}
