/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A worker: one lcore, its queues of each port, one feed per service it serves and, for QUIC
 * services, one endpoint beside it. Nothing in it is shared with another worker.
 *
 * The control thread creates and destroys it while it does not run. The loop allocates nothing,
 * takes no lock and makes no system call but the clock's (and a sleep, when told so). */
#ifndef PS_APP_WORKER_H
#define PS_APP_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include "conf.h"
#include "endpoint.h"
#include "feed.h"
#include "guard.h"
#include "handover.h"
#include "net.h"
#include "plan.h"

#define PS_TX_BURST 32

/* PS_CONF_PORTS queues of the worker's own, and those that no rule may choose. */
#define PS_WORKER_QUEUES (2 * PS_CONF_PORTS)
#define PS_NO_SERVICE    UINT16_MAX

struct ps_xdp;
struct ps_sock_queue;

struct ps_worker_port {
	uint16_t id, queue;
	uint32_t bit; /* of this port in hold and held */
	struct rte_ether_addr mac;
	struct ps_xdp *xdp;         /* NULL: not AF_XDP */
	uint16_t xdp_queue;         /* as numbered by the interface */
	struct ps_sock_queue *sock; /* NULL: not kernel sockets */
	bool aside;                 /* no rule leads here: packets of services are mis-steered */
	bool local; /* frames never left the machine, their checksums are not made */
	struct ps_steer_count *steer; /* by selector's id; worker: rw, control: ro */
};

struct ps_worker_service {
	const struct ps_conf_service *conf;
	uint32_t number; /* in the configuration */
	struct ps_worker *worker;
	uint32_t daddr_be; /* the one address, or 0 when there are several */
	uint16_t dport_be;
	struct ps_feed feed;         /* worker: rw; its statistics, control: ro */
	struct ps_endpoint endpoint; /* QUIC services */
	uint64_t datagrams, bytes;   /* worker: rw, control: ro */
	bool has_consumer;           /* control */
	unsigned int n_in;           /* worker: of the burst at hand */
	struct ps_datagram *in[PS_NET_BURST];
};

/* clang-format off */
#define PS_WORKER_STATS(X) \
	X(loops,      "rounds of the loop") \
	X(busy_loops, "rounds that received or sent something") \
	X(rx_packets, "frames received") \
	X(rx_bytes,   "bytes of frames received") \
	X(tx_packets, "frames sent") \
	X(tx_bytes,   "bytes of frames sent") \
	X(longest_ns, "longest time between two rounds")
/* clang-format on */

struct ps_worker_stats {
#define X(name, help) uint64_t name;
	PS_WORKER_STATS(X)
#undef X
};

struct ps_worker {
	/* Set by the control thread before the launch, then fixed. */
	unsigned int id, lcore;
	int cpu, node;
	bool sleep;
	unsigned int n_ports, n_services;
	struct ps_worker_port port[PS_WORKER_QUEUES];
	struct ps_guard_beat *guard; /* NULL: there is none */
	unsigned int n_workers;
	struct ps_handover *handover; /* NULL: this worker is the only one */
	struct rte_mempool *tx_pool;
	unsigned int n_selectors;
	uint16_t *service_of; /* by selector's id from 1; PS_NO_SERVICE: another worker's */
	/* control: rw, worker: ro */
	const struct ps_net_selectors *_Atomic selectors;
	_Atomic bool stop;
	_Atomic uint32_t hold; /* ports to be left alone */
	_Atomic bool yield;    /* AF_XDP queues are left to the kernel */
	_Atomic uint32_t held; /* worker: rw, control: ro; those that are */
	/* worker: rw, control and telemetry: ro */
	_Alignas(64) struct ps_worker_stats stats;
	struct ps_drops drops;
	/* worker */
	_Alignas(64) struct ps_net_rx rx;
	unsigned int n_spare;
	struct rte_mbuf *spare[PS_TX_BURST]; /* empty frames to send from */
	struct ps_datagram tx[PS_TX_BURST];  /* each open on the frame beside it */
	uint64_t last_ns, tick_ns;
	bool yielded; /* the kernel has the queues, and clients were told */
	struct ps_worker_service service[PS_CONF_SERVICES];
};

/* Opens feeds and endpoints of the services that name this worker; memory on the node of cpu. */
struct ps_steer;
int ps_worker_new(struct ps_worker **out, const struct ps_conf *conf, const struct ps_steer *steer,
	unsigned int id, int cpu, const struct ps_endpoint_keys *keys, struct ps_err *e);
/* Adds the worker's queues of an installed port. */
struct ps_port;
int ps_worker_add_port(struct ps_worker *w, struct ps_port *p, struct ps_err *e);
/* Passes a datagram on that belongs to a connection of another worker; ctx: ps_worker_service. */
bool ps_worker_give(void *ctx, uint8_t worker, const struct ps_datagram *dg);
/* The entry for rte_eal_remote_launch(); arg is the worker. */
int ps_worker_main(void *arg);
void ps_worker_free(struct ps_worker *w);

#endif
