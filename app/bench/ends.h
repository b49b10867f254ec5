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
#define BURSTS        256             /* per repetition */
#define STEP_NS       (50 * PS_US_NS) /* virtual time between bursts: 1.28 million packets a second */
#define GROUP         4 /* bursts that are made before they are served, so that caches are the server's */
#define FLOOD_SOURCES 1024

struct penstock_feed;

/* One call of a bench: its arguments and where its figures go. */
struct bench_run {
	const struct ps_bench_options *o;
	struct ps_bench_result *r;
	const volatile sig_atomic_t *stop;
	struct ps_err *e;
};

/* Adds the value of this repetition to the row of that name, which the first one makes. */
void bench_add(struct ps_bench_result *r, const char *unit, double value, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* 0, or -EINTR with *e set. */
int bench_go_on(const struct bench_run *run);

struct packet {
	uint8_t bytes[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d;
};

struct bench_end {
	struct ps_tls *tls;
	void *mem;
	struct ps_quic *quic;
	struct ps_drops drops;
};

/* What benches change of the server; all zero: for established connections without timers. */
struct bench_server_conf {
	uint32_t idle_timeout_ms;
	enum ps_retry retry; /* off, as it is 0 */
	enum ps_tls_kind backend;
	uint32_t tls_budget; /* as in tls.h; not 0: key shares are made ahead when idle */
	struct ps_static_keys keys;
};

struct bench {
	unsigned int size, conns;
	unsigned int per_packet; /* transactions that go together, on one connection */
	unsigned int group;      /* bursts made at once, at most GROUP */
	struct bench_end server, client, flooder;
	struct ps_quic_conn_id *conn;
	struct packet burst[GROUP * BURST], reply[GROUP * BURST];
	struct ps_datagram *in[BURST], *out[BURST];
	uint8_t txn[PS_BENCH_MAX_SIZE];
	uint64_t rng, now_ns;
	uint64_t sent, delivered, wrong, acked, connected, keyed;
	uint64_t step_ns;
	bool compare;
	int counter_fd; /* counts instructions of the measured part; -1: none */
	/* flood */
	struct packet *flood; /* FLOOD_SOURCES Initials */
	unsigned int flood_next;
	/* feed */
	void *tpu_mem;
	struct ps_feed feed;
	struct ps_tpu *tpu;
	struct penstock_feed *consumer;
	char path[64];
};

/* In huge pages where the kernel has some, as the program has its memory; free() it. */
void *bench_alloc(size_t bytes);
/* Nothing in it yet but settings; NULL with *e set when out of memory. */
struct bench *bench_new(unsigned int size, unsigned int conns, struct ps_err *e);
void bench_free(struct bench *b); /* NULL is ignored */
uint64_t bench_random(struct bench *b);

/* A server with a sink that counts, and compares when b->compare. */
int bench_server(struct bench *b, const struct bench_server_conf *conf, struct ps_err *e);
/* A feed in /dev/shm, and a server with reassembly into it. */
int bench_feed_server(struct bench *b, const struct bench_server_conf *conf, struct ps_err *e);
int bench_feed(struct bench *b, struct ps_err *e);
int bench_client(struct bench *b, struct ps_err *e);
/* Initials of FLOOD_SOURCES addresses that never go on. */
int bench_flood(struct bench *b, struct ps_err *e);
/* Server, client and all connections between them, and a first pass in which every byte that
 * arrives is compared. */
int bench_pair(struct bench *b, bool feed, const struct bench_server_conf *conf,
	const struct bench_run *run);

/* Fills b->burst with up to n packets of random connections; how many. */
unsigned int bench_make(struct bench *b, unsigned int n);
/* The first n packets of b->burst through the server: the measured part. Returns nanoseconds. */
uint64_t bench_serve(struct bench *b, unsigned int n);
/* Room for BURST answers in b->reply and b->out, and as many as the server has. */
unsigned int bench_server_tx(struct bench *b);

struct bench_spent {
	uint64_t receive_ns, answer_ns; /* into sink or feed; timers and acknowledgements */
	uint64_t packets;
};

static inline double
bench_ns(struct bench_spent s)
{
	return (double)(s.receive_ns + s.answer_ns) / (double)s.packets;
}

/* BURSTS bursts. */
struct bench_spent bench_repetition(struct bench *b);
/* One handshake from its Initial to the end of the connection; the server's nanoseconds are added
 * to *ns. */
int bench_handshake(struct bench *b, unsigned int serial, uint64_t *ns, struct ps_err *e);
/* Until everything sent is acknowledged; an error when something did not arrive as it was sent. */
int bench_settle(struct bench *b, struct ps_err *e);

#endif
