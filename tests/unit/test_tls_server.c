/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What is the built-in TLS server's own: its key schedule, and what it does with bytes that were
 * spoiled on the way. */

#include <stdio.h>

#include "cunit_run.h"
#include "protect.h"
#include "rfc8448_vectors.h"
#include "tls_craft.h"

static const struct hello plain;

static size_t
unhex(uint8_t *out, const char *hex)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned int v = 0;

		sscanf(hex + 2 * i, "%2x", &v);
		out[i] = (uint8_t)v;
	}
	return n;
}

static bool
is(const uint8_t *got, const char *hex)
{
	uint8_t want[64];

	return memcmp(got, want, unhex(want, hex)) == 0;
}

static void
take(struct ps_hash *transcript, const char *hex)
{
	uint8_t bytes[1024];

	ps_hash_update(transcript, bytes, unhex(bytes, hex));
}

static void
test_schedule(void)
{
	uint8_t shared[32], hash[32], handshake[32], client[32], server[32], key[32], mac[32];
	struct ps_hash t;

	unhex(shared, rfc8448_shared);
	ps_hash_init(&t, 32);
	take(&t, rfc8448_client_hello);
	take(&t, rfc8448_server_hello);
	ps_hash_peek(&t, hash);
	CU_ASSERT_TRUE(is(hash, rfc8448_hello_hash));
	ps_tls_handshake_secrets(handshake, client, server, shared, &t);
	CU_ASSERT_TRUE(is(handshake, rfc8448_handshake_secret));
	CU_ASSERT_TRUE(is(client, rfc8448_client_handshake));
	CU_ASSERT_TRUE(is(server, rfc8448_server_handshake));
	take(&t, rfc8448_encrypted_extensions);
	take(&t, rfc8448_certificate);
	take(&t, rfc8448_certificate_verify);
	ps_tls_finished_key(32, key, server);
	ps_tls_finished(mac, key, &t);
	CU_ASSERT_TRUE(is(mac, rfc8448_server_finished + 8));
	take(&t, rfc8448_server_finished);
	ps_tls_finished_key(32, key, client);
	ps_tls_finished(mac, key, &t);
	CU_ASSERT_TRUE(is(mac, rfc8448_client_finished + 8));
	ps_tls_app_secrets(client, server, handshake, &t);
	CU_ASSERT_TRUE(is(client, rfc8448_client_app));
	CU_ASSERT_TRUE(is(server, rfc8448_server_app));
}

/* RFC 8448 section 3 and RFC 8032 section 7.1, test 2. */
static void
test_curves(void)
{
	static const char seed_hex[] =
		"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
	static const char public_hex[] =
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
	static const char sig_hex[] =
		"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
		"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
	uint8_t secret[32], public[32], peer[32], shared[32], key[64], seed[32], sig[64];
	uint8_t msg = 0x72;

	CU_ASSERT_TRUE(ps_curve25519_start());
	unhex(secret, rfc8448_server_private);
	unhex(peer, rfc8448_client_public);
	ps_x25519_public(public, secret);
	CU_ASSERT_TRUE(is(public, rfc8448_server_public));
	CU_ASSERT_TRUE(ps_x25519(shared, secret, peer));
	CU_ASSERT_TRUE(is(shared, rfc8448_shared));
	memset(peer, 0, sizeof(peer));
	CU_ASSERT_FALSE(ps_x25519(shared, secret, peer));
	peer[0] = 1;
	CU_ASSERT_FALSE(ps_x25519(shared, secret, peer));

	unhex(seed, seed_hex);
	ps_ed25519_key(key, seed);
	CU_ASSERT_TRUE(is(key + 32, public_hex));
	unhex(sig, sig_hex);
	CU_ASSERT_TRUE(ps_ed25519_verify(sig, &msg, 1, key + 32));
	ps_ed25519_sign(sig, &msg, 1, key); /* lib25519's are not always the same */
	CU_ASSERT_TRUE(ps_ed25519_verify(sig, &msg, 1, key + 32));
	sig[3] ^= 1;
	CU_ASSERT_FALSE(ps_ed25519_verify(sig, &msg, 1, key + 32));
}

/* Both backends come to the secrets that a third implementation, this client, computes; and their
 * key logs say so. */

struct log {
	unsigned int lines;
	char text[4][256];
};

static void
take_line(void *ctx, const char *line)
{
	struct log *l = ctx;

	if (l->lines < 4)
		snprintf(l->text[l->lines], sizeof(l->text[0]), "%s", line);
	l->lines++;
}

static bool
logged(const struct log *l, const char *label, const uint8_t *secret, size_t len)
{
	char want[256];
	int n = snprintf(want, sizeof(want), "%s ", label);

	for (int i = 0; i < 32; i++)
		n += snprintf(want + n, 3, "77"); /* the client's random */
	want[n++] = ' ';
	for (size_t i = 0; i < len; i++)
		n += snprintf(want + n, 3, "%02x", secret[i]);
	for (int i = 0; i < 4; i++)
		if (strcmp(want, l->text[i]) == 0)
			return true;
	return false;
}

/* Of one suite each, so that it is the server's choice. */
static const struct hello hello_of[PS_SUITES] = {
	{.ciphers = BYTES("\x00\x02\x13\x01")},
	{.ciphers = BYTES("\x00\x02\x13\x02")},
	{.ciphers = BYTES("\x00\x02\x13\x03")},
};

static void
test_same_secrets(void)
{
	struct craft c;

	for (int i = 0; i < 60; i++) {
		enum ps_suite suite = i / 2 % PS_SUITES;
		size_t len = ps_suite_hash_bytes(suite);
		struct log log = {0};
		struct ps_tls_config s;
		const struct ps_tls_secret *hs = &c.to.io.secret[PS_LEVEL_HANDSHAKE];
		const struct ps_tls_secret *app = &c.to.io.secret[PS_LEVEL_APP];

		test_backend = i % 2 ? PS_TLS_GNUTLS : PS_TLS_BUILTIN;
		s = config(true, false);
		s.key_log = take_line;
		s.key_log_ctx = &log;
		craft_open_with(&c, &s);
		c.suite = suite;
		craft_again(&c);
		ps_random(c.secret, sizeof(c.secret));
		CU_ASSERT_EQUAL_FATAL(craft_hello(&c, &hello_of[suite]), 0);
		craft_keys(&c);
		craft_good_flight(&c);
		CU_ASSERT_EQUAL(craft_flight(&c), 0);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
		CU_ASSERT_TRUE(hs->ready && app->ready);
		CU_ASSERT_TRUE(hs->suite == suite && app->suite == suite);
		CU_ASSERT_EQUAL(memcmp(hs->rx, c.client_hs, len), 0);
		CU_ASSERT_EQUAL(memcmp(hs->tx, c.server_hs, len), 0);
		CU_ASSERT_EQUAL(memcmp(app->rx, c.client_app, len), 0);
		CU_ASSERT_EQUAL(memcmp(app->tx, c.server_app, len), 0);
		CU_ASSERT_TRUE(c.to.io.peer_has_key);
		CU_ASSERT_EQUAL(memcmp(c.to.io.peer_key, c.key + 32, 32), 0);
		CU_ASSERT_TRUE(log.lines >= 4);
		CU_ASSERT_TRUE(logged(&log, "CLIENT_HANDSHAKE_TRAFFIC_SECRET", hs->rx, len));
		CU_ASSERT_TRUE(logged(&log, "SERVER_HANDSHAKE_TRAFFIC_SECRET", hs->tx, len));
		CU_ASSERT_TRUE(logged(&log, "CLIENT_TRAFFIC_SECRET_0", app->rx, len));
		craft_close(&c);
	}
	test_backend = PS_TLS_BUILTIN;
}

/* After a HelloRetryRequest the suite it named is chosen, RFC 8446 section 4.1.4. */
static void
test_suite_of_second_hello(void)
{
	static const struct hello first = {.ciphers = BYTES("\x00\x02\x13\x02"), .no_share = true};
	struct craft c;

	craft_open(&c);
	c.suite = PS_AES_256_GCM_SHA384;
	for (enum ps_suite s = 0; s < PS_SUITES; s++) {
		craft_again(&c);
		CU_ASSERT_EQUAL(craft_hello(&c, &first), 0);
		CU_ASSERT_EQUAL(ps_be16_load(c.to.io.out[0] + 4 + 2 + 32 + 1), 0x1302);
		CU_ASSERT_EQUAL(craft_hello(&c, &hello_of[s]), s == c.suite ? 0 : 47);
	}
	craft_again(&c);
	craft_hello(&c, &first);
	craft_hello(&c, &hello_of[PS_AES_256_GCM_SHA384]);
	craft_keys(&c);
	craft_good_flight(&c);
	CU_ASSERT_EQUAL(craft_flight(&c), 0);
	CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
	craft_close(&c);
}

/* A Finished as long as the other hash. */
static void
test_finished_length(void)
{
	struct craft c;

	craft_open(&c);
	for (enum ps_suite s = 0; s < PS_SUITES; s++) {
		c.suite = s;
		craft_again(&c);
		CU_ASSERT_EQUAL(craft_hello(&c, &hello_of[s]), 0);
		craft_keys(&c);
		add_own_certificate(&c);
		add_verify(&c, TLS_SIG_ED25519, 64, 0);
		add_finished(&c, 80 - ps_suite_hash_bytes(s), 0);
		CU_ASSERT_EQUAL(craft_flight(&c), 50);
	}
	craft_close(&c);
}

/* -- spoiled bytes -- */

static void
check_outcome(const struct craft *c, bool may_go_on)
{
	const struct ps_tls_io *io = &c->to.io;

	CU_ASSERT_TRUE(c->to.result == PS_TLS_ALERT || (may_go_on && c->to.result == PS_TLS_MORE));
	CU_ASSERT_TRUE(c->to.result != PS_TLS_ALERT || io->alert == 10 || io->alert == 40 ||
		       io->alert == 42 || io->alert == 43 || io->alert == 47 || io->alert == 50 ||
		       io->alert == 51 || io->alert == 70 || io->alert == 109 || io->alert == 110 ||
		       io->alert == 116 || io->alert == 120);
	CU_ASSERT_FALSE(io->peer_has_key);
	CU_ASSERT_FALSE(io->secret[PS_LEVEL_APP].ready);
}

static void
test_spoiled_hello(void)
{
	static const uint8_t flip[] = {0x01, 0x10, 0x80, 0xff};
	unsigned int alerts = 0;
	struct craft c;

	craft_open(&c);
	CU_ASSERT_EQUAL(craft_hello(&c, &plain), 0);
	for (uint16_t i = 0; i < c.hello_len[0]; i++) {
		for (size_t f = 0; f < sizeof(flip); f++) {
			craft_again(&c);
			c.hello[0][i] ^= flip[f];
			end_step(&c.to, PS_LEVEL_INITIAL, c.hello[0], c.hello_len[0]);
			c.hello[0][i] ^= flip[f];
			check_outcome(&c, true);
			alerts += c.to.result == PS_TLS_ALERT;
		}
		craft_again(&c); /* cut here, its length as before: not all there yet */
		if (i > 0)
			end_step(&c.to, PS_LEVEL_INITIAL, c.hello[0], i);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_MORE);
		CU_ASSERT_EQUAL(c.to.io.out_len[0], 0);
	}
	CU_ASSERT_TRUE(alerts > c.hello_len[0]);
	craft_close(&c);
}

/* The same with the length of the message corrected: what it holds ends too early. */
static void
test_cut_hello(void)
{
	struct craft c;
	uint8_t whole[512];

	craft_open(&c);
	CU_ASSERT_EQUAL(craft_hello(&c, &plain), 0);
	memcpy(whole, c.hello[0], c.hello_len[0]);
	for (uint16_t i = 4; i < c.hello_len[0]; i++) {
		craft_again(&c);
		ps_be32_store(c.hello[0], i - 4U);
		c.hello[0][0] = TLS_CLIENT_HELLO;
		end_step(&c.to, PS_LEVEL_INITIAL, c.hello[0], i);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_ALERT);
		CU_ASSERT_TRUE(c.to.io.alert == 50 || c.to.io.alert == 70);
	}
	craft_close(&c);
}

static void
ready_for_flight(struct craft *c)
{
	craft_again(c);
	CU_ASSERT_EQUAL_FATAL(craft_hello(c, &plain), 0);
	craft_keys(c);
	craft_good_flight(c);
}

static void
test_spoiled_flight(void)
{
	uint16_t len = 1;
	struct craft c;

	craft_open(&c);
	for (uint16_t i = 0; i < len; i++) {
		ready_for_flight(&c);
		len = c.flight_len;
		c.flight[i] ^= (uint8_t)(1U << i % 8);
		craft_flight(&c);
		check_outcome(&c, true);

		ready_for_flight(&c);
		c.flight_len = i;
		if (i > 0)
			craft_flight(&c);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_MORE);
		CU_ASSERT_FALSE(c.to.io.secret[PS_LEVEL_APP].ready);
	}
	CU_ASSERT_TRUE(len > 300);
	craft_close(&c);
}

/* In two steps, cut anywhere; and in steps of one byte. */
static void
test_flight_in_steps(void)
{
	uint16_t len = 2;
	struct craft c;

	craft_open(&c);
	for (uint16_t i = 1; i < len; i++) {
		ready_for_flight(&c);
		len = c.flight_len;
		end_step(&c.to, PS_LEVEL_HANDSHAKE, c.flight, i);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_MORE);
		end_step(&c.to, PS_LEVEL_HANDSHAKE, c.flight + i, len - i);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
	}
	ready_for_flight(&c);
	for (uint16_t i = 0; i < len; i++)
		end_step(&c.to, PS_LEVEL_HANDSHAKE, c.flight + i, 1);
	CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
	craft_close(&c);
}

/* Input that does not lie where the last ended is refused, not read astray. */
static void
test_moved_input(void)
{
	struct craft c;

	craft_open(&c);
	CU_ASSERT_EQUAL(craft_hello(&c, &plain), 0);
	craft_again(&c);
	end_step(&c.to, PS_LEVEL_INITIAL, c.hello[0], 20);
	memcpy(c.hello[1], c.hello[0], c.hello_len[0]);
	end_step(&c.to, PS_LEVEL_INITIAL, c.hello[1] + 20, c.hello_len[0] - 20);
	CU_ASSERT_EQUAL(c.to.result, PS_TLS_ALERT);
	CU_ASSERT_EQUAL(c.to.io.alert, 80);
	craft_close(&c);
}

/* -- raw public keys, RFC 7250 -- */

static bool
has(const uint8_t *p, size_t len, const char *hex)
{
	uint8_t want[64];
	size_t n = unhex(want, hex);

	for (size_t i = 0; i + n <= len; i++)
		if (memcmp(p + i, want, n) == 0)
			return true;
	return false;
}

static void
test_raw_keys(void)
{
	static const struct hello raw = {
		.extensions = BYTES("\x00\x13\x00\x03\x02\x02\x00\x00\x14\x00\x03\x02\x02\x00")};
	static const struct hello x509_first = {
		.extensions = BYTES("\x00\x13\x00\x03\x02\x00\x02\x00\x14\x00\x02\x01\x00")};
	uint8_t spki[PS_TLS_SPKI_BYTES];
	struct bytes b[2] = {{spki, sizeof(spki)}, {spki, sizeof(spki)}};
	struct craft c;

	craft_open(&c);
	ps_tls_put_spki(spki, c.key + 32);
	for (unsigned int count = 1; count <= 2; count++) {
		craft_again(&c);
		CU_ASSERT_EQUAL(craft_hello(&c, &raw), 0);
		CU_ASSERT_TRUE(has(c.to.io.out[1], c.to.io.out_len[1], "00130001020014000102"));
		/* The certificate list: the server's key, no X.509 around it. */
		CU_ASSERT_TRUE(has(c.to.io.out[1], c.to.io.out_len[1],
			"0b0000350000003100002c302a300506032b6570032100"));
		craft_keys(&c);
		add_certificates(&c, b, count, (struct bytes){0});
		add_verify(&c, TLS_SIG_ED25519, 64, 0);
		add_finished(&c, 32, 0);
		CU_ASSERT_EQUAL(craft_flight(&c), count == 1 ? 0 : 47);
		CU_ASSERT_EQUAL(c.to.io.peer_has_key, count == 1);
	}
	CU_ASSERT_EQUAL(memcmp(c.to.io.peer_key, c.key + 32, 32) == 0, c.to.io.peer_has_key);
	craft_again(&c);
	CU_ASSERT_EQUAL(craft_hello(&c, &x509_first), 0);
	CU_ASSERT_TRUE(has(c.to.io.out[1], c.to.io.out_len[1], "00130001000014000100"));
	craft_keys(&c);
	craft_good_flight(&c);
	CU_ASSERT_EQUAL(craft_flight(&c), 0);
	CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
	craft_close(&c);
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"key schedule of RFC 8448", test_schedule},
		{"curves", test_curves},
		{"same secrets, same key log", test_same_secrets},
		{"suite of the second hello", test_suite_of_second_hello},
		{"length of Finished", test_finished_length},
		{"spoiled ClientHello", test_spoiled_hello},
		{"ClientHello cut short", test_cut_hello},
		{"spoiled second flight", test_spoiled_flight},
		{"second flight in steps", test_flight_in_steps},
		{"input that moved", test_moved_input},
		{"raw public keys", test_raw_keys},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls server", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
