/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "queue.h"

#include <errno.h>
#include <stdlib.h>

int
ps_bridge_queue_new(struct ps_bridge_queue *q, uint32_t n, uint32_t percent)
{
	const struct ps_bridge_list none = {PS_BRIDGE_NONE, PS_BRIDGE_NONE};

	*q = (struct ps_bridge_queue){.n_items = n,
		.n_free = n,
		.spare = PS_BRIDGE_NONE,
		.waiting = {none, none},
		.unstaked_percent = percent};
	for (uint32_t f = 0; f < PS_BRIDGE_FEEDS; f++)
		q->feed[f] = none;
	q->item = calloc(n, sizeof(*q->item));
	q->heap = calloc(n, sizeof(*q->heap));
	if (q->item == NULL || q->heap == NULL)
		return -ENOMEM;
	for (uint32_t i = n; i-- > 0;) {
		q->item[i].feed_next = q->spare;
		q->spare = i;
	}
	return 0;
}

void
ps_bridge_queue_free(struct ps_bridge_queue *q)
{
	free(q->item);
	free(q->heap);
}

/* -- heap -- */

static bool
before(const struct ps_bridge_queue *q, uint32_t a, uint32_t b)
{
	const struct ps_bridge_item *x = &q->item[a], *y = &q->item[b];

	return x->stake != y->stake ? x->stake > y->stake : x->arrival < y->arrival;
}

static void
place(struct ps_bridge_queue *q, uint32_t at, uint32_t i)
{
	q->heap[at] = i;
	q->item[i].heap_at = at;
}

/* Item i belongs at place at, or above or below it. */
static void
settle(struct ps_bridge_queue *q, uint32_t at, uint32_t i)
{
	for (; at > 0 && before(q, i, q->heap[(at - 1) / 2]); at = (at - 1) / 2)
		place(q, at, q->heap[(at - 1) / 2]);
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < q->n_heap && before(q, q->heap[child + 1], q->heap[child]))
			child++;
		if (child >= q->n_heap || !before(q, q->heap[child], i))
			break;
		place(q, at, q->heap[child]);
		at = child;
	}
	place(q, at, i);
}

static void
heap_remove(struct ps_bridge_queue *q, uint32_t i)
{
	const uint32_t at = q->item[i].heap_at, last = q->heap[--q->n_heap];

	if (last != i)
		settle(q, at, last);
}

/* -- waiting -- */

static struct ps_bridge_list *
list_of(struct ps_bridge_queue *q, uint32_t i)
{
	return &q->waiting[q->item[i].stake > 0];
}

static void
append(struct ps_bridge_queue *q, uint32_t i)
{
	struct ps_bridge_list *l = list_of(q, i);

	q->item[i].prev = l->tail;
	q->item[i].next = PS_BRIDGE_NONE;
	if (l->tail != PS_BRIDGE_NONE)
		q->item[l->tail].next = i;
	else
		l->head = i;
	l->tail = i;
	q->n_waiting++;
	if (q->item[i].stake > 0)
		settle(q, q->n_heap++, i);
}

static void
take_out(struct ps_bridge_queue *q, uint32_t i)
{
	const struct ps_bridge_item *it = &q->item[i];
	struct ps_bridge_list *l = list_of(q, i);

	if (it->prev != PS_BRIDGE_NONE)
		q->item[it->prev].next = it->next;
	else
		l->head = it->next;
	if (it->next != PS_BRIDGE_NONE)
		q->item[it->next].prev = it->prev;
	else
		l->tail = it->prev;
	q->n_waiting--;
	if (it->stake > 0)
		heap_remove(q, i);
}

uint32_t
ps_bridge_queue_put(struct ps_bridge_queue *q, uint32_t feed,
	const struct penstock_feed_record *record, uint64_t stake, uint64_t hash)
{
	struct ps_bridge_list *l = &q->feed[feed];
	const uint32_t i = q->spare;
	struct ps_bridge_item *it = &q->item[i];

	q->spare = it->feed_next;
	q->n_free--;
	*it = (struct ps_bridge_item){.record = record,
		.hash = hash,
		.stake = stake,
		.arrival = q->arrivals++,
		.feed_next = PS_BRIDGE_NONE,
		.state = PS_BRIDGE_WAITING};
	if (l->tail != PS_BRIDGE_NONE)
		q->item[l->tail].feed_next = i;
	else
		l->head = i;
	l->tail = i;
	append(q, i);
	return i;
}

bool
ps_bridge_item_is_old(const struct ps_bridge_item *item, uint64_t now_ns, uint64_t max_age_ns)
{
	const uint64_t born_ns = item->record->published_ns;

	return max_age_ns != 0 && now_ns > born_ns && now_ns - born_ns > max_age_ns;
}

uint32_t
ps_bridge_queue_old(const struct ps_bridge_queue *q, uint64_t now_ns, uint64_t max_age_ns)
{
	for (int staked = 0; staked < 2; staked++) {
		const uint32_t i = q->waiting[staked].head;

		if (i != PS_BRIDGE_NONE && ps_bridge_item_is_old(&q->item[i], now_ns, max_age_ns))
			return i;
	}
	return PS_BRIDGE_NONE;
}

uint32_t
ps_bridge_queue_next(const struct ps_bridge_queue *q, bool throttled)
{
	const uint32_t without = q->waiting[0].head, with = q->waiting[1].head;

	if (without == PS_BRIDGE_NONE || with == PS_BRIDGE_NONE) {
		if (with == PS_BRIDGE_NONE)
			return without;
		return throttled ? q->heap[0] : with;
	}
	if (throttled)
		return q->owed + q->unstaked_percent >= 100 ? without : q->heap[0];
	return q->item[without].arrival < q->item[with].arrival ? without : with;
}

void
ps_bridge_queue_sent(struct ps_bridge_queue *q, uint32_t i, bool throttled)
{
	if (throttled && q->waiting[0].head != PS_BRIDGE_NONE &&
		q->waiting[1].head != PS_BRIDGE_NONE)
		q->owed = (q->owed + q->unstaked_percent) % 100;
	take_out(q, i);
	q->item[i].state = PS_BRIDGE_SENT;
	q->n_sent++;
}

void
ps_bridge_queue_done(struct ps_bridge_queue *q, uint32_t i)
{
	if (q->item[i].state == PS_BRIDGE_WAITING)
		take_out(q, i);
	else
		q->n_sent--;
	q->item[i].state = PS_BRIDGE_DONE;
}

const struct penstock_feed_record *
ps_bridge_queue_release(struct ps_bridge_queue *q, uint32_t feed)
{
	const struct penstock_feed_record *last = NULL;
	struct ps_bridge_list *l = &q->feed[feed];

	while (l->head != PS_BRIDGE_NONE && q->item[l->head].state == PS_BRIDGE_DONE) {
		const uint32_t i = l->head;
		struct ps_bridge_item *it = &q->item[i];

		last = it->record;
		l->head = it->feed_next;
		it->state = PS_BRIDGE_FREE;
		it->feed_next = q->spare;
		q->spare = i;
		q->n_free++;
	}
	if (l->head == PS_BRIDGE_NONE)
		l->tail = PS_BRIDGE_NONE;
	return last;
}
