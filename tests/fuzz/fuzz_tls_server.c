/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The built-in TLS server, with curves that take no time (fake_curve.c). The first byte of an input
 * says what the rest is: a client's bytes at the Initial level (0), its second flight after a good
 * ClientHello (1), the same in which the harness corrects CertificateVerify and Finished (2), a
 * certificate (3) or a raw key (4); and, 5 times that, of what cipher suite the good ClientHello
 * is; and, 15 times that, how many public-key operations a turn has (0: any); and, 45 times that,
 * whether that ClientHello asks for raw keys. Given in steps whose length the second byte says. */

#include <string.h>

#include "curve25519.h"
#include "fuzz.h"
#include "ps_be.h"
#include "tls_server.h"

#define BUDGETS   3 /* 0: any */
#define TURNS_MAX 8 /* of a step */

static struct ps_tls *tls;
static struct ps_tls_io io;
static struct ps_hash transcript;
static uint8_t finished_key[PS_HASH_MAX], client_key[64];
static uint8_t input[PS_TLS_IN_MAX];

/* A ClientHello as it should be, with the X25519 share of the secret of zeros. */
static size_t
good_hello(uint8_t *out, enum ps_suite suite, bool raw)
{
	static const uint8_t before[] = {1, 0, 0, 0, 3, 3};
	static const uint8_t after[] = {0, 0, 2, 0x13, 0x01, 1, 0, 0,
		89, /* ciphers .. extensions */
		0, 43, 0, 3, 2, 3, 4, 0, 10, 0, 4, 0, 2, 0, 29, 0, 13, 0, 4, 0, 2, 8, 7, 0, 57, 0,
		3, 4, 1, 32, 0, 16, 0, 13, 0, 11, 10, 's', 'o', 'l', 'a', 'n', 'a', '-', 't', 'p',
		'u', 0, 51, 0, 38, 0, 36, 0, 29, 0, 32};
	static const uint8_t raw_keys[] = {0, 19, 0, 3, 2, 2, 0, 0, 20, 0, 3, 2, 2, 0};
	static const uint8_t secret[32];
	uint8_t *p = out;

	memcpy(p, before, sizeof(before));
	p += sizeof(before);
	memset(p, 7, 32);
	p += 32;
	memcpy(p, after, sizeof(after));
	p[4] = (uint8_t)(1 + suite);
	p[8] += raw ? sizeof(raw_keys) : 0;
	p += sizeof(after);
	ps_x25519_public(p, secret);
	p += 32;
	memcpy(p, raw_keys, sizeof(raw_keys));
	p += raw ? sizeof(raw_keys) : 0;
	ps_be16_store(out + 2, (uint16_t)(p - out - 4));
	return (size_t)(p - out);
}

static void
start(unsigned int budget)
{
	static struct ps_tls *by_budget[BUDGETS];
	struct ps_tls_config c = {
		.server = true, .sessions = 1, .alpn = "solana-tpu", .budget = budget};
	uint8_t seed[32] = {3};

	if (by_budget[budget] == NULL)
		by_budget[budget] = ps_tls_new(&c, NULL);
	tls = by_budget[budget];
	FUZZ_CHECK(tls != NULL);
	ps_ed25519_key(client_key, seed);
	io.tp_len = 20;
	FUZZ_CHECK(ps_tls_begin(tls, &io));
}

static void
check_io(void)
{
	fuzz_note((uint64_t)io.result << 32 ^ io.alert);
	FUZZ_CHECK(
		io.result == PS_TLS_MORE || io.result == PS_TLS_DONE || io.result == PS_TLS_ALERT);
	FUZZ_CHECK(io.result != PS_TLS_ALERT || (io.alert != 0 && io.alert != 80));
	FUZZ_CHECK(io.out_len[0] <= 2 * PS_TLS_HELLO_MAX && io.out_len[1] <= 2048);
	FUZZ_CHECK(io.peer_tp_len <= PS_TPARAM_MAX_BYTES);
	FUZZ_CHECK(io.secret[PS_LEVEL_APP].ready == (io.result == PS_TLS_DONE));
	FUZZ_CHECK(!io.peer_has_key || io.result == PS_TLS_DONE);
}

/* The turns of the caller's loop that a step takes. */
static void
turns(enum ps_tls_result result)
{
	for (unsigned int n = 0; result == PS_TLS_PENDING; n++) {
		struct ps_tls_io *done;

		FUZZ_CHECK(n < TURNS_MAX && ps_tls_waiting(tls));
		ps_tls_poll(tls, false); /* nothing is made ahead: it would change the next input */
		done = ps_tls_completed(tls);
		FUZZ_CHECK(done == NULL || done == &io);
		if (done != NULL)
			return;
	}
	FUZZ_CHECK(!ps_tls_waiting(tls) && ps_tls_completed(tls) == NULL);
}

static void
give(enum ps_level level, const uint8_t *p, size_t len, size_t chunk)
{
	for (size_t n; len > 0; p += n, len -= n) {
		n = chunk > 0 && chunk < len ? chunk : len;
		io.in_level = level;
		io.in = p;
		io.in_len = (uint16_t)n;
		turns(ps_tls_step(tls, &io));
		check_io();
	}
}

static void
hello(enum ps_suite suite, bool raw)
{
	static uint8_t bytes[256];
	static const uint8_t secret[32];
	uint8_t shared[32], handshake[PS_HASH_MAX], client[PS_HASH_MAX], server[PS_HASH_MAX];
	size_t len = good_hello(bytes, suite, raw), hash = ps_suite_hash_bytes(suite);

	give(PS_LEVEL_INITIAL, bytes, len, 0);
	FUZZ_CHECK(io.result == PS_TLS_MORE && io.out_len[1] > 0);
	FUZZ_CHECK(io.secret[PS_LEVEL_HANDSHAKE].suite == suite);
	ps_hash_init(&transcript, hash);
	ps_hash_update(&transcript, bytes, len);
	ps_hash_update(&transcript, io.out[0], io.out_len[0]);
	/* ServerHello ends with the share. */
	FUZZ_CHECK(ps_x25519(shared, secret, io.out[0] + io.out_len[0] - 32));
	ps_tls_handshake_secrets(handshake, client, server, shared, &transcript);
	ps_hash_update(&transcript, io.out[1], io.out_len[1]);
	ps_tls_finished_key(hash, finished_key, client);
}

/* Puts a good signature and MAC where the input has room for them. */
static void
correct(uint8_t *p, size_t len)
{
	while (len >= 4) {
		size_t n = 4 + (ps_be32_load(p) & 0xffffff);

		if (n > len)
			return;
		if (p[0] == TLS_CERTIFICATE_VERIFY && n == 4 + 4 + 64) {
			uint8_t content[PS_TLS_SIGNED_MAX];
			size_t signed_len = ps_tls_signed_content(content, false, &transcript);

			ps_ed25519_sign(p + 8, content, signed_len, client_key);
		}
		if (p[0] == TLS_FINISHED && n == 4 + transcript.bytes)
			ps_tls_finished(p + 4, finished_key, &transcript);
		ps_hash_update(&transcript, p, n);
		p += n;
		len -= n;
	}
}

static void
key(uint8_t kind, const uint8_t *data, size_t size)
{
	struct ps_tls_peer_key k;
	uint8_t alert =
		kind == 3 ? ps_tls_cert_key(&k, data, size) : ps_tls_spki_key(&k, data, size);

	FUZZ_CHECK(alert == 0 || alert == 42 || alert == 43);
	if (alert != 0)
		return;
	FUZZ_CHECK(k.spki >= data && k.spki + k.spki_len <= data + size);
	if (k.kind == PS_TLS_KEY_ED25519)
		FUZZ_CHECK(k.ed25519 == k.spki + k.spki_len - 32);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum ps_suite suite;
	uint8_t kind, budget, chunk;
	bool raw;

	if (size < 3 || size - 2 > sizeof(input))
		return 0;
	kind = data[0] % 5;
	suite = data[0] / 5 % PS_SUITES;
	budget = data[0] / 15 % BUDGETS;
	raw = data[0] / 45 & 1;
	chunk = data[1];
	data += 2;
	size -= 2;
	if (kind >= 3) {
		key(kind, data, size);
		return 0;
	}
	start(budget);
	memcpy(input, data, size);
	if (kind > 0)
		hello(suite, raw);
	if (kind == 2)
		correct(input, size);
	give(kind == 0 ? PS_LEVEL_INITIAL : PS_LEVEL_HANDSHAKE, input, size, chunk);
	FUZZ_CHECK(kind == 2 || io.result != PS_TLS_DONE);
	FUZZ_CHECK(ps_tls_end(tls, &io));
	return 0;
}
