/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* One QUIC client connection of the ngtcp2 interop client: a non-blocking connected UDP socket, an
 * ngtcp2 connection, a GnuTLS session (RFC 9000, 9001). tpu_client_ngtcp2.c owns struct client and
 * is the only caller; single-threaded. Times in ns of CLOCK_MONOTONIC. */
#ifndef PS_TPU_CONN_H
#define PS_TPU_CONN_H

#include "txgen.h"

#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tpu_conn;

/* A stream that is not a generated transaction; sent before those. */
struct special {
	uint8_t *data;
	size_t len;
	bool beyond_window; /* len bytes more than the peer's stream window */
};

/* What all connections of one run share. */
struct client {
	struct ps_txgen gen;
	uint64_t count, next_index; /* generated transactions */
	struct special *specials;
	unsigned n_specials, next_special;
	struct sockaddr_in peer;
	const char *alpn;
	const char *ciphers; /* the part of GnuTLS's priority string */
	gnutls_certificate_credentials_t cred;
	uint64_t timeout_ns, idle_ns;
	uint64_t key_update_every; /* streams of a connection; 0: never */
	FILE *acked_log;
	bool unknown_version;         /* begin with a reserved version */
	const gnutls_datum_t *ticket; /* of another server, for early data; or NULL */

	uint64_t sent, acked, bytes; /* streams, streams, their bytes */
	unsigned handshakes, retries, key_updates;
	bool closed; /* by a peer; the first close is kept */
	bool close_is_app;
	uint64_t close_code;
	char cipher[40];
};

uint64_t clock_ns(void);

/* NULL after one line on stderr. */
struct tpu_conn *tpu_conn_open(struct client *cl);

int tpu_conn_fd(const struct tpu_conn *c);

/* When tpu_conn_run() must be called next although nothing arrived; UINT64_MAX when dead. */
uint64_t tpu_conn_expiry(const struct tpu_conn *c);

/* Reads, handles timers, writes. */
void tpu_conn_run(struct tpu_conn *c);

/* No further stream will be acknowledged: all are, or the connection is dead. */
bool tpu_conn_done(const struct tpu_conn *c);
bool tpu_conn_dead(const struct tpu_conn *c);

/* Sends CONNECTION_CLOSE (application, code 0) if alive, and frees. */
void tpu_conn_close(struct tpu_conn *c);

/* All streams were handed to some connection. */
bool client_exhausted(const struct client *cl);

#endif
