/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Whom a server lets in: NEW_TOKEN (RFC 9000 section 8.1.3), Retry by itself, handshakes begun per
 * second and connections per source. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

#define OTHER_IP 0x0a000063u

static struct raw_server s;

static void
start(enum ps_retry retry)
{
	raw_server_defaults(&s);
	s.config.retry = retry;
	raw_server_start(&s);
}

static void
first_flight(struct raw_peer *p)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_INITIAL],
		p->io.out_len[PS_LEVEL_INITIAL]);

	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
}

/* A client that comes with a token and sends its ClientHello. */
static struct raw_peer *
come(const uint8_t *token, size_t len)
{
	struct raw_peer *p = raw_peer_new(&s, NULL);

	memcpy(p->token, token, len);
	p->token_len = len;
	raw_hello(p);
	first_flight(p);
	return p;
}

/* A connection and the token that came with it. */
static void
earn_token(uint8_t token[PS_TOKEN_BYTES])
{
	struct raw_peer *p = raw_peer_new(&s, NULL);
	const struct raw_frame *f;

	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_NEW_TOKEN), 1);
	f = raw_last(p, PS_FRAME_NEW_TOKEN);
	CU_ASSERT_EQUAL_FATAL(f->f.len, PS_TOKEN_BYTES);
	CU_ASSERT_EQUAL(f->pkt, PS_PKT_1RTT);
	memcpy(token, f->f.data, PS_TOKEN_BYTES);
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	raw_run(&s, 3 * PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_TOKEN), 0); /* one a connection */
}

static void
test_token_skips_retry(void)
{
	uint8_t token[PS_TOKEN_BYTES];
	struct ps_tparam t;
	struct raw_peer *p;

	start(PS_RETRY_ALWAYS);
	earn_token(token);
	CU_ASSERT_EQUAL(s.stats->retries_tx, 1);
	p = come(token, sizeof(token)); /* from another port, as it will be */
	raw_flush(p, 900);
	CU_ASSERT_EQUAL(p->retries, 0);
	CU_ASSERT_EQUAL(s.connected, 2);
	CU_ASSERT_EQUAL(s.stats->tokens_used, 1);
	CU_ASSERT_EQUAL_FATAL(ps_tparam_parse(&t, p->io.peer_tp, p->io.peer_tp_len, false), 0);
	CU_ASSERT_FALSE(t.has_retry_scid);
	CU_ASSERT_TRUE(t.has_original_dcid && ps_cid_equal(&t.original_dcid, &p->odcid));
	raw_server_stop(&s);
}

/* The address counts as proven: no limit of three times. */
static void
test_token_validates(void)
{
	uint8_t token[PS_TOKEN_BYTES];
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.handshake_timeout_ms = 60000;
	s.config.idle_timeout_ms = 0;
	s.config.retry = PS_RETRY_ALWAYS;
	raw_server_start(&s);
	earn_token(token);
	p = come(token, sizeof(token));
	raw_run(&s, 40 * PS_SEC_NS);
	CU_ASSERT_TRUE(p->rx_bytes > 3 * p->tx_bytes);
	raw_server_stop(&s);
}

static void
test_token_again_when_lost(void)
{
	struct raw_peer *p;

	start(PS_RETRY_OFF);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	s.lose = 100;
	raw_flush(p, 900);
	s.lose = 0;
	CU_ASSERT_EQUAL_FATAL(s.connected, 1);
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_NEW_TOKEN) >= 1);
	raw_server_stop(&s);
}

static void
test_token_of_another_address(void)
{
	uint8_t token[PS_TOKEN_BYTES];
	struct raw_peer *p;

	start(PS_RETRY_ALWAYS);
	earn_token(token);
	p = raw_peer_new(&s, NULL);
	p->flow.saddr_be = __builtin_bswap32(OTHER_IP);
	memcpy(p->token, token, sizeof(token));
	p->token_len = sizeof(token);
	CU_ASSERT_TRUE(raw_handshake(p));
	CU_ASSERT_EQUAL(p->retries, 1);
	CU_ASSERT_EQUAL(s.stats->tokens_used, 0);
	raw_server_stop(&s);
}

static void
test_token_expires(void)
{
	uint8_t token[PS_TOKEN_BYTES];
	uint64_t made_ns;

	start(PS_RETRY_ALWAYS);
	made_ns = s.now_ns;
	earn_token(token);
	s.now_ns = made_ns + PS_TOKEN_NEW_LIFE_NS - 1;
	CU_ASSERT_EQUAL(come(token, sizeof(token))->retries, 0);
	s.now_ns = made_ns + PS_TOKEN_NEW_LIFE_NS;
	CU_ASSERT_EQUAL(come(token, sizeof(token))->retries, 1);
	CU_ASSERT_EQUAL(s.stats->tokens_used, 1);
	raw_server_stop(&s);
}

/* What is no Retry token is as good as none, with Retry on and off. */
static void
test_junk_tokens(void)
{
	uint8_t token[PS_TOKEN_BYTES + 1], junk[PS_TOKEN_BYTES + 1];

	for (enum ps_retry retry = PS_RETRY_OFF; retry <= PS_RETRY_ALWAYS; retry++) {
		unsigned int retries = retry == PS_RETRY_ALWAYS, n = 0;

		raw_server_defaults(&s);
		s.config.retry = retry;
		s.limits.conns = s.limits.handshakes = 64;
		raw_server_start(&s);
		earn_token(token);
		token[PS_TOKEN_BYTES] = 0;
		for (size_t len = 1; len <= PS_TOKEN_BYTES + 1; len++) { /* cut, and one too long */
			if (len == PS_TOKEN_BYTES)
				continue;
			CU_ASSERT_EQUAL(come(token, len)->retries, retries);
			n++;
			raw_run(&s, 3 * PS_SEC_NS);
		}
		for (size_t at = 1; at < PS_TOKEN_BYTES; at += 9) { /* spoiled */
			memcpy(junk, token, sizeof(junk));
			junk[at] ^= 0x10;
			CU_ASSERT_EQUAL(come(junk, PS_TOKEN_BYTES)->retries, retries);
			n++;
		}
		CU_ASSERT_EQUAL(s.stats->tokens_used, 0);
		CU_ASSERT_EQUAL(s.stats->retries_tx, (n + 1) * retries);
		CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_TOKEN], 0);
		raw_server_stop(&s);
	}
}

/* A NEW_TOKEN token presented as a Retry's, and the other way round. */
static void
test_kinds_do_not_mix(void)
{
	uint8_t token[PS_TOKEN_BYTES];
	struct raw_peer *p;

	start(PS_RETRY_ALWAYS);
	earn_token(token);
	token[0] = PS_TOKEN_RETRY;
	p = come(token, sizeof(token));
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_INVALID_TOKEN, 0));
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	CU_ASSERT_EQUAL_FATAL(p->retries, 1);
	p->token[0] = PS_TOKEN_NEW;
	first_flight(p);
	CU_ASSERT_EQUAL(p->retries, 2);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
	raw_server_stop(&s);
}

/* -- Retry by itself -- */

static bool
asked_for_retry(void)
{
	static const uint8_t none[1];

	const struct raw_peer *p = come(none, 0);

	if (p->retries == 1)
		CU_ASSERT_EQUAL(p->in.ecn, 0); /* nobody would ever count its mark */
	return p->retries == 1;
}

static void
finish(struct raw_peer *p)
{
	unsigned int before = s.connected;

	raw_flush(p, 900);
	CU_ASSERT_EQUAL_FATAL(s.connected, before + 1);
	raw_ack(p, PS_LEVEL_APP);
}

/* On at a quarter of 16 half-open, off after a second below an eighth. */
static void
test_auto_by_half_open(void)
{
	static const uint8_t none[1];
	struct raw_peer *p[4], *q;

	raw_server_defaults(&s);
	s.config.retry = PS_RETRY_AUTO;
	s.config.handshake_timeout_ms = 60000;
	s.limits.conns = 32;
	s.limits.handshakes = 16;
	raw_server_start(&s);
	for (int i = 0; i < 4; i++) {
		p[i] = come(none, 0);
		CU_ASSERT_EQUAL(p[i]->retries, 0);
	}
	CU_ASSERT_EQUAL(s.stats->retry_on, 0);
	q = come(none, 0);
	CU_ASSERT_EQUAL(q->retries, 1);
	CU_ASSERT_EQUAL(s.stats->retry_on, 1);
	first_flight(q); /* and who comes back with the token is let in */
	CU_ASSERT_EQUAL(s.stats->half_open, 5);
	finish(q);
	finish(p[0]);
	finish(p[1]); /* 2 are left, an eighth: it stays on however long */
	for (int i = 0; i < 5; i++) {
		raw_run(&s, PS_SEC_NS);
		CU_ASSERT_TRUE(asked_for_retry());
	}
	finish(p[2]); /* one: calm begins */
	raw_run(&s, 900 * PS_MS_NS);
	CU_ASSERT_TRUE(asked_for_retry());
	raw_run(&s, 200 * PS_MS_NS);
	CU_ASSERT_FALSE(asked_for_retry());
	CU_ASSERT_EQUAL(s.stats->retry_on, 0);
	raw_server_stop(&s);
}

/* On at a quarter of 40 begun in a second, though none stays half-open. */
static void
test_auto_by_rate(void)
{
	raw_server_defaults(&s);
	s.config.retry = PS_RETRY_AUTO;
	s.config.handshakes_per_s = 40;
	s.limits.conns = s.limits.handshakes = 64;
	raw_server_start(&s);
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(raw_established(&s)->retries, 0);
	CU_ASSERT_EQUAL(raw_established(&s)->retries, 1);
	CU_ASSERT_EQUAL(s.stats->retry_on, 1);
	raw_run(&s, 900 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_established(&s)->retries, 1);
	raw_run(&s, 500 * PS_MS_NS); /* a new second, but calm for less than one */
	CU_ASSERT_EQUAL(raw_established(&s)->retries, 1);
	raw_run(&s, 600 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_established(&s)->retries, 0);
	CU_ASSERT_EQUAL(s.stats->retry_on, 0);
	raw_server_stop(&s);
}

static void
test_handshakes_per_second(void)
{
	static const uint8_t none[1];

	raw_server_defaults(&s);
	s.config.handshakes_per_s = 5;
	s.limits.conns = s.limits.handshakes = 64;
	raw_server_start(&s);
	for (unsigned int second = 0; second < 3; second++) {
		for (int i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(come(none, 0)->datagrams > 0, i < 5);
		CU_ASSERT_EQUAL(s.stats->handshakes_started, 5 * (second + 1));
		CU_ASSERT_EQUAL(s.stats->rate_limited, 3 * (second + 1));
		CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_RATE], 3 * (second + 1));
		s.now_ns += PS_SEC_NS;
	}
	raw_server_stop(&s);
}

/* True when a whole handshake from the address ended in a connection that stays. */
static bool
let_in(uint32_t ip)
{
	static uint8_t attempt;
	struct raw_peer *p;
	bool stays;

	while (s.n_peers > 0)
		raw_peer_free(s.peer[--s.n_peers]);
	p = raw_peer_new(&s, NULL);
	p->flow.saddr_be = __builtin_bswap32(ip);
	p->odcid.id[0] = p->dcid.id[0] = attempt++; /* a new id each time, as clients do */
	stays = raw_handshake(p);
	CU_ASSERT_TRUE(stays || raw_closed_with(p, true, 2, 0));
	ps_quic_close_all(s.q, 0, "", s.now_ns);
	raw_pump(&s);
	return stays;
}

static void
start_sources(uint32_t per_min)
{
	raw_server_defaults(&s);
	s.config.source_per_min = per_min;
	s.limits.conns = s.limits.handshakes = 64;
	raw_server_start(&s);
}

/* Two a minute, eight saved up. */
static void
test_per_source(void)
{
	start_sources(2);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_TRUE(let_in(OTHER_IP));
	CU_ASSERT_FALSE(let_in(OTHER_IP));
	CU_ASSERT_EQUAL(s.stats->source_limited, 1);
	CU_ASSERT_TRUE(let_in(OTHER_IP + 1)); /* others are not concerned */
	raw_run(&s, 29 * PS_SEC_NS);
	CU_ASSERT_FALSE(let_in(OTHER_IP));
	raw_run(&s, 1100 * PS_MS_NS);
	CU_ASSERT_TRUE(let_in(OTHER_IP));
	CU_ASSERT_FALSE(let_in(OTHER_IP));
	raw_run(&s, 3600 * PS_SEC_NS);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_TRUE(let_in(OTHER_IP));
	CU_ASSERT_FALSE(let_in(OTHER_IP));
	CU_ASSERT_EQUAL(s.stats->conns_open, 0);
	raw_server_stop(&s);
}

/* Knocking often neither helps nor harms: one a minute is one a minute. */
/* One that comes too often holds its place for a tenth of a second, not for three probe timeouts.
 */
static void
test_per_source_slot(void)
{
	start_sources(1);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_TRUE(let_in(OTHER_IP));
	raw_run(&s, 10 * PS_SEC_NS);
	CU_ASSERT_FALSE(let_in(OTHER_IP));
	CU_ASSERT_NOT_EQUAL(ps_quic_service(s.q, s.now_ns), PS_NEVER);
	raw_run(&s, 101 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER); /* nothing is left of it */
	raw_server_stop(&s);
}

static void
test_per_source_when_impatient(void)
{
	unsigned int in = 0;

	start_sources(1);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_TRUE(let_in(OTHER_IP));
	for (int i = 0; i < 620; i++) { /* 72.5 s */
		s.now_ns += 117 * PS_MS_NS;
		ps_quic_service(s.q, s.now_ns);
		in += let_in(OTHER_IP);
	}
	CU_ASSERT_EQUAL(in, 1);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"a token of the last connection skips Retry", test_token_skips_retry},
	{"a token proves the address", test_token_validates},
	{"a token is sent again when lost", test_token_again_when_lost},
	{"a token of another address", test_token_of_another_address},
	{"a token expires after a day", test_token_expires},
	{"junk is no token", test_junk_tokens},
	{"kinds of tokens do not mix", test_kinds_do_not_mix},
	{"Retry by itself: half-open connections", test_auto_by_half_open},
	{"Retry by itself: handshakes begun", test_auto_by_rate},
	{"handshakes begun per second", test_handshakes_per_second},
	{"connections per source", test_per_source},
	{"connections per source, the place is free soon", test_per_source_slot},
	{"connections per source, knocking often", test_per_source_when_impatient},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_tokens", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
