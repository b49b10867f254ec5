/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* TLS as fuzz_actor.c sees it: both roles of tls.h without cryptography of their own. A handshake
 * is ClientHello, ServerHello, one message with the server's parameters and a Finished, each of a
 * pattern that the receiver checks, and secrets that follow from the server's number. The linker
 * puts these functions in the place of the real ones (--wrap). */
#ifndef PS_FUZZ_ACTOR_TLS_H
#define PS_FUZZ_ACTOR_TLS_H

#include "tls.h"

struct actor_tls {
	bool server;
	bool held;   /* no pending step ends */
	bool slow;   /* every step of a server answers PENDING first */
	bool refuse; /* sessions begun now make the peer's end in an alert */
	enum ps_suite suite;
	uint16_t hello_bytes; /* of a ClientHello */
	unsigned int sessions, sessions_max;
	uint32_t next;
};

void actor_tls_start(struct actor_tls *t, bool server, unsigned int sessions_max);

#endif
