/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "hkdf.h"

#include <assert.h>
#include <string.h>

#include <nettle/hmac.h>
#include <nettle/sha2.h>

#include "protect.h"

void
ps_hkdf_extract(
	uint8_t out[32], const uint8_t *salt, size_t salt_len, const uint8_t *ikm, size_t ikm_len)
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, salt_len, salt);
	hmac_sha256_update(&ctx, ikm_len, ikm);
	hmac_sha256_digest(&ctx, 32, out);
	ps_wipe(&ctx, sizeof(ctx));
}

void
ps_hkdf_expand_label(uint8_t *out, size_t len, const uint8_t secret[32], const char *label)
{
	ps_hkdf_expand_label_of(out, len, secret, label, NULL, 0);
}

/* At most 32 bytes are asked for, so that one block of HKDF-Expand is all of it. */
void
ps_hkdf_expand_label_of(uint8_t *out, size_t len, const uint8_t secret[32], const char *label,
	const uint8_t *context, size_t context_len)
{
	static const uint8_t prefix[6] = {'t', 'l', 's', '1', '3', ' '};
	size_t label_len = strlen(label);
	const uint8_t head[3] = {0, (uint8_t)len, (uint8_t)(sizeof(prefix) + label_len)};
	const uint8_t context_size = (uint8_t)context_len;
	static const uint8_t block = 1;
	struct hmac_sha256_ctx ctx;

	assert(len <= 32 && label_len <= 255 - sizeof(prefix) && context_len <= 255);
	hmac_sha256_set_key(&ctx, 32, secret);
	hmac_sha256_update(&ctx, sizeof(head), head);
	hmac_sha256_update(&ctx, sizeof(prefix), prefix);
	hmac_sha256_update(&ctx, label_len, (const uint8_t *)label);
	hmac_sha256_update(&ctx, 1, &context_size);
	hmac_sha256_update(&ctx, context_len, context);
	hmac_sha256_update(&ctx, 1, &block);
	hmac_sha256_digest(&ctx, len, out);
	ps_wipe(&ctx, sizeof(ctx));
}

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(struct ps_sha256), "room for nettle's state");

void
ps_sha256_init(struct ps_sha256 *s)
{
	sha256_init((struct sha256_ctx *)s->state);
}

void
ps_sha256_update(struct ps_sha256 *s, const void *p, size_t len)
{
	sha256_update((struct sha256_ctx *)s->state, len, p);
}

void
ps_sha256_peek(const struct ps_sha256 *s, uint8_t hash[32])
{
	struct ps_sha256 copy = *s;

	sha256_digest((struct sha256_ctx *)copy.state, 32, hash);
}
