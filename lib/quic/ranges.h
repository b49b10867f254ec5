/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A set of 62-bit numbers kept as descending, disjoint, non-adjacent closed ranges: the packet
 * numbers received in one space (RFC 9000 section 13.2.3), bounded.
 *
 * When it is full the lowest range is forgotten and floor rises above it: numbers below floor count
 * as contained, so that a duplicate can never look new (RFC 9000 section 12.3). */
#ifndef PS_QUIC_RANGES_H
#define PS_QUIC_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define PS_RANGES_MAX 32

struct ps_range {
	uint64_t lo, hi; /* both inside */
};

struct ps_ranges {
	uint64_t floor; /* everything below was forgotten, and counts as contained */
	uint32_t n;
	struct ps_range r[PS_RANGES_MAX]; /* r[0] holds the largest number */
};

void ps_ranges_init(struct ps_ranges *s);
bool ps_ranges_contains(const struct ps_ranges *s, uint64_t v);
/* False when v was contained already. Extending r[0] by one is the fast path. In a full set a v
 * that would be the lowest range is itself what is forgotten: true, but not acknowledged. */
bool ps_ranges_add(struct ps_ranges *s, uint64_t v);
/* Forgets everything up to and including v: those acknowledgements reached the peer
 * (RFC 9000 section 13.2.4). Raises floor. */
void ps_ranges_forget(struct ps_ranges *s, uint64_t v);

#endif
