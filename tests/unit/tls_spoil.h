/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What can be wrong with a ClientHello of tls_diff.h, or with the bytes of any message; one thing
 * at a time, so that an answer can be laid at its door. */
#ifndef PS_TEST_TLS_SPOIL_H
#define PS_TEST_TLS_SPOIL_H

#include "tls_diff.h"

#define ANY 0xffff

static inline struct diff_ext *
any_ext(struct diff_rng *r, struct diff_hello *h)
{
	return &h->ext[diff_below(r, h->n_ext)];
}

/* Each answers with the type of the extension that it touched, ANY when it is about none. */
static inline uint16_t
drop(struct diff_rng *r, struct diff_hello *h)
{
	unsigned int i = diff_below(r, h->n_ext);
	uint16_t type = h->ext[i].type;

	memmove(&h->ext[i], &h->ext[i + 1], (--h->n_ext - i) * sizeof(h->ext[0]));
	return type;
}

static inline uint16_t
twice(struct diff_rng *r, struct diff_hello *h)
{
	unsigned int i = diff_below(r, h->n_ext);

	memmove(&h->ext[1], &h->ext[0], h->n_ext++ * sizeof(h->ext[0]));
	h->ext[0] = h->ext[i + 1];
	return h->ext[0].type;
}

static inline uint16_t
empty(struct diff_rng *r, struct diff_hello *h)
{
	struct diff_ext *e = any_ext(r, h);

	e->len = 0;
	return e->type;
}

static inline uint16_t
cut(struct diff_rng *r, struct diff_hello *h)
{
	struct diff_ext *e = any_ext(r, h);

	e->len -= e->len > 1 ? 1 + diff_below(r, e->len - 1u) : 0;
	return e->type;
}

static inline uint16_t
grow(struct diff_rng *r, struct diff_hello *h)
{
	struct diff_ext *e = any_ext(r, h);
	uint16_t n = (uint16_t)(1 + diff_below(r, 3));

	diff_fill(r, e->body + e->len, n);
	e->len += n;
	return e->type;
}

static inline uint16_t
byte(struct diff_rng *r, struct diff_hello *h)
{
	struct diff_ext *e = any_ext(r, h);

	if (e->len > 0)
		e->body[diff_below(r, e->len)] ^= (uint8_t)(1 + diff_below(r, 255));
	return e->type;
}

static inline uint16_t
psk_not_last(struct diff_rng *r, struct diff_hello *h)
{
	if (diff_find(h, TLS_EXT_PRE_SHARED_KEY) == NULL)
		diff_add_psk(h);
	diff_add(h, 0x7a00 + diff_below(r, 10), NULL, 0);
	return ANY;
}

static inline uint16_t
ciphers(struct diff_rng *r, struct diff_hello *h)
{
	static const struct bytes odd[] = {BYTES("\x00\x00"), BYTES("\x00\x03\x13\x01\x13"),
		BYTES("\x00\x02\x13\x04"), BYTES("\x00\x04\xc0\x2b\x00\xff"),
		BYTES("\x00\x06\x13\x01"), BYTES("\x00\x02\x13\x01\x13\x02")};
	struct bytes b = odd[diff_below(r, 6)];

	memcpy(h->ciphers, b.p, h->n_ciphers = (uint8_t)b.len);
	return ANY;
}

static inline uint16_t
compression(struct diff_rng *r, struct diff_hello *h)
{
	static const struct bytes odd[] = {
		BYTES("\x00"), BYTES("\x01\x01"), BYTES("\x02\x00\x01"), BYTES("\x02\x01\x40")};
	struct bytes b = odd[diff_below(r, 4)];

	memcpy(h->compression, b.p, h->n_compression = (uint8_t)b.len);
	return ANY;
}

static inline uint16_t
session_id(struct diff_rng *r, struct diff_hello *h)
{
	h->n_session_id = (uint8_t)(1 + diff_below(r, 33));
	return ANY;
}

static inline uint16_t
version(struct diff_rng *r, struct diff_hello *h)
{
	h->version = (uint16_t)(0x0300 + diff_below(r, 8));
	return ANY;
}

static inline uint16_t
versions(struct diff_rng *r, struct diff_hello *h)
{
	static const struct bytes odd[] = {BYTES("\x02\x03\x03"), BYTES("\x04\x03\x03\x03\x02"),
		BYTES("\x02\x7f\x1c"), BYTES("\x02\x03\x05")};
	struct bytes b = odd[diff_below(r, 4)];
	struct diff_ext *e = diff_find(h, TLS_EXT_SUPPORTED_VERSIONS);

	memcpy(e->body, b.p, e->len = (uint16_t)b.len);
	return e->type;
}

static inline uint16_t
groups(struct diff_rng *r, struct diff_hello *h)
{
	static const struct bytes odd[] = {BYTES("\x00\x02\x00\x17"), BYTES("\x00\x02\x11\xec"),
		BYTES("\x00\x04\x01\x00\x01\x01"), BYTES("\x00\x02\x2a\x2a")};
	struct bytes b = odd[diff_below(r, 4)];
	struct diff_ext *e = diff_find(h, TLS_EXT_SUPPORTED_GROUPS);

	memcpy(e->body, b.p, e->len = (uint16_t)b.len);
	return e->type;
}

static inline uint16_t
schemes(struct diff_rng *r, struct diff_hello *h)
{
	static const struct bytes odd[] = {BYTES("\x00\x02\x04\x03"), BYTES("\x00\x02\x08\x08"),
		BYTES("\x00\x04\x02\x01\x04\x01"), BYTES("\x00\x02\x3a\x3a")};
	struct bytes b = odd[diff_below(r, 4)];
	struct diff_ext *e = diff_find(h, TLS_EXT_SIGNATURE_ALGORITHMS);

	memcpy(e->body, b.p, e->len = (uint16_t)b.len);
	return e->type;
}

static inline uint16_t
alpn(struct diff_rng *r, struct diff_hello *h)
{
	static const struct bytes odd[] = {BYTES("\x00\x03\x02h3"), BYTES("\x00\x0b\x0aSOLANA-TPU"),
		BYTES("\x00\x0a\x09solana-tp"), BYTES("\x00\x01\x00")};
	struct bytes b = odd[diff_below(r, 4)];
	struct diff_ext *e = diff_find(h, TLS_EXT_ALPN);

	memcpy(e->body, b.p, e->len = (uint16_t)b.len);
	return e->type;
}

/* Shares of 31 and 33 bytes, and the points of small order that give a secret of zeros. */
static inline uint16_t
share(struct diff_rng *r, struct diff_hello *h)
{
	struct diff_ext *e = diff_find(h, TLS_EXT_KEY_SHARE);
	uint8_t size = (uint8_t)(31 + diff_below(r, 3));

	if (e == NULL) /* every hello has shares; the compiler cannot know */
		return 0;
	memset(e->body, 0, sizeof(e->body));
	e->body[1] = (uint8_t)(4 + size);
	e->body[3] = TLS_GROUP_X25519;
	e->body[5] = size;
	e->body[6] = (uint8_t)diff_below(r, 2);
	e->len = (uint16_t)(6 + size);
	return e->type;
}

static const struct {
	const char *name;
	uint16_t (*spoil)(struct diff_rng *r, struct diff_hello *h);
} parts[] = {
	{"drop", drop},
	{"twice", twice},
	{"empty", empty},
	{"cut", cut},
	{"grow", grow},
	{"byte", byte},
	{"psk_not_last", psk_not_last},
	{"ciphers", ciphers},
	{"compression", compression},
	{"session_id", session_id},
	{"version", version},
	{"versions", versions},
	{"groups", groups},
	{"schemes", schemes},
	{"alpn", alpn},
	{"share", share},
};

/* The message as bytes: its type, its length, and what it is cut to. */
enum raw_spoil { TRUNCATE, TAIL, TOO_LONG, TOO_SHORT, FLIP, TYPE, RAW_SPOILS };

static const char *const raw_names[] = {
	"truncate", "tail", "too_long", "too_short", "flip", "type"};

static inline uint16_t
spoil_bytes(struct diff_rng *r, enum raw_spoil how, uint8_t *msg, uint16_t len)
{
	uint32_t body = len - 4u, n = 1 + diff_below(r, 8);

	switch (how) {
	case TRUNCATE:
		len = (uint16_t)(4 + diff_below(r, body));
		body = len - 4u;
		break;
	case TAIL:
		diff_fill(r, msg + len, n);
		len += (uint16_t)n;
		body += n;
		break;
	case TOO_LONG:
		body += n;
		break;
	case TOO_SHORT:
		body -= n;
		break;
	case FLIP:
		msg[4 + diff_below(r, body)] ^= (uint8_t)(1u << diff_below(r, 8));
		break;
	default:
		msg[0] = (uint8_t)(2 + diff_below(r, 60));
		break;
	}
	msg[1] = (uint8_t)(body >> 16);
	ps_be16_store(msg + 2, (uint16_t)body);
	return len;
}

#endif
