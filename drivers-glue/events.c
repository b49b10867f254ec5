/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "events.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

static const struct {
	enum rte_eth_event_type type;
	enum ps_watch_event event;
	bool lost; /* the driver has freed, or will free, every handle */
} events[] = {
	{RTE_ETH_EVENT_INTR_RESET, PS_WATCH_RESET, true},
	{RTE_ETH_EVENT_INTR_RMV, PS_WATCH_REMOVED, true},
	{RTE_ETH_EVENT_ERR_RECOVERING, PS_WATCH_RECOVERING, true},
	{RTE_ETH_EVENT_RECOVERY_SUCCESS, PS_WATCH_RECOVERED, true},
	{RTE_ETH_EVENT_RECOVERY_FAILED, PS_WATCH_RECOVERY_FAILED, true},
	{RTE_ETH_EVENT_INTR_LSC, PS_WATCH_LINK, false},
};

static int
on_event(uint16_t port_id, enum rte_eth_event_type type, void *arg, void *ret)
{
	struct ps_events *ev = arg;

	(void)port_id, (void)ret;
	for (unsigned int i = 0; i < RTE_DIM(events); i++) {
		if (events[i].type != type)
			continue;
		if (events[i].lost)
			ps_flow_invalidate(ev->flow);
		ps_watch_post(ev->watch, events[i].event);
	}
	return 0;
}

int
ps_events_attach(struct ps_events *ev, uint16_t port_id, struct ps_watch *watch,
	struct ps_flow *flow, struct ps_err *e)
{
	*ev = (struct ps_events){.port_id = port_id, .watch = watch, .flow = flow};
	for (unsigned int i = 0; i < RTE_DIM(events); i++) {
		int rc = rte_eth_dev_callback_register(port_id, events[i].type, on_event, ev);

		if (rc == 0)
			continue;
		ps_events_detach(ev);
		return ps_fail(e, -rc, "[port %s] its events cannot be watched: %s; start again",
			flow->plan->port, strerror(-rc));
	}
	return 0;
}

void
ps_events_detach(struct ps_events *ev)
{
	for (unsigned int i = 0; i < RTE_DIM(events); i++)
		rte_eth_dev_callback_unregister(ev->port_id, events[i].type, on_event, ev);
}
