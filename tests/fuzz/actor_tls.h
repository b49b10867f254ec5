/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The messages of fake_tls.h for fuzz_actor.c, in both roles. A handshake is ClientHello,
 * ServerHello, one message with the server's parameters and a Finished, each of a pattern that the
 * receiver checks, and secrets that follow from the server's number. */
#ifndef PS_FUZZ_ACTOR_TLS_H
#define PS_FUZZ_ACTOR_TLS_H

#include "fake_tls.h"

struct actor_tls {
	struct fake_tls fake; /* first: what the endpoint has is this */
	bool server;
	bool refuse; /* messages sent now make the peer's session end in an alert */
	enum ps_suite suite;
	uint16_t hello_bytes; /* of a ClientHello */
	uint32_t next;
};

void actor_tls_start(struct actor_tls *t, bool server, unsigned int sessions_max);

#endif
