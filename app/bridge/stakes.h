/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Stakes by identity, from a file as Agave's staked-nodes-overrides takes it:
 *
 *   staked_map_id:
 *     <public key in base58>: <lamports>
 *
 * One thread. */
#ifndef PS_BRIDGE_STAKES_H
#define PS_BRIDGE_STAKES_H

#include <stddef.h>
#include <stdint.h>

#include "ps_err.h"

struct ps_bridge_stake {
	uint8_t key[32];
	uint64_t lamports;
};

struct ps_bridge_stakes {
	struct ps_bridge_stake *stake; /* by key */
	size_t n;
};

/* In place of what t holds, which stays when the file cannot be used. */
int ps_bridge_stakes_load(struct ps_bridge_stakes *t, const char *file, struct ps_err *e);
void ps_bridge_stakes_free(struct ps_bridge_stakes *t);

/* 0: not listed. */
uint64_t ps_bridge_stakes_of(const struct ps_bridge_stakes *t, const uint8_t key[32]);

#endif
