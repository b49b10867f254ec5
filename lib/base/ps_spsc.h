/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Single-producer, single-consumer ring of pointers; capacity a power of two. Lock-free; each side
 * keeps a copy of the other's index so that the shared lines move once per lap, not per call. */
#ifndef PS_BASE_SPSC_H
#define PS_BASE_SPSC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ps_spsc {
	_Alignas(64) _Atomic uint32_t head; /* consumer: rw, producer: ro */
	uint32_t tail_seen;                 /* consumer */
	_Alignas(64) _Atomic uint32_t tail; /* producer: rw, consumer: ro */
	uint32_t head_seen;                 /* producer */
	_Alignas(64) uint32_t mask;
	void **slot; /* caller's array of capacity entries */
};

static inline void
ps_spsc_init(struct ps_spsc *r, void **slots, uint32_t capacity)
{
	*r = (struct ps_spsc){.mask = capacity - 1, .slot = slots};
}

static inline bool
ps_spsc_push(struct ps_spsc *r, void *item)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail - r->head_seen > r->mask) {
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		if (tail - r->head_seen > r->mask)
			return false;
	}
	r->slot[tail & r->mask] = item;
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

/* NULL when empty. */
static inline void *
ps_spsc_pop(struct ps_spsc *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	void *item;

	if (head == r->tail_seen) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head == r->tail_seen)
			return NULL;
	}
	item = r->slot[head & r->mask];
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return item;
}

#endif
