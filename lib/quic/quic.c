/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>

#include "engine.h"

#define TIMEOUTS_MAX   256 /* connections served per service call */
#define LONG_KEY_CACHE 64  /* expanded keys of the Initial and Handshake levels */

void
ps_quic_defaults(struct ps_quic_limits *l, struct ps_quic_config *c)
{
	*l = (struct ps_quic_limits){.conns = 4096,
		.handshakes = 1024,
		.streams = 16384,
		.sent_packets = 32,
		.key_cache = 8192};
	*c = (struct ps_quic_config){.server = true,
		.handshake_timeout_ms = 2000,
		.retry = PS_RETRY_AUTO,
		.idle_timeout_ms = 30000,
		.stream_bytes = 4096,
		.stream_window = 512,
		.stream_deadline_ms = 2000,
		.conn_bytes = 8 << 20,
		.datagram_bytes = PS_UDP_PAYLOAD_MIN};
}

/* The arena's parts in order; with base NULL it only measures. */
struct arena {
	uint8_t *base;
	size_t used;
};

static void *
take(struct arena *a, size_t size, size_t n)
{
	void *p = a->base == NULL ? NULL : a->base + a->used;

	a->used += (size * n + 63) & ~(size_t)63;
	return p;
}

static uint32_t
buckets_for(uint32_t n)
{
	uint32_t b = 64;

	while (b < n)
		b <<= 1;
	return b;
}

struct layout {
	struct ps_quic *q;
	void *protect, *protect_long;
	struct sent *sent;
};

static size_t
lay_out(struct layout *o, const struct ps_quic_limits *l, void *base)
{
	struct arena a = {.base = base};
	struct ps_quic *q = take(&a, sizeof(*q), 1), unused;

	o->q = q;
	if (q == NULL)
		q = &unused;
	o->protect = take(&a, ps_protect_footprint(l->key_cache), 1);
	o->protect_long = take(&a, ps_protect_footprint(LONG_KEY_CACHE), 1);
	q->conns = take(&a, sizeof(*q->conns), l->conns);
	q->handshakes = take(&a, sizeof(*q->handshakes), l->handshakes);
	q->half_open = take(&a, sizeof(*q->half_open), buckets_for(l->handshakes));
	q->streams = take(&a, sizeof(*q->streams), l->streams);
	q->stream_bucket = take(&a, sizeof(*q->stream_bucket), buckets_for(l->streams));
	q->tx_streams = take(&a, sizeof(*q->tx_streams), l->send_streams);
	for (int i = 0; i < ACK_CLASSES; i++)
		q->acks[i].ring = take(&a, sizeof(*q->acks[i].ring), buckets_for(l->conns));
	o->sent = take(&a, sizeof(*o->sent), (size_t)l->conns * l->sent_packets);
	return a.used;
}

size_t
ps_quic_footprint(const struct ps_quic_limits *l)
{
	struct layout o;

	return lay_out(&o, l, NULL);
}

static bool
power_of_two(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

static int
check(const struct ps_quic_limits *l, const struct ps_quic_config *c, struct ps_err *e)
{
	if (l->conns == 0 || l->conns >= 1u << 24 || l->handshakes == 0 || l->handshakes > l->conns)
		return ps_fail(e, EINVAL,
			"quic: connections must be 1..16777215 and handshakes "
			"between 1 and that");
	if (!power_of_two(l->key_cache) || !power_of_two(l->sent_packets) || l->sent_packets < 8)
		return ps_fail(e, EINVAL,
			"quic: key_cache and sent_packets must be powers of two, "
			"sent_packets at least 8");
	if (c->stream_window == 0 || c->stream_window > STREAM_WINDOW_MAX)
		return ps_fail(e, EINVAL, "quic: stream_window must be 1..%d", STREAM_WINDOW_MAX);
	if (c->datagram_bytes < PS_UDP_PAYLOAD_MIN || c->datagram_bytes > PS_UDP_PAYLOAD_MAX)
		return ps_fail(e, EINVAL, "quic: datagram_bytes must be %d..%d", PS_UDP_PAYLOAD_MIN,
			PS_UDP_PAYLOAD_MAX);
	if (c->tls == NULL || c->drops == NULL || (c->server && c->sink.data == NULL))
		return ps_fail(e, EINVAL, "quic: tls, drops or sink not given");
	return 0;
}

static void
make_lists(struct ps_quic *q, struct sent *sent)
{
	const struct ps_quic_limits *l = &q->limits;

	q->half_open_mask = buckets_for(l->handshakes) - 1;
	q->stream_mask = buckets_for(l->streams) - 1;
	memset(q->half_open, 0xff, (q->half_open_mask + 1) * sizeof(*q->half_open));
	memset(q->stream_bucket, 0xff, (q->stream_mask + 1) * sizeof(*q->stream_bucket));
	for (int i = 0; i < ACK_CLASSES; i++) {
		q->acks[i].mask = buckets_for(l->conns) - 1;
		q->acks[i].head = q->acks[i].tail = 0;
	}
	q->conn_spare_head = q->handshake_spare = q->stream_spare = q->tx_stream_spare = NONE;
	for (uint32_t i = l->conns; i-- > 0;) {
		struct conn *c = &q->conns[i];

		memset(c, 0, sizeof(*c));
		c->slot = i;
		c->app.sent = (struct sent_log){
			.ring = sent + (size_t)i * l->sent_packets, .mask = l->sent_packets - 1};
		c->timer_tick = PS_NEVER;
		conn_spare(q, c);
	}
	for (uint32_t i = l->handshakes; i-- > 0;) {
		q->handshakes[i].io.session = NULL;
		q->handshakes[i].hash_next = q->handshake_spare;
		q->handshake_spare = i;
	}
	for (uint32_t i = l->streams; i-- > 0;) {
		q->streams[i].hash_next = q->stream_spare;
		q->stream_spare = i;
	}
	for (uint32_t i = l->send_streams; i-- > 0;) {
		q->tx_streams[i].conn = NONE;
		q->tx_streams[i].next = q->tx_stream_spare;
		q->tx_stream_spare = i;
	}
}

struct ps_quic *
ps_quic_new(
	void *mem, const struct ps_quic_limits *l, const struct ps_quic_config *c, struct ps_err *e)
{
	struct layout o;
	struct ps_quic *q;

	if (check(l, c, e) != 0)
		return NULL;
	lay_out(&o, l, mem);
	q = o.q;
	q->limits = *l;
	q->cfg = *c;
	q->drops = c->drops;
	memset(&q->stats, 0, sizeof(q->stats));
	q->protect = ps_protect_new(o.protect, l->key_cache);
	q->protect_long = ps_protect_new(o.protect_long, LONG_KEY_CACHE);
	if (q->protect == NULL || q->protect_long == NULL) {
		ps_fail(e, ENOTSUP,
			"this processor lacks AES-NI or PCLMULQDQ: penstock needs both");
		return NULL;
	}
	ps_protect_static_keys(q->protect, &c->keys);
	ps_protect_static_keys(q->protect_long, &c->keys);
	ps_protect_random(q->protect, q->hash_key, sizeof(q->hash_key));
	q->datagrams_seen = 0;
	q->ready_head = q->ready_tail = NONE;
	q->reply_head = q->reply_tail = 0;
	q->reset_due_ns = q->version_due_ns = 0;
	memset(&q->admission, 0, sizeof(q->admission));
	memset(&q->packet, 0, sizeof(q->packet));
	wheel_init(&q->wheel);
	make_lists(q, o.sent);
	return q;
}

void
ps_quic_stop(struct ps_quic *q)
{
	ps_protect_wipe(q->protect);
	ps_protect_wipe(q->protect_long);
	ps_wipe(q->conns, q->limits.conns * sizeof(*q->conns));
	ps_wipe(q->handshakes, q->limits.handshakes * sizeof(*q->handshakes));
	ps_wipe(&q->cfg.keys, sizeof(q->cfg.keys));
}

const struct ps_quic_stats *
ps_quic_stats(const struct ps_quic *q)
{
	return &q->stats;
}

struct conn *
conn_alloc(struct ps_quic *q)
{
	struct conn *c, keep;

	if (q->conn_spare_head == NONE)
		return NULL;
	c = &q->conns[q->conn_spare_head];
	q->conn_spare_head = c->timer_next;
	keep.slot = c->slot;
	keep.generation = c->generation;
	keep.queued = c->queued; /* it may still stand on lists from its last life */
	keep.ready_next = c->ready_next;
	keep.ack_filed = c->ack_filed;
	keep.app.sent = c->app.sent;
	memset(c, 0, sizeof(*c));
	c->slot = keep.slot;
	c->generation = keep.generation;
	c->queued = keep.queued;
	c->ready_next = keep.ready_next;
	c->ack_filed = keep.ack_filed;
	space_init(&c->app, keep.app.sent.ring, keep.app.sent.mask + 1);
	rtt_init(&c->rtt);
	c->handshake = NONE;
	c->streams_head = c->streams_tail = NONE;
	c->credit_due_ns = PS_NEVER;
	c->timer_tick = PS_NEVER;
	c->peer_ack_delay_ns = ACK_DELAY_NS;
	c->peer_ack_shift = ACK_DELAY_SHIFT;
	c->datagram_bytes = q->cfg.datagram_bytes;
	c->send.window = (uint64_t)INITIAL_WINDOW_PACKETS * c->datagram_bytes;
	c->send.threshold = PS_NEVER;
	c->send.streams = c->send.ready_head = NONE;
	c->budget = BUDGET_FULL;
	ids_start(q, c);
	return c;
}

void
conn_spare(struct ps_quic *q, struct conn *c)
{
	c->timer_next = q->conn_spare_head;
	q->conn_spare_head = c->slot;
}

struct conn *
conn_find(struct ps_quic *q, struct ps_quic_conn_id id)
{
	struct conn *c;

	if (id.slot >= q->limits.conns)
		return NULL;
	c = &q->conns[id.slot];
	return c->state != CONN_FREE && c->generation == id.generation ? c : NULL;
}

static void
enqueue(struct ps_quic *q, struct conn *c)
{
	c->queued = true;
	c->ready_next = NONE;
	if (q->ready_head == NONE)
		q->ready_head = c->slot;
	else
		q->conns[q->ready_tail].ready_next = c->slot;
	q->ready_tail = c->slot;
}

void
conn_ready(struct ps_quic *q, struct conn *c)
{
	c->ack_only = false;
	if (!c->queued)
		enqueue(q, c);
}

void
conn_ready_ack(struct ps_quic *q, struct conn *c)
{
	if (c->queued)
		return;
	c->ack_only = true;
	enqueue(q, c);
}

struct conn *
conn_ready_pop(struct ps_quic *q)
{
	struct conn *c = &q->conns[q->ready_head];

	q->ready_head = c->ready_next;
	c->queued = false;
	return c;
}

struct reply *
reply_alloc(struct ps_quic *q, const struct ps_datagram *to)
{
	struct reply *r;

	if (q->reply_head - q->reply_tail == REPLIES) {
		ps_drop(q->drops, PS_DROP_QUIC_REPLY_FULL);
		return NULL;
	}
	r = &q->replies[q->reply_head++ % REPLIES];
	r->flow = ps_flow4_reverse(to->flow);
	r->link = to->link;
	return r;
}

uint64_t
ps_quic_service(struct ps_quic *q, uint64_t now_ns)
{
	struct conn *c;

	ps_tls_poll(q->cfg.tls, q->stats.datagrams_rx == q->datagrams_seen);
	q->datagrams_seen = q->stats.datagrams_rx;
	handshake_collect(q, now_ns);
	for (int i = 0; i < TIMEOUTS_MAX && (c = timer_pop(q, now_ns)) != NULL; i++)
		conn_timeout(q, c, now_ns);
	acks_due(q, now_ns);
	retry_update(q, now_ns);
	q->stats.keys_expanded =
		ps_protect_expansions(q->protect) + ps_protect_expansions(q->protect_long);
	return ps_tls_waiting(q->cfg.tls) ? now_ns : timer_next(q);
}
