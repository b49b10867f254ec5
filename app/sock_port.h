/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A port of kernel UDP sockets: for machines where nothing else works, and to compare with. One
 * socket per service and worker, which the kernel chooses by the packet's addresses (SO_REUSEPORT);
 * they hear one interface only. Bursts are the same struct ps_datagram that frames are made into.
 *
 * The control thread opens and closes; in between a worker uses its own struct ps_sock_queue, and
 * each call is one system call per socket, never waiting. Receive buffers are the queue's and hold
 * until its next ps_sock_rx(). IPv4; a socket of several addresses hears all of the interface's,
 * and the others are dropped here. */
#ifndef PS_APP_SOCK_PORT_H
#define PS_APP_SOCK_PORT_H

#include <stdint.h>

#include "family.h"
#include "net.h"
#include "steer.h"

struct ps_sock {
	int fd;
	uint32_t addr_be; /* bound to; 0: any */
	uint16_t port_be;
	unsigned int first, n; /* of its selectors */
};

struct ps_sock_burst; /* buffers of one worker */

struct ps_sock_queue {
	const struct ps_steer *steer;
	uint16_t port_id;
	unsigned int n, next; /* next: the socket to begin with, in turn */
	struct ps_sock sock[PS_CONF_SERVICES];
	struct ps_sock_burst *burst;
};

struct ps_sock_port {
	unsigned int n_queues;
	struct ps_sock_queue *queue; /* by worker */
};

extern const struct ps_family ps_family_socket;

int ps_sock_open(struct ps_sock_port *s, const char *ifname, uint16_t port_id,
	const struct ps_conf *conf, const struct ps_steer *steer, const struct ps_selector *sel,
	unsigned int n_queues, struct ps_err *e);
void ps_sock_close(struct ps_sock_port *s);
/* Datagrams that the kernel had no room for. */
uint64_t ps_sock_missed(const struct ps_sock_port *s);

/* -- the worker -- */

/* Fills n, dg and service (the selector's id) of *out. */
void ps_sock_rx(struct ps_sock_queue *q, struct ps_net_rx *out, struct ps_drops *drops);
/* Sends all, or what there is room for; returns how many were taken off our hands. */
unsigned int ps_sock_tx(struct ps_sock_queue *q, const struct ps_datagram dg[], unsigned int n);

#endif
