/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A server endpoint in memory and a crafted client against it, in virtual time. The client is made
 * of wire.h, protect.h and tls.h and shares no code with the engine's client role: after a real
 * handshake a test can send any packet with any frame bytes, and read what the server answers.
 *
 * Frames that the server sends are kept decoded, with the packet they came in, until
 * raw_peer_clear(). Checked always: no packet number twice, no packet without frames, no reserved
 * bits, and at most three times what an unvalidated peer sent. One thread; failures of the set-up
 * are CUnit fatals. */
#ifndef PS_TEST_RAW_PEER_H
#define PS_TEST_RAW_PEER_H

#include "ps_time.h"
#include "quic.h"
#include "ranges.h"
#include "tls.h"

#define RAW_STREAMS 1280
#define RAW_PEERS   80
#define RAW_FRAMES  4096
#define RAW_TEXT    (1 << 20)

/* -- the server -- */

struct raw_stream {
	uint64_t id;
	uint32_t final, filled; /* bytes; final UINT32_MAX until known */
	unsigned int delivered, abandoned;
	bool used;
	bool have[4096];
	uint8_t bytes[4096];
};

struct raw_peer;

struct raw_server {
	struct ps_quic_limits limits; /* set by raw_server_defaults(), changed by the test */
	struct ps_quic_config config;
	bool threaded; /* TLS on its helper thread: raw_wait() instead of raw_pump() */
	struct ps_quic *q;
	const struct ps_quic_stats *stats;
	struct ps_tls *tls;
	void *mem;
	struct ps_drops drops;
	uint64_t now_ns, next_ns; /* next_ns: what the last service call answered */
	unsigned int services;    /* calls made by raw_run() */

	bool refuse;   /* the sink has no room for any packet */
	uint32_t room; /* what the sink says it could take */
	unsigned int n_streams, delivered, reserved;
	struct ps_peer sender; /* of the last bytes */
	struct raw_stream stream[RAW_STREAMS];

	unsigned int connected, closed;
	struct ps_quic_conn_id id; /* of the last one that connected or closed */
	struct ps_peer identity;
	struct ps_quic_close why;

	unsigned int n_peers;
	struct raw_peer *peer[RAW_PEERS];
	unsigned int unrouted; /* datagrams to no peer */
	unsigned int lose;     /* so many of the next datagrams are lost on their way to a peer */
	uint8_t ecn;           /* of the datagrams that the server gets, with their link: */
	uint64_t link;
};

/* Defaults small enough for tests, Retry off; no endpoint yet. */
void raw_server_defaults(struct raw_server *s);
void raw_server_start(struct raw_server *s);
void raw_server_stop(struct raw_server *s);
/* Takes what the server has to send, at the current time, and hands it to the peers. */
void raw_pump(struct raw_server *s);
/* Moves the time on by ns, calling service at each time it asked for and pumping after it. */
void raw_run(struct raw_server *s, uint64_t ns);
/* Services and pumps in real time until TLS has caught up and *n reached least, at most 20 s. */
bool raw_wait(struct raw_server *s, const unsigned int *n, unsigned int least);
/* One datagram of any bytes from any flow. */
void raw_inject(struct raw_server *s, struct ps_flow4 flow, const void *bytes, size_t len);
struct raw_stream *raw_stream_of(struct raw_server *s, uint64_t id);

/* -- the client -- */

struct raw_frame {
	enum ps_pkt_type pkt;
	uint64_t pn, at_ns;
	unsigned int datagram; /* counted from 1 over the peer's life */
	struct ps_flow4 flow;  /* of that datagram */
	uint64_t link;
	uint16_t size; /* bytes of it */
	uint8_t ecn;
	struct ps_frame f;
};

/* How to make a packet; zero is an ordinary one with the next packet number. */
struct raw_how {
	bool set_pn;
	uint64_t pn;
	uint8_t first_byte_xor; /* under header protection: reserved bits 0x18, long 0x0c */
	uint16_t pad_to;        /* bytes of the packet, by PADDING frames */
};

struct raw_peer {
	struct raw_server *s;
	struct ps_flow4 flow; /* to the server */
	struct ps_flow4 was;  /* before raw_move(): what the server sends there comes too */
	uint64_t moved_tx_bytes, moved_rx_bytes; /* of the address it moved to, since then */
	struct ps_tparam tp; /* announced; initial_scid is filled in by raw_hello() */
	bool no_scid;        /* but not then */
	uint8_t tp_more[64]; /* appended to what is announced */
	size_t tp_more_len;
	struct ps_tls *tls;
	struct ps_tls_io io;
	struct ps_protect *protect;
	void *protect_mem;
	struct ps_cid odcid, dcid, scid; /* the client's first id, the server's, ours */
	struct ps_cid retry_scid;        /* what a Retry told us to use */
	struct ps_cid scid_was;          /* taken as well as scid */
	bool server_id_known;
	uint8_t token[512];
	size_t token_len;
	struct ps_pkt_key tx[PS_LEVELS], rx[PS_LEVELS];
	bool keys[PS_LEVELS];
	bool phase; /* of 1-RTT keys, both directions */
	uint64_t next_pn[PS_LEVELS];
	struct ps_ranges got[PS_LEVELS]; /* packet numbers received */
	uint16_t crypto_sent[PS_LEVELS - 1], crypto_got[PS_LEVELS - 1];
	enum ps_tls_result tls_result;

	unsigned int datagrams, retries, versions, resets; /* received */
	uint64_t rx_bytes, tx_bytes;
	uint16_t last_len;     /* bytes of the last datagram received */
	struct ps_datagram in; /* the one being taken apart */
	unsigned int n_reset_tokens;
	uint8_t reset_token[8][16]; /* of the server's ids, by sequence number from 1 on */
	unsigned int reset_of;      /* sequence number whose token the last stateless reset had */
	uint16_t reset_len;
	uint32_t undecoded; /* packets that did not verify */
	unsigned int n_frames;
	struct raw_frame frame[RAW_FRAMES];
	size_t text_len;
	uint8_t text[RAW_TEXT];
};

struct raw_peer *raw_peer_new(struct raw_server *s, const struct ps_tls_config *tls);
/* What raw_peer_new() takes, to be changed by the test. */
struct ps_tls_config raw_client_tls(void);
void raw_peer_free(struct raw_peer *p);
void raw_peer_clear(struct raw_peer *p);

/* From now on its datagrams come from another port (ip 0) or another address. */
void raw_move(struct raw_peer *p, uint32_t ip, uint16_t port);

/* Makes the ClientHello; nothing is sent. */
void raw_hello(struct raw_peer *p);
/* Sends what TLS has to say at Initial and Handshake level, chunk bytes of it a packet. */
void raw_flush(struct raw_peer *p, size_t chunk);
/* The whole handshake, acknowledging nothing. True when both sides completed it. */
bool raw_handshake(struct raw_peer *p);
/* Server with defaults and one peer whose handshake is done, acknowledged and cleared. */
struct raw_peer *raw_established(struct raw_server *s);
/* The same, and all that the server has to say at the start is said and acknowledged. */
struct raw_peer *raw_quiet(struct raw_server *s);

/* Builds a packet in buf (PS_UDP_PAYLOAD_MAX bytes); returns its size. */
size_t raw_packet(struct raw_peer *p, enum ps_level level, const void *frames, size_t len,
	const struct raw_how *how, uint8_t *buf);
/* One datagram from the peer's flow, taken by the server at once. */
void raw_send_bytes(struct raw_peer *p, const void *bytes, size_t len);
/* Packet, datagram (padded to 1200 when Initial) and pump. */
void raw_send(struct raw_peer *p, enum ps_level level, const void *frames, size_t len);
void raw_send_how(struct raw_peer *p, enum ps_level level, const void *frames, size_t len,
	const struct raw_how *how);
/* One STREAM frame in a 1-RTT packet: len bytes that raw_content() gives. */
void raw_send_stream(struct raw_peer *p, uint64_t id, uint64_t offset, size_t len, bool fin);
uint8_t raw_content(uint64_t id, uint64_t offset);
/* Goes on to the next 1-RTT keys; what comes under the old ones is undecoded from here on. */
void raw_key_update(struct raw_peer *p);
/* Acknowledges all that came at a level. */
void raw_ack(struct raw_peer *p, enum ps_level level);

/* Takes one datagram from the server apart; data is changed. */
void raw_datagram_in(struct raw_peer *p, uint8_t *data, size_t len);
/* The nth (from 0) frame of a type since raw_peer_clear(), or NULL. */
const struct raw_frame *raw_nth(const struct raw_peer *p, unsigned int type, unsigned int n);
unsigned int raw_count(const struct raw_peer *p, unsigned int type);
/* The last frame of a type since raw_peer_clear(), or NULL. */
const struct raw_frame *raw_last(const struct raw_peer *p, unsigned int type);
/* True when the last CONNECTION_CLOSE that came is this one. */
bool raw_closed_with(const struct raw_peer *p, bool app, uint64_t code, uint64_t frame_type);

#endif
