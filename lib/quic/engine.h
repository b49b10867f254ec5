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

#include "conn.h"
#include "ps_time.h"

#define STREAM_WINDOW_MAX 512
#define REPLIES           64  /* stateless answers waiting to be sent */
#define REPLY_BYTES       600 /* fits a Version Negotiation of two 255-byte ids */
#define FRAMES_MAX        (PS_UDP_PAYLOAD_MAX / 2 + 1) /* none that is kept apart is shorter than 2 */
#define ACK_DELAY_NS      (25 * PS_MS_NS) /* the default max_ack_delay, which we keep */
#define ACK_DELAY_SHIFT   3               /* the default ack_delay_exponent, likewise */
/* Frames that move nothing: forgiven at once, and per second. A packet costs at least one. */
#define BUDGET_FULL    10000
#define BUDGET_PER_S   330
#define UPDATE_PACKETS (UINT64_C(1) << 22) /* half of what AES-GCM may seal under one key */
#define GRANULARITY_NS PS_MS_NS            /* RFC 9002 section 6.1.2 */

/* -- timer wheel: later deadlines wait in the last bucket and are filed again -- */

#define TICK_NS       PS_MS_NS
#define WHEEL_BUCKETS 4096

struct wheel {
	uint64_t now_tick;
	uint32_t head[WHEEL_BUCKETS];          /* connection slots */
	uint64_t occupied[WHEEL_BUCKETS / 64]; /* bit per bucket */
	uint64_t words;                        /* bit per word of occupied that is not 0 */
};
_Static_assert(WHEEL_BUCKETS == 64 * 64, "one word of words");

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
/* For an acknowledgement alone; whatever else is to be sent brings its own conn_ready(). */
void conn_ready_ack(struct ps_quic *q, struct conn *c);
struct conn *conn_ready_pop(struct ps_quic *q);
void conn_spare(struct ps_quic *q, struct conn *c);
struct reply *reply_alloc(struct ps_quic *q, const struct ps_datagram *to);

/* keys.c */
/* The AEAD's limit may be near: keys_refresh() has to look. */
static inline bool
keys_worn(const struct conn *c)
{
	return c->app.tx_next - c->phase_tx_pn >= UPDATE_PACKETS;
}

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
