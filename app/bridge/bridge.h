/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* penstock bridge: reads feeds as their consumer and delivers to a validator that knows nothing of
 * them, over TPU QUIC or plain UDP. A process of its own, without EAL and without root, and one
 * thread: feeds.c brings records into the queue (queue.h), bridge.c sends them over a way out
 * (quic_out.c, udp_out.c) and releases what is through, report.c tells, telemetry.c whoever asks.
 *
 * A record is sent at most once. It is done when its stream was acknowledged, or its datagram
 * handed to the kernel; or lost with its connection, or discarded: too old, too long, a duplicate,
 * or not wanted by the validator.
 */
#ifndef PS_BRIDGE_BRIDGE_H
#define PS_BRIDGE_BRIDGE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "../load/histogram.h"
#include "conf.h"
#include "penstock_feed.h"
#include "ps_datagram.h"
#include "queue.h"
#include "quic.h"
#include "seen.h"
#include "stakes.h"
#include "stats.h"
#include "tel_server.h"

#define PS_BRIDGE_KEYS      16
#define PS_BRIDGE_CONNS     16 /* per key */
#define PS_BRIDGE_UDP_BYTES 1232
#define PS_BRIDGE_BURST     64

struct ps_bridge_conn {
	struct ps_quic_conn_id id;
	bool alive, up;    /* begun; its handshake is done */
	uint64_t up_ns;    /* since when */
	uint64_t retry_ns; /* not opened again before */
	uint64_t wait_ns;  /* the next back-off */
	uint64_t heard_ns; /* last acknowledgement, or when the first stream left since */
	uint64_t kept_ns;  /* when the connection was last kept alive */
	uint32_t under_way;
};

/* The connections of one key, on a socket of their own. */
struct ps_bridge_link {
	struct ps_bridge *bridge;
	int fd;
	struct ps_flow4 flow;
	uint8_t key[32]; /* public */
	struct ps_quic *quic;
	struct ps_tls *tls;
	void *mem;
	struct ps_drops drops;
	struct ps_bridge_conn conn[PS_BRIDGE_CONNS];
	uint32_t of_slot[2 * PS_BRIDGE_CONNS]; /* by the endpoint's slot: index in conn */
	unsigned int n_ready;                  /* the first of tx, not taken by the kernel yet */
	struct ps_datagram tx[PS_BRIDGE_BURST];
	uint8_t (*tx_bytes)[PS_UDP_PAYLOAD_MAX];
};

struct ps_bridge_feed {
	struct penstock_feed *feed;
	char path[PATH_MAX];
};

struct ps_bridge {
	struct ps_conf conf;
	bool json;
	struct ps_flow4 to; /* destination only */
	struct ps_bridge_queue queue;
	struct ps_bridge_seen seen;
	struct ps_bridge_stakes stakes;
	struct ps_bridge_feed feed[PS_BRIDGE_FEEDS];
	unsigned int n_feeds, next_feed;
	uint64_t scan_ns; /* new feeds are looked for then */
	struct ps_bridge_link link[PS_BRIDGE_KEYS];
	unsigned int n_links, next_conn;
	unsigned int n_up;
	bool throttled; /* something waits and nothing can be sent */
	bool stopping;
	uint64_t max_age_ns;
	uint64_t now_ns, throttled_ns; /* throttled since */
	struct ps_bridge_stats stats, before;
	uint64_t report_ns, start_ns;
	struct ps_histogram latency; /* ns from the network card to delivery */
	struct ps_tel_server telemetry;
	char telemetry_dir[PATH_MAX]; /* made for it; "": none */
	uint64_t telemetry_ns;        /* it is looked at then */
};

/* The seeds of the keys of the configuration, or of one made now. */
int ps_bridge_keys(
	const struct ps_bridge *b, uint8_t seed[][32], unsigned int *n, struct ps_err *e);

/* Until SIGINT or SIGTERM. */
int ps_bridge_run(struct ps_bridge *b, struct ps_err *e);

/* How a record ended: counted, and ready to be released. */
void ps_bridge_delivered(struct ps_bridge *b, uint32_t item);
void ps_bridge_lost(struct ps_bridge *b, uint32_t item);
void ps_bridge_rejected(struct ps_bridge *b, uint32_t item);

/* -- feeds.c -- */

/* Attaches to what is there and is not attached yet. At the start a feed that cannot be had is an
 * error; later it is a warning. */
int ps_bridge_feeds_scan(struct ps_bridge *b, bool start, struct ps_err *e);
/* Fills the queue as long as there is room. Returns how many came, or an error. */
int ps_bridge_feeds_take(struct ps_bridge *b, struct ps_err *e);
void ps_bridge_feeds_release(struct ps_bridge *b);
void ps_bridge_feeds_close(struct ps_bridge *b);

/* -- quic_out.c, udp_out.c: ways out -- */

int ps_bridge_quic_open(struct ps_bridge *b, struct ps_err *e);
/* Datagrams in, timers, connections; true when something came. */
bool ps_bridge_quic_work(struct ps_bridge *b);
/* 0, -EAGAIN: none can be sent now, -EMSGSIZE: this one never. */
int ps_bridge_quic_send(struct ps_bridge *b, uint32_t item);
/* Datagrams out. */
void ps_bridge_quic_flush(struct ps_bridge *b);
void ps_bridge_quic_close(struct ps_bridge *b);

int ps_bridge_udp_open(struct ps_bridge *b, struct ps_err *e);
/* Sends some of what waits; returns how many. */
unsigned int ps_bridge_udp_send(struct ps_bridge *b);

/* A UDP socket that only knows the target. Sets flow. */
int ps_bridge_socket(const struct ps_bridge *b, struct ps_flow4 *flow, struct ps_err *e);
/* Its next record, after what is too old was discarded; PS_BRIDGE_NONE: none. */
uint32_t ps_bridge_next(struct ps_bridge *b);
void ps_bridge_too_long(struct ps_bridge *b, uint32_t item);

/* -- report.c -- */

void ps_bridge_report(struct ps_bridge *b);
/* Counters and gauges into an object. */
void ps_bridge_put_stats(const struct ps_bridge *b, struct ps_json *j);

/* -- telemetry.c -- */

/* Without a place for the socket that the configuration did not name the bridge goes on. */
int ps_bridge_telemetry_open(struct ps_bridge *b, struct ps_err *e);
/* Never waits; answers one request at most, when it is time to. */
void ps_bridge_telemetry_work(struct ps_bridge *b);
void ps_bridge_telemetry_close(struct ps_bridge *b);

#endif
