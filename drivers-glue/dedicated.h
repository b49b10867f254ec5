/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The dedicated-queue layout of a kernel's interface, for AF_XDP: some of its queues are ours. The
 * indirection table spreads everything over the others, and for each service one exact ntuple rule
 * leads its packets to ours; over several queues of ours by way of an RSS context.
 *
 * penstock init makes it, through settings.h, piece by piece with the old values saved: the keys
 * and values are here. penstock run only reads it back, and the watch goes on doing so.
 *
 * Control thread and host commands. Keeps no state. */
#ifndef PS_GLUE_DEDICATED_H
#define PS_GLUE_DEDICATED_H

#include <stddef.h>
#include <stdint.h>

#include "ethtool.h"
#include "ps_err.h"
#include "xdp/steer.h"

struct ps_dedicated {
	const char *ifname;
	struct ps_queues ours;
	const struct ps_steer_key *keys; /* of the services; addr_be 0: any address */
	uint32_t n_keys;
};

/* What the setting udp4.ADDRESS.PORT of each service must be: "queue=N" or "rss=FIRST+N". */
void ps_dedicated_fate(struct ps_queues ours, char *text, size_t size);
/* The name of that setting. */
#define PS_DEDICATED_KEY 40
char *ps_dedicated_key(uint32_t addr_be, uint16_t port_be, char text[PS_DEDICATED_KEY]);

/* How many receive queues the interface must have: those that it has, when ours and at least one
 * other are among them. */
uint32_t ps_dedicated_total(struct ps_queues ours, uint32_t now);

/* The lowest place for n queues of ours among total, none of which is taken (bit set of queues that
 * others hold), with one left for the kernel. -ENOSPC; only queues below 64 are looked at. */
int ps_dedicated_place(
	struct ps_queues *ours, uint32_t n, uint32_t total, uint64_t taken, struct ps_err *err);

/* Is all of it there? -ESTALE and a line that names what differs, and penstock init; anything else
 * could not be read. */
int ps_dedicated_verify(const struct ps_dedicated *d, struct ps_err *err);

/* What of it was lost while penstock runs is set again. A rule of somebody else's stays. */
int ps_dedicated_mend(const struct ps_dedicated *d, struct ps_err *err);

#endif
