/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* When 1-RTT packets are acknowledged: RFC 9000 section 13.2. A packet of its own may wait almost
 * as long as we promised. From the second on we wait a moment for what else the peer sends, because
 * an acknowledgement costs as much as a packet received (section 13.2.2 leaves that to us); but
 * never longer than until ACK_PACKETS came, fewer than the ten of an initial congestion window, so
 * that a sender that starts is not held up. */

#include "engine.h"

#define ACK_PACKETS 8
#define ACK_SOON_NS PS_MS_NS
#define ACKS_MAX    256 /* connections served per service call */
#define FETCH_AHEAD 12

/* With two delays there are two queues, and each is in order by itself. */
static const uint64_t delay_ns[ACK_CLASSES] = {ACK_DELAY_NS - TICK_NS, ACK_SOON_NS};

static void
file(struct ps_quic *q, struct conn *c, enum ack_class class, uint64_t due_ns)
{
	struct ack_queue *a = &q->acks[class];

	c->ack_filed |= 1u << class;
	a->ring[a->head & a->mask].due_ns = due_ns;
	a->ring[a->head++ & a->mask].conn = c->slot;
}

void
ack_owe(struct ps_quic *q, struct conn *c, bool urgent, uint64_t now_ns)
{
	struct space *s = &c->app;
	enum ack_class class = s->unacked_eliciting > 1 ? ACK_SOON : ACK_LATE;
	uint64_t due_ns = now_ns + delay_ns[class];

	if (urgent || s->unacked_eliciting >= ACK_PACKETS) {
		s->ack_due_ns = now_ns;
		conn_ready_ack(q, c);
		return;
	}
	if (due_ns >= s->ack_due_ns)
		return;
	s->ack_due_ns = due_ns;
	if ((c->ack_filed >> class & 1) == 0)
		file(q, c, class, due_ns);
}

/* What an acknowledgement reads of a connection that has been quiet for a while. */
static void
fetch(const struct conn *c)
{
	__builtin_prefetch(c);
	for (size_t i = offsetof(struct conn, app) & ~(size_t)63; i < CONN_HOT_BYTES; i += 64)
		__builtin_prefetch((const char *)c + i);
	for (size_t i = 0; i < CONN_ACK_BYTES; i += 64)
		__builtin_prefetch((const char *)&c->tx + i);
}

/* An entry may be older than what is owed now, because an acknowledgement left meanwhile. At the
 * end of its queue it would wait behind entries that fall due later than it: a millisecond more is
 * nothing, but the long delay again would break our promise, so that one is served early. */
static void
serve(struct ps_quic *q, struct conn *c, enum ack_class class, uint64_t now_ns)
{
	enum ack_class owed = c->app.unacked_eliciting > 1 ? ACK_SOON : ACK_LATE;
	bool early = c->app.ack_due_ns > now_ns;

	c->ack_filed &= ~(1u << class);
	if (c->state == CONN_FREE || c->app.ack_due_ns == PS_NEVER)
		return;
	if (early && owed == ACK_SOON && class == ACK_SOON) {
		file(q, c, class, c->app.ack_due_ns);
	} else if (!early || (c->ack_filed >> owed & 1) == 0) {
		c->app.ack_due_ns = now_ns;
		conn_ready_ack(q, c);
	}
}

void
acks_due(struct ps_quic *q, uint64_t now_ns)
{
	for (enum ack_class class = 0; class < ACK_CLASSES; class ++) {
		struct ack_queue *a = &q->acks[class];

		for (int i = 0; i < ACKS_MAX && a->tail != a->head; i++) {
			if (a->ring[a->tail & a->mask].due_ns > now_ns)
				break;
			if (a->head - a->tail > FETCH_AHEAD)
				fetch(&q->conns[a->ring[(a->tail + FETCH_AHEAD) & a->mask].conn]);
			serve(q, &q->conns[a->ring[a->tail++ & a->mask].conn], class, now_ns);
		}
	}
}

uint64_t
acks_next(const struct ps_quic *q)
{
	uint64_t next = PS_NEVER;

	for (enum ack_class class = 0; class < ACK_CLASSES; class ++) {
		const struct ack_queue *a = &q->acks[class];

		if (a->tail != a->head)
			next = min_u64(next, a->ring[a->tail & a->mask].due_ns);
	}
	return next;
}
