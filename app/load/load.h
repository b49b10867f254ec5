/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* penstock load: sends signed transactions to a TPU port, over any port that penstock run takes
 * but kernel sockets. One lcore does it all (lcore.c); the control thread builds it, prints and
 * ends it (load.c). */
#ifndef PS_APP_LOAD_H
#define PS_APP_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "app.h"
#include "histogram.h"
#include "net.h"
#include "quic.h"
#include "txgen.h"

#define PS_LOAD_CONNS_MAX 100000
#define PS_LOAD_TX        64    /* datagrams sent at once */
#define PS_LOAD_SIGNED    65536 /* transactions signed beforehand, at most */
#define PS_LOAD_ENDLESS   UINT64_MAX

struct ps_load_options {
	uint32_t to_be, from_be;
	uint16_t to_port_be, from_port_be;
	bool udp, json;
	bool has_mac;
	struct rte_ether_addr mac; /* of the next hop */
	uint64_t count;            /* transactions; PS_LOAD_ENDLESS: until the time is over */
	uint32_t seconds, rate, conns;
	struct ps_txgen gen;
};

/* Why the lcore offered no more in a round. */
enum ps_load_limit {
	PS_LOAD_BY_RATE,   /* as asked for */
	PS_LOAD_BY_CREDIT, /* no connection may send: credit of the server, window, or none open */
	PS_LOAD_BY_PORT,   /* the port took no more */
	PS_LOAD_BY_SELF,   /* all that one round may: the lcore itself */
	PS_LOAD_LIMITS,
};

/* lcore: rw, control: ro */
struct ps_load_stats {
	uint64_t sent, acked, lost; /* transactions; acked and lost: not of UDP */
	uint64_t open, up, failed;  /* connections: ever made, now; ended before we did */
	uint64_t tx_packets, tx_bytes, rx_packets;
	uint64_t limit[PS_LOAD_LIMITS]; /* rounds */
};

struct ps_load_conn {
	struct ps_quic_conn_id id;
	bool alive, up;    /* begun; its handshake is done */
	uint64_t retry_ns; /* not opened again before */
};

struct ps_load {
	/* control, fixed while the lcore runs */
	struct ps_load_options o;
	struct ps_app app; /* configuration and port; no worker */
	uint8_t *bytes;    /* transactions, one behind the other */
	struct {
		uint32_t at, len;
	} * txn;
	uint32_t n_txns;
	struct ps_quic *quic; /* NULL: UDP */
	struct ps_tls *tls;
	void *mem;
	struct ps_load_conn *conn;
	uint32_t *of_slot; /* by the endpoint's slot: index in conn */
	struct ps_net_selectors *selectors;
	_Atomic bool finish; /* control: rw, lcore: ro; no more transactions */
	_Atomic bool stop;   /* likewise; the end */
	/* lcore: rw, control: ro */
	struct ps_load_stats stats;
	struct ps_histogram latency; /* ns from a transaction's start to its acknowledgement */
	_Atomic bool all_sent;       /* the wanted number, or finish was seen */
	/* lcore */
	struct ps_drops drops;
	uint64_t now_ns, start_ns, end_ns, beat_ns; /* start, end: of the transactions */
	uint32_t next_conn, n_alive;
	unsigned int n_spare;
	unsigned int n_ready;               /* the first ones of spare: to be given to the port */
	struct rte_mbuf *spare[PS_LOAD_TX]; /* frames to send from */
	struct ps_datagram tx[PS_LOAD_TX];  /* each open on the frame beside it */
	struct ps_net_rx rx;
};

/* 0 after everything that was to be sent was, or a signal came. */
int ps_load_run(struct ps_load *l, int eal_argc, char *const eal_argv[], struct ps_err *e);

/* -- txns.c -- */

/* Signs what is to be sent, or PS_LOAD_SIGNED of it, which are then sent again and again. */
int ps_load_sign(struct ps_load *l, struct ps_err *e);

/* -- lcore.c -- */

/* The entry for rte_eal_remote_launch(); arg is the load. */
int ps_load_main(void *arg);
/* For the endpoint. */
struct ps_quic_events ps_load_events(struct ps_load *l);

/* -- report.c -- */

void ps_load_progress(const struct ps_load *l, const struct ps_load_stats *before, double seconds);
void ps_load_summary(const struct ps_load *l, double seconds);

#endif
