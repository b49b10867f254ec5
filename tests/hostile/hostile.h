/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The catalogue of hostile input: triggers that hurt other endpoints, one row each, sent through
 * the real receive path. Every row starts with hostile_start() and ends with hostile_settle(),
 * which asserts what all of them have in common: the endpoint allocated nothing, answered at most
 * so many datagrams as it got (and a few), ran no timer wild, took no more of the processor than a
 * generous bound, and in the end every pool is as it was: as many connections, handshakes, TLS
 * sessions and streams as at the start can be had at once. */
#ifndef PS_TEST_HOSTILE_H
#define PS_TEST_HOSTILE_H

#include <CUnit/Basic.h>
#include <string.h>

#include "raw_peer.h"

struct hostile_row {
	const char *row, *name; /* number in the catalogue, what it is about */
	void (*test)(void);
	const char *elsewhere; /* with test NULL: where it is tested, or why it cannot happen */
};

extern struct raw_server s;

/* Defaults to be changed, then the server itself. */
void hostile_defaults(void);
void hostile_start(void);
void hostile_settle(void);
/* A server with defaults and one established connection. */
struct raw_peer *hostile_peer(void);
/* The ClientHello in one Initial. */
void hostile_hello(struct raw_peer *p);
/* The same packet over and over in no time until the connection ends, at most so often. */
unsigned int hostile_flood(struct raw_peer *p, const void *frames, size_t len, unsigned int most);
/* Runs the rows, prints them with their verdicts; what main() returns. */
int hostile_main(const char *suite, const struct hostile_row *rows, unsigned int n);

#endif
