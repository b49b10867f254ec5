/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "hkdf.h"

#include <assert.h>
#include <string.h>

#include <nettle/hmac.h>
#include <nettle/sha2.h>

#include "protect.h"

struct mac {
	size_t hash;
	union {
		struct hmac_sha256_ctx sha256;
		struct hmac_sha384_ctx sha384;
	};
};

static void
mac_start(struct mac *m, size_t hash, const uint8_t *key, size_t len)
{
	assert(hash == SHA256_DIGEST_SIZE || hash == SHA384_DIGEST_SIZE);
	m->hash = hash;
	if (hash == SHA384_DIGEST_SIZE)
		hmac_sha384_set_key(&m->sha384, len, key);
	else
		hmac_sha256_set_key(&m->sha256, len, key);
}

static void
mac_add(struct mac *m, const void *p, size_t len)
{
	if (m->hash == SHA384_DIGEST_SIZE)
		hmac_sha384_update(&m->sha384, len, p);
	else
		hmac_sha256_update(&m->sha256, len, p);
}

static void
mac_end(struct mac *m, uint8_t *out, size_t len)
{
	if (m->hash == SHA384_DIGEST_SIZE)
		hmac_sha384_digest(&m->sha384, len, out);
	else
		hmac_sha256_digest(&m->sha256, len, out);
	ps_wipe(m, sizeof(*m));
}

void
ps_hkdf_extract(size_t hash, uint8_t *out, const uint8_t *salt, size_t salt_len, const uint8_t *ikm,
	size_t ikm_len)
{
	struct mac m;

	mac_start(&m, hash, salt, salt_len);
	mac_add(&m, ikm, ikm_len);
	mac_end(&m, out, hash);
}

void
ps_hkdf_expand_label(
	size_t hash, uint8_t *out, size_t len, const uint8_t *secret, const char *label)
{
	ps_hkdf_expand_label_of(hash, out, len, secret, label, NULL, 0);
}

/* No more is asked for than a hash has, so that one block of HKDF-Expand is all of it. */
void
ps_hkdf_expand_label_of(size_t hash, uint8_t *out, size_t len, const uint8_t *secret,
	const char *label, const uint8_t *context, size_t context_len)
{
	static const uint8_t prefix[6] = {'t', 'l', 's', '1', '3', ' '};
	size_t label_len = strlen(label);
	const uint8_t head[3] = {0, (uint8_t)len, (uint8_t)(sizeof(prefix) + label_len)};
	const uint8_t context_size = (uint8_t)context_len;
	static const uint8_t block = 1;
	struct mac m;

	assert(len <= hash && label_len <= 255 - sizeof(prefix) && context_len <= 255);
	mac_start(&m, hash, secret, hash);
	mac_add(&m, head, sizeof(head));
	mac_add(&m, prefix, sizeof(prefix));
	mac_add(&m, label, label_len);
	mac_add(&m, &context_size, 1);
	mac_add(&m, context, context_len);
	mac_add(&m, &block, 1);
	mac_end(&m, out, len);
}

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(((struct ps_hash *)0)->state) &&
		       sizeof(struct sha384_ctx) <= sizeof(((struct ps_hash *)0)->state),
	"room for nettle's state");

void
ps_hash_init(struct ps_hash *h, size_t bytes)
{
	h->bytes = bytes;
	if (bytes == SHA384_DIGEST_SIZE)
		sha384_init((struct sha384_ctx *)h->state);
	else
		sha256_init((struct sha256_ctx *)h->state);
}

void
ps_hash_update(struct ps_hash *h, const void *p, size_t len)
{
	if (h->bytes == SHA384_DIGEST_SIZE)
		sha384_update((struct sha384_ctx *)h->state, len, p);
	else
		sha256_update((struct sha256_ctx *)h->state, len, p);
}

void
ps_hash_peek(const struct ps_hash *h, uint8_t *out)
{
	struct ps_hash copy = *h;

	if (h->bytes == SHA384_DIGEST_SIZE)
		sha384_digest((struct sha384_ctx *)copy.state, h->bytes, out);
	else
		sha256_digest((struct sha256_ctx *)copy.state, h->bytes, out);
}
