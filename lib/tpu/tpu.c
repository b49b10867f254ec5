/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tpu.h"
#include "txn.h"

#include <string.h>

#define SLOTS_MAX    (UINT32_C(1) << 24)
#define STREAM_BYTES ps_feed_record_bytes(PS_TPU_MAX_LEGACY_BYTES)
#define WORD_BITS    64
#define LENGTH_OPEN  UINT32_MAX /* the end has not been seen */

struct slot {
	uint32_t covered; /* distinct bytes received */
	uint32_t end;     /* behind the last byte received */
	uint32_t length;  /* of the transaction, or LENGTH_OPEN */
	bool used;
	uint64_t coverage[PS_TPU_MAX_BYTES / WORD_BITS]; /* a bit per byte */
};

struct ps_tpu {
	struct ps_feed *feed;
	struct ps_drops *drops;
	uint64_t now_ns;
	uint32_t daddr_be;
	uint16_t dport_be;
	uint32_t slots;
	uint32_t free_count;
	uint32_t *free_slots; /* the last free_count released, used last in first out */
	struct slot *slot;
	uint8_t (*bytes)[PS_TPU_MAX_BYTES]; /* of each slot */
	struct ps_tpu_stats stats;
};

static size_t
align64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

size_t
ps_tpu_footprint(const struct ps_tpu_limits *limits)
{
	size_t n = limits->slots;

	return align64(sizeof(struct ps_tpu)) + n * PS_TPU_MAX_BYTES +
	       align64(n * sizeof(struct slot)) + align64(n * sizeof(uint32_t));
}

struct ps_tpu *
ps_tpu_create(void *block, const struct ps_tpu_limits *limits, struct ps_feed *feed,
	struct ps_drops *drops)
{
	struct ps_tpu *t = block;
	uint8_t *at = block;

	if (limits->slots == 0 || limits->slots > SLOTS_MAX)
		return NULL;
	memset(block, 0, ps_tpu_footprint(limits)); /* also brings the pages in */
	t->feed = feed;
	t->drops = drops;
	t->slots = limits->slots;
	at += align64(sizeof(*t));
	t->bytes = (void *)at;
	at += (size_t)t->slots * PS_TPU_MAX_BYTES;
	t->slot = (void *)at;
	at += align64((size_t)t->slots * sizeof(struct slot));
	t->free_slots = (void *)at;
	t->free_count = t->slots;
	for (uint32_t i = 0; i < t->slots; i++)
		t->free_slots[i] = t->slots - 1 - i;
	return t;
}

void
ps_tpu_tick(struct ps_tpu *t, uint64_t now_ns, uint32_t daddr_be, uint16_t dport_be)
{
	t->now_ns = now_ns;
	t->daddr_be = daddr_be;
	t->dport_be = dport_be;
}

const struct ps_tpu_stats *
ps_tpu_stats(const struct ps_tpu *t)
{
	return &t->stats;
}

uint32_t
ps_tpu_free_slots(const struct ps_tpu *t)
{
	return t->free_count;
}

static bool
is_whole(const struct ps_stream_frame *f)
{
	return f->slot == PS_SLOT_NONE && f->offset == 0 && f->fin;
}

/* How long the transaction is if this frame completes it; 0 when it cannot, not even together with
 * the others of its packet, of which the one with the end answers for the stream. */
static uint32_t
length_at_most(const struct ps_tpu *t, const struct ps_stream_frame *f)
{
	if (f->slot != PS_SLOT_NONE && t->slot[f->slot].length != LENGTH_OPEN)
		return t->slot[f->slot].length;
	return f->fin ? f->offset + f->len : 0;
}

static bool
tpu_reserve(void *ctx, const struct ps_stream_frame *frames, unsigned int n)
{
	struct ps_tpu *t = ctx;
	uint64_t total = 0, largest = 0;
	uint32_t new_slots = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct ps_stream_frame *f = &frames[i];
		bool same = i > 0 && frames[i - 1].stream_id == f->stream_id;
		uint32_t length = length_at_most(t, f);
		uint64_t bytes = length != 0 ? ps_feed_record_bytes(length) : 0;

		total += bytes;
		if (bytes > largest)
			largest = bytes;
		if (f->slot == PS_SLOT_NONE && !is_whole(f) && !same)
			new_slots++;
	}
	if (new_slots <= t->free_count && (total == 0 || ps_feed_fits(t->feed, total, largest)))
		return true;
	t->stats.refused++;
	return false;
}

/* True when it went into the feed; otherwise it was counted. */
static bool
deliver(struct ps_tpu *t, const struct ps_peer *peer, const uint8_t *bytes, uint32_t len)
{
	struct penstock_feed_record *r;

	if (len < PS_TPU_MIN_BYTES) {
		ps_drop(t->drops, PS_DROP_TPU_UNDERSIZED);
		return false;
	}
	if (len > PS_TPU_MAX_BYTES ||
		(len > PS_TPU_MAX_LEGACY_BYTES && ps_txn_look(bytes, len).version != PS_TXN_V1)) {
		ps_drop(t->drops, PS_DROP_TPU_OVERSIZED);
		return false;
	}
	r = ps_feed_put(t->feed, len);
	if (r == NULL) { /* only without a reserve() before */
		ps_drop(t->drops, PS_DROP_FEED_FULL);
		return false;
	}
	r->kind = PENSTOCK_FEED_TRANSACTION;
	r->clock = PENSTOCK_FEED_CLOCK_MONOTONIC;
	r->received = t->now_ns;
	r->published_ns = t->now_ns;
	r->saddr_be = peer->addr_be;
	r->sport_be = peer->port_be;
	r->daddr_be = t->daddr_be;
	r->dport_be = t->dport_be;
	if (peer->has_key) {
		r->flags = PENSTOCK_FEED_HAS_KEY;
		memcpy(r->peer_key, peer->key, sizeof(r->peer_key));
	}
	memcpy(ps_feed_payload(r), bytes, len);
	t->stats.transactions++;
	t->stats.bytes += len;
	return true;
}

static uint32_t
take_slot(struct ps_tpu *t)
{
	uint32_t i = t->free_slots[--t->free_count];

	memset(&t->slot[i], 0, sizeof(t->slot[i]));
	t->slot[i].length = LENGTH_OPEN;
	t->slot[i].used = true;
	return i;
}

static void
free_slot(struct ps_tpu *t, uint32_t i)
{
	t->slot[i].used = false;
	t->free_slots[t->free_count++] = i;
}

/* Marks [from, to) and returns how many of its bytes are new. */
static uint32_t
cover(struct slot *s, uint32_t from, uint32_t to)
{
	uint32_t added = 0;

	if (to > s->end)
		s->end = to;
	while (from < to) {
		uint64_t *word = &s->coverage[from / WORD_BITS];
		uint32_t bit = from % WORD_BITS;
		uint32_t n = to - from < WORD_BITS - bit ? to - from : WORD_BITS - bit;
		uint64_t mask = (n == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << n) - 1) << bit;

		added += (uint32_t)__builtin_popcountll(mask & ~*word);
		*word |= mask;
		from += n;
	}
	s->covered += added;
	return added;
}

static enum ps_sink_result
tpu_data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	struct ps_tpu *t = ctx;
	uint64_t end = (uint64_t)f->offset + f->len;
	struct slot *s;

	if (is_whole(f)) {
		if (deliver(t, peer, f->data, f->len))
			t->stats.whole++;
		return PS_SINK_DONE;
	}
	if (end > PS_TPU_MAX_BYTES || (f->slot == PS_SLOT_NONE && t->free_count == 0)) {
		/* The transport's checks and reserve() exclude both: refuse, whatever happened. */
		ps_drop(t->drops, PS_DROP_TPU_OVERSIZED);
		if (f->slot != PS_SLOT_NONE)
			free_slot(t, f->slot);
		return PS_SINK_DONE;
	}
	if (f->slot == PS_SLOT_NONE)
		f->slot = take_slot(t);
	s = &t->slot[f->slot];
	memcpy(t->bytes[f->slot] + f->offset, f->data, f->len);
	t->stats.fragments++;
	if (cover(s, f->offset, (uint32_t)end) == 0 && !(f->fin && s->length == LENGTH_OPEN))
		t->stats.duplicates++;
	if (f->fin && s->length == LENGTH_OPEN)
		s->length = (uint32_t)end;
	/* Both, so that bytes behind the end cannot stand in for a gap before it. */
	if (s->covered != s->length || s->end != s->length)
		return PS_SINK_MORE;
	deliver(t, peer, t->bytes[f->slot], s->length);
	free_slot(t, f->slot);
	f->slot = PS_SLOT_NONE;
	return PS_SINK_DONE;
}

static void
tpu_abandon(void *ctx, uint32_t slot)
{
	struct ps_tpu *t = ctx;

	if (slot >= t->slots || !t->slot[slot].used)
		return;
	t->stats.abandoned++;
	free_slot(t, slot);
}

static uint32_t
tpu_room(void *ctx)
{
	struct ps_tpu *t = ctx;
	uint64_t by_feed = ps_feed_free_bytes(t->feed) / STREAM_BYTES;
	uint64_t by_slots = (uint64_t)t->free_count * PS_TPU_STREAMS_PER_SLOT;
	uint64_t room = by_feed < by_slots ? by_feed : by_slots;

	return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

struct ps_sink
ps_tpu_sink(struct ps_tpu *t)
{
	return (struct ps_sink){
		.ctx = t,
		.reserve = tpu_reserve,
		.data = tpu_data,
		.abandon = tpu_abandon,
		.room = tpu_room,
	};
}
