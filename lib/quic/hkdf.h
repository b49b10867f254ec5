/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* SHA-256, HKDF with it (RFC 5869) and its TLS 1.3 labels (RFC 8446 section 7.1). hkdf.c names
 * nettle. Nothing here allocates. */
#ifndef PS_QUIC_HKDF_H
#define PS_QUIC_HKDF_H

#include <stddef.h>
#include <stdint.h>

/* Is HMAC-SHA-256 of ikm under the key salt, too. */
void ps_hkdf_extract(
	uint8_t out[32], const uint8_t *salt, size_t salt_len, const uint8_t *ikm, size_t ikm_len);
/* label without the "tls13 " prefix; empty context; len <= 32. */
void ps_hkdf_expand_label(uint8_t *out, size_t len, const uint8_t secret[32], const char *label);
/* The same with a context, of at most 255 bytes. */
void ps_hkdf_expand_label_of(uint8_t *out, size_t len, const uint8_t secret[32], const char *label,
	const uint8_t *context, size_t context_len);

/* A running hash; copied by assignment. */
struct ps_sha256 {
	uint64_t state[14];
};

void ps_sha256_init(struct ps_sha256 *s);
void ps_sha256_update(struct ps_sha256 *s, const void *p, size_t len);
/* The hash of what came so far; more may follow. */
void ps_sha256_peek(const struct ps_sha256 *s, uint8_t hash[32]);

#endif
