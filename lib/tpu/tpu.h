/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Transaction reassembly: streams in (the sink of ps_sink.h), records of a feed out.
 *
 * One stream is one transaction of at most PS_TPU_MAX_BYTES. One that arrives whole in one frame is
 * copied straight into the feed; the others gather in slots of a fixed pool, in any order of
 * fragments. The whole of it lies in one block of the caller's, sized by ps_tpu_footprint();
 * nothing is allocated afterwards. One thread.
 *
 * Refused and counted in drops: above 1,232 bytes unless version 1 (PS_DROP_TPU_OVERSIZED), below
 * 134 bytes (PS_DROP_TPU_UNDERSIZED).
 *
 * Records are put into the feed but not published: the worker calls ps_feed_publish() once per
 * burst, before the acknowledgements of that burst are sent.
 *
 * Stream credit (room) is over-committed on purpose. A stream is counted as the record of a full
 * legacy transaction, 1,344 bytes: 1 to 3.1 against the largest version 1 transaction, below 1 to 1
 * for everything else. A slot is counted for PS_TPU_STREAMS_PER_SLOT streams, since most streams
 * arrive in one frame and take none. What was promised too much is refused by reserve() and comes
 * again with the peer's retransmission.
 */
#ifndef PS_TPU_H
#define PS_TPU_H

#include "feed.h"
#include "ps_drops.h"
#include "ps_sink.h"

#include <stddef.h>
#include <stdint.h>

#define PS_TPU_MAX_BYTES        4096 /* also the stream data limit to announce */
#define PS_TPU_MAX_LEGACY_BYTES 1232
#define PS_TPU_MIN_BYTES        134
#define PS_TPU_STREAMS_PER_SLOT 4

struct ps_tpu_limits {
	uint32_t slots; /* transactions in reassembly at once, 1..2^24 */
};

/* Written by the worker, read by the control thread without order. */
struct ps_tpu_stats {
	uint64_t transactions, bytes; /* put into the feed */
	uint64_t whole;               /* of these, arrived in one frame */
	uint64_t fragments;           /* frames that went into a slot */
	uint64_t duplicates;          /* frames that brought no new byte and no end */
	uint64_t abandoned;           /* streams that will never be complete */
	uint64_t refused;             /* packets refused by reserve */
};

struct ps_tpu;

/* Bytes of the block for ps_tpu_create(). */
size_t ps_tpu_footprint(const struct ps_tpu_limits *limits);

/* block has ps_tpu_footprint() bytes, is aligned to 64 and outlives the result, which is freed by
 * freeing the block. feed and drops are borrowed. NULL when limits are out of range. */
struct ps_tpu *ps_tpu_create(void *block, const struct ps_tpu_limits *limits, struct ps_feed *feed,
	struct ps_drops *drops);

/* The sink to give to the transport; ctx is t. */
struct ps_sink ps_tpu_sink(struct ps_tpu *t);

/* Once per burst, before its packets: what records say about time, and the service's address. */
void ps_tpu_tick(struct ps_tpu *t, uint64_t now_ns, uint32_t daddr_be, uint16_t dport_be);

const struct ps_tpu_stats *ps_tpu_stats(const struct ps_tpu *t);
uint32_t ps_tpu_free_slots(const struct ps_tpu *t);

#endif
