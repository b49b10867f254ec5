/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Datagrams out: what each connection owes, in one datagram per turn (RFC 9000 sections 12, 13). */

#include "engine.h"

#define PACKET_FRAMES 24 /* recorded frames in one packet, ACK included */

/* A packet under construction; its place in the datagram is fixed when the next one begins. */
struct packet {
	enum ps_level level;
	struct space *s;
	uint8_t *start;
	size_t hdr_len, length_at;
	size_t len, cap; /* text so far, and at most */
	uint64_t pn;
	unsigned int pn_len;
	bool ack, eliciting;
	unsigned int n; /* records */
	struct sent rec[PACKET_FRAMES];
};

struct datagram {
	uint8_t *buf;
	size_t size, cap;
	size_t full; /* pad to this many bytes */
	unsigned int n;
	struct packet p[PS_LEVELS];
};

static bool
level_live(struct ps_quic *q, const struct conn *c, enum ps_level level)
{
	const struct handshake *hs = conn_handshake(q, c);

	if (level == PS_LEVEL_APP)
		return c->keys;
	if (hs == NULL)
		return false;
	return level == PS_LEVEL_INITIAL ? !hs->initial_gone : hs->handshake_keys;
}

static bool
level_wants(struct ps_quic *q, struct conn *c, enum ps_level level, uint64_t now_ns)
{
	const struct space *s = conn_space(q, c, level);
	const struct handshake *hs = conn_handshake(q, c);

	if (s->ack_due_ns <= now_ns)
		return true;
	if (sent_room(s) < 2)
		return false;
	if (s->probe)
		return true;
	if (level != PS_LEVEL_APP)
		return hs->crypto_next[level] < hs->crypto_end[level];
	return window_open(c) &&
	       (c->send_handshake_done || c->send_max_streams || c->send_max_data ||
		       c->send_new_token || c->n_stop > 0 || c->ids.announce != 0 ||
		       c->ids.n_retire > 0 || (c->send.ready_head != NONE && pace_open(c, now_ns)));
}

/* RFC 9000 section 8.1: a server sends at most three times what an unvalidated address sent. Below
 * a full datagram it waits, since an Initial could not be padded. */
static size_t
send_limit(struct ps_quic *q, const struct conn *c)
{
	const struct handshake *hs = conn_handshake(q, c);
	uint64_t left;

	if (!q->cfg.server || hs == NULL || hs->validated)
		return c->datagram_bytes;
	left = 3 * hs->rx_bytes - min_u64(3 * hs->rx_bytes, hs->tx_bytes);
	return left < PS_UDP_PAYLOAD_MIN ? 0 : min_u64(left, c->datagram_bytes);
}

bool
conn_wants_tx(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	if (c->state == CONN_CLOSING)
		return c->send_close;
	if (c->state == CONN_FREE || c->state == CONN_DRAINING || send_limit(q, c) == 0)
		return false;
	if (c->keys && path_wants_tx(c, now_ns))
		return true;
	for (int i = PS_LEVEL_INITIAL; i < PS_LEVELS; i++)
		if (level_live(q, c, i) && level_wants(q, c, i, now_ns))
			return true;
	return false;
}

/* Begins a packet behind the last one; NULL when too little room is left to be worth it. */
static struct packet *
packet_begin(struct ps_quic *q, struct conn *c, struct datagram *d, enum ps_level level)
{
	const struct handshake *hs = conn_handshake(q, c);
	struct packet *k = &d->p[d->n];
	size_t token = level == PS_LEVEL_INITIAL ? hs->token_len : 0;

	if (d->cap - d->size < 7 + 2 * 21 + 2 + token + 2 + 4 + 32 + PS_AEAD_TAG)
		return NULL;
	k->level = level;
	k->s = conn_space(q, c, level);
	k->start = d->buf + d->size;
	k->len = 0;
	k->ack = k->eliciting = false;
	k->n = 0;
	k->pn = k->s->tx_next;
	k->pn_len = ps_pn_size(k->pn, k->s->tx_acked);
	if (level == PS_LEVEL_APP)
		k->hdr_len = ps_pkt_short_put(k->start, &c->peer_cid, c->phase, k->pn, k->pn_len);
	else
		k->hdr_len = ps_pkt_long_put(k->start,
			level == PS_LEVEL_INITIAL ? PS_PKT_INITIAL : PS_PKT_HANDSHAKE, &c->peer_cid,
			&c->our_cid, token == 0 ? NULL : hs->token, token, k->pn, k->pn_len,
			&k->length_at);
	k->cap = d->cap - d->size - k->hdr_len - PS_AEAD_TAG;
	return k;
}

static uint8_t *
at(struct packet *k)
{
	return k->start + k->hdr_len + k->len;
}

/* One place stays for the ACK, so that it can always ride along. */
static bool
can_record(const struct packet *k)
{
	return k->n + 1 < PACKET_FRAMES && k->n + 1 < sent_room(k->s);
}

static void
record(struct packet *k, size_t size, struct sent e)
{
	k->len += size;
	k->eliciting = true;
	k->rec[k->n++] = e;
}

/* All that arrived so far; 0 when that does not fit. */
static size_t
ack_frame(struct packet *k, uint64_t now_ns)
{
	uint64_t delay = (now_ns - k->s->rx_largest_ns) / PS_US_NS >> ACK_DELAY_SHIFT;
	size_t n = ps_frame_ack_put(at(k), k->cap - k->len, &k->s->rx, delay);

	if (n > 0 && (k->s->rx_ecn[0] | k->s->rx_ecn[1] | k->s->rx_ecn[2]) != 0)
		n = ps_frame_ack_ecn(at(k), n, k->cap - k->len,
			(uint64_t[]){k->s->rx_ecn[0], k->s->rx_ecn[1], k->s->rx_ecn[2]});
	return n;
}

static void
put_ack(struct ps_quic *q, struct packet *k, uint64_t now_ns)
{
	size_t n;

	if (k->s->unacked_eliciting == 0 && k->s->ack_due_ns > now_ns)
		return;
	if (k->s->rx.n == 0) { /* all forgotten: what is owed was acknowledged before */
		k->s->ack_due_ns = PS_NEVER;
		k->s->unacked_eliciting = 0;
		return;
	}
	n = ack_frame(k, now_ns);
	if (n == 0)
		return;
	k->len += n;
	k->ack = true;
	k->s->ack_due_ns = PS_NEVER;
	k->s->unacked_eliciting = 0;
	q->stats.acks_tx++;
}

static void
put_crypto(struct ps_quic *q, struct conn *c, struct packet *k)
{
	struct handshake *hs = conn_handshake(q, c);
	uint16_t *next = &hs->crypto_next[k->level], end = hs->crypto_end[k->level];
	size_t fit, n;

	if (*next >= end || !can_record(k))
		return;
	fit = ps_frame_crypto_fit(k->cap - k->len, *next, end - *next);
	if (fit == 0)
		return;
	n = ps_frame_crypto_put(at(k), k->cap - k->len, *next, hs->io.out[k->level] + *next, fit);
	record(k, n, (struct sent){.kind = SENT_CRYPTO, .value = *next, .len = (uint16_t)fit});
	*next += fit;
}

static void
put_control(struct packet *k, bool *flag, enum ps_frame_type type, enum sent_kind kind, uint64_t v)
{
	size_t n;

	if (!*flag || !can_record(k))
		return;
	if (type == PS_FRAME_HANDSHAKE_DONE) {
		n = k->len < k->cap;
		*at(k) = PS_FRAME_HANDSHAKE_DONE;
	} else {
		n = ps_frame_varint_put(at(k), k->cap - k->len, type, v);
	}
	if (n == 0)
		return;
	*flag = false;
	record(k, n, (struct sent){.kind = kind, .value = v});
}

static size_t
new_token(struct ps_quic *q, struct conn *c, struct packet *k, uint64_t now_ns)
{
	struct ps_flow4 client = ps_flow4_reverse(c->flow);
	uint8_t token[PS_TOKEN_BYTES], nonce[12];

	ps_protect_random(q->protect, nonce, sizeof(nonce));
	ps_token_make(q->protect, PS_TOKEN_NEW, token, nonce, &client, NULL, NULL, now_ns);
	return ps_frame_new_token_put(at(k), k->cap - k->len, token, sizeof(token));
}

static void
put_app(struct ps_quic *q, struct conn *c, struct packet *k, uint64_t now_ns)
{
	struct sent e;
	size_t n;

	if (!window_open(c) && !k->s->probe)
		return;
	put_control(k, &c->send_handshake_done, PS_FRAME_HANDSHAKE_DONE, SENT_HANDSHAKE_DONE, 0);
	put_control(k, &c->send_max_streams, PS_FRAME_MAX_STREAMS_UNI, SENT_MAX_STREAMS,
		c->streams_granted);
	put_control(k, &c->send_max_data, PS_FRAME_MAX_DATA, SENT_MAX_DATA, c->data_granted);
	if (c->send_new_token && can_record(k) && (n = new_token(q, c, k, now_ns)) > 0) {
		c->send_new_token = false;
		record(k, n, (struct sent){.kind = SENT_NEW_TOKEN});
	}
	while (c->n_stop > 0 && can_record(k)) {
		uint64_t id = c->stop[c->n_stop - 1];

		n = ps_frame_stop_put(at(k), k->cap - k->len, id, 0);
		if (n == 0)
			break;
		c->n_stop--;
		record(k, n, (struct sent){.kind = SENT_STOP, .value = id});
	}
	while (can_record(k) && (n = ids_frame(q, c, at(k), k->cap - k->len, &e)) > 0)
		record(k, n, e);
	if (c->send.ready_head == NONE || (!pace_open(c, now_ns) && !k->s->probe))
		return;
	while (can_record(k) && window_open(c)) {
		n = send_frame(q, c, at(k), k->cap - k->len, &e);
		if (n == 0)
			break;
		record(k, n, e);
	}
}

/* Fills a packet; false when nothing is due at its level. */
static bool
packet_fill(struct ps_quic *q, struct conn *c, struct packet *k, uint64_t now_ns)
{
	put_ack(q, k, now_ns);
	if (k->level == PS_LEVEL_APP)
		put_app(q, c, k, now_ns);
	else
		put_crypto(q, c, k);
	if (k->s->probe && !k->eliciting && can_record(k) && k->len < k->cap) {
		*at(k) = PS_FRAME_PING;
		record(k, 1, (struct sent){.kind = SENT_PING});
	}
	if (k->eliciting)
		k->s->probe = false;
	return k->len > 0;
}

static void
packet_pad(struct packet *k, size_t n)
{
	memset(at(k), PS_FRAME_PADDING, n);
	k->len += n;
}

/* Seals the packet and, when it asks for an acknowledgement, remembers what it carried. */
static void
packet_end(struct ps_quic *q, struct conn *c, struct packet *k, uint64_t now_ns)
{
	struct handshake *hs = conn_handshake(q, c);
	struct ps_pkt_key *key = k->level == PS_LEVEL_APP ? &c->tx : &hs->tx[k->level];

	if (k->level != PS_LEVEL_APP)
		ps_pkt_long_finish(k->start, k->length_at, k->pn_len, k->len);
	ps_seal(k->level == PS_LEVEL_APP ? q->protect : q->protect_long, key, k->pn, k->start,
		k->hdr_len, k->pn_len, k->len);
	k->s->tx_next++;
	if (!k->eliciting)
		return;
	if (k->ack)
		k->rec[k->n++] = (struct sent){.kind = SENT_ACK, .value = k->s->rx.r[0].hi};
	for (unsigned int i = 0; i < k->n; i++) {
		struct sent *e = &k->rec[i];

		e->pn = k->pn;
		e->sent_ns = now_ns;
		e->first = i == 0;
		e->ect = !c->ecn_off;
		e->bytes = e->first ? (uint16_t)(k->hdr_len + k->len + PS_AEAD_TAG) : 0;
		sent_add(k->s, e);
	}
	c->send.bytes_in_flight += k->rec[0].bytes;
	if (!q->cfg.server && k->level == PS_LEVEL_APP)
		pace_sent(c, k->rec[0].bytes, now_ns);
	if (k->s->in_flight++ == 0)
		c->idle_from_ns = now_ns; /* RFC 9000 section 10.1 */
	k->s->last_eliciting_ns = now_ns;
}

/* RFC 9000 section 14.1: datagrams with a client's Initial, or with an Initial of a server that
 * asks for an acknowledgement, are full. */
static size_t
datagram_end(struct ps_quic *q, struct conn *c, struct datagram *d, uint64_t now_ns)
{
	struct packet *last = &d->p[d->n - 1];
	struct handshake *hs = conn_handshake(q, c);

	if (d->p[0].level == PS_LEVEL_INITIAL && (!q->cfg.server || d->p[0].eliciting))
		d->full = PS_UDP_PAYLOAD_MIN;
	if (d->size < d->full) {
		packet_pad(last, d->full - d->size);
		d->size = d->full;
	}
	for (unsigned int i = 0; i < d->n; i++) {
		packet_end(q, c, &d->p[i], now_ns);
		if (!q->cfg.server && d->p[i].level == PS_LEVEL_HANDSHAKE)
			handshake_drop_initial(q, c); /* RFC 9001 section 4.9.1 */
	}
	if (hs != NULL)
		hs->tx_bytes += d->size;
	return d->size;
}

static void
packet_commit(struct datagram *d, struct packet *k)
{
	if (k->pn_len + k->len < 4)
		packet_pad(k, 4 - k->pn_len - k->len);
	d->size += k->hdr_len + k->len + PS_AEAD_TAG;
	d->n++;
}

/* CONNECTION_CLOSE at every level the peer may have keys for, RFC 9000 section 10.2.3. */
static size_t
build_close(struct ps_quic *q, struct conn *c, struct datagram *d, uint64_t now_ns)
{
	for (int level = PS_LEVEL_INITIAL; level < PS_LEVELS; level++) {
		bool app = c->close.app && level == PS_LEVEL_APP;
		uint64_t code = c->close.app && !app ? PS_QUIC_APPLICATION_ERROR : c->close.code;
		struct packet *k;

		if (!level_live(q, c, level))
			continue;
		k = packet_begin(q, c, d, level);
		if (k == NULL)
			break;
		k->len += ps_frame_close_put(at(k), k->cap, app, code, c->close.frame_type,
			c->close.app && !app ? "" : c->close.reason);
		packet_commit(d, k);
	}
	c->send_close = false;
	return d->n == 0 ? 0 : datagram_end(q, c, d, now_ns);
}

/* A datagram of its own for a path frame: it may go elsewhere than all else. */
static size_t
build_path(
	struct ps_quic *q, struct conn *c, struct datagram *d, struct path_out *to, uint64_t now_ns)
{
	struct packet *k = packet_begin(q, c, d, PS_LEVEL_APP);
	size_t n;

	if (k == NULL || !can_record(k)) {
		path_defer(c, now_ns);
		return 0;
	}
	n = path_frame(c, at(k), k->cap, to, now_ns);
	if (n == 0)
		return 0;
	record(k, n, (struct sent){.kind = SENT_PING});
	/* The ordinary ones go on to where the peer may be no more: without this one, a peer whose
	 * congestion window or log is full could not answer the challenge. */
	if (to->limit > k->hdr_len + k->len + PS_AEAD_TAG && k->s->rx.n > 0) {
		k->cap = min_u64(k->cap, to->limit - k->hdr_len - PS_AEAD_TAG);
		k->len += ack_frame(k, now_ns);
	}
	packet_commit(d, k);
	d->full = to->limit;
	return datagram_end(q, c, d, now_ns);
}

static size_t
build(struct ps_quic *q, struct conn *c, struct ps_datagram *out, uint64_t now_ns)
{
	struct path_out to = {.flow = c->flow, .link = c->link};
	struct datagram d;
	size_t size;

	out->flow = c->flow;
	out->link = c->link;
	out->ecn = c->ecn_off ? 0 : 2;
	d.buf = out->data;
	d.size = d.n = d.full = 0;
	d.cap = min_u64(out->len, send_limit(q, c));
	if (d.cap < PS_UDP_PAYLOAD_MIN || !conn_wants_tx(q, c, now_ns))
		return 0;
	keys_refresh(q, c, now_ns);
	if (c->state == CONN_CLOSING)
		return build_close(q, c, &d, now_ns);
	if (c->keys && path_wants_tx(c, now_ns)) {
		size = build_path(q, c, &d, &to, now_ns);
		out->flow = to.flow;
		out->link = to.link;
		if (size > 0)
			return size;
	}
	for (int level = PS_LEVEL_INITIAL; level < PS_LEVELS; level++) {
		struct packet *k;

		if (!level_live(q, c, level) || !level_wants(q, c, level, now_ns))
			continue;
		if (level == PS_LEVEL_APP && d.n > 0 && d.p[0].level == PS_LEVEL_INITIAL)
			break;
		k = packet_begin(q, c, &d, level);
		if (k == NULL)
			break;
		if (packet_fill(q, c, k, now_ns))
			packet_commit(&d, k);
	}
	return d.n == 0 ? 0 : datagram_end(q, c, &d, now_ns);
}

/* Whether an acknowledgement is all that the connection has to send, as nearly always. */
static bool
ack_alone(const struct conn *c, const struct ps_datagram *out, uint64_t now_ns)
{
	return c->ack_only && c->state == CONN_ESTABLISHED && c->handshake == NONE &&
	       c->app.ack_due_ns <= now_ns && c->app.rx.n > 0 && !c->app.probe && !keys_worn(c) &&
	       out->len >= PS_UDP_PAYLOAD_MIN;
}

/* The straight way out: what build() would make of it, but for the seal. Nothing else of the
 * connection is touched, and no deadline moves. */
static void
build_ack(struct ps_quic *q, struct conn *c, struct ps_datagram *out, struct ps_small_packet *s,
	uint64_t now_ns)
{
	struct packet k; /* its records are not used */

	k.s = &c->app;
	k.start = out->data;
	k.pn = c->app.tx_next++;
	k.pn_len = ps_pn_size(k.pn, c->app.tx_acked);
	k.hdr_len = ps_pkt_short_put(k.start, &c->peer_cid, c->phase, k.pn, k.pn_len);
	k.len = 0;
	k.cap = out->len - k.hdr_len - PS_AEAD_TAG;
	put_ack(q, &k, now_ns);
	out->flow = c->flow;
	out->link = c->link;
	out->ecn = c->ecn_off ? 0 : 2;
	out->len = (uint16_t)(k.hdr_len + k.len + PS_AEAD_TAG);
	*s = (struct ps_small_packet){.key = &c->tx,
		.pn = k.pn,
		.pkt = k.start,
		.hdr_len = (uint16_t)k.hdr_len,
		.text_len = (uint16_t)k.len,
		.pn_len = (uint8_t)k.pn_len};
}

/* A datagram of the connection's; false when it has nothing to send after all. */
static bool
conn_send(struct ps_quic *q, struct conn *c, struct ps_datagram *out, uint64_t now_ns)
{
	size_t size = build(q, c, out, now_ns);

	if (size == 0) {
		conn_rearm(q, c);
		return false;
	}
	out->len = (uint16_t)size;
	if (conn_wants_tx(q, c, now_ns))
		conn_ready(q, c);
	else if (c->timer_tick == PS_NEVER || c->app.last_eliciting_ns == now_ns ||
		 c->state != CONN_ESTABLISHED)
		conn_rearm(q, c); /* an acknowledgement alone moves no deadline */
	return true;
}

/* Acknowledgements wait until the end, so that they are sealed together, under the keys that they
 * were made for. */
static unsigned int
conns_send(struct ps_quic *q, struct ps_datagram *const out[], unsigned int n, uint64_t now_ns)
{
	struct ps_small_packet ack[PS_SMALL_BURST];
	unsigned int i = 0, acks = 0;

	while (i < n && q->ready_head != NONE) {
		struct conn *c = conn_ready_pop(q);

		if (!ack_alone(c, out[i], now_ns)) {
			if (keys_worn(c)) { /* it may change keys */
				ps_seal_small(q->protect, ack, acks);
				acks = 0;
			}
			i += conn_send(q, c, out[i], now_ns);
			continue;
		}
		build_ack(q, c, out[i++], &ack[acks++], now_ns);
		if (acks == PS_SMALL_BURST) {
			ps_seal_small(q->protect, ack, acks);
			acks = 0;
		}
	}
	ps_seal_small(q->protect, ack, acks);
	return i;
}

unsigned int
ps_quic_tx_burst(
	struct ps_quic *q, struct ps_datagram *const out[], unsigned int n, uint64_t now_ns)
{
	unsigned int i = 0;

	for (; i < n && q->reply_tail != q->reply_head; q->reply_tail++, i++) {
		const struct reply *r = &q->replies[q->reply_tail % REPLIES];

		memcpy(out[i]->data, r->bytes, r->len);
		out[i]->len = r->len;
		out[i]->flow = r->flow;
		out[i]->link = r->link;
		out[i]->ecn = 0;
	}
	i += conns_send(q, out + i, n - i, now_ns);
	q->stats.datagrams_tx += i;
	return i;
}
