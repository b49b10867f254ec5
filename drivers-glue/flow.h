/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The life of rte_flow rules on one port.
 *
 *   PLANNED -> CREATED   rte_flow_create() answered a handle; rte_flow_validate() is never asked,
 *                        because on most drivers it does not know
 *   CREATED -> PROVEN    the family's proof was seen
 *   any     -> LOST      reset, recovery, removal, stop, or proof of absence for patience_ms
 *   SOFT                 never in the driver: RSS and software
 *
 * Order of calls:
 *
 *   ps_family_find(), ps_plan()
 *   ps_flow_prepare()     before rte_eth_dev_configure()
 *   rte_eth_dev_start()
 *   ps_flow_install()     all rules or none
 *   ps_flow_verify()      as often as wanted; the watch (watch.h) does
 *   ps_flow_install()     again after a loss, as soon as the port runs; after a reset that is
 *                         behind uninstall, stop, rte_eth_dev_reset(), configure and start
 *   ps_flow_uninstall()   before rte_eth_dev_stop(): drivers free the handles there
 *   ps_flow_close()
 *
 * One thread, the one that called ps_flow_prepare(), makes all calls: drivers keep globals. Only
 * ps_flow_invalidate() may come from any thread, such as ethdev's event callbacks. Every handle
 * carries the generation in which it was made; when that is not the port's, it is never given to
 * the driver again.
 *
 * Owns the array of rules; the plan stays the caller's and outlives it. */
#ifndef PS_GLUE_FLOW_H
#define PS_GLUE_FLOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#include "family.h"
#include "plan.h"

enum ps_rule_state {
	PS_RULE_PLANNED,
	PS_RULE_CREATED,
	PS_RULE_PROVEN,
	PS_RULE_LOST,
	PS_RULE_SOFT,
};

struct ps_flow_rule {
	const struct ps_rule *rule;
	enum ps_rule_state state;
	struct rte_flow *handle;
	uint32_t generation;         /* of the handle */
	bool based;                  /* seen and hits are of this installation */
	uint64_t hits, fresh_hits;   /* the rule's own counter, and its growth in the last round */
	struct ps_steer_count seen;  /* its selector's packets, at the last ps_flow_verify() */
	struct ps_steer_count fresh; /* of them since the one before */
	uint64_t doubt_ns;           /* seems absent since then; 0: no doubt */
};

/* The driver's side, which tests replace. */
struct ps_flow_ops {
	struct rte_flow *(*create)(uint16_t port, const struct rte_flow_attr *attr,
		const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
		struct rte_flow_error *error);
	int (*destroy)(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error);
	int (*flush)(uint16_t port, struct rte_flow_error *error);
	int (*isolate)(uint16_t port, int set, struct rte_flow_error *error);
	int (*query)(uint16_t port, struct rte_flow *flow, const struct rte_flow_action *action,
		void *data, struct rte_flow_error *error);
	/* 0 when the driver shows the rule in its dump of the device. */
	int (*dump)(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error);
	/* One extended statistic by name. */
	int (*xstat)(uint16_t port, const char *name, uint64_t *value);
	void (*pause_us)(unsigned int us);
};

extern const struct ps_flow_ops ps_flow_ops_rte;

struct ps_flow {
	const struct ps_family *family;
	const struct ps_plan *plan;
	const struct ps_flow_ops *ops;
	pthread_t owner;
	uint16_t port_id;
	bool isolated, installed;
	bool settled; /* what was in the rings before the installation has been received */
	uint64_t first_round_ns;     /* of ps_flow_verify() since the installation; 0: none yet */
	_Atomic uint32_t generation; /* any thread: rw */
	uint32_t installed_generation;
	uint32_t n_rules;
	struct ps_flow_rule *rule;
	bool xstat_based;
	uint64_t xstat, fresh_xstat; /* caps.xstat, and its growth in the last round */
};

/* Also fills *f. ops: &ps_flow_ops_rte outside tests. */
int ps_flow_prepare(struct ps_flow *f, uint16_t port_id, const struct ps_family *family,
	const struct ps_plan *plan, const struct ps_flow_ops *ops, struct ps_err *e);

/* A transaction: on failure no rule is left. What is left of older rules goes first. */
int ps_flow_install(struct ps_flow *f, struct ps_err *e);

struct ps_flow_report {
	uint32_t planned, created, proven, lost, soft; /* rules by state */
	uint64_t right, wrong;                         /* packets since the round before */
	const struct ps_flow_rule *bad;                /* a lost rule, or NULL */
};

/* One round of proof. In the first 100 ms after an installation, packets that were in the rings
 * before it still come out of them: traffic is judged against the counters as they were then.
 * counts[i] is the sum over the workers for
 * plan->rule[i].selector->id == i (n_counts entries; a selector beyond them, or counts NULL:
 * nothing seen). */
int ps_flow_verify(struct ps_flow *f, const struct ps_steer_count *counts, uint32_t n_counts,
	uint64_t now_ns, struct ps_flow_report *report, struct ps_err *e);

/* Handles of this port are dead: from an event, or before anything that may reset the port. */
void ps_flow_invalidate(struct ps_flow *f);

/* Rules out of the driver, newest first, and flushed; safe at any time. */
void ps_flow_uninstall(struct ps_flow *f);
void ps_flow_close(struct ps_flow *f);

const char *ps_rule_state_name(enum ps_rule_state state);

#endif
