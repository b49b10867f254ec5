/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Malformed handshakes against the built-in server, whose alerts must be those of RFC 8446, and
 * against GnuTLS, which must say the same or what stands here as an accepted difference. Those are
 * of GnuTLS 3.7: another version's answers are printed where they differ, and not judged. */

#include <gnutls/gnutls.h>

#include "cunit_run.h"
#include "tls_craft.h"

#define SAME 0   /* GnuTLS sends the same alert */
#define NONE 255 /* no alert: it goes on */

struct hello_case {
	const char *name;
	struct hello hello;
	uint8_t alert;  /* NONE: accepted */
	uint8_t gnutls; /* SAME, or what GnuTLS says instead */
};

static const struct hello_case hello_cases[] = {
	{"as it should be", {.drop = 0}, NONE, SAME},
	{"legacy_version 0x0301", {.version = 0x0301}, NONE, 70},
	{"legacy_version 0x0304", {.version = 0x0304}, NONE, SAME},
	{"SNI that is none", {.extensions = BYTES("\x00\x00\x00\x02\x00\x00")}, NONE, 50},
	{"SNI of any bytes", {.extensions = BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03\xff\x00 ")},
		NONE, 47},
	{"session id", {.session_id = BYTES("\x01\xaa")}, PS_TLS_ALERT_SESSION_ID, SAME},
	{"session id of 33 bytes",
		{.session_id = BYTES("\x21"
				     "012345678901234567890123456789012")},
		50, SAME},
	{"no ciphers", {.ciphers = BYTES("\x00\x00")}, 50, SAME},
	{"odd ciphers", {.ciphers = BYTES("\x00\x03\x13\x01\x13")}, 50, SAME},
	{"no common cipher", {.ciphers = BYTES("\x00\x04\x13\x04\x13\x05")}, 40, SAME},
	{"no compression", {.compression = BYTES("\x00")}, 50, SAME},
	{"compression 1", {.compression = BYTES("\x01\x01")}, 47, SAME},
	{"compressions 0 and 1", {.compression = BYTES("\x02\x00\x01")}, 47, NONE},
	{"a byte behind the extensions", {.behind = BYTES("\x00")}, 50, SAME},
	{"half an extension", {.extensions = BYTES("\x77\x77\x00")}, 50, SAME},
	{"extension longer than the rest", {.extensions = BYTES("\x77\x77\x00\x05x")}, 50, SAME},
	{"unknown extension twice", {.extensions = BYTES("\x77\x77\x00\x00\x77\x77\x00\x00")}, 47,
		NONE},
	{"ALPN twice",
		{.extensions = BYTES("\x00\x10\x00\x0d\x00\x0b\x0a"
				     "solana-tpu")},
		47, 110},
	{"no versions", {.drop = 43}, 70, 40},
	{"TLS 1.2 only", {.drop = 43, .extensions = BYTES("\x00\x2b\x00\x03\x02\x03\x03")}, 70,
		SAME},
	{"odd versions", {.drop = 43, .extensions = BYTES("\x00\x2b\x00\x04\x03\x03\x04\x03")}, 50,
		SAME},
	{"empty versions", {.drop = 43, .extensions = BYTES("\x00\x2b\x00\x01\x00")}, 50, 70},
	{"versions with a tail",
		{.drop = 43, .extensions = BYTES("\x00\x2b\x00\x04\x02\x03\x04\x00")}, 50, SAME},
	{"no groups", {.drop = 10}, 109, 40},
	{"no X25519", {.drop = 10, .extensions = BYTES("\x00\x0a\x00\x04\x00\x02\x00\x17")}, 40,
		SAME},
	{"odd groups", {.drop = 10, .extensions = BYTES("\x00\x0a\x00\x05\x00\x03\x00\x1d\x00")},
		50, SAME},
	{"empty groups", {.drop = 10, .extensions = BYTES("\x00\x0a\x00\x02\x00\x00")}, 50, 40},
	{"no signature algorithms", {.drop = 13}, 109, 40},
	{"no Ed25519", {.drop = 13, .extensions = BYTES("\x00\x0d\x00\x04\x00\x02\x04\x03")}, 40,
		SAME},
	{"odd signature algorithms",
		{.drop = 13, .extensions = BYTES("\x00\x0d\x00\x05\x00\x03\x08\x07\x08")}, 50,
		SAME},
	{"no ALPN", {.drop = 16}, 120, SAME},
	{"other ALPN", {.drop = 16, .extensions = BYTES("\x00\x10\x00\x05\x00\x03\x02h3")}, 120,
		SAME},
	{"ALPN that begins like ours",
		{.drop = 16, .extensions = BYTES("\x00\x10\x00\x0c\x00\x0a\x09solana-tp")}, 120,
		SAME},
	{"empty ALPN", {.drop = 16, .extensions = BYTES("\x00\x10\x00\x02\x00\x00")}, 50, SAME},
	{"empty name in ALPN",
		{.drop = 16, .extensions = BYTES("\x00\x10\x00\x0e\x00\x0c\x00\x0asolana-tpu")}, 50,
		SAME},
	{"ALPN name too long",
		{.drop = 16, .extensions = BYTES("\x00\x10\x00\x0d\x00\x0b\x0bsolana-tpu")}, 50,
		SAME},
	{"no transport parameters", {.drop = 57}, 109, SAME},
	{"no key share", {.drop = 51}, 109, SAME},
	{"key share cut",
		{.drop = 51, .extensions = BYTES("\x00\x33\x00\x06\x00\x04\x00\x1d\x00\x20")}, 50,
		SAME},
	{"key share without bytes",
		{.drop = 51, .extensions = BYTES("\x00\x33\x00\x06\x00\x04\x00\x1d\x00\x00")}, 50,
		47},
	{"key share of 31 bytes",
		{.drop = 51,
			.extensions = BYTES("\x00\x33\x00\x25\x00\x23\x00\x1d\x00\x1f"
					    "0123456789012345678901234567890")},
		47, SAME},
	{"key share of zeros",
		{.drop = 51,
			.extensions = BYTES("\x00\x33\x00\x26\x00\x24\x00\x1d\x00\x20"
					    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
					    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
		47, SAME},
	{"two X25519 shares",
		{.drop = 51,
			.extensions = BYTES("\x00\x33\x00\x4a\x00\x48\x00\x1d\x00\x20"
					    "01234567890123456789012345678901"
					    "\x00\x1d\x00\x20"
					    "01234567890123456789012345678901")},
		47, NONE},
	{"resumption and early data, declined",
		{.extensions = BYTES("\x00\x2d\x00\x02\x01\x01\x00\x2a\x00\x00\x00\x29\x00\x2d"
				     "\x00\x08\x00\x02xx\0\0\0\0\x00\x21\x20"
				     "01234567890123456789012345678901")},
		NONE, SAME},
	{"pre-shared key not the last",
		{.extensions = BYTES("\x00\x2d\x00\x02\x01\x01\x00\x29\x00\x2d"
				     "\x00\x08\x00\x02xx\0\0\0\0\x00\x21\x20"
				     "01234567890123456789012345678901"
				     "\x77\x77\x00\x00")},
		47, SAME},
	{"pre-shared key without modes",
		{.extensions = BYTES("\x00\x29\x00\x2d"
				     "\x00\x08\x00\x02xx\0\0\0\0\x00\x21\x20"
				     "01234567890123456789012345678901")},
		109, 110},
	{"unknown certificate type only", {.extensions = BYTES("\x00\x13\x00\x02\x01\x01")}, 43,
		NONE},
	{"empty certificate types", {.extensions = BYTES("\x00\x14\x00\x01\x00")}, 50, NONE},
};

static uint8_t
answer_of(enum ps_tls_kind backend, const struct hello *h)
{
	struct craft c;
	uint8_t alert;

	test_backend = backend;
	craft_open(&c);
	alert = craft_hello(&c, h);
	if (alert != 0)
		CU_ASSERT_EQUAL(c.to.io.out_len[PS_LEVEL_INITIAL], 0);
	craft_close(&c);
	return alert == 0 ? NONE : alert;
}

static void
check_answer(const char *name, enum ps_tls_kind backend, uint8_t expected, uint8_t got)
{
	bool judged =
		backend == PS_TLS_BUILTIN || strncmp(gnutls_check_version(NULL), "3.7.", 4) == 0;

	if (got != expected)
		printf("\n    %s, %s: alert %u, should be %u ", name,
			backend == PS_TLS_BUILTIN ? "built-in" : "GnuTLS", got, expected);
	CU_ASSERT_TRUE(got == expected || !judged);
}

static void
test_hello(void)
{
	for (size_t i = 0; i < sizeof(hello_cases) / sizeof(hello_cases[0]); i++) {
		const struct hello_case *t = &hello_cases[i];

		check_answer(
			t->name, PS_TLS_BUILTIN, t->alert, answer_of(PS_TLS_BUILTIN, &t->hello));
		check_answer(t->name, PS_TLS_GNUTLS, t->gnutls == SAME ? t->alert : t->gnutls,
			answer_of(PS_TLS_GNUTLS, &t->hello));
	}
}

static void
test_second_hello(void)
{
	static const struct hello none = {.no_share = true}, good;
	struct craft c;
	uint8_t alert;

	for (test_backend = 0; test_backend <= PS_TLS_GNUTLS; test_backend++) {
		craft_open(&c);
		CU_ASSERT_EQUAL(craft_hello(&c, &none), 0);
		CU_ASSERT_TRUE(c.to.io.out_len[PS_LEVEL_INITIAL] > 0);
		CU_ASSERT_EQUAL(c.to.io.out_len[PS_LEVEL_HANDSHAKE], 0);
		if (test_backend == PS_TLS_BUILTIN) /* those of the last hello count */
			CU_ASSERT_EQUAL(c.to.io.peer_tp_len, 0);
		CU_ASSERT_EQUAL(craft_hello(&c, &good), 0);
		craft_keys(&c);
		craft_good_flight(&c);
		craft_flight(&c);
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
		craft_close(&c);

		craft_open(&c); /* asked for a share and sent none again */
		CU_ASSERT_EQUAL(craft_hello(&c, &none), 0);
		alert = craft_hello(&c, &none);
		if (test_backend == PS_TLS_BUILTIN)
			CU_ASSERT_EQUAL(alert, 47);
		CU_ASSERT_FALSE(c.to.io.secret[PS_LEVEL_HANDSHAKE].ready);
		craft_close(&c);
	}
}

/* -- the second flight -- */

static void
good(struct craft *c)
{
	craft_good_flight(c);
}

static void
context(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes("\x01x\x00\x00\x00"));
}

static void
no_certificates(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes("\x00\x00\x00\x00"));
}

static void
empty_certificate(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes("\x00\x00\x00\x05\x00\x00\x00\x00\x00"));
}

static void
list_too_long(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes("\x00\x00\x00\x09\x00\x00\x00\x00\x00"));
}

static void
list_tail(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes("\x00\x00\x00\x00\x00"));
}

static void
certificate_cut(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes("\x00\x00\x00\x04\x00\x00\x01x"));
}

static void
no_certificate_body(struct craft *c)
{
	add_message(c, TLS_CERTIFICATE, bytes(""));
}

static void
stapled(struct craft *c)
{
	static const uint8_t status[] = {0, 8, 0, 5, 0, 4, 1, 0, 0, 0};
	uint8_t der[1024], seed[32] = {1};
	struct bytes b = {der, ps_tls_certificate(seed, der, sizeof(der))};

	add_certificates(c, &b, 1, (struct bytes){status, sizeof(status)});
}

static void
garbage_certificate(struct craft *c)
{
	struct bytes b = bytes("no certificate at all");

	add_certificates(c, &b, 1, (struct bytes){0});
	add_verify(c, TLS_SIG_ED25519, 64, 0);
}

static void
no_verify(struct craft *c)
{
	add_own_certificate(c);
	add_finished(c, 32, 0);
}

static void
verify_first(struct craft *c)
{
	add_verify(c, TLS_SIG_ED25519, 64, 0);
	add_own_certificate(c);
	add_finished(c, 32, 0);
}

static void
finished_only(struct craft *c)
{
	add_finished(c, 32, 0);
}

static void
two_certificate_messages(struct craft *c)
{
	add_own_certificate(c);
	add_own_certificate(c);
}

static void
scheme_not_listed(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, 0x0401, 64, 0);
}

static void
scheme_of_other_key(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ECDSA_P256_SHA256, 64, 0);
}

static void
bad_signature(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 64, 1);
	add_finished(c, 32, 0);
}

static void
short_signature(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 63, 0);
	add_finished(c, 32, 0);
}

static void
long_signature(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 65, 0);
	add_finished(c, 32, 0);
}

static void
verify_cut(struct craft *c)
{
	add_own_certificate(c);
	add_message(c, TLS_CERTIFICATE_VERIFY, bytes("\x08\x07\x00\x40xxx"));
}

static void
verify_tail(struct craft *c)
{
	add_own_certificate(c);
	add_message(c, TLS_CERTIFICATE_VERIFY, bytes("\x08\x07\x00\x01xy"));
}

static void
bad_finished(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 64, 0);
	add_finished(c, 32, 1);
}

static void
short_finished(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 64, 0);
	add_finished(c, 31, 0);
}

static void
long_finished(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 64, 0);
	add_finished(c, 33, 0);
}

static void
more_behind(struct craft *c)
{
	craft_good_flight(c);
	add_message(c, 24, bytes("\x00"));
}

static void
half_a_message_behind(struct craft *c)
{
	craft_good_flight(c);
	c->flight[c->flight_len++] = 20;
}

static void
end_of_early_data(struct craft *c)
{
	add_message(c, 5, bytes(""));
	craft_good_flight(c);
}

static void
key_update(struct craft *c)
{
	add_message(c, 24, bytes("\x00"));
}

static void
hello_again(struct craft *c)
{
	add_message(c, TLS_CLIENT_HELLO, bytes("\x03\x03"));
}

static void
unknown_message(struct craft *c)
{
	add_message(c, 99, bytes("xyz"));
}

static const struct {
	const char *name;
	void (*make)(struct craft *c);
	uint8_t alert, gnutls;
} flight_cases[] = {
	{"as it should be", good, NONE, SAME},
	{"certificate context", context, 47, SAME},
	{"no certificates", no_certificates, 116, SAME},
	{"empty certificate", empty_certificate, 50, SAME},
	{"list longer than the message", list_too_long, 50, SAME},
	{"a byte behind the list", list_tail, 50, SAME},
	{"certificate cut short", certificate_cut, 50, SAME},
	{"no body", no_certificate_body, 50, 47},
	{"extension not asked for", stapled, 110, SAME},
	{"garbage as certificate", garbage_certificate, 42, SAME},
	{"no CertificateVerify", no_verify, 10, SAME},
	{"CertificateVerify first", verify_first, 10, 50},
	{"Finished alone", finished_only, 10, 50},
	{"two Certificates", two_certificate_messages, 10, SAME},
	{"scheme for certificates only", scheme_not_listed, 47, SAME},
	{"scheme of another key", scheme_of_other_key, 47, SAME},
	{"bad signature", bad_signature, 51, SAME},
	{"signature of 63 bytes", short_signature, 51, SAME},
	{"signature of 65 bytes", long_signature, 51, SAME},
	{"CertificateVerify cut short", verify_cut, 50, 80},
	{"a byte behind the signature", verify_tail, 50, 51},
	{"bad Finished", bad_finished, 51, SAME},
	{"Finished of 31 bytes", short_finished, 50, SAME},
	{"Finished of 33 bytes", long_finished, 50, SAME},
	{"a message behind Finished", more_behind, 10, NONE},
	{"half a message behind Finished", half_a_message_behind, 10, NONE},
	{"EndOfEarlyData", end_of_early_data, 10, 50},
	{"KeyUpdate", key_update, 10, 50},
	{"ClientHello again", hello_again, 10, 50},
	{"unknown message", unknown_message, 10, 50},
};

static void
test_flight(void)
{
	static const struct hello plain;
	struct craft c;

	for (size_t i = 0; i < sizeof(flight_cases) / sizeof(flight_cases[0]); i++) {
		for (test_backend = 0; test_backend <= PS_TLS_GNUTLS; test_backend++) {
			bool other =
				test_backend == PS_TLS_GNUTLS && flight_cases[i].gnutls != SAME;
			uint8_t alert;

			craft_open(&c);
			CU_ASSERT_EQUAL_FATAL(craft_hello(&c, &plain), 0);
			craft_keys(&c);
			flight_cases[i].make(&c);
			alert = craft_flight(&c);
			check_answer(flight_cases[i].name, test_backend,
				other ? flight_cases[i].gnutls : flight_cases[i].alert,
				alert == 0 ? NONE : alert);
			CU_ASSERT_EQUAL(c.to.io.peer_has_key, c.to.result == PS_TLS_DONE);
			if (test_backend == PS_TLS_BUILTIN)
				CU_ASSERT_EQUAL(
					c.to.result == PS_TLS_DONE, flight_cases[i].alert == NONE);
			craft_close(&c);
		}
	}
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"ClientHello", test_hello},
		{"ClientHello after HelloRetryRequest", test_second_hello},
		{"the client's second flight", test_flight},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls alerts", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
