/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Packet protection alone, as the endpoint uses it, and beside it the limit: the same packets
 * through bare calls of the cipher library, every key expanded beforehand. */
#ifndef PS_APP_BENCH_OPEN_H
#define PS_APP_BENCH_OPEN_H

#include "ends.h"

#define OPEN_HDR    (1 + PS_OUR_CID_LEN + 2) /* first byte, id, packet number */
#define OPEN_PN_LEN 2

struct bench_limit;

struct bench_open {
	unsigned int conns;
	size_t text; /* bytes under protection, tag not counted */
	uint64_t rng;
	struct ps_pkt_key *key; /* one per connection */
	void *mem;
	struct ps_protect *protect;
	struct packet *packet; /* BURST */
	uint32_t of[BURST];    /* its connection */
	struct bench_limit *limit;
};

/* NULL with *e set. conns keys in random order; size of one transaction. */
struct bench_open *bench_open_new(unsigned int size, unsigned int conns, struct ps_err *e);
void bench_open_free(struct bench_open *o); /* NULL is ignored */
/* BURSTS bursts; nanoseconds per packet, or below 0 when one did not verify. */
double bench_open_repetition(struct bench_open *o);
double bench_open_limit_repetition(struct bench_open *o);
/* Header protection masks alone. */
double bench_open_masks_repetition(struct bench_open *o);

/* -- limit.c -- */

/* Expands both keys of each of n connections. NULL: no memory. */
struct bench_limit *bench_limit_new(const struct ps_pkt_key *keys, unsigned int n);
void bench_limit_free(struct bench_limit *l); /* NULL is ignored */
/* Removes header protection from BURST packets made under keys of[], opens them, compares tags; how
 * many did not verify. */
unsigned int bench_limit_burst(struct bench_limit *l, struct packet *packet,
	const uint32_t of[BURST], uint64_t pn, size_t text);

#endif
