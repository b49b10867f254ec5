/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the endpoint keeps of a connection, inside lib/quic: packet-number spaces and packets in
 * flight, the half-open part, streams, ids and paths. All of it lies in the pools of engine.h,
 * belongs to the endpoint's thread and is named by slot. */
#ifndef PS_QUIC_CONN_H
#define PS_QUIC_CONN_H

#include <stddef.h>

#include "quic.h"
#include "ranges.h"

#define NONE            UINT32_MAX
#define CRYPTO_RX_BYTES 8192 /* handshake bytes taken per level; beyond: CRYPTO_BUFFER_EXCEEDED */
#define STOP_MAX        4    /* STOP_SENDING frames that wait; more are left out */
#define DONE_BITS       1024 /* streams tracked from the lowest unfinished one */
#define HS_SENT         16   /* frames in flight at the Initial and Handshake levels, each */

/* -- packets in flight, loss.c -- */

enum sent_kind {
	SENT_PING, /* also a probe without content */
	SENT_CRYPTO,
	SENT_STREAM,
	SENT_RESET,
	SENT_HANDSHAKE_DONE,
	SENT_MAX_STREAMS,
	SENT_MAX_DATA,
	SENT_NEW_ID,
	SENT_RETIRE,
	SENT_NEW_TOKEN,
	SENT_STOP,
	SENT_ACK, /* rides along; lets us forget ranges the peer has seen acknowledged */
};

/* One frame of one ack-eliciting packet. A packet's frames stand in sequence under the same pn. */
struct sent {
	uint64_t pn;
	uint64_t sent_ns;
	uint64_t value;  /* CRYPTO: offset; STREAM, RESET: id; ACK: largest; MAX_*: limit; ids:
			    sequence */
	uint32_t slot;   /* STREAM, RESET: its send slot */
	uint16_t offset; /* STREAM */
	uint16_t len;    /* CRYPTO, STREAM */
	uint16_t bytes;  /* of the packet, in its first frame; else 0 */
	uint8_t kind;
	bool fin : 1;
	bool first : 1; /* of its packet */
	bool ect : 1;   /* the packet left marked ECT(0) */
	bool gone : 1;  /* acknowledged or lost: waits for the ring's tail to pass */
};

/* Ring in packet-number order. */
struct sent_log {
	struct sent *ring;
	uint32_t mask;
	uint32_t head, tail; /* free running; tail is the oldest */
};

/* A packet-number space, RFC 9000 section 12.3. */
struct space {
	uint64_t rx_next;           /* largest received + 1 */
	uint64_t rx_largest_ns;     /* when it came */
	uint64_t ack_due_ns;        /* an acknowledgement must leave by then; PS_NEVER: none owed */
	uint32_t unacked_eliciting; /* ack-eliciting packets received since our last ACK */
	uint32_t rx_ecn[3];         /* packets received with ECT(0), ECT(1), CE */

	uint64_t tx_next;
	uint64_t tx_acked;  /* largest acknowledged + 1; 0: none */
	uint32_t in_flight; /* ack-eliciting packets neither acknowledged nor lost */
	bool probe;         /* send something ack-eliciting even if nothing else is due */
	struct ps_ranges rx;
	uint32_t acked_ecn[3];      /* the peer's counts of ours, as last believed */
	uint64_t last_eliciting_ns; /* when the last ack-eliciting packet left */
	uint64_t loss_due_ns;       /* time threshold of the oldest packet that may be lost */
	struct sent_log sent;
};

struct rtt {
	uint64_t latest_ns, smoothed_ns, variation_ns, min_ns;
	bool sampled;
};

/* -- half-open state, handshake.c -- */

struct crypto_rx {
	uint16_t given; /* bytes from the start that TLS has taken */
	uint16_t ready; /* contiguous bytes from the start */
	uint64_t have[CRYPTO_RX_BYTES / 64];
	uint8_t buf[CRYPTO_RX_BYTES];
};

struct handshake {
	struct ps_tls_io io; /* owned by the TLS backend while busy */
	bool busy;           /* with the TLS backend */
	bool tls;            /* a TLS session is claimed */
	bool started;        /* the first TLS step was made */
	bool filed;          /* in the half-open table */
	bool peer_tp_read;
	bool heard;          /* client role: the server answered, its id is known */
	bool initial_gone;   /* keys of the Initial level discarded, RFC 9001 section 4.9.1 */
	bool handshake_keys; /* Handshake keys installed */
	bool retried;        /* the client came back with our token / we followed a Retry */
	bool validated;      /* the peer's address, RFC 9000 section 8.1 */
	uint32_t conn;       /* slot, NONE when the connection ended first */
	uint32_t hash_next;  /* half-open table chain, or free list */
	uint64_t hash;
	uint64_t rx_bytes, tx_bytes; /* for the amplification limit */
	struct ps_cid odcid;         /* the client's first destination id */
	struct ps_cid
		initial_dcid; /* the id that Initial keys come from: odcid, or after Retry ours */
	uint16_t crypto_next[PS_LEVELS - 1]; /* next offset to send from io.out */
	uint16_t crypto_end[PS_LEVELS - 1];  /* bytes of io.out that are ours to send */
	uint16_t token_len;                  /* client role */
	uint8_t token[512];
	struct space space[PS_LEVELS - 1];
	struct ps_pkt_key rx[PS_LEVELS - 1], tx[PS_LEVELS - 1];
	struct sent sent_ring[PS_LEVELS - 1][HS_SENT];
	struct crypto_rx crypto[PS_LEVELS - 1];
};

/* -- streams -- */

struct rx_stream {
	uint64_t id;
	uint64_t due_ns;     /* deadline */
	uint32_t highest;    /* bytes: largest offset seen, which flow control counts */
	uint32_t final_size; /* NONE until known */
	uint32_t sink_slot;
	uint32_t conn;                 /* slot */
	uint32_t hash_next;            /* chain, or free list */
	uint32_t conn_next, conn_prev; /* the connection's open streams, oldest first */
};

#define SEND_BYTES             4096
#define INITIAL_WINDOW_PACKETS 10 /* RFC 9002 section 7.2 */

struct tx_stream {
	uint64_t id, user;
	uint64_t error; /* of its RESET_STREAM */
	uint32_t conn;  /* slot */
	uint32_t next;  /* list: free, or the connection's streams in flight */
	uint32_t prev;
	uint32_t ready_next;  /* list: the connection's streams with bytes to send */
	uint16_t len, offset; /* next byte to send */
	uint16_t sent;        /* bytes from the start that left at least once */
	uint16_t acked;       /* bytes */
	bool ready, fin_acked;
	bool reset; /* nothing is sent any more but RESET_STREAM, until that is acknowledged */
	uint64_t have[SEND_BYTES / 64]; /* acknowledged bytes */
	uint8_t data[SEND_BYTES];
};

/* Client role only, send.c and loss.c. */
struct sender {
	uint64_t next_stream;                    /* index */
	uint64_t max_streams;                    /* the peer's limit, count */
	uint64_t max_data, data_sent;            /* connection flow control */
	uint64_t stream_bytes;                   /* the peer's window of one stream */
	uint64_t window, threshold, recovery_pn; /* NewReno, RFC 9002 section 7, bytes */
	uint64_t bytes_in_flight;
	uint64_t pace_ns;                /* no new stream bytes before, RFC 9002 section 7.7 */
	uint32_t streams;                /* list head: unacknowledged */
	uint32_t ready_head, ready_tail; /* list: with bytes to send */
};

/* -- connection ids, ids.c -- */

#define OUR_IDS    4 /* valid at once, the handshake's included */
#define PEER_IDS   2 /* our active_connection_id_limit: the default */
#define RETIRE_MAX 4 /* retirements waiting to be sent */

struct peer_id {
	uint64_t seq;
	struct ps_cid cid;
	bool has_token;
	uint8_t reset_token[16];
};

struct ids {
	uint32_t our_next;
	uint8_t peer_limit; /* ids of ours that the peer keeps */
	uint8_t announce;   /* bit per place in our_ids: NEW_CONNECTION_ID is due */
	uint8_t n_peer, n_retire;
	struct peer_id peer[PEER_IDS];
	uint64_t retired_below;
	uint64_t retire[RETIRE_MAX];
};

/* -- paths, path.c -- */

#define PATH_ANSWERS 4 /* PATH_RESPONSE frames that wait; a peer may ask again */

struct path_answer {
	struct ps_flow4 flow;
	uint64_t link;
	uint8_t data[8];
};

struct path {
	bool probing; /* a new address is to prove itself */
	uint8_t left; /* challenges that may still be sent */
	uint8_t n_answers;
	uint8_t challenge[8];
	struct path_answer answer[PATH_ANSWERS];
	struct ps_flow4 flow;
	uint64_t link;
	uint64_t due_ns;             /* of the next challenge */
	uint64_t rx_bytes, tx_bytes; /* at the new address, for the amplification limit */
};

struct path_out {
	struct ps_flow4 flow;
	uint64_t link;
	size_t limit; /* bytes to fill the datagram to */
};

/* -- connections -- */

enum conn_state { CONN_FREE, CONN_HANDSHAKE, CONN_ESTABLISHED, CONN_CLOSING, CONN_DRAINING };

struct conn {
	/* Read for every packet that carries whole streams: CONN_HOT_BYTES, in the order of use. */
	enum conn_state state;
	uint32_t slot, generation;
	uint32_t handshake;        /* index, NONE when over */
	struct ps_flow4 flow;      /* ours to the peer's */
	uint32_t our_ids[OUR_IDS]; /* sequence numbers, which are the ids' nonces; NONE: none */
	bool phase;                /* key phase bit */
	bool keys;                 /* 1-RTT keys installed */
	bool confirmed;
	bool queued;       /* on the ready list, and */
	bool ack_only;     /* there for nothing but an acknowledgement */
	bool touched;      /* in this burst, rx.c */
	uint8_t ack_filed; /* bit per queue of ack.c that holds it */
	uint64_t link;
	uint64_t phase_pn;         /* lowest packet number received in this phase; PS_NEVER: none */
	struct ps_pkt_key rx;      /* 1-RTT, of the current key phase */
	uint64_t idle_from_ns;     /* last packet received, or first ack-eliciting one sent since */
	uint64_t done_base;        /* index: every stream below is finished */
	uint64_t streams_granted;  /* MAX_STREAMS the peer may know, count */
	uint64_t streams_finished; /* count */
	uint64_t data_received, data_granted; /* connection flow control, bytes */
	uint64_t credit_due_ns;               /* credit was refused: try again then */
	uint64_t done_base_ns;                /* when done_base last moved */
	uint32_t streams_open;
	bool send_max_streams, send_max_data;
	struct space app;

	uint64_t idle_ns; /* effective timeout, 0: none */
	uint64_t forged;  /* packets that did not verify */
	struct ps_cid our_cid;

	/* What an acknowledgement needs besides: CONN_ACK_BYTES from tx on. */
	struct ps_pkt_key tx __attribute__((aligned(64)));
	struct ps_cid peer_cid;
	bool ecn_off; /* our marks do not come through, RFC 9000 section 13.4.2 */
	uint32_t ready_next;
	uint64_t phase_tx_pn; /* first packet number sent in this phase */

	/* key updates, RFC 9001 section 6 */
	struct ps_pkt_key rx_next; /* derived ahead, so that an update takes no longer to try */
	struct ps_pkt_key rx_old;  /* for packets that were under way at the last update */
	uint64_t old_until_ns;     /* when rx_old goes */
	uint8_t rx_secret[PS_HASH_MAX], tx_secret[PS_HASH_MAX]; /* of rx_next and tx */

	/* receive streams */
	uint64_t done[DONE_BITS / 64];       /* ring of bits from done_base on */
	uint32_t streams_head, streams_tail; /* open ones, oldest first */
	bool send_handshake_done;
	uint8_t n_stop;
	uint64_t stop[STOP_MAX]; /* streams given up: STOP_SENDING is due */

	/* loss recovery */
	struct rtt rtt;
	uint32_t pto_count;
	uint64_t peer_ack_delay_ns;
	uint8_t peer_ack_shift;
	uint16_t datagram_bytes; /* largest we send to this peer */

	/* timer wheel */
	uint64_t deadline_ns;
	uint64_t timer_tick; /* filed under; PS_NEVER: not on the wheel */
	uint32_t timer_next, timer_prev;

	/* end */
	struct ps_quic_close close;
	uint64_t close_due_ns; /* closing or draining ends */
	uint32_t close_rx;     /* packets since; answered at 1, 2, 4, 8, .. */
	bool send_close;

	uint64_t handshake_due_ns;
	struct ids ids;
	struct path path;
	bool send_new_token;
	bool done_acked;    /* server role: HANDSHAKE_DONE was acknowledged */
	uint32_t budget;    /* frames without progress that are still forgiven */
	uint64_t budget_ns; /* when it was last filled */
	struct ps_peer peer;
	struct sender send;
} __attribute__((aligned(64)));

/* From the start to the newest range of packets received. */
#define CONN_HOT_BYTES (offsetof(struct conn, app.rx.r[1]))
_Static_assert(CONN_HOT_BYTES <= 384, "what every packet reads fits six cache lines");
#define CONN_ACK_BYTES (offsetof(struct conn, rx_next) - offsetof(struct conn, tx))
_Static_assert(CONN_ACK_BYTES <= 128, "what an acknowledgement adds fits two");

#endif
