/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The client role: connections opened, streams sent (RFC 9000 sections 2, 3.1, 7). */

#include <errno.h>

#include "engine.h"
#include "ps_be.h"

void
client_answered(struct ps_quic *q, struct conn *c, const struct ps_pkt_hdr *h, const uint8_t *pkt,
	uint64_t now_ns)
{
	struct handshake *hs = conn_handshake(q, c);
	uint8_t tag[PS_AEAD_TAG];

	/* RFC 9000 sections 6.2 and 17.2.5.2: only before anything else, and one Retry at most */
	if (hs == NULL || hs->heard || hs->retried || hs->initial_gone) {
		ps_drop(q->drops, PS_DROP_QUIC_TYPE);
		return;
	}
	if (h->type == PS_PKT_VERSION_NEGOTIATION) {
		for (const uint8_t *v = h->scid + h->scid_len; v + 4 <= pkt + h->size; v += 4)
			if (ps_be32_load(v) == PS_QUIC_V1)
				return; /* lists what we chose: not a true one */
		strcpy(c->close.reason, "no common version");
		conn_free(q, c);
		return;
	}
	if (h->token_len == 0 || h->token_len > sizeof(hs->token) || h->scid_len > PS_CID_MAX ||
		h->size > PS_UDP_PAYLOAD_MAX)
		return;
	ps_retry_tag(q->protect_long, &hs->odcid, pkt, h->size - PS_AEAD_TAG, tag);
	if (!ps_equal(tag, pkt + h->size - PS_AEAD_TAG, PS_AEAD_TAG)) {
		ps_drop(q->drops, PS_DROP_QUIC_DECRYPT);
		return;
	}
	hs->retried = true;
	hs->token_len = h->token_len;
	memcpy(hs->token, h->token, h->token_len);
	c->peer_cid.len = h->scid_len;
	memcpy(c->peer_cid.id, h->scid, h->scid_len);
	hs->initial_dcid = c->peer_cid;
	ps_initial_keys(&hs->tx[PS_LEVEL_INITIAL], &hs->rx[PS_LEVEL_INITIAL], c->peer_cid.id,
		c->peer_cid.len);
	space_discard(c, &hs->space[PS_LEVEL_INITIAL]);
	hs->space[PS_LEVEL_INITIAL].last_eliciting_ns = now_ns;
	hs->crypto_next[PS_LEVEL_INITIAL] = 0; /* the same ClientHello, packet numbers go on */
	conn_ready(q, c);
}

int
ps_quic_connect(struct ps_quic *q, struct ps_flow4 flow, uint64_t link, uint64_t now_ns,
	struct ps_quic_conn_id *id)
{
	struct conn *c = conn_alloc(q);
	struct handshake *hs;

	if (c == NULL)
		return -ENOBUFS;
	hs = handshake_alloc(q, c, now_ns);
	if (hs == NULL)
		goto free_conn;
	c->flow = flow;
	c->link = link;
	c->peer.addr_be = flow.daddr_be;
	c->peer.port_be = flow.dport_be;
	c->peer_cid.len = PS_OUR_CID_LEN;
	ps_protect_random(q->protect_long, c->peer_cid.id, PS_OUR_CID_LEN);
	hs->odcid = hs->initial_dcid = c->peer_cid;
	ps_initial_keys(
		&hs->tx[PS_LEVEL_INITIAL], &hs->rx[PS_LEVEL_INITIAL], hs->odcid.id, hs->odcid.len);
	if (!handshake_begin_tls(q, c, hs)) {
		handshake_undo(q, c);
		return -ENOBUFS;
	}
	*id = conn_name(c);
	handshake_input(q, c, now_ns);
	conn_rearm(q, c);
	return 0;

free_conn:
	conn_free(q, c);
	return -ENOBUFS;
}

static void
ready_push(struct ps_quic *q, struct conn *c, struct tx_stream *s)
{
	uint32_t i = (uint32_t)(s - q->tx_streams);

	if (s->ready)
		return;
	s->ready = true;
	s->ready_next = NONE;
	if (c->send.ready_head == NONE)
		c->send.ready_head = i;
	else
		q->tx_streams[c->send.ready_tail].ready_next = i;
	c->send.ready_tail = i;
}

static void
ready_pop(struct ps_quic *q, struct conn *c)
{
	struct tx_stream *s = &q->tx_streams[c->send.ready_head];

	c->send.ready_head = s->ready_next;
	s->ready = false;
}

int
ps_quic_send_stream(
	struct ps_quic *q, struct ps_quic_conn_id id, const void *data, size_t len, uint64_t user)
{
	struct conn *c = conn_find(q, id);
	struct tx_stream *s;
	uint32_t i;

	if (c == NULL || c->state != CONN_ESTABLISHED)
		return -ENOTCONN;
	if (len == 0 || len > SEND_BYTES || len > c->send.stream_bytes)
		return -EMSGSIZE;
	if (q->tx_stream_spare == NONE || c->send.next_stream >= c->send.max_streams ||
		c->send.data_sent + len > c->send.max_data)
		return -EAGAIN;
	i = q->tx_stream_spare;
	s = &q->tx_streams[i];
	q->tx_stream_spare = s->next;
	s->id = c->send.next_stream++ << 2 | 2; /* client-initiated, unidirectional */
	s->user = user;
	s->conn = c->slot;
	s->len = (uint16_t)len;
	s->offset = s->sent = s->acked = 0;
	s->ready = s->fin_acked = s->reset = false;
	memset(s->have, 0, sizeof(s->have));
	memcpy(s->data, data, len);
	s->prev = NONE;
	s->next = c->send.streams;
	if (s->next != NONE)
		q->tx_streams[s->next].prev = i;
	c->send.streams = i;
	c->send.data_sent += len;
	ready_push(q, c, s);
	conn_ready(q, c);
	return 0;
}

void
ps_quic_keep_alive(struct ps_quic *q, struct ps_quic_conn_id id)
{
	struct conn *c = conn_find(q, id);

	if (c == NULL || c->state != CONN_ESTABLISHED)
		return;
	c->app.probe = true;
	conn_ready(q, c);
}

/* Section 19.4: what was sent of the stream stays counted. */
static size_t
reset_frame(struct ps_quic *q, struct conn *c, struct tx_stream *s, uint8_t *p, size_t cap,
	struct sent *e)
{
	size_t n = ps_frame_reset_put(p, cap, s->id, s->error, s->sent);

	if (n == 0)
		return 0;
	*e = (struct sent){.kind = SENT_RESET, .value = s->id, .slot = c->send.ready_head};
	ready_pop(q, c);
	return n;
}

size_t
send_frame(struct ps_quic *q, struct conn *c, uint8_t *p, size_t cap, struct sent *e)
{
	struct tx_stream *s;
	size_t fit, n;
	bool fin;

	if (c->send.ready_head == NONE)
		return 0;
	s = &q->tx_streams[c->send.ready_head];
	if (s->reset)
		return reset_frame(q, c, s, p, cap, e);
	fit = ps_frame_stream_fit(cap, s->id, s->offset, s->len - s->offset);
	if (fit == 0 && s->offset < s->len)
		return 0;
	fin = s->offset + fit == s->len;
	n = ps_frame_stream_put(p, cap, s->id, s->offset, s->data + s->offset, fit, fin);
	if (n == 0)
		return 0;
	*e = (struct sent){.kind = SENT_STREAM,
		.value = s->id,
		.offset = s->offset,
		.len = (uint16_t)fit,
		.slot = c->send.ready_head,
		.fin = fin};
	s->offset += fit;
	s->sent = (uint16_t)max_u64(s->sent, s->offset);
	if (fin)
		ready_pop(q, c);
	return n;
}

/* The record may outlive the stream's slot: other copies of its bytes were acknowledged first. */
static struct tx_stream *
stream_of(struct ps_quic *q, const struct conn *c, const struct sent *e)
{
	struct tx_stream *s = &q->tx_streams[e->slot];

	return s->conn == c->slot && s->id == e->value ? s : NULL;
}

static void
release(struct ps_quic *q, struct conn *c, struct tx_stream *s)
{
	uint32_t i = (uint32_t)(s - q->tx_streams);

	if (s->prev != NONE)
		q->tx_streams[s->prev].next = s->next;
	else
		c->send.streams = s->next;
	if (s->next != NONE)
		q->tx_streams[s->next].prev = s->prev;
	s->conn = NONE;
	s->next = q->tx_stream_spare;
	q->tx_stream_spare = i;
}

static void
unready(struct ps_quic *q, struct conn *c, struct tx_stream *s)
{
	uint32_t i = (uint32_t)(s - q->tx_streams), *link = &c->send.ready_head, prev = NONE;

	if (!s->ready)
		return;
	while (*link != i) {
		prev = *link;
		link = &q->tx_streams[*link].ready_next;
	}
	*link = s->ready_next;
	if (c->send.ready_tail == i)
		c->send.ready_tail = prev;
	s->ready = false;
}

/* Sets n bits from from on; how many were not set before. */
static uint16_t
mark_bytes(uint64_t *bits, uint32_t from, uint32_t n)
{
	uint16_t fresh = 0;

	for (uint32_t end = from + n; from < end;) {
		uint32_t in_word = 64 - from % 64;
		uint32_t take = end - from < in_word ? end - from : in_word;
		uint64_t mask = (take == 64 ? ~UINT64_C(0) : (UINT64_C(1) << take) - 1)
				<< from % 64;

		fresh += (uint16_t)__builtin_popcountll(mask & ~bits[from / 64]);
		bits[from / 64] |= mask;
		from += take;
	}
	return fresh;
}

void
send_acked(struct ps_quic *q, struct conn *c, const struct sent *e)
{
	struct tx_stream *s = stream_of(q, c, e);
	uint64_t user;

	if (s == NULL)
		return;
	if (e->kind == SENT_RESET) {
		unready(q, c, s);
		release(q, c, s);
		return;
	}
	s->acked += mark_bytes(s->have, e->offset, e->len);
	s->fin_acked |= e->fin;
	if (s->reset || s->acked < s->len || !s->fin_acked)
		return;
	user = s->user;
	unready(q, c, s);
	release(q, c, s);
	if (q->cfg.events.stream_acked != NULL)
		q->cfg.events.stream_acked(q->cfg.events.ctx, conn_name(c), user);
}

void
send_lost(struct ps_quic *q, struct conn *c, const struct sent *e)
{
	struct tx_stream *s = stream_of(q, c, e);

	if (s == NULL || s->reset != (e->kind == SENT_RESET))
		return;
	s->offset = (uint16_t)min_u64(s->offset, e->offset);
	ready_push(q, c, s);
}

/* RFC 9000 section 3.5. The stream is over for its owner; its slot goes with the RESET_STREAM. */
void
send_stopped(struct ps_quic *q, struct conn *c, uint64_t id, uint64_t error)
{
	const struct ps_quic_events *e = &q->cfg.events;
	struct tx_stream *s;
	uint32_t i = c->send.streams;

	while (i != NONE && q->tx_streams[i].id != id)
		i = q->tx_streams[i].next;
	if (i == NONE || q->tx_streams[i].reset)
		return; /* acknowledged, or told before */
	s = &q->tx_streams[i];
	s->reset = true;
	s->error = error;
	c->send.data_sent -= s->len - s->sent; /* that much is never sent */
	q->packet.progress++;
	ready_push(q, c, s);
	conn_ready(q, c);
	if (e->stream_stopped != NULL)
		e->stream_stopped(e->ctx, conn_name(c), s->user);
	else if (e->stream_lost != NULL)
		e->stream_lost(e->ctx, conn_name(c), s->user);
}

void
send_end(struct ps_quic *q, struct conn *c)
{
	while (c->send.streams != NONE) {
		struct tx_stream *s = &q->tx_streams[c->send.streams];
		uint64_t user = s->user;
		bool told = s->reset;

		release(q, c, s);
		if (!told && q->cfg.events.stream_lost != NULL)
			q->cfg.events.stream_lost(q->cfg.events.ctx, conn_name(c), user);
	}
	c->send.ready_head = NONE;
}
