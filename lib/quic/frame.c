/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "wire.h"

#include <string.h>

#include "ranges.h"

#define STREAM_OFF 0x04
#define STREAM_LEN 0x02
#define STREAM_FIN 0x01

#define BIT(type) (UINT32_C(1) << (type))

/* RFC 9000 table 3, with the frames that section 12.5 rules out of 0-RTT. */
#define IN_HANDSHAKE                                                                               \
	(BIT(PS_FRAME_PADDING) | BIT(PS_FRAME_PING) | BIT(PS_FRAME_ACK) | BIT(PS_FRAME_ACK_ECN) |  \
		BIT(PS_FRAME_CRYPTO) | BIT(PS_FRAME_CONNECTION_CLOSE))
#define NOT_IN_0RTT                                                                                \
	(BIT(PS_FRAME_ACK) | BIT(PS_FRAME_ACK_ECN) | BIT(PS_FRAME_CRYPTO) |                        \
		BIT(PS_FRAME_NEW_TOKEN) | BIT(PS_FRAME_RETIRE_CONNECTION_ID) |                     \
		BIT(PS_FRAME_PATH_RESPONSE) | BIT(PS_FRAME_HANDSHAKE_DONE))
#define ALL_FRAMES (BIT(PS_FRAME_HANDSHAKE_DONE + 1) - 1)

static const uint32_t allowed_in[] = {
	[PS_PKT_INITIAL] = IN_HANDSHAKE,
	[PS_PKT_0RTT] = ALL_FRAMES & ~NOT_IN_0RTT,
	[PS_PKT_HANDSHAKE] = IN_HANDSHAKE,
	[PS_PKT_RETRY] = 0,
	[PS_PKT_1RTT] = ALL_FRAMES,
};

/* The body of the frame being read; p never passes end. */
struct reader {
	const uint8_t *p, *end;
};

static inline bool
take(struct reader *r, uint64_t *v)
{
	size_t n = ps_varint_get(r->p, r->end, v);

	r->p += n;
	return n != 0;
}

/* len bytes become the data of the frame. */
static inline bool
take_data(struct reader *r, struct ps_frame *f, uint64_t len)
{
	if (len > (uint64_t)(r->end - r->p))
		return false;
	f->data = r->p;
	f->len = len;
	r->p += len;
	return true;
}

static inline bool
parse_stream(struct ps_frame *f, uint8_t flags, struct reader *r)
{
	uint64_t len;

	f->type = PS_FRAME_STREAM;
	f->fin = flags & STREAM_FIN;
	f->stream.offset = 0;
	if (!take(r, &f->stream.id))
		return false;
	if (flags & STREAM_OFF && !take(r, &f->stream.offset))
		return false;
	len = r->end - r->p;
	if (flags & STREAM_LEN && !take(r, &len))
		return false;
	return take_data(r, f, len) && f->stream.offset + f->len <= PS_VARINT_MAX;
}

static bool
parse_crypto(struct ps_frame *f, struct reader *r)
{
	uint64_t len;

	return take(r, &f->stream.offset) && take(r, &len) && take_data(r, f, len) &&
	       f->stream.offset + f->len <= PS_VARINT_MAX;
}

static bool
parse_ack(struct ps_frame *f, struct reader *r)
{
	struct ps_ack *ack = &f->ack;
	uint64_t low, gap, len;

	if (!take(r, &ack->largest) || !take(r, &ack->delay) || !take(r, &ack->range_count) ||
		!take(r, &ack->first_range) || ack->first_range > ack->largest)
		return false;
	ack->ranges = r->p;
	/* The count is the peer's word, but each pair takes two bytes of the packet at least. */
	if (ack->range_count > (uint64_t)(r->end - r->p) / 2)
		return false;
	low = ack->largest - ack->first_range;
	for (uint64_t i = 0; i < ack->range_count; i++) {
		if (!take(r, &gap) || !take(r, &len) || low < 2 || gap > low - 2 ||
			len > low - 2 - gap)
			return false;
		low -= 2 + gap + len;
	}
	ack->ect0 = ack->ect1 = ack->ce = 0;
	if (f->type == PS_FRAME_ACK)
		return true;
	return take(r, &ack->ect0) && take(r, &ack->ect1) && take(r, &ack->ce);
}

static bool
parse_new_connection_id(struct ps_frame *f, struct reader *r)
{
	uint8_t len;

	if (!take(r, &f->ncid.seq) || !take(r, &f->ncid.retire_prior_to) ||
		f->ncid.retire_prior_to > f->ncid.seq || r->p == r->end)
		return false;
	len = *r->p++;
	if (len < 1 || len > PS_CID_MAX || !take_data(r, f, len) || r->end - r->p < 16)
		return false;
	f->ncid.reset_token = r->p;
	r->p += 16;
	return true;
}

static bool
parse_close(struct ps_frame *f, struct reader *r)
{
	uint64_t len;

	f->close.frame_type = 0;
	if (!take(r, &f->close.error))
		return false;
	if (f->type == PS_FRAME_CONNECTION_CLOSE && !take(r, &f->close.frame_type))
		return false;
	return take(r, &len) && take_data(r, f, len);
}

static bool
parse_path(struct ps_frame *f, struct reader *r)
{
	if ((size_t)(r->end - r->p) < sizeof(f->path))
		return false;
	memcpy(f->path, r->p, sizeof(f->path));
	r->p += sizeof(f->path);
	return true;
}

static bool
parse_padding(struct reader *r)
{
	uint64_t eight;

	while (r->end - r->p >= 8) {
		memcpy(&eight, r->p, 8);
		if (eight != 0)
			break;
		r->p += 8;
	}
	while (r->p < r->end && *r->p == PS_FRAME_PADDING)
		r->p++;
	return true;
}

/* MAX_* and *_BLOCKED: a limit, of one stream in two of them. */
static bool
parse_limit(struct ps_frame *f, struct reader *r)
{
	f->limit.id = 0;
	switch (f->type) {
	case PS_FRAME_MAX_STREAM_DATA:
	case PS_FRAME_STREAM_DATA_BLOCKED:
		return take(r, &f->limit.id) && take(r, &f->limit.max);
	case PS_FRAME_MAX_STREAMS_BIDI:
	case PS_FRAME_MAX_STREAMS_UNI:
	case PS_FRAME_STREAMS_BLOCKED_BIDI:
	case PS_FRAME_STREAMS_BLOCKED_UNI:
		return take(r, &f->limit.max) && f->limit.max <= PS_UNI_STREAM_MAX;
	default:
		return take(r, &f->limit.max);
	}
}

static bool
parse_body(struct ps_frame *f, struct reader *r)
{
	uint64_t len;

	switch (f->type) {
	case PS_FRAME_PADDING:
		return parse_padding(r);
	case PS_FRAME_PING:
	case PS_FRAME_HANDSHAKE_DONE:
		return true;
	case PS_FRAME_ACK:
	case PS_FRAME_ACK_ECN:
		return parse_ack(f, r);
	case PS_FRAME_RESET_STREAM:
		return take(r, &f->reset.id) && take(r, &f->reset.error) &&
		       take(r, &f->reset.final_size);
	case PS_FRAME_STOP_SENDING:
		return take(r, &f->reset.id) && take(r, &f->reset.error);
	case PS_FRAME_CRYPTO:
		return parse_crypto(f, r);
	case PS_FRAME_NEW_TOKEN:
		return take(r, &len) && len > 0 && take_data(r, f, len);
	case PS_FRAME_NEW_CONNECTION_ID:
		return parse_new_connection_id(f, r);
	case PS_FRAME_RETIRE_CONNECTION_ID:
		return take(r, &f->ncid.seq);
	case PS_FRAME_PATH_CHALLENGE:
	case PS_FRAME_PATH_RESPONSE:
		return parse_path(f, r);
	case PS_FRAME_CONNECTION_CLOSE:
	case PS_FRAME_CONNECTION_CLOSE_APP:
		return parse_close(f, r);
	default:
		return parse_limit(f, r);
	}
}

/* A first byte above every known type: unknown, or a known one in more bytes than it needs. */
static uint64_t
refuse_type(const uint8_t *p, const uint8_t *end)
{
	uint64_t type;

	if (ps_varint_get(p, end, &type) > 1 && type <= PS_FRAME_HANDSHAKE_DONE)
		return PS_QUIC_PROTOCOL_VIOLATION;
	return PS_QUIC_FRAME_ENCODING_ERROR;
}

uint64_t
ps_frame_parse(struct ps_frame *f, enum ps_pkt_type in, const uint8_t **p, const uint8_t *end)
{
	struct reader r = {*p, end};
	uint8_t type;
	bool good;

	if (r.p == end)
		return PS_QUIC_FRAME_ENCODING_ERROR;
	type = *r.p;
	if (type > PS_FRAME_HANDSHAKE_DONE)
		return refuse_type(r.p, end);
	if (!(allowed_in[in] & BIT(type)))
		return PS_QUIC_PROTOCOL_VIOLATION;
	r.p++;
	f->wire_type = type;
	if (__builtin_expect((type & ~7) == PS_FRAME_STREAM, 1)) {
		good = parse_stream(f, type, &r);
	} else {
		f->type = type;
		f->fin = false;
		f->len = 0;
		f->data = NULL;
		good = parse_body(f, &r);
	}
	if (!good)
		return PS_QUIC_FRAME_ENCODING_ERROR;
	*p = r.p;
	return 0;
}

void
ps_ack_range(const struct ps_ack *ack, uint64_t i, const uint8_t **cursor, struct ps_range *r)
{
	uint64_t gap, len;

	if (i == 0) {
		r->hi = ack->largest;
		r->lo = ack->largest - ack->first_range;
		return;
	}
	*cursor += ps_varint_load(*cursor, &gap);
	*cursor += ps_varint_load(*cursor, &len);
	r->hi = r->lo - gap - 2;
	r->lo = r->hi - len;
}

size_t
ps_frame_ack_put(uint8_t *p, size_t cap, const struct ps_ranges *s, uint64_t delay)
{
	uint8_t *w = p, *count;
	uint64_t first;
	uint32_t i;

	_Static_assert(PS_RANGES_MAX <= 64, "the range count takes one byte");
	if (s->n == 0)
		return 0;
	first = s->r[0].hi - s->r[0].lo;
	if (2 + ps_varint_size(s->r[0].hi) + ps_varint_size(delay) + ps_varint_size(first) > cap)
		return 0;
	*w++ = PS_FRAME_ACK;
	w += ps_varint_put(w, s->r[0].hi);
	w += ps_varint_put(w, delay);
	count = w++;
	w += ps_varint_put(w, first);
	for (i = 1; i < s->n; i++) {
		uint64_t gap = s->r[i - 1].lo - s->r[i].hi - 2, len = s->r[i].hi - s->r[i].lo;

		if (ps_varint_size(gap) + ps_varint_size(len) > cap - (w - p))
			break;
		w += ps_varint_put(w, gap);
		w += ps_varint_put(w, len);
	}
	*count = i - 1;
	return w - p;
}

size_t
ps_frame_ack_ecn(uint8_t *p, size_t len, size_t cap, const uint64_t counts[3])
{
	size_t n = len;

	for (int i = 0; i < 3; i++) {
		if (n + ps_varint_size(counts[i]) > cap)
			return len;
		n += ps_varint_put(p + n, counts[i]);
	}
	p[0] = PS_FRAME_ACK_ECN;
	return n;
}

/* How much of len bytes fits in cap behind a head of so many bytes. The length field takes two
 * bytes at most, because packets stay far below 16 KiB. */
static size_t
fit(size_t cap, size_t head, size_t len)
{
	size_t room, n;

	if (cap < head + 2)
		return 0;
	room = cap - head;
	n = len < 16383 ? len : 16383;
	if (n > room - 1)
		n = room - 1;
	if (n >= 64 && n > room - 2)
		n = room - 2;
	return n;
}

size_t
ps_frame_crypto_fit(size_t cap, uint64_t offset, size_t len)
{
	return fit(cap, 1 + ps_varint_size(offset), len);
}

static size_t
put_data(uint8_t *p, const uint8_t *data, size_t len)
{
	size_t n = ps_varint_put(p, len);

	if (len > 0)
		memcpy(p + n, data, len);
	return n + len;
}

size_t
ps_frame_crypto_put(uint8_t *p, size_t cap, uint64_t offset, const uint8_t *data, size_t len)
{
	uint8_t *w = p;

	if (1 + ps_varint_size(offset) + ps_varint_size(len) + len > cap)
		return 0;
	*w++ = PS_FRAME_CRYPTO;
	w += ps_varint_put(w, offset);
	w += put_data(w, data, len);
	return w - p;
}

static size_t
stream_head(uint64_t id, uint64_t offset)
{
	return 1 + ps_varint_size(id) + (offset > 0 ? ps_varint_size(offset) : 0);
}

size_t
ps_frame_stream_fit(size_t cap, uint64_t id, uint64_t offset, size_t len)
{
	return fit(cap, stream_head(id, offset), len);
}

size_t
ps_frame_stream_put(uint8_t *p, size_t cap, uint64_t id, uint64_t offset, const uint8_t *data,
	size_t len, bool fin)
{
	uint8_t *w = p;

	if (stream_head(id, offset) + ps_varint_size(len) + len > cap)
		return 0;
	*w++ = PS_FRAME_STREAM | STREAM_LEN | (offset > 0 ? STREAM_OFF : 0) |
	       (fin ? STREAM_FIN : 0);
	w += ps_varint_put(w, id);
	if (offset > 0)
		w += ps_varint_put(w, offset);
	w += put_data(w, data, len);
	return w - p;
}

size_t
ps_frame_varint_put(uint8_t *p, size_t cap, enum ps_frame_type type, uint64_t v)
{
	if (1 + ps_varint_size(v) > cap)
		return 0;
	p[0] = type;
	return 1 + ps_varint_put(p + 1, v);
}

size_t
ps_frame_stop_put(uint8_t *p, size_t cap, uint64_t id, uint64_t error)
{
	uint8_t *w = p;

	if (1 + ps_varint_size(id) + ps_varint_size(error) > cap)
		return 0;
	*w++ = PS_FRAME_STOP_SENDING;
	w += ps_varint_put(w, id);
	w += ps_varint_put(w, error);
	return w - p;
}

size_t
ps_frame_reset_put(uint8_t *p, size_t cap, uint64_t id, uint64_t error, uint64_t final_size)
{
	uint8_t *w = p;

	if (1 + ps_varint_size(id) + ps_varint_size(error) + ps_varint_size(final_size) > cap)
		return 0;
	*w++ = PS_FRAME_RESET_STREAM;
	w += ps_varint_put(w, id);
	w += ps_varint_put(w, error);
	w += ps_varint_put(w, final_size);
	return w - p;
}

size_t
ps_frame_ncid_put(uint8_t *p, size_t cap, uint64_t seq, const uint8_t *cid, size_t cid_len,
	const uint8_t reset_token[16])
{
	uint8_t *w = p;

	if (1 + ps_varint_size(seq) + 1 + 1 + cid_len + 16 > cap)
		return 0;
	*w++ = PS_FRAME_NEW_CONNECTION_ID;
	w += ps_varint_put(w, seq);
	*w++ = 0;
	*w++ = (uint8_t)cid_len;
	memcpy(w, cid, cid_len);
	memcpy(w + cid_len, reset_token, 16);
	return w - p + cid_len + 16;
}

size_t
ps_frame_path_put(uint8_t *p, size_t cap, enum ps_frame_type type, const uint8_t data[8])
{
	if (cap < 9)
		return 0;
	p[0] = type;
	memcpy(p + 1, data, 8);
	return 9;
}

size_t
ps_frame_new_token_put(uint8_t *p, size_t cap, const uint8_t *token, size_t len)
{
	if (1 + ps_varint_size(len) + len > cap)
		return 0;
	p[0] = PS_FRAME_NEW_TOKEN;
	return 1 + put_data(p + 1, token, len);
}

size_t
ps_frame_close_put(
	uint8_t *p, size_t cap, bool app, uint64_t error, uint64_t frame_type, const char *reason)
{
	size_t len = strlen(reason);
	uint8_t *w = p;

	if (1 + ps_varint_size(error) + (app ? 0 : ps_varint_size(frame_type)) +
			ps_varint_size(len) + len >
		cap)
		return 0;
	*w++ = app ? PS_FRAME_CONNECTION_CLOSE_APP : PS_FRAME_CONNECTION_CLOSE;
	w += ps_varint_put(w, error);
	if (!app)
		w += ps_varint_put(w, frame_type);
	w += put_data(w, (const uint8_t *)reason, len);
	return w - p;
}
