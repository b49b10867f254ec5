/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A QUIC version 1 endpoint for unidirectional streams (RFC 9000, 9001, 9002), sans-I/O.
 *
 * Datagrams and the time go in, datagrams and stream frames come out; nothing here opens a socket,
 * reads a clock or allocates. All memory is one block of ps_quic_footprint() bytes given at
 * creation, so that a flood meets a full pool and a counter. One endpoint belongs to one thread.
 *
 * The server role carries the load: it receives streams and hands their frames to a ps_sink
 * (lib/base/ps_sink.h). The client role opens connections and sends streams, for the load
 * generator, the tests and the bridge.
 *
 * A loop of the owner is: ps_quic_rx_burst() with what arrived, ps_quic_service() for timers and
 * finished TLS steps, ps_quic_tx_burst() until it gives less than it was offered room for. */
#ifndef PS_QUIC_QUIC_H
#define PS_QUIC_QUIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protect.h"
#include "ps_datagram.h"
#include "ps_drops.h"
#include "ps_sink.h"
#include "tls.h"

#define PS_QUIC_BURST 64 /* most datagrams in one rx call */

/* Sizes, fixed at creation. */
struct ps_quic_limits {
	uint32_t conns;        /* connections, half-open ones included; < 2^24 */
	uint32_t handshakes;   /* half-open at once */
	uint32_t streams;      /* receive streams with bytes missing, over all connections */
	uint32_t send_streams; /* client role: streams not yet acknowledged; 0 in a server */
	uint32_t sent_packets; /* frames in flight per connection, a power of two; 32 in a server */
	uint32_t key_cache;    /* expanded keys held, a power of two */
};

/* AUTO: on while many handshakes are half-open or begin per second. */
enum ps_retry { PS_RETRY_OFF, PS_RETRY_ALWAYS, PS_RETRY_AUTO };

/* How a connection ended; code is a transport error (wire.h) unless app is set. */
struct ps_quic_close {
	bool by_peer, app;
	uint64_t code, frame_type;
	char reason[64]; /* the peer's is cut and made printable */
};

/* Names a connection for as long as it lives; never reused for another one. */
struct ps_quic_conn_id {
	uint32_t slot, generation;
};

/* All optional; called from within rx_burst, service and tx_burst. They may call
 * ps_quic_send_stream() and ps_quic_close(). */
struct ps_quic_events {
	void *ctx;
	void (*connected)(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer);
	/* Every byte and the end of the stream are acknowledged (client role). */
	void (*stream_acked)(void *ctx, struct ps_quic_conn_id id, uint64_t user);
	/* A stream given to ps_quic_send_stream() that was not acknowledged before the end. */
	void (*stream_lost)(void *ctx, struct ps_quic_conn_id id, uint64_t user);
	void (*closed)(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why);
	/* A stream that the peer does not want (STOP_SENDING): stream_lost when this is NULL. */
	void (*stream_stopped)(void *ctx, struct ps_quic_conn_id id, uint64_t user);
};

/* Where datagrams go that belong to a connection of another worker, by an id that it made. dg is as
 * it came, and not kept. False: it could not be passed on. */
struct ps_quic_others {
	void *ctx;
	bool (*give)(void *ctx, uint8_t worker, const struct ps_datagram *dg);
};

struct ps_quic_config {
	bool server;
	uint8_t worker;            /* goes into our connection ids */
	enum ps_retry retry;       /* server */
	uint32_t handshakes_per_s; /* begun at most, 0: no limit; server */
	uint32_t source_per_min;   /* completed per source address at most, 0: no limit; server */
	uint32_t handshake_timeout_ms; /* half-open connections live this long at most */
	uint32_t idle_timeout_ms;      /* advertised */
	uint32_t stream_bytes;         /* most bytes of one stream: its window, never extended */
	uint32_t stream_window;        /* streams a peer may have open at once; <= 512 */
	uint32_t stream_deadline_ms;   /* from a stream's first byte to its last */
	uint32_t conn_bytes;           /* connection window, moved on as bytes arrive */
	uint16_t datagram_bytes;       /* largest we send, 1200..PS_UDP_PAYLOAD_MAX */
	struct ps_static_keys keys;
	struct ps_tls *tls; /* created by the caller, with the same role; not freed here. A client's
			     * runs inline: packets that wait for keys are not kept */
	struct ps_sink sink;
	struct ps_quic_events events;
	struct ps_quic_others others; /* optional */
	struct ps_drops *drops;
};

/* Reasonable values for a TPU server: the caller sets tls, sink, drops and keys. */
void ps_quic_defaults(struct ps_quic_limits *l, struct ps_quic_config *c);

/* clang-format off */
#define PS_QUIC_STATS(X) \
	X(datagrams_rx,         "datagrams given to the endpoint") \
	X(packets_rx,           "packets that verified") \
	X(datagrams_tx,         "datagrams sent") \
	X(conns_open,           "connections established now") \
	X(half_open,            "handshakes under way now") \
	X(handshakes_started,   "Initials that made a half-open connection") \
	X(handshakes_done,      "handshakes completed") \
	X(handshakes_failed,    "handshakes that ended in an alert or error") \
	X(handshakes_late,      "half-open connections that met their deadline") \
	X(retries_tx,           "Retry packets sent") \
	X(version_tx,           "Version Negotiation packets sent") \
	X(refused,              "connections refused, tables full") \
	X(closed_idle,          "connections that idled out") \
	X(closed_by_peer,       "connections closed by the peer") \
	X(closed_transport,     "connections closed by us with a transport error") \
	X(closed_app,           "connections closed by us with an application code") \
	X(streams_done,         "streams delivered or refused whole") \
	X(streams_open,         "receive streams with bytes missing now") \
	X(stream_credit,        "stream limit increases granted (streams)") \
	X(credit_refused,       "times no stream credit was given for want of room") \
	X(retry_on,             "1 while new clients have to prove their address") \
	X(rate_limited,         "Initials not taken for the handshakes begun per second") \
	X(source_limited,       "connections over the limit of their source address") \
	X(tokens_used,          "connections that came with a NEW_TOKEN of ours") \
	X(resets_tx,            "stateless resets sent") \
	X(paths_moved,          "connections whose peer proved a new address") \
	X(closed_no_progress,   "connections closed for packets that moved nothing") \
	X(ecn_ce,               "packets received with Congestion Experienced") \
	X(handed_over,          "datagrams passed to the worker of their connection") \
	X(acks_tx,              "packets sent with an acknowledgement") \
	X(packets_lost,         "packets of ours declared lost") \
	X(probes,               "probe timeouts") \
	X(key_updates,          "key updates that peers began")                               \
	X(keys_expanded,        "keys expanded because the cache did not hold them")
/* clang-format on */

/* Counters and gauges; written by the endpoint's thread, read by others without order. */
struct ps_quic_stats {
#define X(name, help) uint64_t name;
	PS_QUIC_STATS(X)
#undef X
};

struct ps_quic;

size_t ps_quic_footprint(const struct ps_quic_limits *l);
/* mem: ps_quic_footprint() bytes, 64-byte aligned, any content; the caller keeps and frees it after
 * ps_quic_stop(). NULL with *e set when limits or configuration make no sense. */
struct ps_quic *ps_quic_new(void *mem, const struct ps_quic_limits *l,
	const struct ps_quic_config *c, struct ps_err *e);
/* Wipes keys and waits for nothing: free the ps_tls first, it may hold a half-open object. */
void ps_quic_stop(struct ps_quic *q);

/* n <= PS_QUIC_BURST datagrams; payloads are changed in place and not kept. */
void ps_quic_rx_burst(
	struct ps_quic *q, struct ps_datagram *const dg[], unsigned int n, uint64_t now_ns);
/* Timers that are due and TLS steps that ended, a bounded number per call. Returns the time of the
 * next timer at the latest, or PS_NEVER. */
uint64_t ps_quic_service(struct ps_quic *q, uint64_t now_ns);
/* Fills up to n datagrams: data points to a buffer, len holds its size (>= datagram_bytes) and
 * becomes the length; flow and link are set. Returns how many were filled. */
unsigned int ps_quic_tx_burst(
	struct ps_quic *q, struct ps_datagram *const out[], unsigned int n, uint64_t now_ns);

const struct ps_quic_stats *ps_quic_stats(const struct ps_quic *q);

/* Closes with an application code (Agave's: 1 dropped, 2 disallowed, 4 too_many, 5 invalid_stream).
 * Unknown ids are ignored. */
void ps_quic_close(struct ps_quic *q, struct ps_quic_conn_id id, uint64_t code, const char *reason,
	uint64_t now_ns);
/* Every connection, as at shutdown; send what ps_quic_tx_burst() then gives. */
void ps_quic_close_all(struct ps_quic *q, uint64_t code, const char *reason, uint64_t now_ns);

/* -- client role -- */

/* flow: ours to the server's. -ENOBUFS when a pool is full. */
int ps_quic_connect(struct ps_quic *q, struct ps_flow4 flow, uint64_t link, uint64_t now_ns,
	struct ps_quic_conn_id *id);
/* Copies len bytes (1..4096) and sends them as one stream. -EAGAIN: no stream credit or buffer now;
 * -ENOTCONN: not connected (any more). */
int ps_quic_send_stream(
	struct ps_quic *q, struct ps_quic_conn_id id, const void *data, size_t len, uint64_t user);
/* Sends something that is acknowledged, so that neither side's idle timeout ends the connection
 * (RFC 9000 section 10.1.2). Unknown ids are ignored. */
void ps_quic_keep_alive(struct ps_quic *q, struct ps_quic_conn_id id);

#endif
