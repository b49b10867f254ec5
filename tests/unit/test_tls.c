/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <stdio.h>

#include "cunit_run.h"
#include "ps_be.h"
#include "tls_raw.h"

static void
run_handshake(bool client_threaded, bool server_threaded, uint16_t chunk, const char *priority)
{
	struct ps_tls_config c = config(false, client_threaded), s = config(true, server_threaded);
	struct end client, server;

	c.priority = priority;
	c.server_name = "203.0.113.7.8004.sol";
	end_open(&client, &c);
	end_open(&server, &s);
	handshake(&client, &server, chunk);
	check_done(&client, &server);
	end_close(&client);
	end_close(&server);
}

static void
test_inline(void)
{
	run_handshake(false, false, PS_TLS_IN_MAX, NULL);
}

static void
test_threaded(void)
{
	run_handshake(true, true, PS_TLS_IN_MAX, NULL);
	run_handshake(false, true, 100, NULL);
}

static void
test_chunks(void)
{
	run_handshake(false, false, 1, NULL);
	run_handshake(false, false, 7, NULL);
	run_handshake(false, false, 333, NULL);
}

/* A client restricted by its priority string; the suite in the ServerHello, and the secrets. */
static void
run_suite(const char *ciphers, uint16_t suite)
{
	struct ps_tls_config c = config(false, false), s = config(true, false);
	struct end client, server;
	char priority[200];

	snprintf(priority, sizeof(priority),
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:%s:%%DISABLE_TLS13_COMPAT_MODE",
		ciphers);
	c.priority = priority;
	end_open(&client, &c);
	end_open(&server, &s);
	handshake(&client, &server, PS_TLS_IN_MAX);
	check_done(&client, &server);
	/* Header, version, random, empty session id. */
	CU_ASSERT_EQUAL(ps_be16_load(server.io.out[0] + 4 + 2 + 32 + 1), suite);
	CU_ASSERT_EQUAL(server.io.secret[PS_LEVEL_APP].suite, suite - 0x1301);
	CU_ASSERT_EQUAL(server.io.secret[PS_LEVEL_HANDSHAKE].suite, suite - 0x1301);
	end_close(&client);
	end_close(&server);
}

/* Our order, not the client's. */
static void
test_suites(void)
{
	run_suite("+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM", 0x1301);
	run_suite("+CHACHA20-POLY1305:+AES-128-GCM", 0x1301);
	run_suite("+CHACHA20-POLY1305:+AES-256-GCM", 0x1302);
	run_suite("+AES-128-CCM:+CHACHA20-POLY1305", 0x1303);
	run_suite("+AES-128-GCM", 0x1301);
	run_suite("+AES-256-GCM", 0x1302);
	run_suite("+CHACHA20-POLY1305", 0x1303);
}

static void
test_server_first_flight(void)
{
	struct ps_tls_config c = config(false, false), s = config(true, false);
	struct end client, server;

	end_open(&client, &c);
	end_open(&server, &s);
	end_step(&client, PS_LEVEL_INITIAL, NULL, 0);
	CU_ASSERT_EQUAL(client.result, PS_TLS_MORE);
	CU_ASSERT_TRUE(client.io.out_len[PS_LEVEL_INITIAL] > 0);
	carry(&client, &server, PS_TLS_IN_MAX);
	CU_ASSERT_EQUAL(server.result, PS_TLS_MORE);
	CU_ASSERT_TRUE(server.io.out_len[PS_LEVEL_INITIAL] > 0);
	CU_ASSERT_TRUE(server.io.out_len[PS_LEVEL_HANDSHAKE] > 0);
	CU_ASSERT_TRUE(server.io.secret[PS_LEVEL_HANDSHAKE].ready);
	CU_ASSERT_TRUE(server.io.peer_tp_len > 0);
	CU_ASSERT_FALSE(server.io.peer_has_key);
	CU_ASSERT_FALSE(server.io.secret[PS_LEVEL_APP].ready);
	carry(&server, &client, PS_TLS_IN_MAX);
	CU_ASSERT_EQUAL(client.result, PS_TLS_DONE);
	/* A byte of Initial data after the ClientHello does not belong there. */
	end_step(&server, PS_LEVEL_INITIAL, (const uint8_t *)"\x01", 1);
	CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
	CU_ASSERT_EQUAL(server.io.alert, 10);
	/* What failed stays failed. */
	carry(&client, &server, PS_TLS_IN_MAX);
	CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
	end_close(&client);
	end_close(&server);
}

static void
run_alert(const struct ps_tls_config *c, const struct ps_tls_config *s, uint8_t alert)
{
	struct end client, server;

	end_open(&client, c);
	end_open(&server, s);
	handshake(&client, &server, PS_TLS_IN_MAX);
	CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
	CU_ASSERT_EQUAL(server.io.alert, alert);
	CU_ASSERT_FALSE(server.io.peer_has_key);
	end_close(&client);
	end_close(&server);
}

static void
test_alpn_mismatch(void)
{
	for (int threaded = 0; threaded < 2; threaded++) {
		struct ps_tls_config c = config(false, threaded), s = config(true, threaded);

		c.alpn = "h3";
		run_alert(&c, &s, 120);
	}
}

static void
test_no_certificate(void)
{
	for (int threaded = 0; threaded < 2; threaded++) {
		struct ps_tls_config c = config(false, threaded), s = config(true, threaded);

		c.no_certificate = true;
		run_alert(&c, &s, 116);
	}
}

static void
test_wrong_cipher(void)
{
	struct ps_tls_config c = config(false, false), s = config(true, false);

	c.priority = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-CCM:"
		     "%DISABLE_TLS13_COMPAT_MODE";
	run_alert(&c, &s, 40);
}

static void
test_session_id(void)
{
	struct ps_tls_config c = config(false, false), s = config(true, false);

	c.priority = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
	run_alert(&c, &s, PS_TLS_ALERT_SESSION_ID);
}

/* Every byte of a ClientHello spoiled in turn: an alert or, where it does not matter (random, key
 * share, transport parameters), none. */
static void
test_corrupted_hello(void)
{
	static const uint8_t flip[] = {0x01, 0x80, 0xff};
	struct ps_tls_config c = config(false, false), s = config(true, false);
	struct end client, server;
	unsigned int alerts = 0;

	end_open(&client, &c);
	end_step(&client, PS_LEVEL_INITIAL, NULL, 0);
	end_open(&server, &s);
	for (uint16_t i = 0; i < client.io.out_len[0]; i++) {
		for (size_t f = 0; f < sizeof(flip); f++) {
			CU_ASSERT_TRUE(ps_tls_end(server.tls, &server.io));
			CU_ASSERT_TRUE_FATAL(ps_tls_begin(server.tls, &server.io));
			client.io.out[0][i] ^= flip[f];
			end_step(&server, PS_LEVEL_INITIAL, client.io.out[0], client.io.out_len[0]);
			client.io.out[0][i] ^= flip[f];
			alerts += server.result == PS_TLS_ALERT;
			CU_ASSERT_TRUE(
				server.result == PS_TLS_MORE || server.result == PS_TLS_ALERT);
		}
	}
	CU_ASSERT_TRUE(alerts > 100);
	end_close(&client);
	end_close(&server);
}

/* The client's second flight spoiled: its CertificateVerify or Finished must not pass. */
static void
test_corrupted_finish(void)
{
	struct ps_tls_config c = config(false, false), s = config(true, false);
	uint16_t len = 1;

	for (uint16_t i = 0; i < len; i += 5) {
		struct end client, server;

		end_open(&client, &c);
		end_open(&server, &s);
		end_step(&client, PS_LEVEL_INITIAL, NULL, 0);
		carry(&client, &server, PS_TLS_IN_MAX);
		carry(&server, &client, PS_TLS_IN_MAX);
		len = client.io.out_len[PS_LEVEL_HANDSHAKE];
		client.io.out[PS_LEVEL_HANDSHAKE][i] ^= 0x10;
		carry(&client, &server, PS_TLS_IN_MAX);
		CU_ASSERT_NOT_EQUAL(server.result, PS_TLS_DONE);
		CU_ASSERT_FALSE(server.io.peer_has_key);
		end_close(&client);
		end_close(&server);
	}
	CU_ASSERT_TRUE(len > 100);
}

static void
test_garbage(void)
{
	struct ps_tls_config s = config(true, false);
	static uint8_t junk[PS_TLS_IN_MAX];
	struct end server;

	end_open(&server, &s);
	memset(junk, 0xff, sizeof(junk));
	end_step(&server, PS_LEVEL_INITIAL, junk, sizeof(junk));
	CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
	end_close(&server);

	/* A message length that no ClientHello has. */
	end_open(&server, &s);
	memset(junk, 0, sizeof(junk));
	memcpy(junk, "\x01\x00\xff\xff", 4);
	end_step(&server, PS_LEVEL_INITIAL, junk, 100);
	CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
	end_close(&server);

	/* Handshake bytes before any ClientHello. */
	end_open(&server, &s);
	end_step(&server, PS_LEVEL_HANDSHAKE, junk, 100);
	CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
	end_close(&server);
}

/* Bytes behind the ClientHello at the Initial level, whole messages or begun ones. */
static void
test_more_behind_hello(void)
{
	static const uint8_t finished[] = {20, 0, 0, 1, 0}, begun[] = {1, 0};
	const uint8_t *extra[] = {finished, begun};
	const uint16_t extra_len[] = {sizeof(finished), sizeof(begun)};

	for (int i = 0; i < 2; i++) {
		struct ps_tls_config c = config(false, false), s = config(true, false);
		struct end client, server;

		end_open(&client, &c);
		end_open(&server, &s);
		end_step(&client, PS_LEVEL_INITIAL, NULL, 0);
		memcpy(client.io.out[0] + client.io.out_len[0], extra[i], extra_len[i]);
		client.io.out_len[0] += extra_len[i];
		carry(&client, &server, PS_TLS_IN_MAX);
		carry(&server, &client, PS_TLS_IN_MAX);
		carry(&client, &server, PS_TLS_IN_MAX);
		CU_ASSERT_EQUAL(server.result, PS_TLS_ALERT);
		CU_ASSERT_EQUAL(server.io.alert, 10);
		end_close(&client);
		end_close(&server);
	}
}

static void
test_hello_retry(void)
{
	static const uint8_t retry_random[] = {0xcf, 0x21, 0xad, 0x74}; /* RFC 8446 section 4.1.3 */
	static const char *const ciphers[PS_SUITES] = {
		"AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305"};
	char priority[200];
	struct raw r;

	for (enum ps_suite s = 0; s < PS_SUITES; s++) {
		raw_open(&r, true, true, true);
		snprintf(priority, sizeof(priority), "%s:-CIPHER-ALL:+%s", RAW_TWO_GROUPS,
			ciphers[s]);
		CU_ASSERT_EQUAL(gnutls_priority_set_direct(r.gs, priority, NULL), 0);
		raw_certificate(&r, GNUTLS_PK_EDDSA_ED25519, 256, 1);
		raw_handshake(&r);
		CU_ASSERT_EQUAL(r.to.result, PS_TLS_DONE);
		CU_ASSERT_EQUAL(r.to.io.secret[PS_LEVEL_APP].suite, s);
		CU_ASSERT_EQUAL(
			memcmp(r.to.io.out[0] + 4 + 2, retry_random, sizeof(retry_random)), 0);
		raw_close(&r);
	}
}

static void
run_certificate(gnutls_pk_algorithm_t pk, unsigned int bits, unsigned int count, bool has_key)
{
	struct raw r;

	raw_open(&r, true, true, false);
	raw_certificate(&r, pk, bits, count);
	raw_handshake(&r);
	CU_ASSERT_EQUAL(r.to.result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(r.to.io.peer_has_key, has_key);
	CU_ASSERT_TRUE(r.to.io.secret[PS_LEVEL_APP].ready);
	raw_close(&r);
}

static void
test_solana_certificate(void)
{
	uint8_t seed[32], key[32];
	struct raw r;

	memset(seed, SEED_CLIENT, sizeof(seed));
	public_key(SEED_CLIENT, key);
	raw_open(&r, true, true, false);
	raw_solana_certificate(&r, seed, key);
	raw_handshake(&r);
	CU_ASSERT_EQUAL(r.to.result, PS_TLS_DONE);
	CU_ASSERT_TRUE(r.to.io.peer_has_key);
	CU_ASSERT_EQUAL(memcmp(r.to.io.peer_key, key, 32), 0);
	raw_close(&r);
}

static void
test_other_certificates(void)
{
	run_certificate(GNUTLS_PK_EDDSA_ED25519, 256, 1, true);
	run_certificate(GNUTLS_PK_EDDSA_ED25519, 256, 2, false);
	run_certificate(GNUTLS_PK_RSA, 2048, 1, false);
	run_certificate(GNUTLS_PK_RSA, 2048, 2, false);
	run_certificate(
		GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 1, false);
}

static void
run_missing_extension(bool alpn, bool transport_parameters, uint8_t alert)
{
	struct raw r;

	raw_open(&r, alpn, transport_parameters, false);
	raw_handshake(&r);
	CU_ASSERT_EQUAL(r.to.result, PS_TLS_ALERT);
	CU_ASSERT_EQUAL(r.to.io.alert, alert);
	CU_ASSERT_EQUAL(r.to.io.out_len[PS_LEVEL_INITIAL], 0);
	raw_close(&r);
}

static void
test_missing_extensions(void)
{
	run_missing_extension(true, false, 109);
	run_missing_extension(false, true, 120);
}

static void
test_certificate(void)
{
	uint8_t seed[32] = {7}, a[1024], b[1024];
	gnutls_datum_t d = {a, 0};
	gnutls_x509_crt_t crt;
	unsigned int status = 1;
	size_t len = ps_tls_certificate(seed, a, sizeof(a));

	CU_ASSERT_TRUE_FATAL(len > 0);
	CU_ASSERT_EQUAL(ps_tls_certificate(seed, b, sizeof(b)), len);
	CU_ASSERT_EQUAL(memcmp(a, b, len), 0);
	CU_ASSERT_EQUAL(ps_tls_certificate(seed, b, len - 1), 0);
	d.size = len;
	gnutls_x509_crt_init(&crt);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_crt_import(crt, &d, GNUTLS_X509_FMT_DER), 0);
	CU_ASSERT_EQUAL(gnutls_x509_crt_list_verify(&crt, 1, &crt, 1, NULL, 0, 0, &status), 0);
	CU_ASSERT_EQUAL(gnutls_x509_crt_check_issuer(crt, crt), 1);
	CU_ASSERT_EQUAL(gnutls_x509_crt_get_version(crt), 3);
	gnutls_x509_crt_deinit(crt);
}

static void
test_output_overflow(void)
{
	struct ps_tls_config c = config(false, false);
	struct end client;

	end_open(&client, &c);
	client.io.out_len[PS_LEVEL_INITIAL] = PS_TLS_OUT_MAX - 100;
	end_step(&client, PS_LEVEL_INITIAL, NULL, 0);
	CU_ASSERT_EQUAL(client.result, PS_TLS_ALERT);
	CU_ASSERT_EQUAL(client.io.alert, 80);
	CU_ASSERT_EQUAL(client.io.out_len[PS_LEVEL_INITIAL], PS_TLS_OUT_MAX - 100);
	end_close(&client);
}

/* The server's name means nothing here (but GnuTLS refuses bytes other than letters, digits, dots
 * and hyphens). */
static void
test_server_names(void)
{
	static const char *const names[] = {"connect", "198.51.100.1", "a..b", "."};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct ps_tls_config c = config(false, false), s = config(true, false);
		struct end client, server;

		c.server_name = names[i];
		end_open(&client, &c);
		end_open(&server, &s);
		handshake(&client, &server, PS_TLS_IN_MAX);
		check_done(&client, &server);
		end_close(&client);
		end_close(&server);
	}
}

/* Prints what a server handshake costs: a number to read, not a verdict. */
static void
test_cost(void)
{
	struct ps_tls_config c = config(false, false), s = config(true, false);
	struct end client, server;
	uint64_t spent = 0;
	const int n = 50;

	end_open(&client, &c);
	end_open(&server, &s);
	for (int i = 0; i < n; i++) {
		uint64_t start;

		ps_tls_end(client.tls, &client.io);
		ps_tls_begin(client.tls, &client.io);
		memset(client.given, 0, sizeof(client.given));
		memset(server.given, 0, sizeof(server.given));
		end_step(&client, PS_LEVEL_INITIAL, NULL, 0);
		start = ps_now_ns();
		ps_tls_end(server.tls, &server.io);
		ps_tls_begin(server.tls, &server.io);
		carry(&client, &server, PS_TLS_IN_MAX);
		spent += ps_now_ns() - start;
		carry(&server, &client, PS_TLS_IN_MAX);
		start = ps_now_ns();
		carry(&client, &server, PS_TLS_IN_MAX);
		spent += ps_now_ns() - start;
		CU_ASSERT_EQUAL(server.result, PS_TLS_DONE);
	}
	printf("%.0f us per server handshake ", (double)spent / n / 1e3);
	end_close(&client);
	end_close(&server);
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"certificate", test_certificate},
		{"inline handshake", test_inline},
		{"threaded handshake", test_threaded},
		{"input in chunks", test_chunks},
		{"every cipher suite", test_suites},
		{"server's first flight", test_server_first_flight},
		{"ALPN mismatch", test_alpn_mismatch},
		{"no certificate", test_no_certificate},
		{"no common cipher", test_wrong_cipher},
		{"legacy session id", test_session_id},
		{"corrupted ClientHello", test_corrupted_hello},
		{"corrupted second flight", test_corrupted_finish},
		{"garbage", test_garbage},
		{"more behind the hello", test_more_behind_hello},
		{"validator's certificate", test_solana_certificate},
		{"output overflow", test_output_overflow},
		{"any server name", test_server_names},
		{"RSA, ECDSA and chains", test_other_certificates},
		{"HelloRetryRequest", test_hello_retry},
		{"missing extensions", test_missing_extensions},
		{"cost", test_cost},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls, built-in server", use_builtin, NULL, NULL, NULL, tests},
		{"tls, GnuTLS", use_gnutls, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
