/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "curve25519.h"

#include <assert.h>
#include <string.h>

#include "protect.h"

#ifdef PS_LIB25519

#include <lib25519.h>

bool
ps_curve25519_start(void)
{
	return true;
}

void
ps_x25519_public(uint8_t public[32], const uint8_t secret[32])
{
	lib25519_nG_montgomery25519(public, secret);
}

bool
ps_x25519(uint8_t shared[32], const uint8_t secret[32], const uint8_t peer[32])
{
	static const uint8_t zero[32];

	lib25519_dh_x25519(shared, peer, secret);
	return !ps_equal(shared, zero, sizeof(zero));
}

void
ps_ed25519_key(uint8_t key[64], const uint8_t seed[32])
{
	uint8_t scalar[64];

	lib25519_hash_sha512(scalar, seed, 32);
	scalar[0] &= 0xf8;
	scalar[31] = (scalar[31] & 0x7f) | 0x40;
	memcpy(key, seed, 32);
	lib25519_nG_merged25519(key + 32, scalar);
	ps_wipe(scalar, sizeof(scalar));
}

/* The library's signed messages are the signature and the message behind it. */
void
ps_ed25519_sign(uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t key[64])
{
	uint8_t signed_msg[64 + PS_ED25519_MESSAGE_MAX];
	long long signed_len;

	assert(len <= PS_ED25519_MESSAGE_MAX);
	lib25519_sign_ed25519(signed_msg, &signed_len, msg, (long long)len, key);
	memcpy(sig, signed_msg, 64);
}

bool
ps_ed25519_verify(const uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t public[32])
{
	uint8_t signed_msg[64 + PS_ED25519_MESSAGE_MAX], out[sizeof(signed_msg)];
	long long out_len;

	assert(len <= PS_ED25519_MESSAGE_MAX);
	memcpy(signed_msg, sig, 64);
	memcpy(signed_msg + 64, msg, len);
	return lib25519_sign_ed25519_open(out, &out_len, signed_msg, 64 + (long long)len, public) ==
	       0;
}

#else

#include <sodium.h>

bool
ps_curve25519_start(void)
{
	return sodium_init() >= 0;
}

void
ps_x25519_public(uint8_t public[32], const uint8_t secret[32])
{
	crypto_scalarmult_curve25519_base(public, secret);
}

bool
ps_x25519(uint8_t shared[32], const uint8_t secret[32], const uint8_t peer[32])
{
	return crypto_scalarmult_curve25519(shared, secret, peer) == 0;
}

void
ps_ed25519_key(uint8_t key[64], const uint8_t seed[32])
{
	uint8_t public[32];

	crypto_sign_ed25519_seed_keypair(public, key, seed);
}

void
ps_ed25519_sign(uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t key[64])
{
	assert(len <= PS_ED25519_MESSAGE_MAX);
	crypto_sign_ed25519_detached(sig, NULL, msg, len, key);
}

bool
ps_ed25519_verify(const uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t public[32])
{
	assert(len <= PS_ED25519_MESSAGE_MAX);
	return crypto_sign_ed25519_verify_detached(sig, msg, len, public) == 0;
}

#endif
