/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the in-memory benches stand on: a client that makes packets and a server that is measured,
 * in one thread and in virtual time. */
#ifndef PS_APP_BENCH_ENDS_H
#define PS_APP_BENCH_ENDS_H

#include "bench.h"
#include "ps_time.h"
#include "quic.h"
#include "tpu.h"

#define BURST         PS_QUIC_BURST
#define STEP_NS       (50 * PS_US_NS) /* virtual time between bursts: 1.28 million packets a second */
#define FLOOD_SOURCES 1024

struct penstock_feed;

struct packet {
	uint8_t bytes[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d;
};

struct bench {
	const struct ps_bench_options *o;
	struct ps_tls *server_tls, *client_tls;
	void *server_mem, *client_mem, *tpu_mem;
	struct ps_quic *server, *client;
	struct ps_drops server_drops, client_drops;
	struct ps_quic_conn_id *conn;
	struct packet burst[BURST];
	uint8_t txn[PS_BENCH_MAX_SIZE];
	uint64_t rng, now_ns;
	uint64_t sent, delivered, wrong, acked, connected;
	uint64_t step_ns;
	bool compare;
	/* flood */
	struct ps_tls *flood_tls;
	void *flood_mem;
	struct packet *flood; /* FLOOD_SOURCES Initials */
	unsigned int flood_next;
	/* feed */
	struct ps_feed feed;
	struct ps_tpu *tpu;
	struct penstock_feed *consumer;
	char path[64];
};

uint64_t bench_random(struct bench *b);
/* Sink that counts, and compares when b->compare. */
struct ps_sink bench_counting_sink(struct bench *b);
/* A feed in /dev/shm and reassembly into it. */
int bench_feed(struct bench *b, struct ps_sink *sink, struct ps_err *e);
int bench_server(struct bench *b, struct ps_sink sink, struct ps_err *e);
int bench_client(struct bench *b, struct ps_err *e);
/* Initials of FLOOD_SOURCES addresses that never go on. */
int bench_flood(struct bench *b, struct ps_err *e);
int bench_connect(struct bench *b, const volatile sig_atomic_t *stop, struct ps_err *e);
/* Fills b->burst with up to n packets of random connections; how many. */
unsigned int bench_make(struct bench *b, unsigned int n);
/* The first n packets of b->burst through the server: the measured part. Returns nanoseconds. */
uint64_t bench_serve(struct bench *b, unsigned int n);
/* Until everything sent is acknowledged; an error when something did not arrive as it was sent. */
int bench_settle(struct bench *b, struct ps_err *e);
void bench_free(struct bench *b);

#endif
