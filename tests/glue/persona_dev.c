/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The persona driver as EAL and ethdev see it: devices, queues that hold nothing, statistics. */

#include <stdio.h>
#include <string.h>

#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_version.h>

#include "persona_pmd.h"
#include "persona_dev.h"

#define QUEUES 64

static const char sb_match[] = "rx_flow_director_sb_match_packets";

static uint16_t
no_packets(void *queue, struct rte_mbuf **packets, uint16_t n)
{
	(void)queue, (void)packets, (void)n;
	return 0;
}

static int
configure(struct rte_eth_dev *dev)
{
	struct persona *p = dev->data->dev_private;

	if (p->kind == PERSONA_I40E)
		persona_orphan(p);
	p->n_queues = dev->data->nb_rx_queues;
	p->reta = p->n_queues >= QUEUES ? UINT64_MAX : (UINT64_C(1) << p->n_queues) - 1;
	return 0;
}

static int
start(struct rte_eth_dev *dev)
{
	struct persona *p = dev->data->dev_private;

	p->started = true;
	dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
	return 0;
}

/* i40e and ice leave the rules in the NIC, the others free the handles too. */
static int
stop(struct rte_eth_dev *dev)
{
	struct persona *p = dev->data->dev_private;

	p->started = false;
	dev->data->dev_started = 0;
	if (p->kind != PERSONA_I40E && p->kind != PERSONA_ICE)
		persona_forget(p);
	return 0;
}

static int
close_dev(struct rte_eth_dev *dev)
{
	persona_forget(dev->data->dev_private);
	return 0;
}

static int
reset(struct rte_eth_dev *dev)
{
	persona_forget(dev->data->dev_private);
	return 0;
}

static int
info_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	(void)dev;
	info->max_rx_queues = info->max_tx_queues = QUEUES;
	info->max_rx_pktlen = 1518;
	info->flow_type_rss_offloads = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	return 0;
}

static int
rx_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n, unsigned int node,
	const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	(void)n, (void)node, (void)conf, (void)pool;
	dev->data->rx_queues[queue] = dev->data->dev_private;
	return 0;
}

static int
tx_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n, unsigned int node,
	const struct rte_eth_txconf *conf)
{
	(void)n, (void)node, (void)conf;
	dev->data->tx_queues[queue] = dev->data->dev_private;
	return 0;
}

static int
link_update(struct rte_eth_dev *dev, int wait)
{
	(void)dev, (void)wait;
	return 0;
}

static int
xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	const struct persona *p = dev->data->dev_private;

	if (p->kind != PERSONA_I40E)
		return 0;
	if (names != NULL && n > 0)
		snprintf(names[0].name, sizeof(names[0].name), "%s", sb_match);
	return 1;
}

static int
xstats(struct rte_eth_dev *dev, struct rte_eth_xstat *values, unsigned int n)
{
	const struct persona *p = dev->data->dev_private;

	if (p->kind != PERSONA_I40E)
		return 0;
	if (values != NULL && n > 0)
		values[0] = (struct rte_eth_xstat){.id = 0, .value = p->sb_match};
	return 1;
}

#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
static int
stats(struct rte_eth_dev *dev, struct rte_eth_stats *s, struct eth_queue_stats *queues)
{
	(void)dev, (void)s, (void)queues;
	return 0;
}
#else
static int
stats(struct rte_eth_dev *dev, struct rte_eth_stats *s)
{
	(void)dev, (void)s;
	return 0;
}
#endif

static int
flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops)
{
	(void)dev;
	*ops = &persona_flow_ops;
	return 0;
}

static const struct eth_dev_ops dev_ops = {
	.dev_configure = configure,
	.dev_start = start,
	.dev_stop = stop,
	.dev_close = close_dev,
	.dev_reset = reset,
	.dev_infos_get = info_get,
	.rx_queue_setup = rx_setup,
	.tx_queue_setup = tx_setup,
	.link_update = link_update,
	.stats_get = stats,
	.xstats_get = xstats,
	.xstats_get_names = xstats_names,
	.flow_ops_get = flow_ops_get,
};

static const struct {
	const char *name;
	enum persona_kind kind;
	unsigned int max_rules;
} devices[] = {
	{"net_i40e0", PERSONA_I40E, 8192},
	{"net_iavf0", PERSONA_IAVF_ICE, 128},
	{"net_iavf1", PERSONA_IAVF_I40E, 0},
	{"net_ice0", PERSONA_ICE, 512},
	{"net_bnxt0", PERSONA_BNXT, 512},
	{"mlx5_pci0", PERSONA_MLX5, 512},
};

static int
probe(struct rte_vdev_device *vdev)
{
	static struct rte_ether_addr mac = {{2, 0, 0, 0, 0, 1}};
	const char *name = rte_vdev_device_name(vdev);
	struct rte_eth_dev *dev;
	struct persona *p;

	dev = rte_eth_vdev_allocate(vdev, sizeof(struct persona));
	if (dev == NULL)
		return -1;
	p = dev->data->dev_private;
	for (unsigned int i = 0; i < RTE_DIM(devices); i++)
		if (strcmp(devices[i].name, name) == 0) {
			p->kind = devices[i].kind;
			p->max_rules = devices[i].max_rules;
		}
	dev->data->mac_addrs = &mac;
	dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->dev_ops = &dev_ops;
	dev->rx_pkt_burst = no_packets;
	dev->tx_pkt_burst = no_packets;
	persona_attach(dev->data->port_id, p);
	rte_eth_dev_probing_finish(dev);
	return 0;
}

static int
remove_dev(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (dev == NULL)
		return 0;
	close_dev(dev);
	dev->data->mac_addrs = NULL;
	return rte_eth_dev_release_port(dev);
}

void
persona_register(void)
{
	static const char *const names[] = {
		"net_i40e", "net_iavf", "net_ice", "net_bnxt", "mlx5_pci"};
	static struct rte_vdev_driver drivers[RTE_DIM(names)];

	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		drivers[i].driver.name = names[i];
		drivers[i].probe = probe;
		drivers[i].remove = remove_dev;
		rte_vdev_register(&drivers[i]);
	}
}
