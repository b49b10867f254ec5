/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The built-in TLS server beside GnuTLS on random handshakes from one seed: as they should be, with
 * any kind of certificate, where both must come to the secrets that the client computes; and with
 * one thing spoiled, where both must answer alike. Where they do not, the difference stands in
 * differences[] with its reason, or the test fails and prints the case. Those are of GnuTLS 3.7:
 * another version's answers are counted and not judged. Raw public keys are not among the
 * certificates: that backend takes none. Usage: test_tls_diff [SEED [COUNT]] */

#include <stdio.h>

#include "cunit_run.h"
#include "tls_spoil.h"

#define DONE 255 /* no alert: the handshake is complete, or goes on */

/* Extensions that nothing here reads. */
enum { SNI = 0, STATUS_REQUEST = 5, MASTER_SECRET = 23, RENEGOTIATION = 0xff01 };

static uint64_t seed = 1;
static unsigned int count = 1500; /* of each of the three tests */
static struct craft ends[2];      /* one context per backend, used again and again */
static struct diff_hello hello;
static uint8_t public[32];

/* -- what may differ -- */

#define SOME 254 /* any alert */

static const char first[] = "which of several faults is seen first";
static const char order[] = "RFC 8446 section 4 has unexpected_message for this; GnuTLS does not";
static const char once[] = "section 4.2: none twice; GnuTLS does not mind, or says something else";
static const char lax[] =
	"GnuTLS reads over it; a vector that does not fill its extension is broken";
static const char unread[] = "of no use to us, so not read; section 4.2 lets a server pass over it";
static const char asked[] = "GnuTLS asks for a share before it looks; it refuses the second hello";
static const char absent[] = "section 9.2 has missing_extension; GnuTLS says handshake_failure";
static const char behind[] = "GnuTLS does not look at what follows the last message it waits for";

static const struct difference {
	const char *spoiled;
	uint16_t ext; /* ANY: any of them, or none */
	uint8_t ours, gnutls;
	bool retry; /* only in a hello without a share */
	const char *why;
} differences[] = {
	{"drop", TLS_EXT_SUPPORTED_GROUPS, 109, 40, false, absent},
	{"drop", TLS_EXT_SIGNATURE_ALGORITHMS, 109, 40, false, absent},
	{"drop", TLS_EXT_SUPPORTED_VERSIONS, 70, 40, false,
		"no TLS 1.3: protocol_version, section 4.2.1"},
	{"drop", TLS_EXT_PSK_KEY_EXCHANGE_MODES, 109, 110, false,
		"a pre-shared key without modes, section 4.2.9"},
	{"drop", TLS_EXT_ALPN, 120, DONE, true, asked},
	{"drop", TLS_EXT_QUIC_TRANSPORT_PARAMETERS, 109, DONE, true, asked},
	{"empty", TLS_EXT_QUIC_TRANSPORT_PARAMETERS, 109, DONE, true, asked},
	{"session_id", ANY, PS_TLS_ALERT_SESSION_ID, DONE, true, asked},
	{"twice", ANY, 47, 110, false, once},
	{"twice", ANY, 47, DONE, false, once},
	{"version", ANY, DONE, 70, false, "section 4.2.1: legacy_version says nothing"},
	{"compression", ANY, 47, DONE, false,
		"section 4.1.2: exactly one method; GnuTLS takes 0 among others"},
	{"empty", TLS_EXT_SUPPORTED_GROUPS, 50, 110, false, first},
	{"cut", TLS_EXT_SUPPORTED_GROUPS, 50, 110, false, first},
	{"grow", TLS_EXT_SUPPORTED_GROUPS, 50, DONE, false, lax},
	{"grow", TLS_EXT_ALPN, 50, DONE, false, lax},
	{"byte", TLS_EXT_ALPN, 50, DONE, false, lax},
	{"byte", TLS_EXT_PSK_KEY_EXCHANGE_MODES, 50, DONE, false, lax},
	{"cut", TLS_EXT_PSK_KEY_EXCHANGE_MODES, 50, DONE, false, lax},
	{"empty", TLS_EXT_PSK_KEY_EXCHANGE_MODES, 50, DONE, false, lax},
	{"grow", TLS_EXT_PSK_KEY_EXCHANGE_MODES, 50, DONE, false, lax},
	{"byte", SNI, DONE, SOME, false, unread},
	{"cut", SNI, DONE, SOME, false, unread},
	{"empty", SNI, DONE, SOME, false, unread},
	{"grow", SNI, DONE, SOME, false, unread},
	{"byte", STATUS_REQUEST, DONE, SOME, false, unread},
	{"cut", STATUS_REQUEST, DONE, SOME, false, unread},
	{"empty", STATUS_REQUEST, DONE, SOME, false, unread},
	{"grow", MASTER_SECRET, DONE, SOME, false, unread},
	{"byte", RENEGOTIATION, DONE, SOME, false, unread},
	{"empty", RENEGOTIATION, DONE, SOME, false, unread},
	{"truncate", ANY, 70, 40, false, "no extensions at all, so no TLS 1.3: section 4.2.1"},
	{"too_short", ANY, 10, 50, false, "bytes follow the hello that may not"},
	{"flip", ANY, SOME, SOME, false, first},
	{"flip", ANY, DONE, SOME, false, "in what is not read: SNI, legacy_version"},
	{"flip", ANY, SOME, DONE, false, "one of the above: lax, asked, once"},
	{"no Certificate", ANY, 10, 50, false, order},
	{"CertificateVerify first", ANY, 10, 50, false, order},
	{"Finished first", ANY, 10, 50, false, order},
	{"more behind", ANY, 10, DONE, false, behind},
	{"Certificate bytes", TYPE, 10, SOME, false, order},
	{"Certificate bytes", FLIP, SOME, SOME, false,
		"only the key is read of a certificate: the signature finds other faults"},
	{"CertificateVerify bytes", TRUNCATE, 50, 80, false, "decode_error, section 6"},
	{"CertificateVerify bytes", TOO_SHORT, 50, 80, false, "decode_error, section 6"},
	{"CertificateVerify bytes", FLIP, 50, 80, false, "decode_error, section 6"},
};

#define DIFFERENCES (sizeof(differences) / sizeof(differences[0]))

static unsigned int met[DIFFERENCES], unjudged;

static bool
covers(uint8_t listed, uint8_t got)
{
	return listed == SOME ? got != DONE : listed == got;
}

static bool
known(const char *spoiled, uint16_t ext, bool retry, uint8_t ours, uint8_t gnutls)
{
	for (size_t i = 0; i < DIFFERENCES; i++) {
		const struct difference *d = &differences[i];

		if (strcmp(d->spoiled, spoiled) == 0 && (d->ext == ANY || d->ext == ext) &&
			covers(d->ours, ours) && covers(d->gnutls, gnutls) &&
			(!d->retry || retry)) {
			met[i]++;
			return true;
		}
	}
	return false;
}

static void
compare(unsigned int n, const char *spoiled, uint16_t ext, bool retry, uint8_t ours, uint8_t gnutls)
{
	if (ours == gnutls || known(spoiled, ext, retry, ours, gnutls))
		return;
	printf("\n    case %u, %s %#x: built-in %u, GnuTLS %u ", n, spoiled, ext, ours, gnutls);
	if (strncmp(gnutls_check_version(NULL), "3.7.", 4) == 0)
		CU_FAIL("an answer that differs")
	else
		unjudged++;
}

/* -- one handshake -- */

static enum ps_suite
suite_of(const struct diff_hello *h)
{
	uint16_t best = 0xffff;

	for (unsigned int i = 2; i + 2 <= h->n_ciphers; i += 2) {
		uint16_t v = ps_be16_load(h->ciphers + i);

		if (v >= TLS_FIRST_SUITE && v <= TLS_FIRST_SUITE + 2 && v < best)
			best = v;
	}
	return best == 0xffff ? 0 : best - TLS_FIRST_SUITE;
}

static uint8_t
answer(const struct craft *c)
{
	return c->to.result == PS_TLS_ALERT ? c->to.io.alert : DONE;
}

/* Gives a server this hello; its answer. */
static uint8_t
give_hello(struct craft *c, const uint8_t *msg, uint16_t len, bool second)
{
	uint8_t hash[PS_HASH_MAX], stand_in[TLS_HEADER_BYTES + PS_HASH_MAX], *end;

	memcpy(c->hello[second], msg, c->hello_len[second] = len);
	if (second) { /* RFC 8446 section 4.4.1 */
		ps_hash_peek(&c->transcript, hash);
		end = ps_tls_put_message_hash(stand_in, hash, c->transcript.bytes);
		ps_hash_init(&c->transcript, c->transcript.bytes);
		ps_hash_update(&c->transcript, stand_in, (size_t)(end - stand_in));
		ps_hash_update(&c->transcript, c->to.io.out[0], c->to.io.out_len[0]);
		c->to.given[0] = c->to.io.out_len[0];
	}
	ps_hash_update(&c->transcript, c->hello[second], len);
	end_step(&c->to, PS_LEVEL_INITIAL, c->hello[second], len);
	return answer(c);
}

/* A whole first flight, with the retry where there is one. True when the secrets are known. */
static bool
first_flight(struct craft *c, uint64_t case_seed)
{
	struct diff_rng r = {case_seed};
	uint8_t msg[4096];

	diff_make_hello(&r, &hello, public);
	c->suite = suite_of(&hello);
	craft_again(c);
	give_hello(c, msg, diff_put_hello(&hello, msg), false);
	if (!hello.share && answer(c) == DONE) {
		diff_second_hello(&r, &hello, public);
		give_hello(c, msg, diff_put_hello(&hello, msg), true);
	}
	if (answer(c) != DONE || !c->to.io.secret[PS_LEVEL_HANDSHAKE].ready)
		return false;
	craft_keys(c);
	return true;
}

static void
check_secrets(const struct craft *c)
{
	const struct ps_tls_secret *s = c->to.io.secret;
	size_t n = ps_suite_hash_bytes(c->suite);

	CU_ASSERT_EQUAL(s[PS_LEVEL_HANDSHAKE].suite, c->suite);
	CU_ASSERT_EQUAL(s[PS_LEVEL_APP].suite, c->suite);
	CU_ASSERT_EQUAL(memcmp(s[PS_LEVEL_HANDSHAKE].rx, c->client_hs, n), 0);
	CU_ASSERT_EQUAL(memcmp(s[PS_LEVEL_HANDSHAKE].tx, c->server_hs, n), 0);
	CU_ASSERT_EQUAL(memcmp(s[PS_LEVEL_APP].rx, c->client_app, n), 0);
	CU_ASSERT_EQUAL(memcmp(s[PS_LEVEL_APP].tx, c->server_app, n), 0);
}

static void
good_flight(struct craft *c, const struct diff_identity *d)
{
	add_certificates(c, d->der, d->chain, (struct bytes){0});
	diff_add_verify(c, d, d->scheme);
	add_finished(c, c->transcript.bytes, 0);
}

static void
test_good(void)
{
	for (unsigned int n = 0; n < count / 4; n++)
		for (int b = 0; b < 2; b++) {
			const struct diff_identity *d = &diff_identities[n % DIFF_IDENTITIES];
			struct craft *c = &ends[b];
			const struct ps_tls_io *io = &c->to.io;
			bool named = n % DIFF_IDENTITIES == 0;

			CU_ASSERT_TRUE_FATAL(first_flight(c, seed + n));
			good_flight(c, d);
			CU_ASSERT_EQUAL(craft_flight(c), 0);
			CU_ASSERT_EQUAL(c->to.result, PS_TLS_DONE);
			check_secrets(c);
			CU_ASSERT_EQUAL(io->peer_has_key, named);
			if (named)
				CU_ASSERT_EQUAL(memcmp(io->peer_key, c->key + 32, 32), 0);
			CU_ASSERT_EQUAL(io->peer_tp_len, diff_find(&hello, 57)->len);
		}
}

static void
test_hellos(void)
{
	const unsigned int n_parts = sizeof(parts) / sizeof(parts[0]);

	for (unsigned int n = 0; n < count; n++) {
		struct diff_rng r = {seed + n};
		uint8_t msg[4096], got[2];
		unsigned int how = diff_below(&r, n_parts + RAW_SPOILS);
		uint16_t ext = ANY, len;

		diff_make_hello(&r, &hello, public);
		if (how < n_parts)
			ext = parts[how].spoil(&r, &hello);
		len = diff_put_hello(&hello, msg);
		if (how >= n_parts)
			len = spoil_bytes(&r, how - n_parts, msg, len);
		for (int b = 0; b < 2; b++) {
			ends[b].suite = suite_of(&hello);
			craft_again(&ends[b]);
			got[b] = give_hello(&ends[b], msg, len, false);
		}
		compare(n, how < n_parts ? parts[how].name : raw_names[how - n_parts], ext,
			!hello.share, got[0], got[1]);
	}
}

/* -- the second flight -- */

enum flight_spoil {
	NO_CERTIFICATE,
	NO_VERIFY,
	NO_FINISHED,
	CERTIFICATE_TWICE,
	VERIFY_TWICE,
	VERIFY_FIRST,
	FINISHED_FIRST,
	OTHER_KEY,
	OTHER_SCHEME,
	CONTEXT,
	EMPTY_LIST,
	MORE_BEHIND,
	CERTIFICATE_BYTES,
	VERIFY_BYTES,
	FINISHED_BYTES,
	FLIGHT_SPOILS
};

static const char *const flight_names[] = {"no Certificate", "no CertificateVerify", "no Finished",
	"Certificate twice", "CertificateVerify twice", "CertificateVerify first", "Finished first",
	"other key", "other scheme", "context", "empty list", "more behind", "Certificate bytes",
	"CertificateVerify bytes", "Finished bytes"};

/* Spoils the bytes of the last message; what follows is signed as if it were right. */
static uint16_t
spoil_last(struct diff_rng *r, struct craft *c, uint16_t from)
{
	uint8_t copy[4096];
	enum raw_spoil how = diff_below(r, RAW_SPOILS);
	uint16_t len = (uint16_t)(c->flight_len - from);

	memcpy(copy, c->flight + from, len);
	len = spoil_bytes(r, how, copy, len);
	memcpy(c->flight + from, copy, len);
	c->flight_len = (uint16_t)(from + len);
	return how;
}

static void
add_one(struct craft *c, const struct diff_identity *d, unsigned int which)
{
	if (which == 0)
		add_certificates(c, d->der, d->chain, (struct bytes){0});
	else if (which == 1)
		diff_add_verify(c, d, d->scheme);
	else
		add_finished(c, c->transcript.bytes, 0);
}

/* The messages of each order, by number; 3 ends it. */
static const uint8_t orders[][5] = {
	[NO_CERTIFICATE] = {1, 2, 3},
	[NO_VERIFY] = {0, 2, 3},
	[NO_FINISHED] = {0, 1, 3},
	[CERTIFICATE_TWICE] = {0, 0, 1, 2, 3},
	[VERIFY_TWICE] = {0, 1, 1, 2, 3},
	[VERIFY_FIRST] = {1, 0, 2, 3},
	[FINISHED_FIRST] = {2, 0, 1, 3},
};

static uint16_t
bad_flight(struct diff_rng *r, struct craft *c, enum flight_spoil how)
{
	static const uint16_t scheme[] = {0x0807, 0x0403, 0x0804, 0x0401, 0x0503, 0x0809, 0x0808};
	const struct diff_identity *d =
		&diff_identities[how >= CERTIFICATE_BYTES ? 0 : diff_below(r, DIFF_IDENTITIES)];
	uint16_t from = 0, detail = ANY;

	if (how <= FINISHED_FIRST) {
		for (const uint8_t *o = orders[how]; *o != 3; o++)
			add_one(c, d, *o);
		return ANY;
	}
	if (how == CONTEXT || how == EMPTY_LIST) {
		add_message(c, TLS_CERTIFICATE,
			how == CONTEXT ? bytes("\x01x\x00\x00\x00") : bytes("\x00\x00\x00\x00"));
		return ANY;
	}
	add_one(c, d, 0);
	if (how == CERTIFICATE_BYTES)
		detail = spoil_last(r, c, from);
	from = c->flight_len;
	if (how == OTHER_KEY)
		diff_add_verify(c, &diff_identities[1], diff_identities[1].scheme);
	else if (how == OTHER_SCHEME)
		diff_add_verify(c, d, scheme[diff_below(r, 7)]);
	else
		add_one(c, d, 1);
	if (how == VERIFY_BYTES)
		detail = spoil_last(r, c, from);
	from = c->flight_len;
	add_one(c, d, 2);
	if (how == FINISHED_BYTES)
		detail = spoil_last(r, c, from);
	if (how == MORE_BEHIND)
		add_message(c, (uint8_t)diff_below(r, 30), bytes("\x00"));
	return detail;
}

static void
test_flights(void)
{
	for (unsigned int n = 0; n < count; n++) {
		enum flight_spoil how = n % FLIGHT_SPOILS;
		uint16_t detail = ANY;
		uint8_t got[2];

		for (int b = 0; b < 2; b++) {
			struct diff_rng r = {seed * 1000003 + n};

			CU_ASSERT_TRUE_FATAL(first_flight(&ends[b], seed + n));
			detail = bad_flight(&r, &ends[b], how);
			craft_flight(&ends[b]);
			got[b] = answer(&ends[b]);
		}
		compare(n, flight_names[how], detail, false, got[0], got[1]);
	}
}

/* -- the program -- */

static void
set_up(void)
{
	for (test_backend = PS_TLS_BUILTIN; test_backend <= PS_TLS_GNUTLS; test_backend++)
		craft_open(&ends[test_backend]);
	ps_x25519_public(public, ends[0].secret);
	diff_make_identities();
	printf("\n  seed %llu, %u cases each ", (unsigned long long)seed, count);
}

/* The list that the header speaks of, with how often each was met. */
static void
print_differences(void)
{
	for (size_t i = 0; i < DIFFERENCES; i++) {
		const struct difference *d = &differences[i];

		printf("\n    %4u  %s", met[i], d->spoiled);
		if (d->ext != ANY)
			printf(" %#x", d->ext);
		printf(": built-in %s %u, GnuTLS %s %u%s: %s",
			d->ours == DONE ? "accepts" : "alert", d->ours,
			d->gnutls == DONE ? "accepts" : "alert", d->gnutls,
			d->retry ? ", without a share" : "", d->why);
	}
	printf("\n  ");
}

static void
tear_down(void)
{
	print_differences();
	if (unjudged > 0)
		printf("\n  %u answers of GnuTLS %s differ, not judged\n", unjudged,
			gnutls_check_version(NULL));
	diff_free_identities();
	craft_close(&ends[0]);
	craft_close(&ends[1]);
}

static CU_TestInfo tests[] = {
	{"contexts and certificates", set_up},
	{"handshakes as they should be", test_good},
	{"hellos with a fault", test_hellos},
	{"second flights with a fault", test_flights},
	{"all sessions are given back", tear_down},
	CU_TEST_INFO_NULL,
};

int
main(int argc, char **argv)
{
	CU_SuiteInfo suites[] = {{"tls_diff", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		count = (unsigned int)strtoul(argv[2], NULL, 0);
	return cunit_run(suites);
}
