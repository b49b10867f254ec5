/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* X25519 (RFC 7748) and Ed25519 (RFC 8032). curve25519.c names lib25519, where the system has it,
 * and libsodium otherwise. Any thread; nothing here allocates. The start enters the kernel, and so
 * does lib25519 for 32 random bytes with each signature. */
#ifndef PS_QUIC_CURVE25519_H
#define PS_QUIC_CURVE25519_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_ED25519_MESSAGE_MAX 256 /* longest message signed or verified */

/* Before anything else, once or more; false when the library cannot be used. */
bool ps_curve25519_start(void);

/* secret: 32 random bytes. */
void ps_x25519_public(uint8_t public[32], const uint8_t secret[32]);
/* False when the peer's point is of small order: shared is then all zero. */
bool ps_x25519(uint8_t shared[32], const uint8_t secret[32], const uint8_t peer[32]);

/* key: seed and public key, which is its second half. */
void ps_ed25519_key(uint8_t key[64], const uint8_t seed[32]);
void ps_ed25519_sign(uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t key[64]);
bool ps_ed25519_verify(
	const uint8_t sig[64], const uint8_t *msg, size_t len, const uint8_t public[32]);

#endif
