/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Receive streams: RFC 9000 sections 3.2, 4 and 4.6. Bytes are not kept here, the sink has them. */

#include "engine.h"

#define CREDIT_RETRY_NS (5 * PS_MS_NS)
/* Streams promised to all connections together, for each one the sink has room for now. A client
 * that holds credit is mostly not using all of it at once. */
#define OVERCOMMIT 8

static uint32_t *
bucket(struct ps_quic *q, uint32_t conn, uint64_t id)
{
	uint64_t h = (id ^ ((uint64_t)conn << 32) ^ q->hash_key[0]) * 0x9e3779b97f4a7c15u;

	return &q->stream_bucket[(h >> 32) & q->stream_mask];
}

struct rx_stream *
stream_find(struct ps_quic *q, const struct conn *c, uint64_t id)
{
	uint32_t i;

	if (c->streams_open == 0)
		return NULL;
	for (i = *bucket(q, c->slot, id); i != NONE; i = q->streams[i].hash_next)
		if (q->streams[i].id == id && q->streams[i].conn == c->slot)
			return &q->streams[i];
	return NULL;
}

static struct rx_stream *
open_stream(struct ps_quic *q, struct conn *c, uint64_t id, uint64_t now_ns)
{
	uint32_t *head = bucket(q, c->slot, id), i = q->stream_spare;
	struct rx_stream *s = &q->streams[i];

	q->stream_spare = s->hash_next;
	*s = (struct rx_stream){.id = id,
		.conn = c->slot,
		.final_size = NONE,
		.sink_slot = PS_SLOT_NONE,
		.hash_next = *head,
		.conn_next = NONE,
		.conn_prev = c->streams_tail,
		.due_ns = now_ns + q->cfg.stream_deadline_ms * PS_MS_NS};
	*head = i;
	if (c->streams_tail != NONE)
		q->streams[c->streams_tail].conn_next = i;
	else
		c->streams_head = i;
	c->streams_tail = i;
	c->streams_open++;
	q->stats.streams_open++;
	return s;
}

static void
forget_stream(struct ps_quic *q, struct conn *c, struct rx_stream *s)
{
	uint32_t i = (uint32_t)(s - q->streams), *link = bucket(q, c->slot, s->id);

	while (*link != i)
		link = &q->streams[*link].hash_next;
	*link = s->hash_next;
	if (s->conn_prev != NONE)
		q->streams[s->conn_prev].conn_next = s->conn_next;
	else
		c->streams_head = s->conn_next;
	if (s->conn_next != NONE)
		q->streams[s->conn_next].conn_prev = s->conn_prev;
	else
		c->streams_tail = s->conn_prev;
	s->hash_next = q->stream_spare;
	q->stream_spare = i;
	c->streams_open--;
	q->stats.streams_open--;
}

static void
abandon(struct ps_quic *q, struct conn *c, struct rx_stream *s)
{
	if (s->sink_slot != PS_SLOT_NONE)
		q->cfg.sink.abandon(q->cfg.sink.ctx, s->sink_slot);
	forget_stream(q, c, s);
}

void
stream_finish(struct ps_quic *q, struct conn *c, uint64_t i, uint64_t now_ns)
{
	c->done[i % DONE_BITS / 64] |= UINT64_C(1) << (i % 64);
	if (i == c->done_base)
		c->done_base_ns = now_ns;
	while ((c->done[c->done_base % DONE_BITS / 64] >> (c->done_base % 64) & 1) != 0) {
		c->done[c->done_base % DONE_BITS / 64] &= ~(UINT64_C(1) << (c->done_base % 64));
		c->done_base++;
	}
	c->streams_finished++;
	q->stats.streams_done++;
}

static void
mark_finished(struct ps_quic *q, struct conn *c, uint64_t id, uint64_t now_ns)
{
	stream_finish(q, c, id >> 2, now_ns);
	streams_credit(q, c, now_ns);
}

/* A stream id a peer may use towards us, and within its limit; else the error to close with. */
static uint64_t
id_error(const struct ps_quic *q, const struct conn *c, uint64_t id)
{
	uint64_t from_peer = q->cfg.server ? 0 : 1; /* low bit: initiated by the server */

	if ((id & 1) != from_peer)
		return PS_QUIC_STREAM_STATE_ERROR; /* one of ours: never created, or send-only */
	if ((id & 2) == 0 || id >> 2 >= c->streams_granted)
		return PS_QUIC_STREAM_LIMIT_ERROR;
	return 0;
}

bool
streams_check(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns)
{
	uint64_t error = 0;

	switch (f->type) {
	case PS_FRAME_STREAM:
		error = id_error(q, c, f->stream.id);
		if (error == 0 && f->stream.offset + f->len > q->cfg.stream_bytes)
			error = PS_QUIC_FLOW_CONTROL_ERROR;
		break;
	case PS_FRAME_RESET_STREAM:
		error = id_error(q, c, f->reset.id);
		if (error == 0 && f->reset.final_size > q->cfg.stream_bytes)
			error = PS_QUIC_FLOW_CONTROL_ERROR;
		break;
	case PS_FRAME_STREAM_DATA_BLOCKED:
		error = id_error(q, c, f->limit.id);
		break;
	case PS_FRAME_STOP_SENDING:
	case PS_FRAME_MAX_STREAM_DATA: {
		uint64_t id = f->type == PS_FRAME_STOP_SENDING ? f->reset.id : f->limit.id;
		bool ours = (id & 3) == (q->cfg.server ? 3 : 2);

		if ((id & 3) == (q->cfg.server ? 0 : 1)) /* theirs, both ways: none is granted */
			error = PS_QUIC_STREAM_LIMIT_ERROR;
		else if (!ours || id >> 2 >= c->send.next_stream)
			error = PS_QUIC_STREAM_STATE_ERROR;
		break;
	}
	default:
		break;
	}
	if (error != 0)
		conn_close(q, c, false, error, f->wire_type, "", now_ns);
	return error == 0;
}

bool
streams_reserve(struct ps_quic *q, struct conn *c, unsigned int n_frames)
{
	struct ps_stream_frame *out = q->stream_frames;
	uint32_t spare = q->limits.streams - (uint32_t)q->stats.streams_open;
	unsigned int n = 0, partial = 0;

	for (unsigned int i = 0; i < n_frames; i++) {
		const struct ps_frame *f = &q->frames[i];
		const struct rx_stream *s;

		if (f->type != PS_FRAME_STREAM || stream_finished(c, f->stream.id))
			continue;
		s = stream_find(q, c, f->stream.id);
		partial += s == NULL && (f->stream.offset != 0 || !f->fin);
		out[n++] = (struct ps_stream_frame){.data = f->data,
			.stream_id = f->stream.id,
			.offset = (uint32_t)f->stream.offset,
			.len = f->len,
			.fin = f->fin,
			.slot = s == NULL ? PS_SLOT_NONE : s->sink_slot};
	}
	if (n == 0)
		return true;
	return partial <= spare && q->cfg.sink.reserve(q->cfg.sink.ctx, out, n);
}

void
stream_count(struct ps_quic *q, struct conn *c, uint64_t more)
{
	c->data_received += more;
	if (c->data_granted - c->data_received < q->cfg.conn_bytes / 2) {
		c->data_granted = c->data_received + q->cfg.conn_bytes;
		c->send_max_data = true;
	}
}

/* Closes when that is beyond the limit. */
static bool
count_data(struct ps_quic *q, struct conn *c, uint64_t more, uint8_t frame, uint64_t now_ns)
{
	if (more > c->data_granted - c->data_received) {
		conn_close(q, c, false, PS_QUIC_FLOW_CONTROL_ERROR, frame, "", now_ns);
		return false;
	}
	stream_count(q, c, more);
	return true;
}

static enum ps_sink_result
give(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint32_t *slot)
{
	struct ps_stream_frame out = {.data = f->data,
		.stream_id = f->stream.id,
		.offset = (uint32_t)f->stream.offset,
		.len = f->len,
		.fin = f->fin,
		.slot = *slot};
	enum ps_sink_result r = q->cfg.sink.data(q->cfg.sink.ctx, &c->peer, &out);

	*slot = out.slot;
	return r;
}

/* Section 4.5: the final size, once known, holds for ever. */
static bool
final_size_ok(const struct rx_stream *s, uint32_t end, bool fin)
{
	if (fin)
		return end >= s->highest && (s->final_size == NONE || s->final_size == end);
	return s->final_size == NONE || end <= s->final_size;
}

static void
partial_data(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns)
{
	struct rx_stream *s = stream_find(q, c, f->stream.id);
	uint32_t end = (uint32_t)f->stream.offset + f->len, seen;

	if (s == NULL)
		s = open_stream(q, c, f->stream.id, now_ns);
	if (!final_size_ok(s, end, f->fin)) {
		conn_close(q, c, false, PS_QUIC_FINAL_SIZE_ERROR, f->wire_type, "", now_ns);
		return;
	}
	if (f->fin)
		s->final_size = end;
	seen = s->highest;
	if (end > s->highest) {
		if (!count_data(q, c, end - s->highest, f->wire_type, now_ns))
			return;
		s->highest = end;
	}
	if (f->len == 0 && !f->fin)
		return;
	q->packet.progress += end > seen || f->fin;
	if (give(q, c, f, &s->sink_slot) == PS_SINK_DONE) {
		forget_stream(q, c, s);
		mark_finished(q, c, f->stream.id, now_ns);
	}
}

void
stream_data(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns)
{
	uint32_t slot = PS_SLOT_NONE;
	const struct rx_stream *s;

	if (stream_finished(c, f->stream.id)) {
		ps_drop(q->drops, PS_DROP_QUIC_STREAM_DONE);
		return;
	}
	s = stream_find(q, c, f->stream.id);
	if (f->fin && f->stream.offset + f->len == 0 && (s == NULL || s->highest == 0)) {
		conn_close(q, c, true, 5, 0, "invalid_stream", now_ns); /* as Agave does */
		return;
	}
	if (s != NULL || f->stream.offset != 0 || !f->fin) {
		partial_data(q, c, f, now_ns);
		return;
	}
	if (!count_data(q, c, f->len, f->wire_type, now_ns))
		return;
	q->packet.progress++;
	give(q, c, f, &slot);
	mark_finished(q, c, f->stream.id, now_ns);
}

void
stream_reset(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns)
{
	struct rx_stream *s = stream_find(q, c, f->reset.id);
	uint32_t size = (uint32_t)f->reset.final_size, seen = s == NULL ? 0 : s->highest;

	if (stream_finished(c, f->reset.id))
		return;
	if (size < seen || (s != NULL && s->final_size != NONE && s->final_size != size)) {
		conn_close(q, c, false, PS_QUIC_FINAL_SIZE_ERROR, f->wire_type, "", now_ns);
		return;
	}
	if (!count_data(q, c, size - seen, f->wire_type, now_ns))
		return;
	ps_drop(q->drops, PS_DROP_QUIC_STREAM_RESET);
	if (s != NULL)
		abandon(q, c, s);
	mark_finished(q, c, f->reset.id, now_ns);
}

uint64_t
streams_due(const struct ps_quic *q, const struct conn *c)
{
	return c->streams_head == NONE ? PS_NEVER : q->streams[c->streams_head].due_ns;
}

void
stream_stop(struct ps_quic *q, struct conn *c, uint64_t id)
{
	if (c->n_stop == STOP_MAX)
		return;
	c->stop[c->n_stop++] = id;
	conn_ready(q, c);
}

void
streams_expire(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	while (streams_due(q, c) <= now_ns) {
		struct rx_stream *s = &q->streams[c->streams_head];
		uint64_t id = s->id;

		ps_drop(q->drops, PS_DROP_QUIC_STREAM_LATE);
		/* what may still come of it is not counted, though the peer does */
		c->data_granted +=
			(s->final_size != NONE ? s->final_size : q->cfg.stream_bytes) - s->highest;
		c->send_max_data = true;
		abandon(q, c, s);
		stream_stop(q, c, id);
		mark_finished(q, c, id, now_ns);
	}
}

void
streams_end(struct ps_quic *q, struct conn *c)
{
	while (c->streams_head != NONE)
		abandon(q, c, &q->streams[c->streams_head]);
}

/* The lowest unfinished stream holds up all credit beyond DONE_BITS. One of which nothing came
 * while so many later ones did is given up like one that is late. Returns when to look again. */
static uint64_t
pass_silent_stream(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	uint64_t due = c->done_base_ns + q->cfg.stream_deadline_ms * PS_MS_NS;
	uint64_t id = c->done_base << 2 | (q->cfg.server ? 2 : 3);

	if (c->done_base + DONE_BITS > c->streams_granted)
		return PS_NEVER;
	if (due > now_ns)
		return due;
	if (stream_find(q, c, id) != NULL)
		return PS_NEVER; /* its own deadline ends it */
	ps_drop(q->drops, PS_DROP_QUIC_STREAM_LATE);
	c->data_granted += q->cfg.stream_bytes;
	c->send_max_data = true;
	stream_stop(q, c, id); /* or the peer would take what it sends later for delivered */
	stream_finish(q, c, c->done_base, now_ns);
	return PS_NEVER;
}

/* Section 4.6. The peer may have stream_window streams unfinished, fewer when the sink runs out of
 * room; credit once given cannot be taken back, so it is given in small steps. */
void
streams_credit(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	uint64_t window = q->cfg.stream_window, share, limit;

	c->credit_due_ns = PS_NEVER;
	if (c->state != CONN_ESTABLISHED || !q->cfg.server)
		return;
	c->credit_due_ns = pass_silent_stream(q, c, now_ns);
	limit = min_u64(c->streams_finished + window, c->done_base + DONE_BITS);
	/* wait for a step worth a frame, unless the peer has little left */
	if (limit <= c->streams_granted ||
		(limit - c->streams_granted < (window + 7) / 8 &&
			c->streams_granted - c->streams_finished > window / 4))
		return;
	share = (uint64_t)q->cfg.sink.room(q->cfg.sink.ctx) * OVERCOMMIT / q->stats.conns_open;
	limit = min_u64(limit, c->streams_finished + c->streams_open + share);
	if (limit <= c->streams_granted) {
		q->stats.credit_refused++;
		c->credit_due_ns = now_ns + CREDIT_RETRY_NS;
		return;
	}
	q->stats.stream_credit += limit - c->streams_granted;
	c->streams_granted = limit;
	c->send_max_streams = true;
}
