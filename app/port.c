/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "port.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "app.h"

/* XDP keeps so much of each buffer to itself. Of what is left drivers such as igb use whole KB. */
#define XDP_ROOM   256
#define BUF_BYTES  (RTE_PKTMBUF_HEADROOM + XDP_ROOM + 2048)
#define OBJ_BYTES  (BUF_BYTES + sizeof(struct rte_mbuf) + 64) /* 64: mempool's header */
#define POOL_CACHE 256
/* The AF_XDP driver stocks its fill ring with so many frames, whatever the queue's length. */
#define AF_XDP_FILL 2048

static bool
is_pci(const char *device)
{
	unsigned int domain, bus, dev, fn;
	char end;

	return sscanf(device, "%4x:%2x:%2x.%1u%c", &domain, &bus, &dev, &fn, &end) == 4 ||
	       sscanf(device, "%2x:%2x.%1u%c", &bus, &dev, &fn, &end) == 3;
}

static int
interface_node(const char *ifname)
{
	char path[128];
	int node = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/numa_node", ifname);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

uint64_t
ps_port_memory(const struct ps_conf_port *conf)
{
	return (uint64_t)conf->mbufs * conf->queues * OBJ_BYTES;
}

int
ps_port_plan(struct ps_port *p, const struct ps_conf_port *conf, unsigned int index,
	bool has_eal_device, struct ps_err *e)
{
	struct ps_err cause;
	int rc;

	memset(p, 0, sizeof(*p));
	p->conf = conf;
	p->node = -1;
	if (is_pci(conf->device)) {
		p->kind = PS_PORT_PCI;
		snprintf(p->eal_name, sizeof(p->eal_name), "%s%s",
			strlen(conf->device) < 12 ? "0000:" : "", conf->device);
		return 0;
	}
	if (has_eal_device) {
		p->kind = PS_PORT_EAL;
		snprintf(p->eal_name, sizeof(p->eal_name), "%s", conf->device);
		return 0;
	}
	p->kind = PS_PORT_AF_XDP;
	snprintf(p->eal_name, sizeof(p->eal_name), "net_af_xdp%u", index);
	if (strlen(conf->device) >= IF_NAMESIZE || if_nametoindex(conf->device) == 0)
		return ps_fail(e, ENODEV,
			"[port %s] device: there is no interface %s, nor a --vdev of this name; "
			"`ip "
			"link show` lists the interfaces here",
			conf->name, conf->device);
	if (conf->mbufs < AF_XDP_FILL + 2 * conf->descriptors)
		return ps_fail(e, EINVAL,
			"[port %s] mbufs: %u are too few for AF_XDP; give at least %u", conf->name,
			conf->mbufs, AF_XDP_FILL + 2 * conf->descriptors);
	rc = ps_xdp_prepare(
		&p->xdp, conf->device, (uint16_t)conf->first_queue, (uint16_t)conf->queues, &cause);
	if (rc < 0)
		return ps_fail(e, -rc, "[port %s] %.480s", conf->name, cause.text);
	p->node = interface_node(conf->device);
	return 0;
}

int
ps_port_eal_arg(const struct ps_port *p, char *arg, size_t cap, struct ps_err *e)
{
	const char *object;

	arg[0] = '\0';
	if (p->kind == PS_PORT_PCI) {
		snprintf(arg, cap, "--allow=%s", p->eal_name);
	} else if (p->kind == PS_PORT_AF_XDP) {
		object = ps_xdp_object_path(e);
		if (object == NULL)
			return -ENOMEM;
		snprintf(arg, cap, "--vdev=%s,iface=%s,start_queue=%u,queue_count=%u,xdp_prog=%s",
			p->eal_name, p->conf->device, p->conf->first_queue, p->conf->queues,
			object);
	}
	return 0;
}

static int
fail(const struct ps_port *p, const char *step, int rc, const char *remedy, struct ps_err *e)
{
	const char *cause = ps_eal_cause();

	return ps_fail(e, rc < 0 ? -rc : EIO, "[port %s] %s: %s (%s); %s", p->conf->name, step,
		strerror(rc < 0 ? -rc : EIO), cause[0] != '\0' ? cause : p->eal_name, remedy);
}

/* The driver maps the pool as one piece of memory (its umem), from the first chunk's address. */
static int
make_pool(struct ps_port *p, struct ps_err *e)
{
	char name[32];

	snprintf(name, sizeof(name), "ps_port%u", p->id);
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

	if (p->conf->queues > most)
		return ps_fail(e, EINVAL, "[port %s] queues: the device has %u; lower queues",
			p->conf->name, most);
	return 0;
}

static int
set_up_queues(struct ps_port *p, const struct rte_eth_dev_info *info, struct ps_err *e)
{
	struct rte_eth_conf conf = {0};
	uint16_t n = (uint16_t)p->conf->queues, rxd, txd;
	int rc;

	if (n > 1 && info->flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info->flow_type_rss_offloads &
			(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	}
	conf.rxmode.offloads = info->rx_offload_capa &
			       (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
	rxd = txd = (uint16_t)p->conf->descriptors;
	rc = rte_eth_dev_configure(p->id, n, n, &conf);
	if (rc == 0) {
		p->configured = true;
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &rxd, &txd);
	}
	for (uint16_t q = 0; rc == 0 && q < n; q++)
		rc = rte_eth_rx_queue_setup(p->id, q, rxd, SOCKET_ID_ANY, NULL, p->pool);
	for (uint16_t q = 0; rc == 0 && q < n; q++)
		rc = rte_eth_tx_queue_setup(p->id, q, txd, SOCKET_ID_ANY, NULL);
	if (rc < 0)
		return fail(p, "queues cannot be set up", rc,
			"see the port's options in penstock help config", e);
	return 0;
}

/* Every address and port of every service; an address list of "any" is one entry. */
static int
allow_services(struct ps_port *p, const struct ps_conf *conf, struct ps_err *e)
{
	struct ps_steer_key *keys;
	uint32_t n = 0;
	int rc;

	keys = calloc((size_t)PS_CONF_SERVICES * PS_CONF_ADDRS, sizeof(*keys));
	if (keys == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < conf->n_services; i++) {
		const struct ps_conf_service *s = &conf->service[i];
		const rte_be16_t port_be = rte_cpu_to_be_16((uint16_t)s->port);

		if (s->any)
			keys[n++] = (struct ps_steer_key){.port_be = port_be};
		for (uint32_t a = 0; a < s->n_addrs; a++)
			keys[n++] =
				(struct ps_steer_key){.addr_be = s->addr_be[a], .port_be = port_be};
	}
	rc = ps_xdp_allow(&p->xdp, keys, n, e);
	free(keys);
	return rc;
}

int
ps_port_start(struct ps_port *p, const struct ps_conf *conf, struct ps_err *e)
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
	rc = check_device(p, &info, e);
	if (rc == 0)
		rc = make_pool(p, e);
	if (rc == 0)
		rc = set_up_queues(p, &info, e);
	if (rc < 0)
		return rc;
	rc = rte_eth_dev_start(p->id);
	if (rc < 0)
		return fail(p, "does not start", rc, "look at the kernel's log with dmesg", e);
	p->started = true;
	if (p->kind != PS_PORT_AF_XDP)
		rte_eth_promiscuous_disable(p->id);
	if (rte_eth_macaddr_get(p->id, &p->mac) != 0 || rte_eth_dev_get_mtu(p->id, &p->mtu) != 0)
		return fail(p, "address and MTU cannot be read", -EIO, "choose another device", e);
	if (p->kind != PS_PORT_AF_XDP)
		return 0;
	rc = ps_xdp_attach(&p->xdp, e);
	return rc < 0 ? rc : allow_services(p, conf, e);
}

void
ps_port_stop(struct ps_port *p)
{
	if (p->started)
		rte_eth_dev_stop(p->id);
	if (p->configured)
		rte_eth_dev_close(p->id);
	if (p->kind == PS_PORT_AF_XDP)
		ps_xdp_close(&p->xdp);
	rte_mempool_free(p->pool);
	p->pool = NULL;
	p->started = p->configured = false;
}

void
ps_port_mode(const struct ps_port *p, char *text, size_t cap)
{
	struct rte_eth_dev_info info;

	if (p->kind == PS_PORT_AF_XDP)
		snprintf(text, cap, "af_xdp %s %s", p->xdp.driver_mode ? "driver" : "generic",
			p->xdp.zero_copy ? "zero-copy" : "copy");
	else if (rte_eth_dev_info_get(p->id, &info) == 0)
		snprintf(text, cap, "%s", info.driver_name);
	else
		snprintf(text, cap, "?");
}

void
ps_port_count(struct ps_port *p)
{
	struct rte_eth_stats stats;

	if (p->kind == PS_PORT_AF_XDP)
		ps_xdp_counts(&p->xdp, &p->counts);
	if (rte_eth_stats_get(p->id, &stats) == 0)
		p->missed = stats.imissed + stats.rx_nombuf;
}
