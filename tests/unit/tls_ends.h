/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The two ends of a TLS handshake for tests: ps_tls in either role. */
#ifndef PS_TEST_TLS_ENDS_H
#define PS_TEST_TLS_ENDS_H

#include <CUnit/Basic.h>
#include <gnutls/x509.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ps_time.h"
#include "tls.h"

#define SEED_SERVER 0x11
#define SEED_CLIENT 0x22
#define TIMEOUT_NS  (20ULL * 1000 * 1000 * 1000)

/* The server's side of every test. */
static enum ps_tls_kind test_backend;

/* Initialisers of suites. */
static inline int
use_builtin(void)
{
	test_backend = PS_TLS_BUILTIN;
	return 0;
}

static inline int
use_gnutls(void)
{
	test_backend = PS_TLS_GNUTLS;
	return 0;
}

/* One end of a handshake: its context, its io, and what of its output the other end has read. */
struct end {
	struct ps_tls *tls;
	struct ps_tls_io io;
	uint16_t given[PS_LEVELS - 1];
	enum ps_tls_result result;
};

static inline void
end_open(struct end *e, const struct ps_tls_config *c)
{
	struct ps_err err;

	memset(e, 0, sizeof(*e));
	e->tls = ps_tls_new(c, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->tls);
	e->io.tp_len = c->server ? 60 : 70;
	memset(e->io.tp, c->server ? 0xa5 : 0x5a, e->io.tp_len);
	CU_ASSERT_TRUE_FATAL(ps_tls_begin(e->tls, &e->io));
}

static inline void
end_close(struct end *e)
{
	CU_ASSERT_TRUE(ps_tls_end(e->tls, &e->io));
	ps_tls_free(e->tls);
}

static inline struct ps_tls_config
config(bool server, bool threaded)
{
	struct ps_tls_config c = {.server = server,
		.backend = test_backend,
		.threaded = threaded,
		.sessions = 4,
		.alpn = "solana-tpu"};

	memset(c.seed, server ? SEED_SERVER : SEED_CLIENT, sizeof(c.seed));
	return c;
}

static inline struct ps_tls_io *
wait_completed(struct ps_tls *t)
{
	uint64_t end = ps_now_ns() + TIMEOUT_NS;
	struct ps_tls_io *io;

	while ((io = ps_tls_completed(t)) == NULL && ps_now_ns() < end)
		sched_yield();
	return io;
}

static inline enum ps_tls_result
end_step(struct end *e, enum ps_level level, const uint8_t *in, uint16_t len)
{
	e->io.in_level = level;
	e->io.in = in;
	e->io.in_len = len;
	e->result = ps_tls_step(e->tls, &e->io);
	if (e->result == PS_TLS_PENDING) {
		CU_ASSERT_PTR_EQUAL_FATAL(wait_completed(e->tls), &e->io);
		e->result = e->io.result;
	}
	return e->result;
}

/* Carries everything new from one end to the other, chunk bytes a step; true if there was any. */
static inline bool
carry(struct end *from, struct end *to, uint16_t chunk)
{
	bool any = false;

	for (enum ps_level l = PS_LEVEL_INITIAL; l < PS_LEVEL_APP; l++) {
		while (from->given[l] < from->io.out_len[l] && to->result != PS_TLS_ALERT) {
			uint16_t n = from->io.out_len[l] - from->given[l];

			n = n < chunk ? n : chunk;
			end_step(to, l, from->io.out[l] + from->given[l], n);
			from->given[l] += n;
			any = true;
		}
	}
	return any;
}

static inline void
handshake(struct end *client, struct end *server, uint16_t chunk)
{
	end_step(client, PS_LEVEL_INITIAL, NULL, 0);
	while (carry(client, server, chunk) || carry(server, client, chunk))
		;
}

static inline void
public_key(uint8_t seed_byte, uint8_t key[32])
{
	uint8_t seed[32], der[1024];
	gnutls_datum_t d = {der, 0}, x;
	gnutls_ecc_curve_t curve;
	gnutls_x509_crt_t crt;

	memset(seed, seed_byte, sizeof(seed));
	d.size = ps_tls_certificate(seed, der, sizeof(der));
	gnutls_x509_crt_init(&crt);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_crt_import(crt, &d, GNUTLS_X509_FMT_DER), 0);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_crt_get_pk_ecc_raw(crt, &curve, &x, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(x.size, 32);
	memcpy(key, x.data, 32);
	gnutls_free(x.data);
	gnutls_x509_crt_deinit(crt);
}

static inline void
check_same_secrets(const struct ps_tls_io *a, const struct ps_tls_io *b)
{
	static const uint8_t zero[32];

	for (enum ps_level l = PS_LEVEL_HANDSHAKE; l <= PS_LEVEL_APP; l++) {
		size_t len = ps_suite_hash_bytes(a->secret[l].suite);

		CU_ASSERT_TRUE(a->secret[l].ready && b->secret[l].ready);
		CU_ASSERT_EQUAL(a->secret[l].suite, b->secret[l].suite);
		CU_ASSERT_EQUAL(memcmp(a->secret[l].rx, b->secret[l].tx, len), 0);
		CU_ASSERT_EQUAL(memcmp(a->secret[l].tx, b->secret[l].rx, len), 0);
		CU_ASSERT_NOT_EQUAL(memcmp(a->secret[l].rx, a->secret[l].tx, 32), 0);
		CU_ASSERT_NOT_EQUAL(memcmp(a->secret[l].rx, zero, 32), 0);
	}
}

static inline void
check_done(struct end *client, struct end *server)
{
	uint8_t key[32];

	CU_ASSERT_EQUAL(client->result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(server->result, PS_TLS_DONE);
	check_same_secrets(&client->io, &server->io);
	public_key(SEED_SERVER, key);
	CU_ASSERT_TRUE(client->io.peer_has_key);
	CU_ASSERT_EQUAL(memcmp(client->io.peer_key, key, 32), 0);
	public_key(SEED_CLIENT, key);
	CU_ASSERT_TRUE(server->io.peer_has_key);
	CU_ASSERT_EQUAL(memcmp(server->io.peer_key, key, 32), 0);
	CU_ASSERT_EQUAL(client->io.peer_tp_len, server->io.tp_len);
	CU_ASSERT_EQUAL(memcmp(client->io.peer_tp, server->io.tp, server->io.tp_len), 0);
	CU_ASSERT_EQUAL(server->io.peer_tp_len, client->io.tp_len);
	CU_ASSERT_EQUAL(memcmp(server->io.peer_tp, client->io.tp, client->io.tp_len), 0);
}

#endif
