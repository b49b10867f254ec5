/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Base58 in Bitcoin's alphabet, as Solana prints keys (32 bytes) and signatures (64 bytes). */
#ifndef PS_BASE_B58_H
#define PS_BASE_B58_H

#include <stddef.h>
#include <stdint.h>

#define PS_B58_MAX_BYTES 64
#define PS_B58_MAX_CHARS 90 /* with the final zero */

/* len <= PS_B58_MAX_BYTES; out has PS_B58_MAX_CHARS. Returns out. */
char *ps_b58_encode(char *out, const uint8_t *bytes, size_t len);

#endif
