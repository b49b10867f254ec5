/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Whole handshakes with both certificates, the server's time alone: `bench handshake`. */

#include <errno.h>

#include "runs.h"

#define HANDSHAKES 32 /* per repetition and arm */

static const struct {
	const char *what;
	struct bench_server_conf conf;
} arms[] = {
	{"fresh key share", {.backend = PS_TLS_BUILTIN}},
	{"key share made when idle", {.backend = PS_TLS_BUILTIN, .tls_budget = 64}},
	{"fresh key share, after Retry", {.backend = PS_TLS_BUILTIN, .retry = PS_RETRY_ALWAYS}},
	{"GnuTLS", {.backend = PS_TLS_GNUTLS}},
};

#define N_ARMS (sizeof(arms) / sizeof(arms[0]))

/* Each verified: the server saw the client's key. */
static int
repetition(struct bench *b, unsigned int rep, const char *what, const struct bench_run *run)
{
	uint64_t ns = 0;
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < HANDSHAKES; i++) {
		rc = bench_handshake(b, rep * HANDSHAKES + i, &ns, run->e);
		if (rc == 0)
			rc = bench_go_on(run);
	}
	if (rc == 0)
		bench_add(run->r, "us", (double)ns / HANDSHAKES / 1000, "%s", what);
	return rc;
}

int
bench_run_handshake(const struct bench_run *run)
{
	struct bench *b[N_ARMS] = {0};
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < N_ARMS; i++) {
		b[i] = bench_new(run->o->size, 1, run->e);
		rc = b[i] == NULL ? -ENOMEM : bench_server(b[i], &arms[i].conf, run->e);
		if (rc == 0)
			rc = bench_client(b[i], run->e);
		if (rc == 0)
			rc = bench_handshake(b[i], 0, &(uint64_t){0}, run->e);
	}
	for (unsigned int rep = 1; rc == 0 && rep <= run->o->reps; rep++)
		for (unsigned int i = 0; rc == 0 && i < N_ARMS; i++)
			rc = repetition(b[i], rep, arms[i].what, run);
	for (unsigned int i = 0; i < N_ARMS; i++)
		bench_free(b[i]);
	return rc;
}
