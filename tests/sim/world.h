/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A server and a client endpoint joined by a link that loses, repeats, reorders and corrupts, in
 * virtual time, all from one seed. Used by the simulator and by tests of the whole endpoint. */
#ifndef PS_TESTS_SIM_WORLD_H
#define PS_TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "quic.h"

#define WORLD_CONNS   4
#define WORLD_STREAMS 200  /* per connection */
#define WORLD_PACKETS 4096 /* in flight on the link, both ways */

struct world_link {
	double loss, duplicate, corrupt; /* probabilities per datagram */
	uint64_t delay_ns, jitter_ns;    /* jitter reorders */
	uint64_t rebind_ns; /* their NAT gives clients another port so often; 0: never */
};

struct world_options {
	uint64_t seed;
	struct world_link link;
	enum ps_retry retry;
	unsigned int conns, streams;   /* streams per connection */
	uint32_t min_bytes, max_bytes; /* of a stream; at least 8 */
	double refuse;                 /* probability that the sink finds no room for a packet */
	uint32_t stream_window;
	const char *priority; /* the client's, as in struct ps_tls_config */
};

struct world_stream {
	bool acked, lost;
	unsigned int delivered; /* times, whole and byte-identical */
};

struct world_packet {
	uint64_t due_ns;
	bool to_server;
	uint16_t len;
	struct ps_flow4 flow;
	uint8_t bytes[PS_UDP_PAYLOAD_MAX];
};

struct world_slot {
	bool used;
	uint32_t len, final;
	bool have[4096];
	uint8_t data[4096];
};

struct world_conn {
	struct ps_quic_conn_id id;
	bool connected, closed;
	struct ps_quic_close why;
	unsigned int sent;
	struct world_stream stream[WORLD_STREAMS];
};

struct world_end {
	struct ps_quic *q;
	struct ps_tls *tls;
	void *mem;
	struct ps_drops drops;
	uint64_t next_ns;
};

struct world {
	struct world_options o;
	uint64_t rng, now_ns, rebind_from_ns;
	struct world_end server, client;
	struct world_conn conn[WORLD_CONNS];
	struct world_slot slot[WORLD_CONNS * WORLD_STREAMS];
	unsigned int n_packets;
	struct world_packet packet[WORLD_PACKETS];
	unsigned int bad_bytes; /* streams that arrived with other bytes than were sent */
	unsigned int unknown;   /* streams that nobody sent */
	uint64_t to_server_bytes, to_client_bytes;
	/* large 1-RTT datagrams of clients that left at one time, and most of them ever */
	uint64_t burst_ns;
	unsigned int burst, burst_max;
};

struct world *world_new(const struct world_options *o);
void world_free(struct world *w);
/* Runs until every stream of every connection is acknowledged or lost, or until_ns. True when all
 * were acknowledged. */
bool world_run(struct world *w, uint64_t until_ns);
uint64_t world_random(struct world *w);

#endif
