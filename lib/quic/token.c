/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "protect_internal.h"

#include <string.h>

#include "ps_be.h"

/* A token: kind and nonce in clear, then time and original destination id encrypted, then the tag.
 * The id fills PS_CID_MAX bytes whatever its length, so that every token has the same size. */
#define NONCE_AT  1
#define TEXT_AT   (NONCE_AT + 12)
#define TEXT_LEN  (8 + 1 + PS_CID_MAX)
#define TAG_AT    (TEXT_AT + TEXT_LEN)
#define BOUND_MAX (1 + 12 + 1 + PS_CID_MAX)

_Static_assert(TAG_AT + PS_AEAD_TAG == PS_TOKEN_BYTES, "token layout");

/* What the token is bound to without carrying it: kind and addresses; a Retry's also ports and the
 * Retry's source id. */
static size_t
bind(uint8_t out[BOUND_MAX], uint8_t kind, const struct ps_flow4 *client,
	const struct ps_cid *retry_scid)
{
	out[0] = kind;
	memcpy(out + 1, &client->saddr_be, 4);
	memcpy(out + 5, &client->daddr_be, 4);
	if (kind != PS_TOKEN_RETRY)
		return 9;
	memcpy(out + 9, &client->sport_be, 2);
	memcpy(out + 11, &client->dport_be, 2);
	out[13] = retry_scid->len;
	memcpy(out + 14, retry_scid->id, retry_scid->len);
	return 14 + retry_scid->len;
}

void
ps_token_make(struct ps_protect *p, enum ps_token_kind kind, uint8_t token[PS_TOKEN_BYTES],
	const uint8_t nonce[12], const struct ps_flow4 *client, const struct ps_cid *odcid,
	const struct ps_cid *retry_scid, uint64_t now_ns)
{
	uint8_t *text = token + TEXT_AT;
	uint8_t bound[BOUND_MAX];
	size_t bound_len = bind(bound, (uint8_t)kind, client, retry_scid);

	token[0] = (uint8_t)kind;
	memcpy(token + NONCE_AT, nonce, 12);
	memset(text, 0, TEXT_LEN);
	ps_be64_store(text, now_ns);
	if (odcid != NULL) {
		text[8] = odcid->len;
		memcpy(text + 9, odcid->id, odcid->len);
	}
	ps_token_seal(p, nonce, bound, bound_len, text, TEXT_LEN, token + TAG_AT);
}

enum ps_token_kind
ps_token_claims(const uint8_t *token, size_t len)
{
	if (len != PS_TOKEN_BYTES || (token[0] != PS_TOKEN_RETRY && token[0] != PS_TOKEN_NEW))
		return 0;
	return (enum ps_token_kind)token[0];
}

bool
ps_token_check(struct ps_protect *p, const uint8_t *token, size_t len,
	const struct ps_flow4 *client, const struct ps_cid *retry_scid, uint64_t now_ns,
	struct ps_cid *odcid)
{
	enum ps_token_kind kind = ps_token_claims(token, len);
	uint8_t text[TEXT_LEN], bound[BOUND_MAX];
	uint64_t made_ns;
	size_t bound_len;

	/* Tokens reach us with the client's choice of destination id: it may be of any length. */
	if (kind == 0 || retry_scid->len > PS_CID_MAX)
		return false;
	bound_len = bind(bound, (uint8_t)kind, client, retry_scid);
	memcpy(text, token + TEXT_AT, TEXT_LEN);
	if (!ps_token_open(p, token + NONCE_AT, bound, bound_len, text, TEXT_LEN, token + TAG_AT))
		return false;
	made_ns = ps_be64_load(text);
	/* A time to come is a great age, modulo 2^64. */
	if (now_ns - made_ns >= (kind == PS_TOKEN_RETRY ? PS_TOKEN_LIFE_NS : PS_TOKEN_NEW_LIFE_NS))
		return false;
	odcid->len = text[8]; /* authentic: as we wrote it */
	memcpy(odcid->id, text + 9, PS_CID_MAX);
	return true;
}
