/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A port from its name in the configuration to a started EAL device. Control thread only.
 *
 *   ps_port_plan()   before EAL: what kind of device this is, and whether it is fit
 *   ps_port_start()  after EAL: one mempool, queues, start; for AF_XDP also the program's list
 *   ps_port_stop()   at any point after plan; idempotent
 */
#ifndef PS_APP_PORT_H
#define PS_APP_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include "af_xdp.h"
#include "conf.h"

enum ps_port_kind {
	PS_PORT_AF_XDP, /* a network interface */
	PS_PORT_PCI,    /* a PCI address */
	PS_PORT_EAL,    /* an EAL device made by the user's own arguments */
};

struct ps_port {
	const struct ps_conf_port *conf;
	enum ps_port_kind kind;
	char eal_name[PS_CONF_STRING + 8];
	uint16_t id; /* EAL port, valid when configured */
	bool configured, started;
	uint16_t mtu;
	int node; /* NUMA; -1: unknown */
	struct rte_ether_addr mac;
	struct rte_mempool *pool;
	struct ps_xdp xdp;           /* AF_XDP */
	struct ps_xdp_counts counts; /* control: rw, as of its last round; telemetry: ro */
	uint64_t missed;             /* likewise: rte_eth_stats imissed */
};

/* has_eal_device: true when the user's EAL arguments name a device like this. */
int ps_port_plan(struct ps_port *p, const struct ps_conf_port *conf, unsigned int index,
	bool has_eal_device, struct ps_err *e);
/* Bytes of huge pages or memory that the mempool will take. */
uint64_t ps_port_memory(const struct ps_conf_port *conf);
/* The --vdev or --allow argument to give to EAL; "" when the user's own arguments make the device.
 */
int ps_port_eal_arg(const struct ps_port *p, char *arg, size_t cap, struct ps_err *e);
int ps_port_start(struct ps_port *p, const struct ps_conf *conf, struct ps_err *e);
void ps_port_stop(struct ps_port *p);
/* How frames are received, for people: "af_xdp driver copy", "net_ring", ... */
void ps_port_mode(const struct ps_port *p, char *text, size_t cap);
/* Refreshes counts and missed. */
void ps_port_count(struct ps_port *p);

#endif
