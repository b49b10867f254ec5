/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* TLS 1.3 for QUIC (RFC 8446, RFC 9001 section 4): handshake bytes in, handshake bytes and secrets
 * out. Resumable: a step may answer PENDING, so that a slow library runs on a helper thread and a
 * fast one inline, a bounded number of operations at a time. tls.c keeps sessions and the thread.
 * Two backends (tls_backend.h): tls_server.c, written for this server, without heap; and GnuTLS for
 * the client role, as an alternative and as the other half of tests (tls_gnutls.c, the only file
 * that names it).
 *
 * Ownership. A ps_tls_io belongs to the caller (the engine's half-open object) and never moves.
 * From a ps_tls_step() that answers PENDING until ps_tls_completed() returns it, the io belongs to
 * the backend: the caller touches nothing in it. ps_tls_end() may be called at any time; if a step
 * is pending the backend finishes with the io first and hands it back through ps_tls_completed()
 * with ended set, and only then may the memory be used again. What was given as input stays in
 * place, too, from its first step to the end of the session: see in below.
 *
 * The engine's thread calls every function here but creation; none of them allocates, locks, blocks
 * or makes a system call on that thread when the context is threaded: the library's work, making
 * and freeing its session included, is done by the helper, which looks for work every 0.01 to 0.1
 * ms when idle. So an ended session counts as in use until ps_tls_completed() was called after the
 * helper let go of it. The built-in server does the same inline (budget), all but the signatures of
 * RSA and ECDSA certificates, which go to the helper when there is one. */
#ifndef PS_QUIC_TLS_H
#define PS_QUIC_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ps_err.h"
#include "suite.h"
#include "tparam.h"

/* Encryption levels that carry CRYPTO frames, in order; also packet-number spaces. */
enum ps_level { PS_LEVEL_INITIAL, PS_LEVEL_HANDSHAKE, PS_LEVEL_APP, PS_LEVELS };

#define PS_TLS_IN_MAX       16384 /* longest message, and run of bytes given in one step */
#define PS_TLS_OUT_MAX      4096  /* all handshake bytes a role sends at one level */
#define PS_ALPN_MAX         32
#define PS_TLS_SESSIONS_MAX (1U << 20)

enum ps_tls_result {
	PS_TLS_MORE,    /* progress; feed more input when it comes */
	PS_TLS_PENDING, /* the backend owns the io until ps_tls_completed() returns it */
	PS_TLS_DONE,    /* handshake complete; peer identity is valid */
	PS_TLS_ALERT,   /* failed: io->alert is the TLS alert to close with, or the following */
};

/* No alert of TLS: a session id in the ClientHello, PROTOCOL_VIOLATION by RFC 9001 section 8.4. */
#define PS_TLS_ALERT_SESSION_ID 250

struct ps_tls_secret {
	bool ready; /* both are known */
	enum ps_suite suite;
	uint8_t rx[PS_HASH_MAX], tx[PS_HASH_MAX]; /* traffic secrets, as long as the suite's hash */
};

struct ps_tls_io {
	/* caller -> backend, before a step */
	enum ps_level in_level;
	const uint8_t *in; /* where the last step of the same level ended: the bytes of a level
			    * are one run of memory, unchanged until ps_tls_end() */
	uint16_t in_len;   /* 0 in the client's first step, which produces its ClientHello */
	uint16_t tp_len;   /* our transport parameters, before the first step */
	uint8_t tp[PS_TPARAM_MAX_BYTES];
	/* backend -> caller, valid when a step answered other than PENDING. Bytes are appended to
	 * out and stay: they are what the engine retransmits from. */
	enum ps_tls_result result;
	uint8_t alert;
	bool ended;
	uint16_t out_len[PS_LEVELS];
	uint8_t out[PS_LEVELS - 1][PS_TLS_OUT_MAX]; /* Initial and Handshake; none at APP */
	struct ps_tls_secret secret[PS_LEVELS];     /* [HANDSHAKE] and [APP]; caller wipes */
	uint16_t peer_tp_len;                       /* 0 until the peer's extension was read */
	uint8_t peer_tp[PS_TPARAM_MAX_BYTES];
	bool peer_has_key; /* exactly one certificate, Ed25519; known when DONE */
	uint8_t peer_key[32];
	/* backend's own */
	void *session; /* NULL: none */
	void *owner;   /* the caller's: passed through untouched */
	uint32_t seq;  /* the caller's: passed through untouched */
};

enum ps_tls_kind { PS_TLS_BUILTIN, PS_TLS_GNUTLS };

/* Called by whoever runs the step, with a line of SSLKEYLOGFILE, without its end. */
typedef void (*ps_tls_key_log)(void *ctx, const char *line);

struct ps_tls_config {
	bool server;
	enum ps_tls_kind backend; /* of a server; a client's is GnuTLS */
	bool threaded;       /* steps run on a helper thread; false: inline, for tests and tools */
	uint32_t budget;     /* built-in server: 0, or steps run inline though threaded, with at
			      * most so many public-key operations from one ps_tls_poll() to the
			      * next; a handshake takes 4, or 3 with a prepared key share */
	uint32_t sessions;   /* most at once; ps_tls_begin answers false beyond */
	const char *alpn;    /* the one protocol spoken: "solana-tpu"; a peer without it gets
			      * no_application_protocol (RFC 9001 section 8.1) */
	uint8_t seed[32];    /* Ed25519 private key seed of our certificate (RFC 8032) */
	bool no_certificate; /* client role, for tests: present none */
	const char *server_name; /* client role: SNI, may be NULL */
	const char *priority;    /* client role, for tests: the backend's own notation of versions,
				  * ciphers and groups, instead of the default */
	ps_tls_key_log key_log;  /* NULL: none */
	void *key_log_ctx;
};

struct ps_tls;

/* Allocates; starts the helper thread when threaded (named ps-tls, all signals blocked, on the
 * processors that the caller may run on). */
struct ps_tls *ps_tls_new(const struct ps_tls_config *c, struct ps_err *e);
/* Stops the thread and frees what is left; no io is touched afterwards. */
void ps_tls_free(struct ps_tls *t);

/* Claims a session for io: clears every backend -> caller field. False when the limit is reached.
 */
bool ps_tls_begin(struct ps_tls *t, struct ps_tls_io *io);
/* A new turn of the caller's loop: the budget is whole again. Idle: there is nothing else to do, so
 * that a key share may be made ahead. */
void ps_tls_poll(struct ps_tls *t, bool idle);
/* Steps wait for the next ps_tls_poll() to go on. */
bool ps_tls_waiting(const struct ps_tls *t);
/* Runs the handshake on with io->in, any part of a message or several. One step at a time per io.
 * After DONE or ALERT further input is ignored and the answer repeated. */
enum ps_tls_result ps_tls_step(struct ps_tls *t, struct ps_tls_io *io);
/* The next io whose pending step ended (io->result says how), NULL when there is none now. Steps
 * that waited for the budget are run here, in order. */
struct ps_tls_io *ps_tls_completed(struct ps_tls *t);
/* Gives the session back; needs nothing further from the peer. True: done, io is free. False: a
 * step is pending, the io comes back through ps_tls_completed() with ended set. */
bool ps_tls_end(struct ps_tls *t, struct ps_tls_io *io);

/* Builds the minimal self-signed X.509 certificate that Solana peers exchange around an Ed25519 key
 * (public key derived from the seed); DER bytes, at most cap. For our own use and for test clients.
 */
size_t ps_tls_certificate(const uint8_t seed[32], uint8_t *der, size_t cap);

#endif
