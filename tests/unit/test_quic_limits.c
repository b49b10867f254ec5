/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a peer may cost: frames that move nothing, and packets under one key. The counters of the
 * AEAD limits are set from inside, since 2^36 packets are not sent in a test; all else goes through
 * the public calls. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cunit_run.h"
#include "engine.h"
#include "raw_peer.h"

static struct raw_server s;

static struct raw_peer *
start(void)
{
	raw_server_defaults(&s);
	s.config.stream_window = 512;
	s.limits.streams = 1024;
	raw_server_start(&s);
	return raw_established(&s);
}

/* With a client that offers one suite. */
static struct raw_peer *
start_suite(enum ps_suite suite)
{
	static const char *const ciphers[PS_SUITES] = {
		"AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305"};
	struct ps_tls_config tls = raw_client_tls();
	char priority[200];
	struct raw_peer *p;

	snprintf(priority, sizeof(priority),
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+%s:%%DISABLE_TLS13_COMPAT_MODE",
		ciphers[suite]);
	tls.priority = priority;
	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_peer_new(&s, &tls);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	CU_ASSERT_EQUAL(p->tx[PS_LEVEL_APP].suite, suite);
	return p;
}

/* The same frame, so many times in a packet, packet after packet, in no time. The last frames that
 * the server sent are kept. Returns the packets it took to end the connection; most: it did not. */
static unsigned int
flood(struct raw_peer *p, const void *frame, size_t len, unsigned int times, unsigned int most)
{
	uint8_t text[PS_UDP_PAYLOAD_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < times; i++)
		memcpy(text + i * len, frame, len);
	while (n < most && s.closed == 0) {
		raw_peer_clear(p);
		raw_send(p, PS_LEVEL_APP, text, times * len);
		n++;
	}
	return n;
}

static const struct flood {
	const char *name;
	uint8_t frame[10], len, times;
	unsigned int cost; /* of a packet */
} floods[] = {
	{"PING", {0x01}, 1, 1, 1},
	{"many PINGs a packet", {0x01}, 1, 100, 1},
	{"PADDING", {0x00}, 1, 100, 1},
	{"MAX_DATA", {0x10, 1}, 2, 100, 100},
	{"MAX_DATA, one a packet", {0x10, 1}, 2, 1, 1},
	{"MAX_STREAMS", {0x13, 1}, 2, 100, 100},
	{"DATA_BLOCKED", {0x14, 1}, 2, 100, 100},
	{"STREAM_DATA_BLOCKED", {0x15, 2, 1}, 3, 100, 100},
	{"STREAMS_BLOCKED", {0x17, 1}, 2, 100, 100},
	{"empty STREAM", {0x0a, 2, 0}, 3, 100, 100},
	{"PATH_CHALLENGE", {0x1a, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 50, 50},
	{"PATH_RESPONSE", {0x1b, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 50, 50},
	{"RETIRE_CONNECTION_ID again", {0x19, 1}, 2, 100, 100},
	{"ACK of the same", {0x02, 0, 0, 0, 0}, 5, 50, 50},
};

static void
test_floods_are_closed(void)
{
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		const struct flood *f = &floods[i];
		struct raw_peer *p = start();
		unsigned int n, allowed = BUDGET_FULL / f->cost;
		uint64_t answers = s.stats->datagrams_tx;

		n = flood(p, f->frame, f->len, f->times, 2 * BUDGET_FULL);
		if (n != allowed + 1 || !raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, 0))
			CU_FAIL(f->name);
		CU_ASSERT_STRING_EQUAL(s.why.reason, "no progress");
		CU_ASSERT_EQUAL(s.stats->closed_no_progress, 1);
		CU_ASSERT_TRUE(s.stats->datagrams_tx - answers <= n + n / 2 + 2);
		raw_server_stop(&s);
	}
}

/* The same data over and over. */
static void
test_repeats_are_closed(void)
{
	static const uint8_t done[] = {0x0b, 2, 1, 'x'}, part[] = {0x0a, 6, 1, 'x'};
	struct raw_peer *p = start();

	CU_ASSERT_EQUAL(flood(p, done, sizeof(done), 50, 1000), 201);
	CU_ASSERT_EQUAL(s.delivered, 1);
	raw_server_stop(&s);
	p = start();
	CU_ASSERT_EQUAL(flood(p, part, sizeof(part), 50, 1000), 201);
	raw_server_stop(&s);
}

/* Packets of PING at a steady rate for so many seconds; true when the connection lives. */
static bool
steady(struct raw_peer *p, unsigned int per_s, unsigned int seconds)
{
	for (unsigned int i = 0; i < per_s * seconds && s.closed == 0; i++) {
		raw_send(p, PS_LEVEL_APP, "\x01", 1);
		raw_peer_clear(p);
		s.now_ns += PS_SEC_NS / per_s;
		ps_quic_service(s.q, s.now_ns);
	}
	return s.closed == 0;
}

/* What was spent comes back at 330 a second, whatever the spacing. */
static void
test_budget_comes_back(void)
{
	struct raw_peer *p = start();

	CU_ASSERT_EQUAL(flood(p, "\x01", 1, 1, 9990), 9990);
	raw_run(&s, 10 * PS_SEC_NS);
	CU_ASSERT_EQUAL(flood(p, "\x01", 1, 1, 20000), 3311);
	raw_server_stop(&s);
	p = start();
	CU_ASSERT_TRUE(steady(p, 325, 120));
	raw_server_stop(&s);
	p = start();
	CU_ASSERT_TRUE(steady(p, 1000, 14));
	CU_ASSERT_FALSE(steady(p, 1000, 2));
	raw_server_stop(&s);
}

static void
test_keep_alive_for_an_hour(void)
{
	struct raw_peer *p = start();

	for (int i = 0; i < 3600; i++) {
		raw_send(p, PS_LEVEL_APP, "\x01", 1);
		raw_run(&s, PS_SEC_NS);
		raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	/* and after it the full budget is there */
	CU_ASSERT_EQUAL(flood(p, "\x01", 1, 1, 20000), BUDGET_FULL + 1);
	raw_server_stop(&s);
}

/* 100,000 transactions as fast as credit comes, in no time at all: with an acknowledgement for
 * every other packet of the server's, MAX_DATA and a PING now and then, as clients do. */
static void
test_full_speed(void)
{
	struct raw_peer *p = start();
	uint64_t granted = 512;

	for (uint64_t i = 0; i < 100000 && s.closed == 0; i++) {
		if (i >= granted)
			CU_FAIL_FATAL("credit ran out");
		raw_send_stream(p, i << 2 | 2, 0, 200, true);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		if (p->n_frames > 20) {
			raw_ack(p, PS_LEVEL_APP);
			raw_peer_clear(p);
		}
		if (i % 1000 == 0)
			raw_send(p, PS_LEVEL_APP, "\x10\x10\x01", 3);
	}
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_EQUAL(s.delivered, 100000);
	CU_ASSERT_EQUAL(s.stats->closed_no_progress, 0);
	raw_server_stop(&s);
}

/* The same by a client that puts an ACK into every packet, though it tells nothing new. */
static void
test_full_speed_with_acks(void)
{
	struct raw_peer *p = start();
	uint8_t frame[512];
	uint64_t granted = 512;

	for (uint64_t i = 0; i < 50000 && s.closed == 0; i++) {
		size_t n = ps_frame_ack_put(frame, sizeof(frame), &p->got[PS_LEVEL_APP], 0);

		n += ps_frame_stream_put(frame + n, sizeof(frame) - n, i << 2 | 2, 0,
			(const uint8_t *)"abc", 3, true);
		if (i >= granted)
			CU_FAIL_FATAL("credit ran out");
		raw_send(p, PS_LEVEL_APP, frame, n);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_EQUAL(s.delivered, 50000);
	raw_server_stop(&s);
}

/* -- keys -- */

static const uint8_t challenge[] = {PS_FRAME_PATH_CHALLENGE, 1, 2, 3, 4, 5, 6, 7, 8};

static struct conn *
inside(void)
{
	return &s.q->conns[s.id.slot];
}

/* As if the server had sent so many packets in all. */
static void
have_sent(uint64_t packets)
{
	inside()->app.tx_next = packets;
}

static void
two_pings(struct raw_peer *p)
{
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_run(&s, 2 * PS_MS_NS);
}

/* After 2^22 packets, and again 2^22 later once the first was answered. */
static void
test_own_update(void)
{
	const uint64_t step = UINT64_C(1) << 22;
	struct raw_peer *p = start();

	have_sent(step - 1);
	two_pings(p);
	CU_ASSERT_EQUAL(p->undecoded, 0); /* the last of the old keys */
	for (unsigned int round = 1; round <= 3; round++) {
		have_sent(round * step);
		p->undecoded = 0;
		two_pings(p);
		CU_ASSERT_EQUAL(p->undecoded, 1); /* the next: raw_peer holds the old ones */
		CU_ASSERT_EQUAL(s.stats->key_updates, round);
		raw_key_update(p);
		raw_peer_clear(p);
		two_pings(p); /* answered */
		CU_ASSERT_PTR_NOT_NULL(raw_last(p, PS_FRAME_ACK));
		raw_ack(p, PS_LEVEL_APP);
		raw_send_stream(p, round << 2 | 2, 0, 10, true);
		CU_ASSERT_EQUAL(s.delivered, round);
		raw_run(&s, PS_SEC_NS);
	}
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* A path frame is a packet like others. */
static void
test_own_update_with_path_frames(void)
{
	struct raw_peer *p = start();

	have_sent(UINT64_C(1) << 22);
	raw_send(p, PS_LEVEL_APP, challenge, sizeof(challenge));
	CU_ASSERT_EQUAL(s.stats->key_updates, 1);
	CU_ASSERT_EQUAL(p->undecoded, 1);
	raw_server_stop(&s);
}

/* A peer that goes on with its old keys is heard, but no key seals more than 2^23 packets. */
static void
test_own_update_not_answered(void)
{
	const uint64_t step = UINT64_C(1) << 22;
	uint8_t d[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n;

	have_sent(step);
	two_pings(p);
	CU_ASSERT_EQUAL(s.stats->key_updates, 1);
	for (unsigned int i = 0; i < 20; i++) {
		raw_send_stream(p, i << 2 | 2, 0, 10, true);
		raw_run(&s, PS_SEC_NS);
	}
	CU_ASSERT_EQUAL(s.delivered, 20);
	have_sent(2 * step + 100); /* no second update before the first is answered */
	two_pings(p);
	CU_ASSERT_EQUAL(s.stats->key_updates, 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	have_sent(3 * step - 1);
	n = raw_packet(p, PS_LEVEL_APP, challenge, sizeof(challenge), NULL, d);
	raw_send_bytes(p, d, n);
	raw_key_update(p); /* to read what comes of it */
	raw_peer_clear(p);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.closed, 1);
	CU_ASSERT_EQUAL(s.why.code, PS_QUIC_AEAD_LIMIT_REACHED);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_AEAD_LIMIT_REACHED, 0));
	raw_server_stop(&s);
}

/* The client's and then ours, each with the cipher and the hash that were negotiated. */
static void
test_updates_of_every_suite(void)
{
	for (enum ps_suite suite = 0; suite < PS_SUITES; suite++) {
		struct raw_peer *p = start_suite(suite);

		for (unsigned int i = 0; i < 4; i++) {
			if (i == 2) {
				have_sent((UINT64_C(1) << 22) + 100);
				two_pings(p);
				/* not before the peer acknowledged something of this phase */
				CU_ASSERT_EQUAL(s.stats->key_updates, 2);
				raw_ack(p, PS_LEVEL_APP);
				two_pings(p);
				CU_ASSERT_EQUAL(s.stats->key_updates, 3);
			}
			if (i < 3)
				raw_key_update(p);
			raw_peer_clear(p);
			p->undecoded = 0;
			raw_send_stream(p, i << 2 | 2, 0, 10, true);
			two_pings(p);
			CU_ASSERT_EQUAL(s.delivered, i + 1);
			CU_ASSERT_EQUAL(p->undecoded, 0);
			CU_ASSERT_PTR_NOT_NULL(raw_last(p, PS_FRAME_ACK));
			raw_run(&s, PS_SEC_NS);
		}
		CU_ASSERT_EQUAL(s.stats->key_updates, 3);
		CU_ASSERT_EQUAL(s.closed, 0);
		raw_server_stop(&s);
	}
}

/* RFC 9001 section 6.6: packets that do not verify, over the whole life of the connection. */
static void
integrity_limit(enum ps_suite suite, uint64_t limit)
{
	uint8_t d[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start_suite(suite);
	size_t n;

	inside()->forged = limit - 2;
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(s.closed, 0);
		n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, NULL, d);
		d[n - 1] ^= 1;
		raw_send_bytes(p, d, n);
		raw_pump(&s);
	}
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_AEAD_LIMIT_REACHED, 0));
	raw_server_stop(&s);
}

static void
test_integrity_limit(void)
{
	integrity_limit(PS_AES_128_GCM_SHA256, UINT64_C(1) << 52);
	integrity_limit(PS_AES_256_GCM_SHA384, UINT64_C(1) << 52);
	integrity_limit(PS_CHACHA20_POLY1305_SHA256, UINT64_C(1) << 36);
}

/* Growth of the block when one of its limits grows by n, per unit. */
static size_t
each(const struct ps_quic_limits *l, const struct ps_quic_limits *more, uint32_t n)
{
	return (ps_quic_footprint(more) - ps_quic_footprint(l)) / n;
}

/* The number that the page on memory has in the row of this unit, 0: none. */
static size_t
documented(const char *unit)
{
	FILE *f = fopen(PS_MEMORY_PAGE, "re");
	char line[512], *p;
	size_t n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (n == 0 && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "| ", 2) != 0 || strncmp(line + 2, unit, strlen(unit)) != 0)
			continue;
		p = strstr(line, "**");
		for (; p != NULL && *p != '|'; p++)
			n = isdigit((unsigned char)*p) ? 10 * n + (size_t)(*p - '0') : n;
	}
	fclose(f);
	return n;
}

static void
check_documented(const char *unit, size_t bytes)
{
	if (documented(unit) == bytes)
		return;
	printf("\n    deploy/doc/memory.md has %zu bytes for a unit of '%s', which takes %zu: "
	       "correct the page\n    ",
		documented(unit), unit, bytes);
	CU_FAIL("deploy/doc/memory.md differs from the code");
}

/* At default limits, as deploy/doc/memory.md has it. */
static void
test_memory(void)
{
	const uint32_t n = 4096;
	struct ps_quic_limits l, conns, handshakes;
	struct ps_quic_config unused;

	ps_quic_defaults(&l, &unused);
	conns = handshakes = l;
	conns.conns += n;
	handshakes.handshakes += n;
	printf("\n    %zu bytes per connection, %zu per handshake ", each(&l, &conns, n),
		each(&l, &handshakes, n));
	CU_ASSERT(each(&l, &conns, n) >= sizeof(struct conn));
	CU_ASSERT(each(&l, &conns, n) <= 4096);
	CU_ASSERT(each(&l, &handshakes, n) <= 32768);
	check_documented("established connection", each(&l, &conns, n));
	/* and its place in the table, which has as many as there are handshakes by default */
	check_documented("half-open handshake", sizeof(struct handshake) + sizeof(uint32_t));
}

static CU_TestInfo tests[] = {
	{"memory", test_memory},
	{"floods of frames that move nothing", test_floods_are_closed},
	{"floods of what was delivered", test_repeats_are_closed},
	{"the budget comes back", test_budget_comes_back},
	{"keep-alive for an hour", test_keep_alive_for_an_hour},
	{"100,000 transactions at full speed", test_full_speed},
	{"50,000 more, an ACK in every packet", test_full_speed_with_acks},
	{"own key update", test_own_update},
	{"own key update, path frames", test_own_update_with_path_frames},
	{"own key update, not answered", test_own_update_not_answered},
	{"key updates of every suite", test_updates_of_every_suite},
	{"integrity limit", test_integrity_limit},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_limits", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
