/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The steering planner: from selectors (address, UDP port -> workers or drop) and what a NIC family
 * can do (struct ps_caps, data only) to exact rules, before any driver is called. What the family
 * cannot do is refused with one line: selector, family, limit, remedy.
 *
 * Every rule matches one destination port, alone or with one destination address, in full: no
 * ranges, prefixes or partial masks, which some drivers silently widen. IPv4 only.
 *
 * Main thread. The plan owns its array of rules; names and selectors stay the caller's and outlive
 * it. No DPDK: workers include this for struct ps_steer_count. */
#ifndef PS_GLUE_PLAN_H
#define PS_GLUE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "ps_err.h"

#define PS_PLAN_QUEUES 64 /* bits of a queue set */
#define PS_PLAN_ID_MAX 65535

enum ps_fate { PS_FATE_QUEUES, PS_FATE_DROP };

struct ps_selector {
	const char *name; /* of the service, for messages */
	uint32_t id;      /* 1 to PS_PLAN_ID_MAX, unique on the port; the MARK of its packets */
	uint32_t addr_be; /* 0: any address of the port */
	uint16_t dport_be;
	uint8_t fate;     /* enum ps_fate */
	uint64_t workers; /* PS_FATE_QUEUES: bit set of worker numbers of this port */
};

/* -- what a family can do -- */

enum ps_subset {
	PS_SUBSET_NONE, /* one queue per rule */
	PS_SUBSET_POW2, /* neighbouring queues, a power of two of them */
	PS_SUBSET_LIST, /* any list */
};

enum ps_action { PS_ACT_END, PS_ACT_FATE, PS_ACT_MARK, PS_ACT_COUNT };

/* How a rule that the driver accepted is known to be there. */
enum ps_proof {
	PS_PROOF_NONE,
	PS_PROOF_COUNT, /* its counter can be queried */
	PS_PROOF_MARK,  /* a packet carried its mark */
	PS_PROOF_QUEUE, /* a packet came to a queue that the default distribution does not use */
};

enum ps_rest {             /* where traffic goes that no rule takes */
	PS_REST_KERNEL,    /* the kernel's own port */
	PS_REST_EXCEPTION, /* to us: an exception path must hand it on */
};

struct ps_caps {
	const char *name;
	bool rules;         /* rte_flow rules; false: the port's RSS, and software */
	bool mixed;         /* rules with and without address may stand together */
	bool isolate;       /* rte_flow_isolate() must succeed before the port is configured */
	bool proto_in_spec; /* IP protocol 17 in the IPv4 spec under a zero mask */
	bool dump;          /* rte_flow_dev_dump() shows a rule */
	uint8_t subset;     /* enum ps_subset */
	uint8_t subset_max; /* queues */
	uint8_t queue_base; /* queue of worker 0; those below cannot be the target of a rule */
	uint8_t proof;      /* enum ps_proof */
	uint8_t rest;       /* enum ps_rest */
	uint8_t actions[4]; /* enum ps_action, in the order the driver wants, END last */
	uint16_t batch;     /* creates before a pause of batch_pause_us; 0: no pause */
	uint16_t batch_pause_us;
	uint16_t patience_ms;      /* how long a driver's counters may lag */
	uint32_t max_rules;        /* 0: the firmware's, known only by trying */
	const char *limit_remedy;  /* more rules than that */
	const char *create_remedy; /* the driver refused a rule */
	const char *xstat;         /* counts packets that rules took, port-wide; or NULL */
	const char *lost_on;       /* when the driver forgets the rules, for people */
	const char *unproven;      /* what cannot be shown from here, for people */
};

/* -- the plan -- */

struct ps_rule {
	const struct ps_selector *selector;
	uint32_t addr_be; /* 0: not matched */
	uint16_t dport_be;
	uint8_t fate;
	bool soft;       /* no rule in hardware: the port's RSS brings it, software decides */
	bool count;      /* with COUNT */
	bool shared;     /* its selector has more rules with the same mark */
	uint32_t mark;   /* 0: without MARK */
	uint64_t queues; /* of the device, queue_base added; 0 with PS_FATE_DROP */
};

struct ps_plan {
	const struct ps_caps *caps;
	const char *port;     /* for messages */
	uint16_t n_queues;    /* to configure: workers and queue_base; worker 0 also serves those
			       * below queue_base */
	uint64_t reta_queues; /* over which the default RSS distribution shall spread */
	uint32_t n_rules;
	uint32_t n_soft; /* of them: to be announced */
	struct ps_rule *rule;
};

struct ps_plan_port {
	const char *name;
	uint16_t n_workers;
	uint32_t n_addrs; /* its own addresses, as far as known */
	const uint32_t *addr_be;
	/* A VF with the MAC address of its physical function, which takes a drop rule for each of
	 * ours, and so many in all (0: not known). */
	bool pf;
	uint32_t pf_rules;
};

/* -EINVAL, -ENOTSUP or -ENOSPC with a line in e; the plan is then empty. */
int ps_plan(struct ps_plan *plan, const struct ps_caps *caps, const struct ps_plan_port *port,
	const struct ps_selector *sel, uint32_t n, struct ps_err *e);
void ps_plan_free(struct ps_plan *plan);

/* "tpu (203.0.113.7 UDP 8009)" or "tpu (any address UDP 8009)"; returns text. */
#define PS_RULE_TEXT 96
char *ps_selector_text(const struct ps_selector *s, uint32_t addr_be, char text[PS_RULE_TEXT]);

/* -- what workers see -- */

/* Software checks address and port of every packet again and decides alone; queue and mark are
 * hints, and are counted here. One per worker and selector (for a drop selector too: what arrives
 * at all is wrong). worker: rw, main: ro, without order: what shows a loss (wrong, unmarked) never
 * moves on a healthy port. */
struct ps_steer_count {
	uint64_t right;    /* packets on one of the selector's queues */
	uint64_t wrong;    /* mis-steered: another queue, or not dropped; delivered if possible */
	uint64_t marked;   /* of both, those with the selector's id as mark */
	uint64_t unmarked; /* and those without */
};

static inline void
ps_steer_count_packet(struct ps_steer_count *c, bool right, bool marked)
{
	c->right += right;
	c->wrong += !right;
	c->marked += marked;
	c->unmarked += !marked;
}

#endif
