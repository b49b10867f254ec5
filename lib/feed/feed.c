/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed.h"

#include <string.h>

#define AHEAD_BYTES 4096

/* The consumer's word is believed only if it moves forward, stays behind what was published and
 * is aligned. Whether it is the start of a record concerns the consumer alone. */
static void
believe_cursor(struct ps_feed *f)
{
	uint64_t released = __atomic_load_n(&f->cursor->released, __ATOMIC_ACQUIRE);

	if (released - f->seen <= f->published - f->seen && released % PENSTOCK_FEED_ALIGN == 0)
		f->seen = released;
	else
		f->stats.bad_cursor++;
}

static bool
has_room(struct ps_feed *f, uint64_t bytes)
{
	if (f->write + bytes - f->seen <= f->capacity)
		return true;
	believe_cursor(f);
	return f->write + bytes - f->seen <= f->capacity;
}

uint64_t
ps_feed_free_bytes(struct ps_feed *f)
{
	believe_cursor(f);
	return f->capacity - (f->write - f->seen);
}

bool
ps_feed_fits(struct ps_feed *f, uint64_t total_bytes, uint64_t largest_bytes)
{
	return has_room(f, total_bytes + largest_bytes);
}

/* The ring is larger than any cache: the lines of a record some records on are fetched now, or its
 * stores would hold up everything that is stored after them. */
static void
fetch_ahead(const struct ps_feed *f, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(f->data + ((f->write + AHEAD_BYTES + i) & (f->capacity - 1)), 1);
}

struct penstock_feed_record *
ps_feed_put(struct ps_feed *f, uint32_t payload_bytes)
{
	uint64_t bytes = ps_feed_record_bytes(payload_bytes);
	uint64_t at = f->write & (f->capacity - 1);
	uint64_t pad = f->capacity - at < bytes ? f->capacity - at : 0;
	struct penstock_feed_record *r;

	if (payload_bytes > PENSTOCK_FEED_MAX_PAYLOAD || !has_room(f, pad + bytes)) {
		f->stats.full++;
		return NULL;
	}
	if (pad != 0) {
		/* What is left may be 64 bytes only: touch no field further in. */
		r = (struct penstock_feed_record *)(f->data + at);
		r->kind = PENSTOCK_FEED_PAD;
		r->record_bytes = (uint32_t)pad;
		at = 0;
	}
	r = (struct penstock_feed_record *)(f->data + at);
	fetch_ahead(f, bytes);
	memset(r, 0, sizeof(*r));
	r->sequence = f->sequence++;
	r->record_bytes = (uint32_t)bytes;
	r->payload_bytes = payload_bytes;
	f->write += pad + bytes;
	f->stats.records++;
	f->stats.bytes += payload_bytes;
	return r;
}

bool
ps_feed_put_datagram(struct ps_feed *f, const struct ps_datagram *d, uint64_t now_ns)
{
	struct penstock_feed_record *r = ps_feed_put(f, d->len);

	if (r == NULL)
		return false;
	r->kind = PENSTOCK_FEED_DATAGRAM;
	r->clock = PENSTOCK_FEED_CLOCK_MONOTONIC;
	r->received = now_ns;
	r->published_ns = now_ns;
	r->saddr_be = d->flow.saddr_be;
	r->daddr_be = d->flow.daddr_be;
	r->sport_be = d->flow.sport_be;
	r->dport_be = d->flow.dport_be;
	memcpy(ps_feed_payload(r), d->data, d->len);
	return true;
}

void
ps_feed_publish(struct ps_feed *f)
{
	unsigned int next = f->mark ^ 1;

	if (f->write == f->published)
		return;
	/* A crash between any two of these stores leaves produced and the mark that names it. */
	__atomic_store_n(&f->header->mark[next].sequence, f->sequence, __ATOMIC_RELEASE);
	__atomic_store_n(&f->header->mark[next].cursor, f->write, __ATOMIC_RELEASE);
	__atomic_store_n(&f->header->produced, f->write, __ATOMIC_RELEASE);
	f->mark = next;
	f->published = f->write;
}

void
ps_feed_heartbeat(struct ps_feed *f, uint64_t now_ns)
{
	__atomic_store_n(&f->header->heartbeat_ns, now_ns, __ATOMIC_RELAXED);
}

uint64_t
ps_feed_consumer_heartbeat_ns(const struct ps_feed *f)
{
	return __atomic_load_n(&f->cursor->heartbeat_ns, __ATOMIC_RELAXED);
}
