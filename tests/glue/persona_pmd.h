/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A test-only ethdev driver that behaves towards rte_flow as real drivers do, with their silences
 * and surprises, and the matching of the NIC behind it. One persona per family, under the real
 * driver's name: net_i40e0, net_iavf0, net_iavf1 (its PF is i40e's), net_ice0, net_bnxt0,
 * mlx5_pci0.
 *
 * Packets do not flow: persona_packet() answers what the NIC would do with one. Time and pauses
 * are the test's. Whatever a real driver would answer with undefined behaviour is counted in
 * violations: a handle used after its death, a mask that is neither full nor zero. */
#ifndef PERSONA_PMD_H
#define PERSONA_PMD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#define PERSONA_RULES 8192

enum persona_kind {
	PERSONA_I40E,
	PERSONA_IAVF_ICE,
	PERSONA_IAVF_I40E,
	PERSONA_ICE,
	PERSONA_BNXT,
	PERSONA_MLX5,
};

/* A rule as it stands in the NIC. */
struct persona_rule {
	bool used, drop, has_mark, has_count;
	bool no_counters; /* ice: the switch engine has it */
	uint32_t addr, addr_mask;
	uint16_t port, port_mask;
	uint8_t proto;   /* 0: any */
	uint64_t queues; /* bit set */
	uint32_t mark;
	uint64_t hits, hits_shown;
};

struct persona {
	enum persona_kind kind;
	struct persona_rule rule[PERSONA_RULES];
	struct rte_flow *flows; /* live handles */
	unsigned int n_flows;
	unsigned int creates, in_flight, violations;
	unsigned int max_rules;
	bool untrusted; /* bnxt: a VF without trust */
	bool isolated;  /* mlx5 */
	bool started;
	uint64_t sb_match; /* i40e */
	uint16_t n_queues;
	uint64_t reta; /* queues of the default distribution, bit set */
};

/* Before rte_eal_init(). */
void persona_register(void);
struct persona *persona_of(uint16_t port);

struct persona_fate {
	bool kernel, dropped, marked;
	uint16_t queue;
	uint32_t mark;
};

/* What the NIC does with this packet; wire order. */
struct persona_fate persona_packet(
	struct persona *p, uint8_t proto, uint32_t daddr_be, uint16_t dport_be);
/* i40e: programming requests complete. */
void persona_drain(struct persona *p);
/* mlx5: counters are refreshed. */
void persona_refresh(struct persona *p);
/* The NIC loses its rules, the driver its handles when all is true, and says so if there is an
 * event. */
void persona_lose(uint16_t port, bool all, int event);
unsigned int persona_rules(const struct persona *p);

#endif
