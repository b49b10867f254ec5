/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The watch over one port's steering: notices loss within two periods and says what to do. Pure
 * logic: time and observations are arguments, the caller logs, re-installs or stops.
 *
 * ps_watch_post() from any thread (ethdev's event callbacks, a netlink reader); everything else
 * from the main thread:
 *
 *   ps_watch_step()   from its loop, as often as it likes: acts on events at once
 *   ps_watch_due()    true once per period: take an observation (ps_flow_verify(), kernel
 *                     readback, counters) and give it to ps_watch_observe()
 *   ps_watch_done()   the outcome of what was asked for
 */
#ifndef PS_GLUE_WATCH_H
#define PS_GLUE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum ps_watch_event {
	PS_WATCH_RESET,           /* RTE_ETH_EVENT_INTR_RESET */
	PS_WATCH_RECOVERING,      /* RTE_ETH_EVENT_ERR_RECOVERING */
	PS_WATCH_RECOVERED,       /* RTE_ETH_EVENT_RECOVERY_SUCCESS */
	PS_WATCH_RECOVERY_FAILED, /* RTE_ETH_EVENT_RECOVERY_FAILED */
	PS_WATCH_REMOVED,         /* RTE_ETH_EVENT_INTR_RMV, or the kernel's link is gone */
	PS_WATCH_LINK,            /* RTE_ETH_EVENT_INTR_LSC, or the kernel's link went down or up */
	PS_WATCH_MAC,             /* the kernel's link has another address */
	PS_WATCH_SETTINGS,        /* ethtool settings, program or master of the link changed: the
				   * kernel's readback tells whether that cost rules */
	PS_WATCH_EVENTS
};

enum ps_on_rule_loss { PS_LOSS_REINSTALL, PS_LOSS_STOP };

enum ps_watch_do {
	PS_WATCH_NOTHING,
	PS_WATCH_REINSTALL,  /* ps_flow_install(), kernel rules likewise */
	PS_WATCH_RESET_PORT, /* stop, rte_eth_dev_reset(), bring up, then install */
	PS_WATCH_STOP,       /* end: the traffic is the kernel's, or nobody's */
};

struct ps_watch_verdict {
	enum ps_watch_do action;
	bool alarm;        /* rises with the loss, falls when rules are seen again */
	const char *cause; /* for the log; NULL: nothing new to say */
};

/* What a caller sees in one period. Counters only grow. */
struct ps_watch_sample {
	uint32_t rules, lost;        /* of ps_flow_verify() and of the kernel's readback */
	bool readback_failed;        /* could not be asked: an alarm when it repeats */
	bool kernel_differs;         /* a kernel setting or rule is not what was installed */
	uint64_t steered, elsewhere; /* packets of ours that rules took, and that came by another
				      * way while they need not (mis-steered, or passed on by the
				      * XDP program) */
	uint64_t leaked;             /* and that the kernel's stack got although a rule should have
				      * taken or dropped them all */
};

struct ps_watch {
	uint64_t period_ns, due_ns;
	enum ps_on_rule_loss on_loss;
	_Atomic uint32_t posted; /* any thread: rw; bits of enum ps_watch_event */
	bool alarm, stopped;
	bool recovering;        /* nothing can be installed yet */
	bool busy;              /* the caller does what was asked for */
	enum ps_watch_do again; /* what failed, and is asked for again at act_ns */
	uint64_t act_ns;        /* likewise, or when waiting for a recovery ends */
	uint8_t attempts;       /* re-installs without PS_WATCH_HEALTHY good periods since */
	uint8_t healthy, blind; /* periods in a row */
	bool has_last;
	uint64_t steered, elsewhere, leaked; /* of the last sample */
	uint64_t losses, reinstalls;         /* telemetry */
	const char *_Atomic cause;           /* of the alarm, static, or NULL; telemetry: ro */
};

#define PS_WATCH_ATTEMPTS    3
#define PS_WATCH_HEALTHY     10
#define PS_WATCH_RECOVERY_NS (60 * UINT64_C(1000000000))

/* period_ns is raised to the family's patience, so that two of them are enough. */
void ps_watch_init(struct ps_watch *w, uint64_t period_ns, uint16_t patience_ms,
	enum ps_on_rule_loss on_loss, uint64_t now_ns);
void ps_watch_post(struct ps_watch *w, enum ps_watch_event event);
/* changes: of ps_linkmon_poll(), bits of enum ps_link_change. */
void ps_watch_link(struct ps_watch *w, int changes);
struct ps_watch_verdict ps_watch_step(struct ps_watch *w, uint64_t now_ns);
bool ps_watch_due(const struct ps_watch *w, uint64_t now_ns);
struct ps_watch_verdict ps_watch_observe(
	struct ps_watch *w, const struct ps_watch_sample *s, uint64_t now_ns);
/* rc: 0 or -errno of the action that a verdict asked for, REINSTALL or RESET_PORT. */
struct ps_watch_verdict ps_watch_done(
	struct ps_watch *w, enum ps_watch_do action, int rc, uint64_t now_ns);

#endif
