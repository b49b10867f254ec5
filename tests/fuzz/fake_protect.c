/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "fake_protect.h"

#include <string.h>

#include "fuzz.h"
#include "ps_be.h"

/* Declared as what they replace, so that a change of that does not go unnoticed. */
__typeof__(ps_open) __wrap_ps_open;
__typeof__(ps_seal) __wrap_ps_seal;
__typeof__(ps_seal_small) __wrap_ps_seal_small;
__typeof__(ps_hp_masks) __wrap_ps_hp_masks;
__typeof__(ps_pkt_key_derive) __wrap_ps_pkt_key_derive;
__typeof__(ps_initial_keys) __wrap_ps_initial_keys;
__typeof__(ps_secret_update) __wrap_ps_secret_update;
__typeof__(ps_cid_make) __wrap_ps_cid_make;
__typeof__(ps_cid_read) __wrap_ps_cid_read;
__typeof__(ps_token_claims) __wrap_ps_token_claims;
__typeof__(ps_token_check) __wrap_ps_token_check;
__typeof__(ps_protect_random) __wrap_ps_protect_random;
__typeof__(ps_retry_tag) __wrap_ps_retry_tag;

struct fake_protect fake_protect;

bool
__wrap_ps_open(struct ps_protect *p, struct ps_pkt_key *k, uint64_t pn, uint8_t *pkt,
	size_t aad_len, size_t clear_len)
{
	(void)p;
	(void)k;
	FUZZ_CHECK(pn <= PS_VARINT_MAX);
	if (pkt[aad_len + clear_len] == 0xff)
		return false;
	/* what arrives at the Handshake level validates the address */
	fake_protect.validated |= (pkt[0] & 0xb0) == 0xa0;
	return true;
}

void
__wrap_ps_seal(struct ps_protect *p, struct ps_pkt_key *k, uint64_t pn, uint8_t *pkt,
	size_t hdr_len, unsigned int pn_len, size_t text_len)
{
	(void)p;
	(void)k;
	(void)pn;
	FUZZ_CHECK(pn_len + text_len >= 4);
	memset(pkt + hdr_len + text_len, 0, PS_AEAD_TAG);
}

void
__wrap_ps_seal_small(struct ps_protect *p, const struct ps_small_packet s[], unsigned int n)
{
	FUZZ_CHECK(n <= PS_SMALL_BURST);
	for (unsigned int i = 0; i < n; i++) {
		if (s[i].text_len < PS_SMALL_ROOM)
			memset(s[i].pkt + s[i].hdr_len + s[i].text_len, 0,
				PS_SMALL_ROOM - s[i].text_len);
		__wrap_ps_seal(
			p, s[i].key, s[i].pn, s[i].pkt, s[i].hdr_len, s[i].pn_len, s[i].text_len);
	}
}

void
__wrap_ps_hp_masks(const struct ps_protect *p, const struct ps_pkt_key *const keys[],
	const uint8_t *const samples[], uint8_t masks[][5], unsigned int n)
{
	(void)p;
	(void)keys;
	for (unsigned int i = 0; i < n; i++)
		memset(masks[i], samples[i][PS_HP_SAMPLE - 1] & 0, sizeof(masks[i]));
}

void
__wrap_ps_pkt_key_derive(struct ps_pkt_key *k, enum ps_suite suite, const uint8_t *secret)
{
	*k = (struct ps_pkt_key){.suite = suite, .iv = {secret[0]}};
}

void
__wrap_ps_initial_keys(
	struct ps_pkt_key *client, struct ps_pkt_key *server, const uint8_t *dcid, size_t dcid_len)
{
	*client = *server = (struct ps_pkt_key){.iv = {dcid_len > 0 ? dcid[0] : 0}};
}

void
__wrap_ps_secret_update(enum ps_suite suite, uint8_t *secret)
{
	(void)suite;
	secret[0]++;
}

void
__wrap_ps_cid_make(
	const struct ps_protect *p, const struct ps_cid_parts *parts, uint8_t cid[PS_OUR_CID_LEN])
{
	(void)p;
	memset(cid, 0, PS_OUR_CID_LEN);
	cid[0] = parts->worker;
	cid[3] = (uint8_t)parts->slot;
	ps_be32_store(cid + 4, parts->generation);
	ps_be32_store(cid + 8, parts->nonce);
}

bool
__wrap_ps_cid_read(
	const struct ps_protect *p, const uint8_t cid[PS_OUR_CID_LEN], struct ps_cid_parts *parts)
{
	(void)p;
	*parts = (struct ps_cid_parts){.worker = cid[0],
		.slot = ps_be32_load(cid) & 0xffffff,
		.generation = ps_be32_load(cid + 4),
		.nonce = ps_be32_load(cid + 8)};
	return ps_be32_load(cid + 12) == 0;
}

enum ps_token_kind
__wrap_ps_token_claims(const uint8_t *token, size_t len)
{
	if (len == 0)
		return 0;
	return token[0] & 1 ? PS_TOKEN_RETRY : PS_TOKEN_NEW;
}

bool
__wrap_ps_token_check(struct ps_protect *p, const uint8_t *token, size_t len,
	const struct ps_flow4 *client, const struct ps_cid *retry_scid, uint64_t now_ns,
	struct ps_cid *odcid)
{
	(void)p;
	(void)client;
	(void)now_ns;
	*odcid = *retry_scid;
	if (len == 0 || token[0] >= 0xfe)
		return false;
	fake_protect.validated = true;
	return true;
}

void
__wrap_ps_protect_random(struct ps_protect *p, void *out, size_t len)
{
	(void)p;
	memset(out, ++fake_protect.random, len);
}

void
__wrap_ps_retry_tag(struct ps_protect *p, const struct ps_cid *odcid, const uint8_t *retry,
	size_t len, uint8_t tag[PS_AEAD_TAG])
{
	(void)p;
	FUZZ_CHECK(odcid->len <= PS_CID_MAX && len <= PS_UDP_PAYLOAD_MAX && retry[0] & 0x80);
	memset(tag, 0, PS_AEAD_TAG);
}
