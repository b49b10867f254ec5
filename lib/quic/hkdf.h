/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* SHA-256 and SHA-384, HKDF with them (RFC 5869) and its TLS 1.3 labels (RFC 8446 section 7.1). A
 * hash is named by its size: 32 or 48 bytes (suite.h). hkdf.c names nettle. Nothing here
 * allocates. */
#ifndef PS_QUIC_HKDF_H
#define PS_QUIC_HKDF_H

#include <stddef.h>
#include <stdint.h>

/* Is HMAC of ikm under the key salt, too. out: as long as the hash. */
void ps_hkdf_extract(size_t hash, uint8_t *out, const uint8_t *salt, size_t salt_len,
	const uint8_t *ikm, size_t ikm_len);
/* label without the "tls13 " prefix; empty context; secret as long as the hash, len no longer. */
void ps_hkdf_expand_label(
	size_t hash, uint8_t *out, size_t len, const uint8_t *secret, const char *label);
/* The same with a context, of at most 255 bytes. */
void ps_hkdf_expand_label_of(size_t hash, uint8_t *out, size_t len, const uint8_t *secret,
	const char *label, const uint8_t *context, size_t context_len);

/* A running hash; copied by assignment. */
struct ps_hash {
	size_t bytes; /* of its result */
	uint64_t state[27];
};

void ps_hash_init(struct ps_hash *h, size_t bytes);
void ps_hash_update(struct ps_hash *h, const void *p, size_t len);
/* The hash of what came so far, h->bytes long; more may follow. */
void ps_hash_peek(const struct ps_hash *h, uint8_t *out);

#endif
