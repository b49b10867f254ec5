/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* From services to what brings their packets to a port's queues: rules, the XDP program's list, and
 * the spreading of everything else. */

#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "dedicated.h"
#include "endpoint.h"
#include "quic.h"

#define KEY_BYTES 64 /* of the longest RSS key */

/* -- the port's addresses, for services with address = any -- */

static bool
has_address(const struct ps_port_addrs *a, uint32_t addr_be)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->addr_be[i] == addr_be)
			return true;
	return false;
}

static void
add_address(struct ps_port_addrs *a, uint32_t addr_be)
{
	if (has_address(a, addr_be))
		return;
	if (a->n < PS_CONF_ADDRS)
		a->addr_be[a->n++] = addr_be;
	else
		a->more = true;
}

static const char *
whose_addresses(const struct ps_port *p)
{
	return p->ifname[0] != '\0' ? p->ifname : p->conf->pf;
}

/* Those that the configuration names, and those of the kernel's interface: the port's own, or its
 * physical function's. */
static int
find_addresses(const struct ps_port *p, struct ps_port_addrs *a, struct ps_err *e)
{
	const char *ifname = whose_addresses(p);
	const size_t len = strlen(ifname);
	uint32_t named[PS_CONF_ADDRS], n;
	struct ifaddrs *list;
	int rc = ps_conf_addresses(p->conf, named, &n, e);

	for (uint32_t i = 0; rc == 0 && i < n; i++)
		add_address(a, named[i]);
	if (rc < 0 || len == 0)
		return rc;
	if (getifaddrs(&list) < 0)
		return ps_fail(e, errno, "[port %s] the addresses of %s cannot be read: %s",
			p->conf->name, ifname, strerror(errno));
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		/* A label: "eth0:1". */
		if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET ||
			strncmp(i->ifa_name, ifname, len) != 0 ||
			(i->ifa_name[len] != '\0' && i->ifa_name[len] != ':'))
			continue;
		add_address(a,
			((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr);
	}
	freeifaddrs(list);
	return 0;
}

/* Says so when "any" became a list: an address that the port gets later is not in it. */
static int
announce_addresses(struct ps_port *p, const struct ps_port_addrs *a, struct ps_err *e)
{
	char text[PS_PORT_TEXT] = "", one[INET_ADDRSTRLEN];
	size_t used = 0;
	bool spelled = false;

	for (uint32_t r = 0; r < p->plan.n_rules; r++)
		spelled |= p->plan.rule[r].addr_be != p->plan.rule[r].selector->addr_be;
	if (!spelled)
		return 0;
	if (a->more)
		return ps_fail(e, E2BIG,
			"[port %s] address = any: %s needs a rule for each address, and %s has "
			"more than %u; name those of the services in address",
			p->conf->name, p->family->caps.name, whose_addresses(p), PS_CONF_ADDRS);
	p->spelled = *a;
	for (uint32_t i = 0; i < a->n && used < sizeof(text); i++) {
		inet_ntop(AF_INET, &a->addr_be[i], one, sizeof(one));
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", one);
	}
	ps_port_fall_back(p, "address = any -> the port's addresses as they are now:%.240s", text);
	return 0;
}

/* They have no rule, in the card or the physical function: the kernel sees their packets too. */
void
ps_port_look_at_addresses(struct ps_port *p)
{
	struct ps_port_addrs now = {0};
	char text[INET_ADDRSTRLEN];
	struct ps_err unused;

	if (p->spelled.n == 0 || find_addresses(p, &now, &unused) < 0)
		return;
	for (uint32_t i = 0; i < now.n; i++) {
		if (has_address(&p->spelled, now.addr_be[i]) ||
			has_address(&p->later, now.addr_be[i]))
			continue;
		inet_ntop(AF_INET, &now.addr_be[i], text, sizeof(text));
		ps_log(PS_LOG_WARN,
			"alarm: [port %s] %s has come to %s, and address = any has no rule for it; "
			"start penstock again",
			p->conf->name, text, whose_addresses(p));
		add_address(&p->later, now.addr_be[i]);
	}
	if (now.more && !p->later.more)
		ps_log(PS_LOG_WARN,
			"alarm: [port %s] %s has more than %u addresses by now; those beyond are "
			"not looked at, and address = any has no rule for them",
			p->conf->name, whose_addresses(p), PS_CONF_ADDRS);
	p->later.more = now.more;
	for (uint32_t i = p->later.n; i-- > 0;)
		if (!has_address(&now, p->later.addr_be[i]))
			p->later.addr_be[i] = p->later.addr_be[--p->later.n];
}

/* -- the plan -- */

/* A VF with the MAC address of its physical function needs a drop rule there for each of ours
 * (port_pf.c, which also tells why when there cannot be any). */
static int
look_at_pf(const struct ps_port *p, struct ps_plan_port *port, struct ps_err *e)
{
	struct ps_ntuple_table table = {0};
	struct rte_ether_addr mac;
	struct ps_err unused;
	struct ps_iface pf;
	int rc;

	if (p->conf->pf[0] == '\0' || (p->kind != PS_PORT_PCI && p->kind != PS_PORT_EAL))
		return 0;
	rc = ps_iface_get(p->conf->pf, &pf, e);
	if (rc < 0 || rte_eth_macaddr_get(p->id, &mac) != 0)
		return rc;
	port->pf = memcmp(pf.mac, mac.addr_bytes, sizeof(pf.mac)) == 0;
	if (port->pf && ps_ntuple_list(p->conf->pf, &table, &unused) == 0) {
		port->pf_rules = table.size;
		free(table.locations);
	}
	return 0;
}

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
	struct ps_plan_port port = {.name = p->conf->name, .n_workers = n};
	struct ps_port_addrs own = {0};
	int rc = find_addresses(p, &own, e);

	if (rc == 0)
		rc = look_at_pf(p, &port, e);
	if (rc < 0)
		return rc;
	port.addr_be = own.addr_be;
	port.n_addrs = own.n;
	p->family = find_family(p, driver);
	p->sel = calloc(steer->n, sizeof(*p->sel));
	if (p->sel == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < steer->n; i++) {
		p->sel[i] = steer->sel[i];
		p->sel[i].workers &= mine;
	}
	rc = ps_plan(&p->plan, &p->family->caps, &port, p->sel, steer->n, e);
	if (rc == 0)
		rc = announce_addresses(p, &own, e);
	if (rc == 0 && p->kind == PS_PORT_AF_XDP)
		rc = make_keys(p, steer, e);
	if (rc == 0 && p->family->caps.rules && p->plan.n_soft > 0)
		ps_port_fall_back(p, "rules -> RSS and software: %u of %u selectors of %s",
			p->plan.n_soft, p->plan.n_rules, p->family->caps.name);
	return rc;
}

/* -- the dedicated layout -- */

static int
with_layout(const struct ps_port *p, int (*call)(const struct ps_dedicated *d, struct ps_err *err),
	struct ps_err *e)
{
	const struct ps_dedicated d = {
		.ifname = p->ifname,
		.ours = {.first = p->conf->first_queue, .n = p->conf->queues},
		.keys = p->keys,
		.n_keys = p->n_keys,
	};

	if (p->kind != PS_PORT_AF_XDP || p->conf->layout != PS_LAYOUT_DEDICATED)
		return 0;
	return call(&d, e);
}

int
ps_port_verify_layout(const struct ps_port *p, struct ps_err *e)
{
	return with_layout(p, ps_dedicated_verify, e);
}

int
ps_port_mend_layout(const struct ps_port *p, struct ps_err *e)
{
	return with_layout(p, ps_dedicated_mend, e);
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
