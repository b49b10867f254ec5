/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A cursor over bytes from the peer, in TLS presentation language (RFC 8446 section 3). Each call
 * takes what it names off the front, or answers false and leaves the cursor where it was. */
#ifndef PS_QUIC_TLS_READ_H
#define PS_QUIC_TLS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ps_tls_read {
	const uint8_t *p;
	size_t left;
};

static inline bool
read_bytes(struct ps_tls_read *r, size_t n, const uint8_t **out)
{
	if (n > r->left)
		return false;
	*out = r->p;
	r->p += n;
	r->left -= n;
	return true;
}

/* An integer of n <= 3 bytes. */
static inline bool
read_int(struct ps_tls_read *r, unsigned int n, uint32_t *out)
{
	const uint8_t *p;

	if (!read_bytes(r, n, &p))
		return false;
	*out = 0;
	for (unsigned int i = 0; i < n; i++)
		*out = *out << 8 | p[i];
	return true;
}

/* A vector behind a length of n bytes. */
static inline bool
read_vector(struct ps_tls_read *r, unsigned int n, struct ps_tls_read *out)
{
	struct ps_tls_read at = *r;
	uint32_t len;

	if (!read_int(&at, n, &len) || !read_bytes(&at, len, &out->p))
		return false;
	out->left = len;
	*r = at;
	return true;
}

#endif
