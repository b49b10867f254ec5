/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The cipher suites of TLS 1.3 that a connection may use (RFC 8446 appendix B.4): an AEAD, which
 * also says how headers are protected (RFC 9001 section 5.4), and the hash of the key schedule.
 * Initial packets and everything of our own use the first. */
#ifndef PS_QUIC_SUITE_H
#define PS_QUIC_SUITE_H

#include <stddef.h>

/* In the order of their code points and of our choice. */
enum ps_suite {
	PS_AES_128_GCM_SHA256,       /* 0x1301 */
	PS_AES_256_GCM_SHA384,       /* 0x1302 */
	PS_CHACHA20_POLY1305_SHA256, /* 0x1303 */
	PS_SUITES,
};

#define PS_HASH_MAX 48 /* bytes of the longest hash, which is also the longest secret */

/* Bytes of its hash, and so of its secrets. */
static inline size_t
ps_suite_hash_bytes(enum ps_suite s)
{
	return s == PS_AES_256_GCM_SHA384 ? 48 : 32;
}

/* Bytes of its AEAD's key and of its header protection's. */
static inline size_t
ps_suite_key_bytes(enum ps_suite s)
{
	return s == PS_AES_128_GCM_SHA256 ? 16 : 32;
}

#endif
