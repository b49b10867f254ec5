/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Inside the endpoint: what its files share. Cut by event:
 *
 *   quic.c       creation, tables, service of timers and TLS, the list of connections to send for
 *   rx.c         a burst in: look up, unprotect, open, hand to frames.c
 *   keys.c       1-RTT keys and their updates
 *   frames.c     one packet's frames: parse all, reserve, apply
 *   stream.c     receive streams: limits, reservation, delivery, credit
 *   whole.c      the common packet: nothing but whole streams
 *   ack.c        acknowledgements owed for 1-RTT packets
 *   admit.c      Initials of no connection: Retry, tokens, refusal, a new half-open connection
 *   handshake.c  half-open connections: CRYPTO, TLS steps, keys, completion
 *   ids.c        connection ids issued and retired, stateless reset
 *   path.c       address changes: challenge and response
 *   tx.c         datagrams out
 *   loss.c       what was sent: acknowledgements, loss, RTT, probes, congestion window
 *   close.c      closing, draining, end of a connection
 *   timer.c      one deadline per connection, on a wheel
 *   send.c       client role: connect, streams out
 *
 * Everything belongs to the endpoint's thread. */
#ifndef PS_QUIC_ENGINE_H
#define PS_QUIC_ENGINE_H

#include <string.h>

#include "ps_time.h"
#include "quic.h"
#include "ranges.h"

#define NONE UINT32_MAX

#define CRYPTO_RX_BYTES   8192 /* handshake bytes taken per level; beyond: CRYPTO_BUFFER_EXCEEDED */
#define STREAM_WINDOW_MAX 512
#define STOP_MAX          4    /* STOP_SENDING frames that wait; more are left out */
#define DONE_BITS         1024 /* streams tracked from the lowest unfinished one */
#define REPLIES           64   /* stateless answers waiting to be sent */
#define REPLY_BYTES       600  /* fits a Version Negotiation of two 255-byte ids */
#define HS_SENT           16   /* frames in flight at the Initial and Handshake levels, each */
#define FRAMES_MAX                                                                                 \
	(PS_UDP_PAYLOAD_MAX / 2 + 1)    /* no frame that is kept apart is shorter than 2           \
					 */
#define ACK_DELAY_NS    (25 * PS_MS_NS) /* the default max_ack_delay, which we keep */
#define ACK_DELAY_SHIFT 3               /* the default ack_delay_exponent, likewise */
/* Frames that move nothing: forgiven at once, and per second. A packet costs at least one. */
#define BUDGET_FULL    10000
#define BUDGET_PER_S   330
#define GRANULARITY_NS PS_MS_NS /* RFC 9002 section 6.1.2 */

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
	bool queued;       /* on the ready list */
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
	struct space app;

	uint64_t idle_ns;     /* effective timeout, 0: none */
	uint64_t phase_tx_pn; /* first packet number sent in this phase */
	uint64_t forged;      /* packets that did not verify */
	uint32_t ready_next;
	struct ps_pkt_key tx;
	struct ps_cid peer_cid, our_cid;

	/* key updates, RFC 9001 section 6 */
	struct ps_pkt_key rx_next; /* derived ahead, so that an update takes no longer to try */
	struct ps_pkt_key rx_old;  /* for packets that were under way at the last update */
	uint64_t old_until_ns;     /* when rx_old goes */
	uint8_t rx_secret[PS_HASH_MAX], tx_secret[PS_HASH_MAX]; /* of rx_next and tx */

	/* receive streams */
	uint64_t done_base_ns;               /* when done_base last moved */
	uint64_t done[DONE_BITS / 64];       /* ring of bits from done_base on */
	uint32_t streams_head, streams_tail; /* open ones, oldest first */
	uint32_t streams_open;
	bool send_max_streams, send_max_data, send_handshake_done;
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
	bool ecn_off; /* our marks do not come through, RFC 9000 section 13.4.2 */
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

/* -- timer wheel: later deadlines wait in the last bucket and are filed again -- */

#define TICK_NS       PS_MS_NS
#define WHEEL_BUCKETS 4096

struct wheel {
	uint64_t now_tick;
	uint32_t filed;               /* connections on the wheel */
	uint32_t head[WHEEL_BUCKETS]; /* connection slots */
	uint64_t occupied[WHEEL_BUCKETS / 64];
};

/* -- acknowledgements owed, ack.c -- */

enum ack_class { ACK_LATE, ACK_SOON, ACK_CLASSES };

/* Connections in the order in which their acknowledgements fall due, each at most once. */
struct ack_queue {
	struct {
		uint64_t due_ns;
		uint32_t conn; /* slot */
	} * ring;
	uint32_t mask;
	uint32_t head, tail; /* free running; tail is the oldest */
};

struct reply {
	struct ps_flow4 flow;
	uint64_t link;
	uint16_t len;
	uint8_t bytes[REPLY_BYTES];
};

/* -- admission, admit.c -- */

#define SOURCES         4096 /* addresses remembered; a colliding one takes the place */
#define DONE_HANDSHAKES 1024 /* likewise, of handshakes that are complete */

struct admission {
	uint64_t second_ns; /* start of the second that is counted */
	uint32_t begun;     /* handshakes begun in it */
	uint64_t calm_ns;   /* Retry goes off when it has been calm since then for a while */
	struct {
		uint32_t addr_be;
		uint32_t tokens; /* connections it may have now */
		uint64_t at_ns;
	} source[SOURCES];
	/* whose Initials that come late belong to no new connection */
	struct {
		uint64_t hash, until_ns;
	} done[DONE_HANDSHAKES];
};

struct ps_quic {
	struct ps_quic_limits limits;
	struct ps_quic_config cfg;
	struct ps_drops *drops;
	struct ps_quic_stats stats;
	uint64_t datagrams_seen;         /* at the last service call: more mean work */
	struct ps_protect *protect;      /* 1-RTT keys */
	struct ps_protect *protect_long; /* Initial and Handshake keys: a flood evicts only these */

	struct conn *conns;
	uint32_t conn_spare_head; /* list through timer_next */
	struct handshake *handshakes;
	uint32_t handshake_spare; /* list through hash_next */
	uint32_t *half_open;      /* buckets: 4-tuple and client-chosen id -> handshake */
	uint32_t half_open_mask;
	uint64_t hash_key[2];
	struct rx_stream *streams;
	uint32_t stream_spare;
	uint32_t *stream_bucket;
	uint32_t stream_mask;
	struct tx_stream *tx_streams;
	uint32_t tx_stream_spare;

	uint32_t ready_head, ready_tail; /* connections with something to send */
	uint32_t reply_head, reply_tail;
	uint64_t reset_due_ns;   /* no stateless reset before */
	uint64_t version_due_ns; /* no Version Negotiation before */
	struct admission admission;
	/* the packet being handled, for frames that ask where it came from */
	struct {
		const struct ps_datagram *dg;
		uint32_t id;       /* sequence number of our id that it used */
		uint32_t progress; /* frames of it that moved something */
	} packet;
	struct reply replies[REPLIES];
	struct wheel wheel;
	struct ack_queue acks[ACK_CLASSES];
	struct ps_frame frames[FRAMES_MAX];
	struct ps_stream_frame stream_frames[FRAMES_MAX];
};

static inline struct handshake *
conn_handshake(struct ps_quic *q, const struct conn *c)
{
	return c->handshake == NONE ? NULL : &q->handshakes[c->handshake];
}

static inline struct space *
conn_space(struct ps_quic *q, struct conn *c, enum ps_level level)
{
	return level == PS_LEVEL_APP ? &c->app : &q->handshakes[c->handshake].space[level];
}

static inline struct ps_quic_conn_id
conn_name(const struct conn *c)
{
	return (struct ps_quic_conn_id){c->slot, c->generation};
}

static inline uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* quic.c */
struct conn *conn_alloc(struct ps_quic *q);
struct conn *conn_find(struct ps_quic *q, struct ps_quic_conn_id id);
/* Puts a connection on the list that tx_burst serves, once. */
void conn_ready(struct ps_quic *q, struct conn *c);
struct conn *conn_ready_pop(struct ps_quic *q);
void conn_spare(struct ps_quic *q, struct conn *c);
struct reply *reply_alloc(struct ps_quic *q, const struct ps_datagram *to);

/* keys.c */
void keys_install(struct conn *c, const struct ps_tls_secret *s);
/* Opens a short-header packet whose header protection is off, following the peer's key update. */
bool keys_open(struct ps_quic *q, struct conn *c, uint64_t pn, uint8_t *pkt, size_t aad_len,
	size_t text_len, uint64_t now_ns);
/* Begins a key update of our own when the AEAD's limit comes near, and closes at the limit: RFC
 * 9001 section 6.6. */
void keys_refresh(struct ps_quic *q, struct conn *c, uint64_t now_ns);
void keys_wipe(struct conn *c);

/* frames.c: the frames of one verified packet. Without room for all of them nothing happens: the
 * packet counts as never received. */
void frames_receive(struct ps_quic *q, struct conn *c, enum ps_pkt_type type, uint64_t pn,
	const uint8_t *text, size_t len, uint64_t now_ns);
/* The packet counts as received from here on. */
void packet_count(struct ps_quic *q, struct conn *c, enum ps_level level, uint64_t pn,
	bool eliciting, uint64_t now_ns);

/* ack.c */
/* An ack-eliciting 1-RTT packet came and was counted; urgent: the peer is to know at once. */
void ack_owe(struct ps_quic *q, struct conn *c, bool urgent, uint64_t now_ns);
/* Connections whose acknowledgement is due go to the ready list. */
void acks_due(struct ps_quic *q, uint64_t now_ns);
uint64_t acks_next(const struct ps_quic *q);

/* whole.c */
/* Takes a verified 1-RTT packet when it is new and carries nothing but whole streams, each in one
 * frame. False: nothing happened, the packet is for
 * packet_verified(). Sets *act when something else than a plain acknowledgement follows from it. */
bool whole_receive(struct ps_quic *q, struct conn *c, const uint8_t *pkt, uint64_t pn,
	const uint8_t *text, size_t len, uint64_t now_ns, bool *act);

/* stream.c */
/* Whether this stream of the peer is over. */
static inline bool
stream_finished(const struct conn *c, uint64_t id)
{
	uint64_t i = id >> 2;

	return i < c->done_base ||
	       (i < c->done_base + DONE_BITS && (c->done[i % DONE_BITS / 64] >> (i % 64) & 1) != 0);
}

struct rx_stream *stream_find(struct ps_quic *q, const struct conn *c, uint64_t id);
void stream_finish(struct ps_quic *q, struct conn *c, uint64_t i, uint64_t now_ns);
/* Moves connection flow control on, within the limit. */
void stream_count(struct ps_quic *q, struct conn *c, uint64_t more);
/* Limits that a frame alone can break; closes and returns false when it does. */
bool streams_check(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns);
/* Room for every STREAM frame among q->frames[0..n_frames). */
bool streams_reserve(struct ps_quic *q, struct conn *c, unsigned int n_frames);
void stream_data(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns);
void stream_reset(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns);
/* The peer is to stop sending a stream that was given up; a courtesy, left out when many wait. */
void stream_stop(struct ps_quic *q, struct conn *c, uint64_t id);
void streams_expire(struct ps_quic *q, struct conn *c, uint64_t now_ns);
void streams_end(struct ps_quic *q, struct conn *c);
uint64_t streams_due(const struct ps_quic *q, const struct conn *c);
void streams_credit(struct ps_quic *q, struct conn *c, uint64_t now_ns);

/* handshake.c */
uint64_t half_open_hash(
	const struct ps_quic *q, const struct ps_flow4 *f, const uint8_t *id, size_t len);
struct handshake *handshake_find(
	struct ps_quic *q, const struct ps_flow4 *flow, const uint8_t *dcid, size_t dcid_len);
/* A new half-open object with empty spaces; NULL when the pool is empty. */
struct handshake *handshake_alloc(struct ps_quic *q, struct conn *c, uint64_t now_ns);
void handshake_file(struct ps_quic *q, struct handshake *hs, const struct ps_flow4 *from_peer);
/* Takes back handshake_alloc() and the connection, before anybody knew of them. */
void handshake_undo(struct ps_quic *q, struct conn *c);
/* Claims a TLS session with our transport parameters in it. */
bool handshake_begin_tls(struct ps_quic *q, struct conn *c, struct handshake *hs);
/* Called for each verified packet of a level below APP; false when it is to be dropped. */
bool handshake_packet(
	struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_pkt_hdr *h);
void crypto_receive(struct ps_quic *q, struct conn *c, enum ps_level level,
	const struct ps_frame *f, uint64_t now_ns);
/* Gives TLS what has become contiguous and takes what it answers. */
void handshake_input(struct ps_quic *q, struct conn *c, uint64_t now_ns);
/* Takes the TLS steps that a helper thread finished. */
void handshake_collect(struct ps_quic *q, uint64_t now_ns);
/* HANDSHAKE_DONE came (client role). */
void handshake_confirm(struct ps_quic *q, struct conn *c);
void handshake_drop_initial(struct ps_quic *q, struct conn *c);
void handshake_release(struct ps_quic *q, struct conn *c);

/* admit.c */
/* Sets stats.retry_on, which tells whether new clients have to prove their address. */
void retry_update(struct ps_quic *q, uint64_t now_ns);
/* Whether a source may have another connection; charges it. Called when its handshake is complete
 * and not before: an address that is not proven must cost its owner nothing. */
bool source_take(struct ps_quic *q, uint32_t addr_be, uint64_t now_ns);
/* The handshake of this half-open table hash is complete. */
void initial_done(struct ps_quic *q, uint64_t hash, uint64_t now_ns);
/* An Initial that belongs to no connection; the half-open connection it made, or NULL. */
struct conn *initial_receive(struct ps_quic *q, struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	uint8_t *pkt, uint64_t now_ns);

/* rx.c */
/* Opens one long-header packet in place; its text, or NULL when it does not verify. */
uint8_t *packet_open(struct ps_quic *q, struct ps_pkt_key *k, uint64_t next, uint8_t *pkt,
	const struct ps_pkt_hdr *h, uint64_t *pn, size_t *text_len);
void packet_verified(struct ps_quic *q, struct conn *c, enum ps_level level,
	const struct ps_pkt_hdr *h, const uint8_t *pkt, uint64_t pn, const uint8_t *text,
	size_t len, uint64_t now_ns);

/* tx.c */
bool conn_wants_tx(struct ps_quic *q, struct conn *c, uint64_t now_ns);

/* loss.c */
void space_init(struct space *s, struct sent *ring, uint32_t entries);
void rtt_init(struct rtt *r);
uint32_t sent_room(const struct space *s);
void sent_add(struct space *s, const struct sent *e);
/* False: acknowledges a packet we never sent. */
bool ack_receive(struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_frame *f,
	uint64_t now_ns);
void space_discard(struct conn *c, struct space *s);
uint64_t loss_due(struct ps_quic *q, struct conn *c);
/* RFC 9002 section 6.2.3: the client repeats an Initial, so our flight did not arrive; it is sent
 * again without waiting for a timer that has backed off. */
void loss_hurry(struct ps_quic *q, struct conn *c, uint64_t now_ns);
void loss_timer(struct ps_quic *q, struct conn *c, uint64_t now_ns);
uint64_t pto_ns(const struct conn *c, enum ps_level level);
/* Room in the congestion window for one more datagram. */
bool window_open(const struct conn *c);
/* What streams have ready may leave now (client role); when it may, PS_NEVER when that is not what
 * it waits for; a packet left. */
bool pace_open(const struct conn *c, uint64_t now_ns);
uint64_t pace_due(const struct conn *c);
void pace_sent(struct conn *c, uint32_t bytes, uint64_t now_ns);

/* ids.c */
void ids_start(struct ps_quic *q, struct conn *c);
bool ids_live(const struct conn *c, uint32_t seq);
void ids_announce(struct conn *c);
/* The next NEW_CONNECTION_ID or RETIRE_CONNECTION_ID: bytes written (0: none), its record in *e. */
size_t ids_frame(struct ps_quic *q, struct conn *c, uint8_t *p, size_t cap, struct sent *e);
void ids_lost(struct conn *c, const struct sent *e);
/* Frames about ids; 0 or the error to close with. */
uint64_t ids_retired(struct conn *c, uint64_t seq, uint32_t packet_seq);
uint64_t ids_received(struct conn *c, const struct ps_frame *f);
void reset_reply(
	struct ps_quic *q, const struct ps_datagram *dg, const uint8_t *cid, uint64_t now_ns);
bool reset_received(const struct conn *c, const uint8_t *datagram, size_t len);

/* path.c */
void path_seen(struct ps_quic *q, struct conn *c, const struct ps_datagram *dg, bool newest,
	uint64_t now_ns);
void path_challenged(struct ps_quic *q, struct conn *c, const struct ps_frame *f);
void path_response(struct ps_quic *q, struct conn *c, const struct ps_frame *f);
uint64_t path_due(const struct conn *c);
bool path_wants_tx(const struct conn *c, uint64_t now_ns);
void path_defer(struct conn *c, uint64_t now_ns);
size_t path_frame(struct conn *c, uint8_t *p, size_t cap, struct path_out *out, uint64_t now_ns);

/* send.c */
void send_acked(struct ps_quic *q, struct conn *c, const struct sent *e);
void send_lost(struct ps_quic *q, struct conn *c, const struct sent *e);
void send_end(struct ps_quic *q, struct conn *c);
/* STOP_SENDING came for a stream of ours. */
void send_stopped(struct ps_quic *q, struct conn *c, uint64_t id, uint64_t error);
/* The next STREAM or RESET_STREAM frame that fits in cap: bytes written (0: none) and its record in
 * *e. */
size_t send_frame(struct ps_quic *q, struct conn *c, uint8_t *p, size_t cap, struct sent *e);
/* A Retry or Version Negotiation packet came (client role). */
void client_answered(struct ps_quic *q, struct conn *c, const struct ps_pkt_hdr *h,
	const uint8_t *pkt, uint64_t now_ns);

/* close.c */
void conn_close(struct ps_quic *q, struct conn *c, bool app, uint64_t code, uint64_t frame_type,
	const char *reason, uint64_t now_ns);
void conn_peer_closed(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns);
void conn_reset(struct ps_quic *q, struct conn *c, uint64_t now_ns);
void conn_closing_rx(struct ps_quic *q, struct conn *c);
void conn_free(struct ps_quic *q, struct conn *c);

/* timer.c */
void wheel_init(struct wheel *w);
void timer_set(struct ps_quic *q, struct conn *c, uint64_t deadline_ns);
void timer_remove(struct ps_quic *q, struct conn *c);
/* The next connection whose deadline has come, or NULL. Steps the wheel towards now. */
struct conn *timer_pop(struct ps_quic *q, uint64_t now_ns);
uint64_t timer_next(const struct ps_quic *q);
/* The earliest of everything the connection waits for. */
void conn_rearm(struct ps_quic *q, struct conn *c);
void conn_timeout(struct ps_quic *q, struct conn *c, uint64_t now_ns);

#endif
