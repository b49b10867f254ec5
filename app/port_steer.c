/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* From services to what brings their packets to a port's queues: rules, the XDP program's list, and
 * the spreading of everything else. */

#include "port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "endpoint.h"
#include "quic.h"

#define KEY_BYTES 64 /* of the longest RSS key */

/* -- the plan -- */

static int
make_keys(struct ps_port *p, const struct ps_steer *steer, struct ps_err *e)
{
	p->keys = calloc(steer->n, sizeof(*p->keys));
	if (p->keys == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < steer->n; i++)
		p->keys[p->n_keys++] = (struct ps_steer_key){
			.addr_be = steer->sel[i].addr_be, .port_be = steer->sel[i].dport_be};
	return 0;
}

static const struct ps_family *
find_family(const struct ps_port *p, const char *driver)
{
	char pf[64] = "";

	if (p->kind == PS_PORT_SOCKET)
		return &ps_family_socket;
	if (p->kind == PS_PORT_PCI)
		ps_family_pf_driver(p->eal_name, pf, sizeof(pf));
	return ps_family_find(driver, pf);
}

int
ps_port_make_plan(
	struct ps_port *p, const struct ps_steer *steer, const char *driver, struct ps_err *e)
{
	const uint16_t n = (uint16_t)p->conf->queues;
	const uint64_t mine = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
	const struct ps_plan_port port = {.name = p->conf->name, .n_workers = n};
	int rc;

	p->family = find_family(p, driver);
	p->sel = calloc(steer->n, sizeof(*p->sel));
	if (p->sel == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < steer->n; i++) {
		p->sel[i] = steer->sel[i];
		p->sel[i].workers &= mine;
	}
	rc = ps_plan(&p->plan, &p->family->caps, &port, p->sel, steer->n, e);
	if (rc == 0 && p->kind == PS_PORT_AF_XDP)
		rc = make_keys(p, steer, e);
	if (rc == 0 && p->family->caps.rules && p->plan.n_soft > 0)
		ps_port_fall_back(p, "rules -> RSS and software: %u of %u selectors of %s",
			p->plan.n_soft, p->plan.n_rules, p->family->caps.name);
	return rc;
}

enum ps_rule_state
ps_port_rule_state(const struct ps_port *p, uint32_t rule)
{
	if (p->kind == PS_PORT_AF_XDP || p->kind == PS_PORT_SOCKET)
		return p->state;
	return p->flow.rule != NULL ? p->flow.rule[rule].state : PS_RULE_PLANNED;
}

const char *
ps_port_proof(const struct ps_port *p, uint32_t rule)
{
	static const char *const proof[] = {
		[PS_PROOF_NONE] = "none",
		[PS_PROOF_COUNT] = "the rule's counter",
		[PS_PROOF_MARK] = "a packet with the rule's mark",
		[PS_PROOF_QUEUE] = "a packet on the rule's queue",
	};

	if (p->kind == PS_PORT_AF_XDP)
		return "the program on the interface and its list, read back";
	if (p->kind == PS_PORT_SOCKET)
		return "the socket is bound";
	if (p->plan.rule[rule].soft)
		return "not in hardware: software takes it from all that arrives";
	return proof[p->family->caps.proof];
}

/* -- spreading -- */

static int
not_so(const struct ps_port *p, const char *what, int rc, struct ps_err *e)
{
	return ps_fail(e, rc < 0 ? -rc : EIO,
		"[port %s] %s: %s; set queues = 1, or use another driver version", p->conf->name,
		what, rc < 0 ? strerror(-rc) : "reads back as something else");
}

static int
set_key(const struct ps_port *p, uint8_t bytes, struct ps_err *e)
{
	uint8_t key[KEY_BYTES], got[KEY_BYTES] = {0};
	struct rte_eth_rss_conf now = {.rss_key = got, .rss_key_len = bytes};
	struct rte_eth_rss_conf conf;
	int rc;

	if (bytes == 0 || bytes > KEY_BYTES)
		return 0;
	rc = rte_eth_dev_rss_hash_conf_get(p->id, &now);
	if (rc == -ENOTSUP)
		return 0;
	conf = (struct rte_eth_rss_conf){
		.rss_key = key, .rss_key_len = bytes, .rss_hf = now.rss_hf};
	/* Drawn at random: nobody can choose addresses that all lead to one queue. */
	ps_random(key, bytes);
	if (rc == 0)
		rc = rte_eth_dev_rss_hash_update(p->id, &conf);
	if (rc == -ENOTSUP)
		return 0;
	if (rc == 0)
		rc = rte_eth_dev_rss_hash_conf_get(p->id, &now);
	if (rc < 0 || memcmp(key, got, bytes) != 0)
		return not_so(p, "RSS key", rc, e);
	return 0;
}

/* The queues of the default distribution in turn. */
static int
set_table(const struct ps_port *p, uint16_t size, struct ps_err *e)
{
	struct rte_eth_rss_reta_entry64 want[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_eth_rss_reta_entry64 got[RTE_DIM(want)];
	uint16_t queue = 0;
	int rc;

	if (size == 0 || size > RTE_ETH_RSS_RETA_SIZE_512)
		return 0;
	memset(want, 0, sizeof(want));
	for (uint16_t i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *group = &want[i / RTE_ETH_RETA_GROUP_SIZE];

		while ((p->plan.reta_queues >> queue & 1) == 0)
			queue = (queue + 1) % p->plan.n_queues;
		group->mask |= UINT64_C(1) << i % RTE_ETH_RETA_GROUP_SIZE;
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = queue;
		queue = (queue + 1) % p->plan.n_queues;
	}
	memcpy(got, want, sizeof(got));
	rc = rte_eth_dev_rss_reta_update(p->id, want, size);
	if (rc == -ENOTSUP)
		return 0;
	for (unsigned int i = 0; i < RTE_DIM(got); i++)
		memset(got[i].reta, 0xff, sizeof(got[i].reta));
	if (rc == 0)
		rc = rte_eth_dev_rss_reta_query(p->id, got, size);
	for (uint16_t i = 0; rc == 0 && i < size; i++)
		if (got[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] !=
			want[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE])
			return not_so(p, "RSS indirection table", 0, e);
	return rc < 0 ? not_so(p, "RSS indirection table", rc, e) : 0;
}

int
ps_port_spread(struct ps_port *p, struct ps_err *e)
{
	struct rte_eth_dev_info info;
	int rc;

	/* Isolated devices receive by rules alone; AF_XDP's spreading is the interface's. */
	if (p->plan.n_queues < 2 || p->flow.isolated || p->kind == PS_PORT_AF_XDP)
		return 0;
	rc = rte_eth_dev_info_get(p->id, &info);
	if (rc < 0)
		return not_so(p, "device", rc, e);
	if (info.flow_type_rss_offloads == 0)
		return 0;
	rc = set_key(p, info.hash_key_size, e);
	return rc < 0 ? rc : set_table(p, info.reta_size, e);
}
