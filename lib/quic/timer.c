/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "engine.h"

void
wheel_init(struct wheel *w)
{
	*w = (struct wheel){0};
	for (uint32_t i = 0; i < WHEEL_BUCKETS; i++)
		w->head[i] = NONE;
}

static void
bucket_insert(struct ps_quic *q, struct conn *c, uint64_t tick)
{
	struct wheel *w = &q->wheel;
	uint32_t b;

	/* never into the bucket being served: a deadline in the past must not stop the wheel */
	if (tick <= w->now_tick)
		tick = w->now_tick + 1;
	if (tick > w->now_tick + WHEEL_BUCKETS - 1)
		tick = w->now_tick + WHEEL_BUCKETS - 1;
	b = tick % WHEEL_BUCKETS;
	c->timer_tick = tick;
	c->timer_prev = NONE;
	c->timer_next = w->head[b];
	if (c->timer_next != NONE)
		q->conns[c->timer_next].timer_prev = c->slot;
	w->head[b] = c->slot;
	w->occupied[b / 64] |= UINT64_C(1) << (b % 64);
	w->words |= UINT64_C(1) << (b / 64);
}

void
timer_remove(struct ps_quic *q, struct conn *c)
{
	struct wheel *w = &q->wheel;
	uint32_t b;

	if (c->timer_tick == PS_NEVER)
		return;
	b = c->timer_tick % WHEEL_BUCKETS;
	if (c->timer_next != NONE)
		q->conns[c->timer_next].timer_prev = c->timer_prev;
	if (c->timer_prev != NONE)
		q->conns[c->timer_prev].timer_next = c->timer_next;
	else
		w->head[b] = c->timer_next;
	if (w->head[b] == NONE)
		w->occupied[b / 64] &= ~(UINT64_C(1) << (b % 64));
	if (w->occupied[b / 64] == 0)
		w->words &= ~(UINT64_C(1) << (b / 64));
	c->timer_tick = PS_NEVER;
}

/* A later deadline costs nothing: the connection stays filed and is filed again when found. */
void
timer_set(struct ps_quic *q, struct conn *c, uint64_t deadline_ns)
{
	uint64_t tick;

	c->deadline_ns = deadline_ns;
	if (deadline_ns == PS_NEVER) {
		timer_remove(q, c);
		return;
	}
	tick = (deadline_ns + TICK_NS - 1) / TICK_NS;
	if (c->timer_tick != PS_NEVER && c->timer_tick <= tick)
		return;
	timer_remove(q, c);
	bucket_insert(q, c, tick);
}

/* The first occupied bucket's tick at or after now_tick; buckets hold less than one lap. */
static uint64_t
next_tick(const struct wheel *w)
{
	uint32_t start = w->now_tick % WHEEL_BUCKETS, word = start / 64, b;
	uint64_t bits = w->occupied[word] & ~UINT64_C(0) << (start % 64);

	if (w->words == 0)
		return PS_NEVER;
	if (bits == 0) { /* in a later word, or a lap later in this one */
		uint32_t skip = (word + 1) % 64;
		uint64_t later = w->words >> skip | w->words << (64 - skip) % 64;

		word = (skip + (uint32_t)__builtin_ctzll(later)) % 64;
		bits = w->occupied[word];
	}
	b = word * 64 + (uint32_t)__builtin_ctzll(bits);
	return w->now_tick + (b - start + WHEEL_BUCKETS) % WHEEL_BUCKETS;
}

uint64_t
timer_next(const struct ps_quic *q)
{
	uint64_t tick = next_tick(&q->wheel);

	return min_u64(acks_next(q), tick == PS_NEVER ? PS_NEVER : tick * TICK_NS);
}

struct conn *
timer_pop(struct ps_quic *q, uint64_t now_ns)
{
	struct wheel *w = &q->wheel;
	uint64_t target = now_ns / TICK_NS;

	for (;;) {
		uint64_t tick = next_tick(w);
		struct conn *c;

		if (tick > target) {
			if (target > w->now_tick)
				w->now_tick = target;
			return NULL;
		}
		w->now_tick = tick;
		c = &q->conns[w->head[tick % WHEEL_BUCKETS]];
		timer_remove(q, c);
		if (c->deadline_ns <= now_ns)
			return c;
		/* put off since it was filed; its tick lies behind now's, so this ends */
		bucket_insert(q, c, max_u64((c->deadline_ns + TICK_NS - 1) / TICK_NS, target + 1));
	}
}

void
conn_rearm(struct ps_quic *q, struct conn *c)
{
	uint64_t due;

	if (c->state == CONN_FREE)
		return;
	if (c->state == CONN_CLOSING || c->state == CONN_DRAINING) {
		timer_set(q, c, c->close_due_ns);
		return;
	}
	due = min_u64(loss_due(q, c), streams_due(q, c));
	due = min_u64(due, c->credit_due_ns);
	due = min_u64(due, path_due(c));
	due = min_u64(due, pace_due(c));
	if (c->idle_ns != 0)
		due = min_u64(
			due, c->idle_from_ns + max_u64(c->idle_ns, 3 * pto_ns(c, PS_LEVEL_APP)));
	if (c->state == CONN_HANDSHAKE)
		due = min_u64(due, c->handshake_due_ns);
	timer_set(q, c, due);
}

/* Deadlines whose remedy is to send are left to tx. */
void
conn_timeout(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	static const struct ps_quic_close late = {
		.code = PS_QUIC_NO_ERROR, .reason = "handshake deadline"};
	static const struct ps_quic_close idle = {.code = PS_QUIC_NO_ERROR, .reason = "idle"};

	if (c->state == CONN_CLOSING || c->state == CONN_DRAINING) {
		if (c->close_due_ns <= now_ns)
			conn_free(q, c);
		else
			conn_rearm(q, c);
		return;
	}
	if (c->state == CONN_HANDSHAKE && c->handshake_due_ns <= now_ns) {
		q->stats.handshakes_late++;
		c->close = late;
		conn_free(q, c);
		return;
	}
	if (c->idle_ns != 0 &&
		c->idle_from_ns + max_u64(c->idle_ns, 3 * pto_ns(c, PS_LEVEL_APP)) <= now_ns) {
		q->stats.closed_idle++;
		c->close = idle;
		conn_free(q, c);
		return;
	}
	streams_expire(q, c, now_ns);
	if (c->credit_due_ns <= now_ns)
		streams_credit(q, c, now_ns);
	loss_timer(q, c, now_ns);
	conn_ready(q, c); /* its turn in tx files it again */
}
