/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The frames of one packet. The first byte of the input picks the packet type. */

#include <string.h>

#include "fuzz.h"
#include "ranges.h"
#include "wire.h"

static void
check_ack(const struct ps_ack *ack, const uint8_t *end)
{
	const uint8_t *cursor = ack->ranges;
	uint64_t above = PS_VARINT_MAX;
	struct ps_range r = {0};

	FUZZ_CHECK(ack->range_count <= UINT16_MAX / 2);
	for (uint64_t i = 0; i <= ack->range_count; i++) {
		ps_ack_range(ack, i, &cursor, &r);
		FUZZ_CHECK(r.lo <= r.hi && r.hi <= above);
		FUZZ_CHECK(i == 0 || r.hi + 1 < above);
		above = r.lo;
	}
	FUZZ_CHECK(cursor <= end);
}

/* The numbers of a small ACK, put into a set and encoded, are the same ACK. */
static void
check_ack_again(const struct ps_ack *ack)
{
	const uint8_t *cursor = ack->ranges, *p;
	struct ps_ranges s;
	struct ps_range r = {0};
	struct ps_frame f;
	uint8_t out[1024];
	size_t n;

	if (ack->range_count >= PS_RANGES_MAX)
		return;
	ps_ranges_init(&s);
	for (uint64_t i = 0; i <= ack->range_count; i++) {
		ps_ack_range(ack, i, &cursor, &r);
		s.r[s.n++] = r;
	}
	n = ps_frame_ack_put(out, sizeof(out), &s, ack->delay);
	p = out;
	FUZZ_CHECK(n > 0 && ps_frame_parse(&f, PS_PKT_1RTT, &p, out + n) == 0 && p == out + n);
	FUZZ_CHECK(f.ack.largest == ack->largest && f.ack.range_count == ack->range_count);
	cursor = f.ack.ranges;
	for (uint64_t i = 0; i <= f.ack.range_count; i++) {
		ps_ack_range(&f.ack, i, &cursor, &r);
		FUZZ_CHECK(r.lo == s.r[i].lo && r.hi == s.r[i].hi);
	}
}

/* Encodes the frame with as little as it needs and reads it back. */
static void
check_data_again(const struct ps_frame *f)
{
	bool stream = f->type == PS_FRAME_STREAM;
	size_t cap = 40 + f->len, n;
	uint8_t *out = malloc(cap);
	const uint8_t *p = out;
	struct ps_frame again;

	FUZZ_CHECK(out != NULL);
	if (stream)
		n = ps_frame_stream_put(
			out, cap, f->stream.id, f->stream.offset, f->data, f->len, f->fin);
	else
		n = ps_frame_crypto_put(out, cap, f->stream.offset, f->data, f->len);
	FUZZ_CHECK(n > 0 && n <= cap);
	FUZZ_CHECK(ps_frame_parse(&again, PS_PKT_1RTT, &p, out + n) == 0 && p == out + n);
	FUZZ_CHECK(again.type == f->type && again.fin == f->fin && again.len == f->len);
	FUZZ_CHECK(again.stream.offset == f->stream.offset);
	FUZZ_CHECK(!stream || again.stream.id == f->stream.id);
	FUZZ_CHECK(memcmp(again.data, f->data, f->len) == 0);
	if (stream)
		n = ps_frame_stream_fit(n, f->stream.id, f->stream.offset, f->len);
	else
		n = ps_frame_crypto_fit(n, f->stream.offset, f->len);
	FUZZ_CHECK(n == f->len || f->len > 16383);
	free(out);
}

static void
check_frame(const struct ps_frame *f, enum ps_pkt_type in, const uint8_t *start, const uint8_t *end)
{
	FUZZ_CHECK(f->type <= PS_FRAME_HANDSHAKE_DONE);
	FUZZ_CHECK(in == PS_PKT_1RTT || in == PS_PKT_0RTT || f->type <= PS_FRAME_CRYPTO ||
		   f->type == PS_FRAME_CONNECTION_CLOSE);
	FUZZ_CHECK(f->len == 0 || (f->data > start && f->data + f->len <= end));
	switch (f->type) {
	case PS_FRAME_ACK:
	case PS_FRAME_ACK_ECN:
		check_ack(&f->ack, end);
		check_ack_again(&f->ack);
		break;
	case PS_FRAME_STREAM:
	case PS_FRAME_CRYPTO:
		FUZZ_CHECK(f->stream.offset + f->len <= PS_VARINT_MAX);
		check_data_again(f);
		break;
	case PS_FRAME_NEW_CONNECTION_ID:
		FUZZ_CHECK(f->len >= 1 && f->len <= PS_CID_MAX);
		FUZZ_CHECK(f->ncid.reset_token + 16 == end);
		FUZZ_CHECK(f->ncid.retire_prior_to <= f->ncid.seq);
		break;
	case PS_FRAME_MAX_STREAMS_UNI:
	case PS_FRAME_STREAMS_BLOCKED_UNI:
		FUZZ_CHECK(f->limit.max <= PS_UNI_STREAM_MAX);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum ps_pkt_type types[] = {
		PS_PKT_INITIAL, PS_PKT_HANDSHAKE, PS_PKT_0RTT, PS_PKT_1RTT};
	const uint8_t *p = data + 1, *end = data + size;
	enum ps_pkt_type in;

	if (size == 0 || size > UINT16_MAX)
		return 0;
	in = types[data[0] & 3];
	while (p < end) {
		const uint8_t *start = p;
		struct ps_frame f;
		uint64_t err = ps_frame_parse(&f, in, &p, end);

		if (err != 0) {
			FUZZ_CHECK(err == PS_QUIC_FRAME_ENCODING_ERROR ||
				   err == PS_QUIC_PROTOCOL_VIOLATION);
			FUZZ_CHECK(p == start);
			break;
		}
		FUZZ_CHECK(p > start && p <= end);
		check_frame(&f, in, start, p);
	}
	return 0;
}
