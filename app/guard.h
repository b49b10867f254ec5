/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The guard: a process of penstock's own that takes the recorded drop rules out of the physical
 * functions within three seconds when penstock dies in whatever way, or while a worker or the whole
 * process stands still, so that the kernel has the traffic. It is made before EAL and threads, only
 * where a port has a pf, is a session of its own, keeps CAP_NET_ADMIN only, and ends after
 * penstock. It is not penstock's child, and has another command line: who kills penstock by name
 * does not mean it. An XDP program needs no guard: it looks at the heartbeat itself.
 *
 * The control thread owns it; each worker stores its heartbeat. */
#ifndef PS_APP_GUARD_H
#define PS_APP_GUARD_H

#include <stdint.h>

#include "conf.h"
#include "ps_err.h"

struct ps_guard_beat {
	_Alignas(64) uint64_t ns; /* CLOCK_MONOTONIC; 0: not begun */
};

struct ps_guard {
	struct ps_guard_beat *beat; /* PS_WORKERS_MAX of them, shared; NULL: none is needed */
};

/* Starts it, and opens the record of the rules (host/pf_record.h). */
int ps_guard_start(struct ps_guard *g, const struct ps_conf *conf, struct ps_err *e);
/* Closes the record. The guard itself ends with the process. */
void ps_guard_stop(struct ps_guard *g);

/* At least ten times a second. */
static inline void
ps_guard_beat(struct ps_guard_beat *beat, uint64_t now_ns)
{
	__atomic_store_n(&beat->ns, now_ns, __ATOMIC_RELAXED);
}

#endif
