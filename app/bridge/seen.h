/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The last transactions that the bridge took, to deliver each once: a hash table over a ring of
 * keyed 64-bit hashes. The hash is of all bytes, not of the first signature alone: nothing was
 * verified yet, so a forger who puts another's signature on other bytes must not displace him. Of
 * one signature there is only one valid transaction, so that no valid duplicate is missed.
 *
 * One thread; allocates when made only. */
#ifndef PS_BRIDGE_SEEN_H
#define PS_BRIDGE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ps_bridge_seen {
	struct {
		uint64_t hash; /* 0: free */
		uint32_t at;   /* in ring */
	} * table;             /* open addressing, twice as long as ring */
	uint64_t *ring;        /* in the order in which they were added */
	uint32_t n, next, mask;
	uint8_t key[16];
};

/* n: hashes remembered, a power of two; 0: none. key: 16 random bytes. -ENOMEM. */
int ps_bridge_seen_new(struct ps_bridge_seen *s, uint32_t n, const uint8_t key[16]);
void ps_bridge_seen_free(struct ps_bridge_seen *s);

/* Never 0. */
uint64_t ps_bridge_seen_hash(const struct ps_bridge_seen *s, const uint8_t *bytes, size_t len);
/* False: it is remembered already. */
bool ps_bridge_seen_add(struct ps_bridge_seen *s, uint64_t hash);
/* For one that was not delivered after all, so that it may come again. */
void ps_bridge_seen_forget(struct ps_bridge_seen *s, uint64_t hash);

#endif
