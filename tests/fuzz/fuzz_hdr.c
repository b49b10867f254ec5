/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A datagram of coalesced packets. The first byte of the input is the length of our ids. */

#include <string.h>

#include "fuzz.h"
#include "wire.h"

static bool
inside(const uint8_t *part, size_t len, const uint8_t *p, size_t size)
{
	return part >= p && len <= size && (size_t)(part - p) <= size - len;
}

/* A version 1 header written again from what was read is read the same way. */
static void
check_again(const struct ps_pkt_hdr *h)
{
	uint8_t *copy = malloc(128 + h->token_len);
	struct ps_cid dcid = {.len = h->dcid_len}, scid = {.len = h->scid_len};
	struct ps_pkt_hdr again;
	size_t at, head;

	FUZZ_CHECK(copy != NULL);
	memcpy(dcid.id, h->dcid, h->dcid_len);
	memcpy(scid.id, h->scid, h->scid_len);
	head = ps_pkt_long_put(copy, h->type, &dcid, &scid, h->token, h->token_len, 1, 4, &at);
	memset(copy + head, 0, PS_AEAD_TAG);
	ps_pkt_long_finish(copy, at, 4, 0);
	FUZZ_CHECK(ps_pkt_hdr_parse(&again, copy, head + PS_AEAD_TAG, 0) == PS_DROP_COUNT);
	FUZZ_CHECK(again.type == h->type && again.token_len == h->token_len);
	FUZZ_CHECK(again.size == head + PS_AEAD_TAG && again.pn_offset == head - 4);
	FUZZ_CHECK(again.dcid_len == dcid.len && again.scid_len == scid.len);
	FUZZ_CHECK(memcmp(again.dcid, dcid.id, dcid.len) == 0);
	FUZZ_CHECK(memcmp(again.scid, scid.id, scid.len) == 0);
	FUZZ_CHECK(h->token_len == 0 || memcmp(again.token, h->token, h->token_len) == 0);
	free(copy);
}

static void
check_packet(const struct ps_pkt_hdr *h, const uint8_t *p, size_t left, uint8_t cid_len)
{
	bool numbered = h->type == PS_PKT_INITIAL || h->type == PS_PKT_0RTT ||
			h->type == PS_PKT_HANDSHAKE || h->type == PS_PKT_1RTT;

	FUZZ_CHECK(h->size > 0 && h->size <= left);
	FUZZ_CHECK(inside(h->dcid, h->dcid_len, p, h->size));
	FUZZ_CHECK(numbered == (h->pn_offset > 0));
	if (numbered)
		FUZZ_CHECK(h->pn_offset + 4 + PS_HP_SAMPLE <= h->size);
	if (h->type == PS_PKT_1RTT) {
		FUZZ_CHECK(h->dcid_len == cid_len && h->size == left);
		return;
	}
	FUZZ_CHECK(inside(h->scid, h->scid_len, p, h->size));
	FUZZ_CHECK(h->token_len == 0 || inside(h->token, h->token_len, p, h->size));
	if (h->version == PS_QUIC_V1)
		FUZZ_CHECK(h->dcid_len <= PS_CID_MAX && h->scid_len <= PS_CID_MAX);
	else
		FUZZ_CHECK(h->type >= PS_PKT_VERSION_NEGOTIATION);
	if (numbered && h->token_len <= 16383)
		check_again(h);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p = data + 1, *end = data + size;
	uint8_t cid_len;

	if (size == 0)
		return 0;
	cid_len = data[0] % (PS_CID_MAX + 1);
	while (p < end) {
		struct ps_pkt_hdr h;
		enum ps_drop why = ps_pkt_hdr_parse(&h, p, end - p, cid_len);

		FUZZ_CHECK(why <= PS_DROP_COUNT);
		if (why != PS_DROP_COUNT)
			break;
		check_packet(&h, p, end - p, cid_len);
		p += h.size;
	}
	return 0;
}
