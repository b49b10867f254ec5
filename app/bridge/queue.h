/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the bridge holds: records of the feeds that wait, and those that were sent and not
 * acknowledged. It says which goes next, and what each feed may release.
 *
 * Next is the oldest. While the validator throttles it is the one of the sender with the largest
 * stake, and a share of the turns goes to senders without stake as long as there are any. A feed
 * releases in its own order, so a record that is through waits here for those before it.
 *
 * One thread; allocates when made only. */
#ifndef PS_BRIDGE_QUEUE_H
#define PS_BRIDGE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "penstock_feed.h"

#define PS_BRIDGE_FEEDS 256
#define PS_BRIDGE_NONE  UINT32_MAX

enum ps_bridge_state { PS_BRIDGE_FREE, PS_BRIDGE_WAITING, PS_BRIDGE_SENT, PS_BRIDGE_DONE };

struct ps_bridge_item {
	const struct penstock_feed_record *record; /* in the feed, until released */
	uint64_t hash, stake;
	uint64_t arrival;    /* counts all that were put */
	uint32_t feed_next;  /* list: of the same feed, oldest first; or free ones */
	uint32_t prev, next; /* list: waiting, oldest first, with or without stake */
	uint32_t heap_at;    /* waiting with stake */
	enum ps_bridge_state state;
};

struct ps_bridge_list {
	uint32_t head, tail;
};

struct ps_bridge_queue {
	struct ps_bridge_item *item;
	uint32_t *heap; /* waiting with stake; the largest first, of equal ones the oldest */
	uint32_t n_items, n_heap, spare;
	uint32_t n_free, n_waiting, n_sent;
	struct ps_bridge_list waiting[2]; /* without and with stake */
	struct ps_bridge_list feed[PS_BRIDGE_FEEDS];
	uint64_t arrivals;
	uint32_t unstaked_percent, owed; /* owed: turns to those without stake, in percent */
};

/* n: records held at most; percent of the turns for those without stake, below 100. -ENOMEM. */
int ps_bridge_queue_new(struct ps_bridge_queue *q, uint32_t n, uint32_t percent);
void ps_bridge_queue_free(struct ps_bridge_queue *q);

/* There must be a free one. Returns its index. */
uint32_t ps_bridge_queue_put(struct ps_bridge_queue *q, uint32_t feed,
	const struct penstock_feed_record *record, uint64_t stake, uint64_t hash);
/* The one to send next, PS_BRIDGE_NONE when none waits. It goes on waiting until sent or done. */
uint32_t ps_bridge_queue_next(const struct ps_bridge_queue *q, bool throttled);
void ps_bridge_queue_sent(struct ps_bridge_queue *q, uint32_t i, bool throttled);
/* Acknowledged, lost or discarded: nothing more happens to it. */
void ps_bridge_queue_done(struct ps_bridge_queue *q, uint32_t i);
/* Was it published more than max_age_ns ago? 0: nothing is too old. */
bool ps_bridge_item_is_old(const struct ps_bridge_item *item, uint64_t now_ns, uint64_t max_age_ns);
/* One that waits and is too old, the oldest with or without stake; PS_BRIDGE_NONE: neither is. */
uint32_t ps_bridge_queue_old(const struct ps_bridge_queue *q, uint64_t now_ns, uint64_t max_age_ns);
/* The last of the feed's records up to which all are done, NULL when there is none new. */
const struct penstock_feed_record *ps_bridge_queue_release(
	struct ps_bridge_queue *q, uint32_t feed);

#endif
