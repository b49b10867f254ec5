/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* From ethdev's event callbacks, which come on a thread of EAL or of the driver, to the watch: a
 * loss makes the port's rule handles invalid at once and is posted; the main thread acts on it.
 *
 * Main thread. A struct ps_events, its watch and its rules stay where they are between attach and
 * detach. */
#ifndef PS_GLUE_EVENTS_H
#define PS_GLUE_EVENTS_H

#include <stdint.h>

#include "flow.h"
#include "watch.h"

struct ps_events {
	uint16_t port_id;
	struct ps_watch *watch;
	struct ps_flow *flow;
};

/* After ps_flow_prepare() and ps_watch_init(), before rte_eth_dev_start(). */
int ps_events_attach(struct ps_events *ev, uint16_t port_id, struct ps_watch *watch,
	struct ps_flow *flow, struct ps_err *e);
/* Before ps_flow_close(). */
void ps_events_detach(struct ps_events *ev);

#endif
