/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A deny list: IPv4 source prefixes, from a text file with one a line ("192.0.2.0/24"; without a
 * length, one address), '#' begins a comment. What is wrong in the file is said with its line.
 * Control thread and host commands. Owns the prefixes from load to free. */
#ifndef PS_GLUE_DENY_H
#define PS_GLUE_DENY_H

#include <stdbool.h>
#include <stdint.h>

#include "ps_err.h"
#include "xdp/steer.h"

struct ps_deny {
	struct ps_steer_prefix *prefix; /* sorted, each once; NULL: no list */
	uint32_t n;                     /* at most PS_STEER_DENIES */
};

/* After a failure there is nothing to free. */
int ps_deny_load(struct ps_deny *d, const char *file, struct ps_err *e);
/* This very prefix, not one around it. */
bool ps_deny_has(const struct ps_deny *d, const struct ps_steer_prefix *p);
void ps_deny_free(struct ps_deny *d);

#endif
