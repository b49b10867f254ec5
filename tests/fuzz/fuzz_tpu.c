/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Transaction reassembly: packets of stream frames in, records out, against a model that keeps each
 * stream in plain arrays. What the transport promises to lib/tpu holds (ps_sink.h); what a peer may
 * do does, too: any order, overlaps, other bytes for the same place.
 *
 * Input: an option byte (1, 2, 4: slots; 8: a peer without a key), then actions:
 *   op & 7 < 5  a frame of stream op >> 3 & 7: two bytes of offset (the top bit: the end), two of
 *               length, one that fills it; op & 0x40: the packet is complete
 *   op & 7 == 5 the stream is given up
 *   op & 7 == 6 the consumer releases what it has read
 *   op & 7 == 7 the input itself is a whole transaction */

#include <string.h>

#include "fuzz.h"
#include "tpu.h"
#include "txn.h"

#define STREAMS  8
#define PACKET   8 /* frames */
#define CAPACITY 65536

static struct {
	struct ps_feed feed;
	struct penstock_feed_cursor cursor;
	struct ps_drops drops;
	struct ps_tpu *tpu;
	struct ps_sink sink;
	struct ps_peer peer;
	uint64_t read, records;
	uint32_t slots;
	unsigned int n; /* frames of the packet */
	struct ps_stream_frame frame[PACKET];
} w;

static struct penstock_feed_header header;
static _Alignas(64) uint8_t ring[CAPACITY];

static struct stream {
	uint64_t id;
	uint32_t slot, final, highest; /* final: UINT32_MAX until known */
	uint8_t have[PS_TPU_MAX_BYTES], data[PS_TPU_MAX_BYTES];
} stream[STREAMS];

static void
stream_start(struct stream *s, uint64_t id)
{
	s->id = id;
	s->slot = PS_SLOT_NONE;
	s->final = UINT32_MAX;
	s->highest = 0;
	memset(s->have, 0, sizeof(s->have));
}

/* The size rules of lib/tpu, in its own words. */
static bool
welcome(const uint8_t *p, uint32_t len)
{
	return len >= 134 && len <= 4096 && (len <= 1232 || p[0] == 0x81);
}

/* The next record is these bytes. */
static void
expect(const uint8_t *p, uint32_t len)
{
	const struct penstock_feed_record *r;

	ps_feed_publish(&w.feed);
	if (!welcome(p, len)) {
		FUZZ_CHECK(w.read == header.produced);
		return;
	}
	FUZZ_CHECK(w.read < header.produced);
	r = (const void *)(ring + w.read % CAPACITY);
	if (r->kind == PENSTOCK_FEED_PAD) {
		w.read += r->record_bytes;
		r = (const void *)ring;
	}
	FUZZ_CHECK(w.read + r->record_bytes == header.produced);
	FUZZ_CHECK(r->kind == PENSTOCK_FEED_TRANSACTION && r->sequence == w.records++);
	FUZZ_CHECK(r->payload_bytes == len && memcmp(penstock_feed_payload(r), p, len) == 0);
	FUZZ_CHECK((r->flags == PENSTOCK_FEED_HAS_KEY) == w.peer.has_key);
	w.read = header.produced;
	fuzz_note(w.read);
}

static void
data(struct ps_stream_frame *f)
{
	struct stream *s = &stream[f->stream_id % STREAMS];
	uint32_t end = f->offset + f->len;
	bool whole;

	if (s->id != f->stream_id)
		return; /* finished by a frame before */
	f->slot = s->slot;
	whole = f->slot == PS_SLOT_NONE && f->offset == 0 && f->fin;
	memset(s->have + f->offset, 1, f->len);
	memcpy(s->data + f->offset, f->data, f->len);
	if (f->fin)
		s->final = end;
	whole |= s->final != UINT32_MAX && memchr(s->have, 0, s->final) == NULL;
	FUZZ_CHECK((w.sink.data(w.sink.ctx, &w.peer, f) == PS_SINK_DONE) == whole);
	if (!whole) {
		FUZZ_CHECK(
			f->slot != PS_SLOT_NONE && (s->slot == PS_SLOT_NONE || s->slot == f->slot));
		s->slot = f->slot;
		ps_feed_publish(&w.feed);
		FUZZ_CHECK(w.read == header.produced);
		return;
	}
	expect(s->data, s->final);
	stream_start(s, s->id + STREAMS);
}

static void
packet(void)
{
	bool taken;

	if (w.n == 0)
		return;
	for (unsigned int i = 0; i < w.n; i++)
		w.frame[i].slot = stream[w.frame[i].stream_id % STREAMS].slot;
	taken = w.sink.reserve(w.sink.ctx, w.frame, w.n);
	for (unsigned int i = 0; i < w.n; i++) {
		if (taken)
			data(&w.frame[i]);
		free((void *)(uintptr_t)w.frame[i].data);
	}
	/* what was refused was never received */
	for (unsigned int i = 0; i < STREAMS && !taken; i++) {
		struct stream *s = &stream[i];

		for (s->highest = PS_TPU_MAX_BYTES; s->highest > 0 && !s->have[s->highest - 1];)
			s->highest--;
	}
	w.n = 0;
}

/* A frame as the transport lets it through. */
static void
add_frame(struct stream *s, uint32_t offset, uint32_t len, bool fin, uint8_t fill)
{
	uint32_t final = s->final, highest = s->highest, end = offset + len;
	uint8_t *bytes;

	for (unsigned int i = 0; i < w.n; i++)
		if (w.frame[i].stream_id == s->id && w.frame[i].fin)
			final = w.frame[i].offset + w.frame[i].len;
	if (end > PS_TPU_MAX_BYTES || (len == 0 && !fin) || (final != UINT32_MAX && end > final) ||
		(fin && (end < highest || (final != UINT32_MAX && end != final))))
		return;
	bytes = malloc(len > 0 ? len : 1);
	FUZZ_CHECK(bytes != NULL);
	memset(bytes, fill, len);
	s->highest = end > highest ? end : highest;
	w.frame[w.n++] = (struct ps_stream_frame){bytes, s->id, offset, (uint16_t)len, fin, 0};
	if (w.n == PACKET)
		packet();
}

static void
start(uint8_t options)
{
	static void *block;
	struct ps_tpu_limits limits = {1 + (options & 7)}, most = {8};

	if (block == NULL)
		block = aligned_alloc(64, ps_tpu_footprint(&most));
	memset(&w, 0, sizeof(w));
	memset(&header, 0, sizeof(header));
	w.feed.data = ring;
	w.feed.capacity = CAPACITY;
	w.feed.header = &header;
	w.feed.cursor = &w.cursor;
	w.slots = limits.slots;
	w.peer.has_key = !(options & 8);
	w.tpu = ps_tpu_create(block, &limits, &w.feed, &w.drops);
	FUZZ_CHECK(w.tpu != NULL);
	w.sink = ps_tpu_sink(w.tpu);
	for (unsigned int i = 0; i < STREAMS; i++)
		stream_start(&stream[i], i);
}

static void
give_up(struct stream *s)
{
	packet();
	if (s->slot != PS_SLOT_NONE)
		w.sink.abandon(w.sink.ctx, s->slot);
	stream_start(s, s->id + STREAMS);
}

static void
whole(const uint8_t *p, size_t len)
{
	struct ps_txn t = ps_txn_look(p, len);
	struct ps_stream_frame f = {p, STREAMS * 1000, 0, (uint16_t)len, true, PS_SLOT_NONE};

	FUZZ_CHECK(t.version <= PS_TXN_V1);
	FUZZ_CHECK(t.signature_offset == PS_TXN_NO_SIGNATURE || t.signature_offset + 64 <= len);
	packet();
	if (len > PS_TPU_MAX_BYTES || !w.sink.reserve(w.sink.ctx, &f, 1))
		return;
	FUZZ_CHECK(w.sink.data(w.sink.ctx, &w.peer, &f) == PS_SINK_DONE);
	expect(p, f.len);
}

static void
check_counts(void)
{
	const struct ps_tpu_stats *stats = ps_tpu_stats(w.tpu);
	uint32_t used = 0;

	for (unsigned int i = 0; i < STREAMS; i++)
		used += stream[i].slot != PS_SLOT_NONE;
	FUZZ_CHECK(stats->transactions == w.records);
	FUZZ_CHECK(ps_tpu_free_slots(w.tpu) + used == w.slots);
	for (unsigned int i = 0; i < STREAMS; i++)
		give_up(&stream[i]);
	FUZZ_CHECK(ps_tpu_free_slots(w.tpu) == w.slots);
	FUZZ_CHECK(w.sink.room(w.sink.ctx) <= ps_tpu_free_slots(w.tpu) * PS_TPU_STREAMS_PER_SLOT);
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
	const uint8_t *p = in + 1, *end = in + size;

	if (size == 0)
		return 0;
	start(in[0]);
	while (p < end) {
		uint8_t op = *p++;
		struct stream *s = &stream[op >> 3 & 7];

		if ((op & 7) < 5 && end - p >= 5) {
			uint32_t at = (uint32_t)(p[0] | p[1] << 8),
				 len = (uint32_t)(p[2] | p[3] << 8);

			add_frame(s, at & 0x7fff, len & 0x1fff, at >> 15, p[4]);
			p += 5;
			if (op & 0x40)
				packet();
		} else if ((op & 7) == 5) {
			give_up(s);
		} else if ((op & 7) == 6) {
			packet();
			w.cursor.released = w.read;
		} else if ((op & 7) == 7) {
			whole(p, (size_t)(end - p));
		}
	}
	packet();
	check_counts();
	return 0;
}
