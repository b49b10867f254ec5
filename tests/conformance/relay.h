/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The two bad links of the relay, one per direction, and its capture file. Only relay.c calls this;
 * single-threaded. Times in ns of CLOCK_MONOTONIC, sizes in bytes, probabilities 0 to 1.
 *
 * What happens to a datagram depends only on the seed, the direction and how many came before it in
 * that direction, so a run can be repeated as far as the endpoints send the same. */
#ifndef PS_RELAY_H
#define PS_RELAY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RELAY_DATAGRAM_BYTES 2048
#define RELAY_QUEUE_MAX      1024
#define RELAY_MS             1000000ull

enum relay_dir { RELAY_TO_SERVER, RELAY_TO_CLIENT, RELAY_DIRS };

/* One client, and the socket that stands for it towards the server. */
struct relay_flow {
	struct sockaddr_in client, local;
	int fd;
	unsigned spoiled_in_row[RELAY_DIRS];
};

struct relay_datagram {
	uint64_t arrive, seq;
	struct relay_flow *flow;
	enum relay_dir dir;
	uint8_t ecn;
	uint16_t len;
	uint8_t data[RELAY_DATAGRAM_BYTES];
};

/* What the command line asks of both directions. */
struct relay_link {
	uint64_t delay_ns, rate_bps; /* rate 0: no limit */
	unsigned queue;              /* datagrams that wait for the link; 0: no limit */
	double loss, corrupt, reorder, dup;
	unsigned loss_run;  /* datagrams that one loss takes */
	unsigned spoil_max; /* a flow has no more lost or damaged in a row; 0: no limit */
	unsigned drop_first, drop_last;             /* to the server, counted from 1 */
	uint64_t blackhole_on_ns, blackhole_off_ns; /* passes, swallows, in turn; 0: never */
	uint64_t start;
};

struct relay_dir_state {
	uint64_t random, free_at, n;
	unsigned run_left;
	uint64_t departure[RELAY_QUEUE_MAX]; /* of the datagrams that wait, a ring */
	unsigned first, waiting;
	uint64_t passed, lost, overflow, corrupted, reordered, duplicated, swallowed;
};

uint64_t relay_random(uint64_t *state);

/* Takes a datagram at time now: damages it, gives it an arrival time and returns true, or returns
 * false when it is lost. *again is set when a copy should be sent too. */
bool relay_link_take(const struct relay_link *link, struct relay_dir_state *d,
	struct relay_datagram *g, uint64_t now, bool *again);

/* A pcap file of raw IPv4 packets. */
FILE *relay_pcap_open(const char *path);
void relay_pcap_write(FILE *f, const struct relay_datagram *g, const struct sockaddr_in *from,
	const struct sockaddr_in *to);

#endif
