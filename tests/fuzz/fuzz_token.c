/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Address tokens. The first byte of an input says what it is about: bit 0 a Retry's or NEW_TOKEN's,
 * bit 1 the rest is the token itself; else the rest tells how a good one is made, changed and
 * presented, and only one that is as it was made, for whom and when it was made, may be taken:
 *   length and bytes of the original id, length and bytes of the Retry's id, 8 bytes of time,
 *   a byte that says what differs at the check, and what it takes. */

#include <string.h>

#include "fuzz.h"
#include "protect.h"
#include "ps_be.h"

enum { SAME, TOKEN_BYTE, TOKEN_CUT, ADDRESS, PORT, RETRY_ID, TIME, CHANGES };

static struct ps_protect *ours, *others;
static const uint8_t *in, *in_end;

static uint8_t
byte(void)
{
	return in < in_end ? *in++ : 0;
}

static struct ps_protect *
make(uint8_t key)
{
	struct ps_static_keys k;
	struct ps_protect *p = ps_protect_new(aligned_alloc(64, ps_protect_footprint(1)), 1);

	FUZZ_CHECK(p != NULL);
	memset(&k, key, sizeof(k));
	ps_protect_static_keys(p, &k);
	return p;
}

static void
take_cid(struct ps_cid *cid)
{
	cid->len = byte() % (PS_CID_MAX + 1);
	for (unsigned int i = 0; i < cid->len; i++)
		cid->id[i] = byte();
}

static uint64_t
take_u64(void)
{
	uint8_t b[8];

	for (unsigned int i = 0; i < sizeof(b); i++)
		b[i] = byte();
	return ps_be64_load(b);
}

/* Bytes of anybody: none of them is ours. */
static void
arbitrary(const uint8_t *token, size_t len)
{
	struct ps_flow4 client = {.saddr_be = 1, .daddr_be = 2, .sport_be = 3, .dport_be = 4};
	struct ps_cid id = {.len = 8}, odcid;
	enum ps_token_kind kind = ps_token_claims(token, len);

	FUZZ_CHECK(kind == 0 || (len == PS_TOKEN_BYTES && token[0] == kind));
	FUZZ_CHECK(!ps_token_check(ours, token, len, &client, &id, 0, &odcid));
}

/* A token and how it is presented. */
struct presented {
	bool retried;
	uint8_t token[PS_TOKEN_BYTES];
	size_t len;
	struct ps_flow4 client;
	struct ps_cid retry;
	uint64_t now;
};

/* Whether it has to be taken still. */
static bool
change(struct presented *p)
{
	uint64_t age;
	unsigned int at;

	switch (byte() % CHANGES) {
	case TOKEN_BYTE:
		at = byte() % sizeof(p->token);
		p->token[at] ^= 1 + byte() % 255;
		return false;
	case TOKEN_CUT:
		p->len = byte() % sizeof(p->token);
		return false;
	case ADDRESS:
		p->client.saddr_be ^= 1u << byte() % 32;
		return false;
	case PORT:
		p->client.sport_be ^= 1u << byte() % 16;
		return !p->retried;
	case RETRY_ID:
		p->retry.len = (p->retry.len + 1 + byte() % PS_CID_MAX) % (PS_CID_MAX + 1);
		return !p->retried;
	case TIME:
		age = take_u64();
		p->now += age; /* one made in the time to come is of a great age, modulo 2^64 */
		return age < (p->retried ? PS_TOKEN_LIFE_NS : PS_TOKEN_NEW_LIFE_NS);
	default:
		return true;
	}
}

static void
made(enum ps_token_kind kind)
{
	struct presented p = {.retried = kind == PS_TOKEN_RETRY,
		.len = sizeof(p.token),
		.client = {.saddr_be = 1, .daddr_be = 2, .sport_be = 3, .dport_be = 4}};
	struct ps_cid odcid = {0}, got = {0};
	uint8_t nonce[12] = {5};
	bool good;

	take_cid(&odcid);
	take_cid(&p.retry);
	p.now = take_u64();
	ps_token_make(ours, kind, p.token, nonce, &p.client, p.retried ? &odcid : NULL,
		p.retried ? &p.retry : NULL, p.now);
	good = change(&p);
	FUZZ_CHECK(!ps_token_check(others, p.token, p.len, &p.client, &p.retry, p.now, &got));
	FUZZ_CHECK(ps_token_check(ours, p.token, p.len, &p.client, &p.retry, p.now, &got) == good);
	if (good && p.retried)
		FUZZ_CHECK(got.len == odcid.len && memcmp(got.id, odcid.id, odcid.len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (ours == NULL) {
		ours = make(1);
		others = make(2);
	}
	in = data + 1;
	in_end = data + size;
	if (data[0] & 2)
		arbitrary(in, size - 1);
	else
		made(data[0] & 1 ? PS_TOKEN_NEW : PS_TOKEN_RETRY);
	return 0;
}
