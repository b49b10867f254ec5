/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The straight path. A transaction that fits a packet comes as one STREAM frame that begins and
 * ends its stream, alone or with others of its kind: nearly all of a TPU's packets. They need no
 * table of frames, no reassembly and no second look at what cannot be wrong with them. Whatever is
 * unusual, and whatever is an error, goes to frames.c, which judges it from the start. */

#include "engine.h"

#define STREAM_FIN 0x01
#define STREAM_LEN 0x02

/* The streams of a packet into q->stream_frames; how many, 0 when it is not of this kind. */
static unsigned int
parse(struct ps_quic *q, const struct conn *c, const uint8_t *p, const uint8_t *end,
	uint64_t *bytes)
{
	unsigned int n = 0;
	uint64_t next = 0; /* ids go up, so that none comes twice */

	*bytes = 0;
	while (p < end) {
		uint8_t type = *p++;
		uint64_t id, len;
		size_t size;

		if ((type & ~STREAM_LEN) != (PS_FRAME_STREAM | STREAM_FIN))
			return 0;
		size = ps_varint_get(p, end, &id);
		if (size == 0)
			return 0;
		p += size;
		len = (uint64_t)(end - p);
		if ((type & STREAM_LEN) != 0) {
			size = ps_varint_get(p, end, &len);
			p += size;
			if (size == 0 || len > (uint64_t)(end - p))
				return 0;
		}
		if ((id & 3) != 2 || id < next || id >> 2 >= c->streams_granted || len == 0 ||
			len > q->cfg.stream_bytes)
			return 0;
		if (stream_finished(c, id) || stream_find(q, c, id) != NULL)
			return 0;
		q->stream_frames[n++] = (struct ps_stream_frame){.data = p,
			.stream_id = id,
			.len = (uint16_t)len,
			.fin = true,
			.slot = PS_SLOT_NONE};
		next = id + 1;
		p += len;
		*bytes += len;
	}
	return n;
}

/* Whether streams_credit() would find that the peer has all it may have: then it need not be asked
 * for every transaction. */
static bool
credit_rests(const struct ps_quic *q, const struct conn *c)
{
	uint64_t window = q->cfg.stream_window, left = c->streams_granted - c->streams_finished;

	/* that much is also more than a quarter, where streams_credit() waits no longer */
	return left > window - (window + 7) / 8 && c->credit_due_ns == PS_NEVER &&
	       c->done_base + DONE_BITS > c->streams_granted;
}

static void
deliver(struct ps_quic *q, struct conn *c, unsigned int n, uint64_t now_ns)
{
	for (unsigned int i = 0; i < n; i++) {
		struct ps_stream_frame *f = &q->stream_frames[i];

		stream_count(q, c, f->len);
		q->cfg.sink.data(q->cfg.sink.ctx, &c->peer, f);
		stream_finish(q, c, f->stream_id >> 2, now_ns);
	}
}

bool
whole_receive(struct ps_quic *q, struct conn *c, const uint8_t *pkt, uint64_t pn,
	const uint8_t *text, size_t len, uint64_t now_ns, bool *act)
{
	uint64_t bytes;
	unsigned int n;

	if (c->state != CONN_ESTABLISHED || pn < c->app.rx_next || (pkt[0] & 0x18) != 0 ||
		!q->cfg.server)
		return false;
	n = parse(q, c, text, text + len, &bytes);
	if (n == 0 || bytes > c->data_granted - c->data_received)
		return false;
	q->stats.packets_rx++;
	if (!q->cfg.sink.reserve(q->cfg.sink.ctx, q->stream_frames, n)) {
		ps_drop(q->drops, PS_DROP_QUIC_SINK_FULL);
		return true;
	}
	packet_count(q, c, PS_LEVEL_APP, pn, true, now_ns);
	deliver(q, c, n, now_ns);
	*act = c->send_max_data;
	if (!credit_rests(q, c)) {
		streams_credit(q, c, now_ns);
		*act = true;
	}
	return true;
}
