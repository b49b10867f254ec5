/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The world of fuzz_actor.c: one server, one client endpoint with several connections, and the
 * datagrams between them. Packet protection is real, TLS is that of actor_tls.h, random bytes come
 * from a counter, so that an input always does the same. actor.c keeps what must hold at all times
 * and aborts when it does not. */
#ifndef PS_FUZZ_ACTOR_H
#define PS_FUZZ_ACTOR_H

#include "actor_tls.h"
#include "engine.h"
#include "fuzz.h"

#define ACTOR_CONNS      5    /* of the server; 3 half-open */
#define ACTOR_CLIENTS    8    /* connections in the life of a world */
#define ACTOR_STREAMS    64   /* of one of them */
#define ACTOR_STREAM_MAX 3000 /* bytes */
#define ACTOR_PACKETS    96   /* on the way */
#define ACTOR_SLOTS      12
#define ACTOR_EPOCHS     8 /* addresses of a client */
#define ACTOR_RELAYS     4 /* addresses of others that send what a client has sent */
#define ACTOR_ADDRESSES  (ACTOR_CLIENTS * ACTOR_EPOCHS + ACTOR_RELAYS)

struct actor_options {
	enum ps_retry retry;
	enum ps_suite suite;
	bool slow_tls, long_hello, limit_sources, small_window;
};

struct actor_packet {
	bool to_server, foreign; /* all of it made by somebody else than a client */
	uint8_t ecn;
	uint16_t len;
	unsigned int address; /* the client's, or who claims to be it */
	unsigned int client;
	uint8_t bytes[PS_UDP_PAYLOAD_MAX];
};

struct actor_stream {
	uint16_t len;
	bool acked, lost, stopped;
	unsigned int delivered;
};

struct actor_client {
	struct ps_quic_conn_id id;
	bool connected, closed;
	uint64_t live_from; /* the end has come, and its server is there: packet numbers received
			     * until then; PS_NEVER otherwise */
	unsigned int epoch, n_streams;
	struct actor_stream stream[ACTOR_STREAMS];
};

struct actor_end {
	struct ps_quic *q;
	const struct ps_quic_stats *stats;
	struct actor_tls tls;
	struct ps_drops drops;
	void *mem, *fresh; /* the endpoint, and how it looks when it is new */
};

/* A stream of the sink with bytes missing. */
struct actor_slot {
	bool used;
	uint32_t final; /* 0: not known */
	uint8_t have[ACTOR_STREAM_MAX], data[ACTOR_STREAM_MAX];
};

struct actor_world {
	struct actor_options o;
	uint64_t now_ns, random;
	struct actor_end server, client;
	bool no_room, no_credit;
	unsigned int promised;    /* frames the last reserve said yes to */
	unsigned int undelivered; /* streams acknowledged all the same */
	unsigned int n_clients, n_packets;
	struct actor_client conn[ACTOR_CLIENTS];
	struct actor_packet *packet[ACTOR_PACKETS]; /* the first n_packets, oldest first */
	struct {
		bool proven;
		uint64_t rx, tx; /* of the server, bytes */
	} address[ACTOR_ADDRESSES];
	unsigned int relayed[ACTOR_RELAYS];  /* the client whose datagrams it sent last */
	struct actor_slot slot[ACTOR_SLOTS]; /* last: all before is zero in a new world */
};

extern struct actor_world actor;

void actor_start(const struct actor_options *o);
/* A server that lost everything but its keys. */
void actor_restart_server(void);
void actor_connect(void);
/* len: at least 8. Nothing happens without credit. */
void actor_send(unsigned int client, unsigned int len);
/* Hands over packets [at, at + n) of one direction in bursts; keep: they stay on the way, too. */
void actor_deliver(unsigned int at, unsigned int n, bool keep);
void actor_drop(unsigned int at, unsigned int n);
/* Puts a datagram on the way. */
void actor_put(
	bool to_server, unsigned int address, unsigned int client, const uint8_t *p, size_t len);
unsigned int actor_address(unsigned int client);
/* Timers and everything there is to send; then no timer may have been left behind. Returns the next
 * one. */
uint64_t actor_turn(void);
/* Time passes from timer to timer. */
void actor_pass(uint64_t ns);
/* The network becomes good: every stream ends. Then all is closed, and nothing may be left. */
void actor_finish(void);

#endif
