/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "app.h"
#include "ps_time.h"

/* XDP keeps so much of each buffer to itself. Of what is left drivers such as igb use whole KB. */
#define XDP_ROOM   256
#define BUF_BYTES  (RTE_PKTMBUF_HEADROOM + XDP_ROOM + 2048)
#define OBJ_BYTES  (BUF_BYTES + sizeof(struct rte_mbuf) + 64) /* 64: mempool's header */
#define POOL_CACHE 256
/* Links of datagrams name a port; EAL's numbers stay below. */
#define SOCKET_ID_BASE 0x8000

uint64_t
ps_port_memory(const struct ps_conf_port *conf)
{
	return (uint64_t)conf->mbufs * conf->queues * OBJ_BYTES;
}

static int
fail(const struct ps_port *p, const char *step, int rc, const char *remedy, struct ps_err *e)
{
	const char *cause = ps_eal_cause();

	return ps_fail(e, rc < 0 ? -rc : EIO, "[port %s] %s: %s (%s); %s", p->conf->name, step,
		strerror(rc < 0 ? -rc : EIO), cause[0] != '\0' ? cause : p->eal_name, remedy);
}

/* -- claim -- */

/* The AF_XDP driver maps the pool as one piece of memory (its umem), from the first chunk on. */
static int
make_pool(struct ps_port *p, struct ps_err *e)
{
	char name[32];

	snprintf(name, sizeof(name), "ps_port%u", p->index);
	p->pool = rte_pktmbuf_pool_create(name, p->conf->mbufs * p->conf->queues, POOL_CACHE, 0,
		BUF_BYTES, p->node >= 0 ? p->node : SOCKET_ID_ANY);
	if (p->pool == NULL)
		return fail(p, "packet buffers", -rte_errno,
			"lower mbufs or give more huge pages (penstock.memory_mb without them)", e);
	if (p->kind == PS_PORT_AF_XDP && p->pool->nb_mem_chunks != 1)
		return ps_fail(e, ENOMEM,
			"[port %s] its packet buffers are not in one piece, which AF_XDP needs; "
			"lower mbufs, or use memory = no-huge",
			p->conf->name);
	return 0;
}

static int
check_device(struct ps_port *p, const struct rte_eth_dev_info *info, struct ps_err *e)
{
	uint16_t most = RTE_MIN(info->max_rx_queues, info->max_tx_queues);

	if (p->plan.n_queues > most)
		return ps_fail(e, EINVAL,
			"[port %s] queues: the device has %u and %s takes %u; "
			"lower queues",
			p->conf->name, most, p->family->caps.name, p->plan.n_queues);
	return 0;
}

static int
configure(struct ps_port *p, const struct rte_eth_dev_info *info)
{
	struct rte_eth_conf conf = {0};
	const uint16_t n = p->plan.n_queues;

	if (n > 1 && info->flow_type_rss_offloads != 0 && !p->flow.isolated) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info->flow_type_rss_offloads &
			(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	}
	conf.rxmode.offloads = info->rx_offload_capa &
			       (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
	/* For the watch; where the driver cannot tell, netlink and counters do. */
	conf.intr_conf.lsc = (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
	conf.intr_conf.rmv = (*info->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	return rte_eth_dev_configure(p->id, n, n, &conf);
}

static int
set_up_queues(struct ps_port *p, const struct rte_eth_dev_info *info, struct ps_err *e)
{
	const int node = p->node >= 0 ? p->node : SOCKET_ID_ANY;
	uint16_t rxd, txd;
	int rc;

	rxd = txd = (uint16_t)p->conf->descriptors;
	rc = configure(p, info);
	if (rc == 0) {
		p->configured = true;
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &rxd, &txd);
	}
	if (rc == 0 && (rxd != p->conf->descriptors || txd != p->conf->descriptors))
		ps_port_fall_back(p,
			"descriptors = %u -> %u received, %u sent: the device's limits",
			p->conf->descriptors, rxd, txd);
	for (uint16_t q = 0; rc == 0 && q < p->plan.n_queues; q++) {
		rc = rte_eth_rx_queue_setup(p->id, q, rxd, (unsigned int)node, NULL, p->pool);
		if (rc == 0 && p->kind == PS_PORT_AF_XDP && ps_xdp_claim_socket(&p->xdp, e) < 0)
			return -ENOTSOCK;
	}
	for (uint16_t q = 0; rc == 0 && q < p->plan.n_queues; q++)
		rc = rte_eth_tx_queue_setup(p->id, q, txd, (unsigned int)node, NULL);
	if (rc < 0)
		return fail(p, "queues cannot be set up", rc,
			"see the port's options in penstock help config", e);
	return 0;
}

/* zero_copy = require was tried before; this is what the driver's own sockets got. */
static int
check_zero_copy(struct ps_port *p, struct ps_err *e)
{
	if (p->xdp.zero_copy || p->conf->zero_copy == PS_ZERO_COPY_OFF ||
		p->conf->xdp_mode == PS_XDP_MODE_GENERIC)
		return 0;
	if (p->conf->zero_copy == PS_ZERO_COPY_REQUIRE)
		return ps_fail(e, EOPNOTSUPP,
			"[port %s] zero_copy = require: the driver's sockets on %s copy; use "
			"zero_copy = prefer",
			p->conf->name, p->ifname);
	ps_port_fall_back(p, "zero-copy -> copy: %s copies", p->ifname);
	return 0;
}

static int
claim_device(struct ps_port *p, const struct ps_steer *steer, struct ps_err *e)
{
	struct rte_eth_dev_info info;
	int rc;

	if (rte_eth_dev_get_port_by_name(p->eal_name, &p->id) != 0)
		return ps_fail(e, ENODEV,
			"[port %s] EAL has no device %s; name it with --vdev or -a after --, or "
			"bind the PCI device to vfio-pci (dpdk-devbind.py --status)",
			p->conf->name, p->eal_name);
	rc = rte_eth_dev_info_get(p->id, &info);
	if (rc < 0)
		return fail(p, "cannot be read", rc, "choose another device", e);
	if (p->kind != PS_PORT_AF_XDP)
		p->node = rte_eth_dev_socket_id(p->id);
	rc = ps_port_make_plan(p, steer, info.driver_name, e);
	if (rc == 0)
		rc = ps_port_verify_layout(p, e);
	if (rc == 0)
		rc = check_device(p, &info, e);
	if (rc == 0)
		rc = make_pool(p, e);
	if (rc == 0 && p->kind != PS_PORT_AF_XDP)
		rc = ps_flow_prepare(&p->flow, p->id, p->family, &p->plan, &ps_flow_ops_rte, e);
	if (rc == 0 && p->kind == PS_PORT_AF_XDP)
		rc = ps_xdp_link(&p->xdp, e);
	if (rc == 0)
		rc = set_up_queues(p, &info, e);
	if (rc == 0 && p->kind == PS_PORT_AF_XDP)
		rc = check_zero_copy(p, e);
	return rc;
}

int
ps_port_claim(struct ps_port *p, const struct ps_steer *steer, struct ps_err *e)
{
	int rc;

	if (p->kind != PS_PORT_SOCKET)
		return claim_device(p, steer, e);
	p->id = (uint16_t)(SOCKET_ID_BASE + p->index);
	rc = ps_port_make_plan(p, steer, "socket", e);
	return rc < 0 ? rc : make_pool(p, e);
}

/* -- install -- */

int
ps_port_read_mac(struct ps_port *p, struct ps_err *e)
{
	struct ps_iface iface;

	if (p->kind != PS_PORT_SOCKET && p->kind != PS_PORT_AF_XDP) {
		if (rte_eth_macaddr_get(p->id, &p->mac) != 0 ||
			rte_eth_dev_get_mtu(p->id, &p->mtu) != 0)
			return fail(p, "address and MTU cannot be read", -EIO,
				"choose another device", e);
		return 0;
	}
	if (ps_iface_get(p->ifname, &iface, e) < 0)
		return -ENODEV;
	memcpy(p->mac.addr_bytes, iface.mac, sizeof(p->mac.addr_bytes));
	p->mtu = (uint16_t)RTE_MIN(iface.mtu, (uint32_t)UINT16_MAX);
	return 0;
}

/* Nothing may be lost by now; what only a packet can prove is proven when one comes. */
static int
install_rules(struct ps_port *p, struct ps_err *e)
{
	struct ps_watch_sample sample;
	int rc = ps_flow_install(&p->flow, e);

	if (rc == 0)
		rc = ps_port_verify(p, NULL, 0, ps_now_ns(), &sample, e);
	if (rc == 0 && sample.lost > 0)
		return ps_fail(e, EIO,
			"[port %s] %u rules were accepted by the driver and are not there; look at "
			"the device's firmware and other programs on it",
			p->conf->name, sample.lost);
	return rc;
}

static int
start_device(struct ps_port *p, struct ps_err *e)
{
	int rc = rte_eth_dev_start(p->id);

	if (rc < 0)
		return fail(p, "does not start", rc, "look at the kernel's log with dmesg", e);
	p->started = true;
	if (p->kind != PS_PORT_AF_XDP)
		rte_eth_promiscuous_disable(p->id);
	return ps_port_spread(p, e);
}

/* As read back, whoever attached it. */
static int
check_xdp_mode(const struct ps_port *p, struct ps_err *e)
{
	if (p->conf->xdp_mode == PS_XDP_MODE_DRIVER && !p->xdp.driver_mode)
		return ps_fail(e, EOPNOTSUPP,
			"[port %s] xdp_mode = driver: the driver of %s has no XDP of its own; set "
			"xdp_mode = auto",
			p->conf->name, p->ifname);
	if (p->conf->xdp_mode == PS_XDP_MODE_GENERIC && p->xdp.driver_mode)
		return ps_fail(e, EOPNOTSUPP,
			"[port %s] xdp_mode = generic: %s cannot be asked for it and attached in "
			"the driver; set xdp_mode = auto, or use DPDK 25.11",
			p->conf->name, rte_version());
	return 0;
}

static int
install_program(struct ps_port *p, struct ps_err *e)
{
	int rc = ps_xdp_attach(&p->xdp, e);

	/* Before the services' addresses: no denied datagram gets in between. */
	if (rc == 0)
		rc = ps_xdp_deny(&p->xdp, &p->deny, e);
	p->deny_loads = 1;
	if (rc == 0)
		rc = ps_xdp_allow(&p->xdp, p->keys, p->n_keys, e);
	if (rc == 0)
		rc = ps_xdp_verify(&p->xdp, p->keys, p->n_keys, e);
	/* Once more: to attach a program resets some cards. */
	if (rc == 0)
		rc = ps_port_verify_layout(p, e);
	if (rc < 0)
		return rc;
	rc = check_xdp_mode(p, e);
	if (rc < 0)
		return rc;
	p->state = PS_RULE_PROVEN;
	if (!p->xdp.driver_mode && p->conf->xdp_mode == PS_XDP_MODE_AUTO)
		ps_port_fall_back(p,
			"driver mode -> generic: the driver of %s has no XDP of its own",
			p->ifname);
	return ps_baseline_take(&p->baseline, p->ifname, &ps_setting_ops_kernel, e);
}

int
ps_port_install(struct ps_port *p, const struct ps_steer *steer, const struct ps_conf *conf,
	struct ps_err *e)
{
	int rc = ps_port_watch(p, conf, e);

	if (rc == 0 && p->kind != PS_PORT_SOCKET)
		rc = start_device(p, e);
	if (rc == 0)
		rc = ps_port_read_mac(p, e);
	if (rc < 0)
		return rc;
	switch (p->kind) {
	case PS_PORT_AF_XDP:
		return install_program(p, e);
	case PS_PORT_SOCKET:
		rc = ps_sock_open(
			&p->sock, p->ifname, p->id, conf, steer, p->sel, p->conf->queues, e);
		p->state = rc == 0 ? PS_RULE_PROVEN : PS_RULE_PLANNED;
		return rc;
	default:
		return install_rules(p, e);
	}
}

int
ps_port_reset(struct ps_port *p, struct ps_err *e)
{
	struct rte_eth_dev_info info;
	int rc;

	/* Meanwhile the kernel serves, where it has the address too. */
	ps_port_pf_remove(p);
	ps_flow_uninstall(&p->flow);
	rte_eth_dev_stop(p->id);
	p->started = false;
	rc = rte_eth_dev_reset(p->id);
	if (rc == 0)
		rc = rte_eth_dev_info_get(p->id, &info);
	if (rc < 0)
		return fail(p, "cannot be reset", rc, "look at the kernel's log with dmesg", e);
	rc = set_up_queues(p, &info, e);
	if (rc == 0)
		rc = start_device(p, e);
	return rc < 0 ? rc : ps_port_read_mac(p, e);
}

/* -- the end -- */

void
ps_port_stop(struct ps_port *p)
{
	ps_port_unwatch(p);
	ps_port_pf_remove(p);
	ps_flow_close(&p->flow);
	if (p->started)
		rte_eth_dev_stop(p->id);
	if (p->kind == PS_PORT_AF_XDP) {
		ps_xdp_leave(&p->xdp);
		rte_log_set_level_pattern("pmd.net.af_xdp", RTE_LOG_CRIT);
	}
	if (p->configured)
		rte_eth_dev_close(p->id);
	if (p->kind == PS_PORT_AF_XDP)
		ps_xdp_close(&p->xdp);
	ps_sock_close(&p->sock);
	ps_deny_free(&p->deny);
	ps_baseline_free(&p->baseline);
	ps_plan_free(&p->plan);
	free(p->pf_rule);
	free(p->sel);
	free(p->keys);
	rte_mempool_free(p->pool);
	p->pf_rule = NULL;
	p->sel = NULL;
	p->keys = NULL;
	p->pool = NULL;
	p->started = p->configured = false;
}

/* -- for people and telemetry -- */

const char *
ps_port_path(const struct ps_port *p)
{
	static const char *const path[] = {
		[PS_PORT_AF_XDP] = "af_xdp",
		[PS_PORT_PCI] = "pmd",
		[PS_PORT_EAL] = "pmd",
		[PS_PORT_SOCKET] = "socket",
	};

	return path[p->kind];
}

void
ps_port_mode(const struct ps_port *p, char *text, size_t cap)
{
	struct rte_eth_dev_info info;

	if (p->kind == PS_PORT_AF_XDP)
		snprintf(text, cap, "af_xdp %s %s", p->xdp.driver_mode ? "driver" : "generic",
			p->xdp.zero_copy ? "zero-copy" : "copy");
	else if (p->kind == PS_PORT_SOCKET)
		snprintf(text, cap, "socket");
	else if (rte_eth_dev_info_get(p->id, &info) == 0)
		snprintf(text, cap, "%s", info.driver_name);
	else
		snprintf(text, cap, "?");
}

void
ps_port_count(struct ps_port *p)
{
	struct rte_eth_stats stats;

	if (p->kind == PS_PORT_SOCKET) {
		p->missed = ps_sock_missed(&p->sock);
		return;
	}
	if (p->kind == PS_PORT_AF_XDP) {
		ps_xdp_counts(&p->xdp, &p->counts);
		for (uint16_t q = 0; q < p->conf->queues; q++)
			ps_xdp_queue_counts(&p->xdp, q, &p->queue_counts[q]);
	}
	if (rte_eth_stats_get(p->id, &stats) == 0)
		p->missed = stats.imissed + stats.rx_nombuf;
}
