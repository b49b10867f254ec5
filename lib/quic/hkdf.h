/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* HKDF with SHA-256 (RFC 5869) and its TLS 1.3 labels (RFC 8446 section 7.1). hkdf.c names nettle.
 */
#ifndef PS_QUIC_HKDF_H
#define PS_QUIC_HKDF_H

#include <stddef.h>
#include <stdint.h>

void ps_hkdf_extract(
	uint8_t out[32], const uint8_t *salt, size_t salt_len, const uint8_t *ikm, size_t ikm_len);
/* label without the "tls13 " prefix; empty context; len <= 32. */
void ps_hkdf_expand_label(uint8_t *out, size_t len, const uint8_t secret[32], const char *label);

#endif
