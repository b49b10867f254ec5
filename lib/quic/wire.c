/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "wire.h"

#include <string.h>

#include "ps_be.h"

#define LONG_BIT  0x80
#define FIXED_BIT 0x40

/* What is left of the packet while its header is read. */
struct reader {
	const uint8_t *p, *end;
};

static bool
take_varint(struct reader *r, uint64_t *v)
{
	size_t n = ps_varint_get(r->p, r->end, v);

	r->p += n;
	return n != 0;
}

static enum ps_drop
take_cid(struct reader *r, uint32_t version, const uint8_t **id, uint8_t *id_len)
{
	if (r->p == r->end)
		return PS_DROP_QUIC_SHORT;
	*id_len = *r->p++;
	*id = r->p;
	if (version == PS_QUIC_V1 && *id_len > PS_CID_MAX)
		return PS_DROP_QUIC_CID_LENGTH;
	if (*id_len > r->end - r->p)
		return PS_DROP_QUIC_SHORT;
	r->p += *id_len;
	return PS_DROP_COUNT;
}

static enum ps_drop
parse_short(struct ps_pkt_hdr *h, const uint8_t *p, size_t len, uint8_t cid_len)
{
	if (!(p[0] & FIXED_BIT))
		return PS_DROP_QUIC_FIXED_BIT;
	if (1u + cid_len + 4 + PS_HP_SAMPLE > len)
		return PS_DROP_QUIC_SHORT;
	h->type = PS_PKT_1RTT;
	h->dcid = p + 1;
	h->dcid_len = cid_len;
	h->pn_offset = 1 + cid_len;
	return PS_DROP_COUNT;
}

/* The part of a version 1 long header that follows the ids; start is the first byte. */
static enum ps_drop
parse_v1(struct ps_pkt_hdr *h, const uint8_t *start, struct reader *r)
{
	uint64_t v;

	if (h->type == PS_PKT_RETRY) {
		/* An empty token makes a Retry void, section 17.2.5.2. */
		if (r->end - r->p <= PS_AEAD_TAG)
			return PS_DROP_QUIC_SHORT;
		h->token = r->p;
		h->token_len = r->end - r->p - PS_AEAD_TAG;
		return PS_DROP_COUNT;
	}
	if (h->type == PS_PKT_INITIAL) {
		if (!take_varint(r, &v) || v > (uint64_t)(r->end - r->p))
			return PS_DROP_QUIC_SHORT;
		h->token = r->p;
		h->token_len = v;
		r->p += v;
	}
	if (!take_varint(r, &v) || v > (uint64_t)(r->end - r->p) || v < 4 + PS_HP_SAMPLE)
		return PS_DROP_QUIC_SHORT;
	h->pn_offset = r->p - start;
	h->size = h->pn_offset + v;
	return PS_DROP_COUNT;
}

static enum ps_drop
parse_long(struct ps_pkt_hdr *h, const uint8_t *p, size_t len)
{
	struct reader r;
	enum ps_drop why;

	if (len < 7)
		return PS_DROP_QUIC_SHORT;
	r.p = p + 5;
	r.end = p + len;
	h->version = ps_be32_load(p + 1);
	/* Only the ids are common to all versions, RFC 8999 section 5.1; not even the fixed bit. */
	if (h->version == PS_QUIC_V1 && !(p[0] & FIXED_BIT))
		return PS_DROP_QUIC_FIXED_BIT;
	why = take_cid(&r, h->version, &h->dcid, &h->dcid_len);
	if (why == PS_DROP_COUNT)
		why = take_cid(&r, h->version, &h->scid, &h->scid_len);
	if (why != PS_DROP_COUNT)
		return why;
	if (h->version == PS_QUIC_V1) {
		h->type = (p[0] >> 4) & 3;
		return parse_v1(h, p, &r);
	}
	h->type = h->version == 0 ? PS_PKT_VERSION_NEGOTIATION : PS_PKT_OTHER_VERSION;
	return PS_DROP_COUNT;
}

enum ps_drop
ps_pkt_hdr_parse(struct ps_pkt_hdr *h, const uint8_t *p, size_t len, uint8_t short_cid_len)
{
	if (len == 0)
		return PS_DROP_QUIC_SHORT;
	if (len > UINT16_MAX)
		return PS_DROP_QUIC_OVERSIZED;
	memset(h, 0, sizeof(*h));
	h->size = len;
	return p[0] & LONG_BIT ? parse_long(h, p, len) : parse_short(h, p, len, short_cid_len);
}

uint64_t
ps_pn_decode(uint64_t next, uint64_t truncated, unsigned int pn_len)
{
	uint64_t window = UINT64_C(1) << (8 * pn_len), half = window / 2;
	uint64_t pn = (next & ~(window - 1)) | truncated;

	if (pn + half <= next && pn + window <= PS_VARINT_MAX)
		return pn + window;
	if (pn > next + half && pn >= window)
		return pn - window;
	return pn;
}

unsigned int
ps_pn_size(uint64_t pn, uint64_t unacked_from)
{
	/* The peer's window must span twice the numbers that it may not have seen. */
	uint64_t span = 2 * (pn - unacked_from + 1);

	if (span <= UINT64_C(1) << 8)
		return 1;
	if (span <= UINT64_C(1) << 16)
		return 2;
	return span <= UINT64_C(1) << 24 ? 3 : 4;
}

static uint8_t *
put_pn(uint8_t *p, uint64_t pn, unsigned int pn_len)
{
	for (unsigned int i = pn_len; i-- > 0; pn >>= 8)
		p[i] = pn;
	return p + pn_len;
}

/* The bytes that all versions share: first byte, version, both ids. */
static uint8_t *
put_invariant(uint8_t *p, uint8_t first, uint32_t version, const uint8_t *dcid, size_t dcid_len,
	const uint8_t *scid, size_t scid_len)
{
	*p++ = first;
	ps_be32_store(p, version);
	p += 4;
	*p++ = dcid_len;
	memcpy(p, dcid, dcid_len);
	p += dcid_len;
	*p++ = scid_len;
	memcpy(p, scid, scid_len);
	return p + scid_len;
}

size_t
ps_pkt_long_put(uint8_t *p, enum ps_pkt_type type, const struct ps_cid *dcid,
	const struct ps_cid *scid, const uint8_t *token, size_t token_len, uint64_t pn,
	unsigned int pn_len, size_t *length_at)
{
	uint8_t first = LONG_BIT | FIXED_BIT | type << 4 | (pn_len - 1);
	uint8_t *w = put_invariant(p, first, PS_QUIC_V1, dcid->id, dcid->len, scid->id, scid->len);

	if (type == PS_PKT_INITIAL) {
		w += ps_varint_put(w, token_len);
		if (token_len > 0)
			memcpy(w, token, token_len);
		w += token_len;
	}
	*length_at = w - p;
	return put_pn(w + 2, pn, pn_len) - p;
}

void
ps_pkt_long_finish(uint8_t *p, size_t length_at, unsigned int pn_len, size_t payload_len)
{
	ps_be16_store(p + length_at, 0x4000 | (pn_len + payload_len + PS_AEAD_TAG));
}

size_t
ps_pkt_short_put(
	uint8_t *p, const struct ps_cid *dcid, bool key_phase, uint64_t pn, unsigned int pn_len)
{
	p[0] = FIXED_BIT | key_phase << 2 | (pn_len - 1);
	memcpy(p + 1, dcid->id, dcid->len);
	return put_pn(p + 1 + dcid->len, pn, pn_len) - p;
}

size_t
ps_pkt_vn_put(uint8_t *p, size_t cap, const uint8_t *dcid, size_t dcid_len, const uint8_t *scid,
	size_t scid_len, uint8_t random)
{
	/* A version of the form 0x?a?a?a?a, section 15. The digits differ from one another, so that
	 * it is not one that clients commonly probe with. */
	uint32_t reserved = 0x0a1a2a3au ^ (random & 0xf0u) * 0x01010101u;
	uint8_t *w;

	if (cap < 7 + dcid_len + scid_len + 8)
		return 0;
	w = put_invariant(p, LONG_BIT | FIXED_BIT | random, 0, dcid, dcid_len, scid, scid_len);
	ps_be32_store(w, PS_QUIC_V1);
	ps_be32_store(w + 4, reserved);
	return w + 8 - p;
}

size_t
ps_pkt_retry_put(uint8_t *p, const struct ps_cid *dcid, const struct ps_cid *scid,
	const uint8_t *token, size_t token_len, uint8_t random)
{
	uint8_t first = LONG_BIT | FIXED_BIT | PS_PKT_RETRY << 4 | (random & 0x0f);
	uint8_t *w = put_invariant(p, first, PS_QUIC_V1, dcid->id, dcid->len, scid->id, scid->len);

	memcpy(w, token, token_len);
	return w + token_len - p;
}
