/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a TLS implementation brings to tls.c, which owns sessions, rings and the helper thread. For
 * tls.c and the backends only. A library is made on any thread; after that one thread at a time
 * uses it and all its handshakes, but for the steps that a backend asked to have run by the helper:
 * those may run beside other handshakes' steps and touch only their own. */
#ifndef PS_QUIC_TLS_BACKEND_H
#define PS_QUIC_TLS_BACKEND_H

#include "tls.h"

/* RFC 8446 section 6.2 and RFC 7301 */
enum {
	PS_TLS_ALERT_UNEXPECTED_MESSAGE = 10,
	PS_TLS_ALERT_HANDSHAKE_FAILURE = 40,
	PS_TLS_ALERT_BAD_CERTIFICATE = 42,
	PS_TLS_ALERT_UNSUPPORTED_CERTIFICATE = 43,
	PS_TLS_ALERT_ILLEGAL_PARAMETER = 47,
	PS_TLS_ALERT_DECODE_ERROR = 50,
	PS_TLS_ALERT_DECRYPT_ERROR = 51,
	PS_TLS_ALERT_PROTOCOL_VERSION = 70,
	PS_TLS_ALERT_INTERNAL_ERROR = 80,
	PS_TLS_ALERT_MISSING_EXTENSION = 109,
	PS_TLS_ALERT_UNSUPPORTED_EXTENSION = 110,
	PS_TLS_ALERT_CERTIFICATE_REQUIRED = 116,
	PS_TLS_ALERT_NO_APPLICATION_PROTOCOL = 120,
};

struct ps_tls_lib;
struct ps_tls_handshake;

/* What a step may do, and what it would have to do to go on when it answers PENDING. */
struct ps_tls_work {
	uint32_t ops;    /* public-key operations left; counted down */
	bool slow;       /* operations of a library that allocates may be done, too */
	bool wants_slow; /* answered PENDING for want of slow, not of ops */
};

struct ps_tls_backend {
	struct ps_tls_lib *(*lib_new)(const struct ps_tls_config *c, struct ps_err *e);
	void (*lib_free)(struct ps_tls_lib *lib); /* NULL is ignored */
	/* slot: below c->sessions, of no other living handshake. io outlives the last step; ending
	 * a handshake does not touch it. NULL: out of memory. */
	struct ps_tls_handshake *(*begin)(
		struct ps_tls_lib *lib, uint32_t slot, struct ps_tls_io *io);
	void (*end)(struct ps_tls_handshake *h);
	/* Consumes io->in, whose level and message boundaries were checked. MORE, DONE, or ALERT
	 * with io->alert set. PENDING: to be called again with more work allowed and io->in_len 0;
	 * only backends with steps_inline do that. Not called again after DONE or ALERT. */
	enum ps_tls_result (*step)(struct ps_tls_handshake *h, struct ps_tls_work *w);
	/* Does one public-key operation ahead; false: there is none to do. NULL: never. */
	bool (*prepare)(struct ps_tls_lib *lib);
	bool steps_inline; /* neither allocates nor blocks nor enters the kernel unless slow */
};

extern const struct ps_tls_backend ps_tls_gnutls;
extern const struct ps_tls_backend ps_tls_builtin; /* server role only */

/* One line of the key log; label as in SSLKEYLOGFILE. */
void ps_tls_key_log_line(const struct ps_tls_config *c, const char *label,
	const uint8_t client_random[32], const uint8_t *secret, size_t len);

/* tls_gnutls.c, for keys that the curves of tls_server.c are not made for: verifies a signature
 * under a SubjectPublicKeyInfo; scheme of RFC 8446 section 4.2.3, which fits the key. Allocates. */
bool ps_tls_verify_slow(uint16_t scheme, const uint8_t *spki, size_t spki_len, const uint8_t *msg,
	size_t len, const uint8_t *sig, size_t sig_len);

#endif
