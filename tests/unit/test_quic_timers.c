/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The end of connections, and everything that time brings: through the public calls only. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server s;

static uint64_t
drops(enum ps_drop why)
{
	return s.drops.n[why];
}

static struct raw_peer *
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	return raw_established(&s);
}

static void
ping(struct raw_peer *p)
{
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
}

static void
test_idle_timeout(void)
{
	static const struct {
		uint32_t ours_ms, theirs_ms, least_ms;
	} t[] = {{30000, 5000, 5000}, {5000, 30000, 5000}, {5000, 0, 5000}, {0, 5000, 5000}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct raw_peer *p;

		raw_server_defaults(&s);
		s.config.idle_timeout_ms = t[i].ours_ms;
		raw_server_start(&s);
		p = raw_peer_new(&s, NULL);
		p->tp.max_idle_timeout_ms = t[i].theirs_ms;
		CU_ASSERT_TRUE_FATAL(raw_handshake(p));
		raw_ack(p, PS_LEVEL_APP);
		raw_run(&s, (t[i].least_ms - 1000) * PS_MS_NS);
		raw_ack(p, PS_LEVEL_APP); /* any packet restarts it */
		raw_peer_clear(p);
		raw_run(&s, (t[i].least_ms - 2) * PS_MS_NS);
		CU_ASSERT_EQUAL(s.closed, 0);
		raw_run(&s, 4 * PS_MS_NS);
		CU_ASSERT_EQUAL(s.closed, 1);
		CU_ASSERT_EQUAL(s.stats->closed_idle, 1);
		CU_ASSERT_EQUAL(s.stats->conns_open, 0);
		CU_ASSERT_EQUAL(p->n_frames, 0); /* silently */
		CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
		ping(p);
		CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_CONN), 1);
		raw_server_stop(&s);
	}
}

/* A peer that answers ever later makes round trips look as long as it likes; its place is given to
 * others all the same. Three probe timeouts are in the idle timeout, RFC 9000 section 10.1. */
static void
test_late_answers_hold_no_place(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.idle_timeout_ms = 5000;
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	for (int i = 0; i < 12; i++) { /* HANDSHAKE_DONE is under way meanwhile */
		raw_run(&s, 2 * PS_SEC_NS);
		ping(p);
	}
	CU_ASSERT_EQUAL_FATAL(s.closed, 0);
	raw_send(p, PS_LEVEL_APP, "\x02\0\0\0\0", 5); /* the first packet, and no later one */
	raw_run(&s, 60 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->closed_idle, 1);
	raw_server_stop(&s);
}

/* What we send restarts it too, when it is the first that asks for an answer since the last one:
 * credit that comes when there is room again, 3 s after the last packet. */
static void
test_idle_restarts_on_sending(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.idle_timeout_ms = 5000;
	s.room = 0;
	raw_server_start(&s);
	p = raw_established(&s);
	raw_run(&s, 3 * PS_SEC_NS);
	s.room = 1000;
	raw_run(&s, 20 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_MAX_STREAMS_UNI), 1);
	raw_run(&s, 4900 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_TRUE(s.stats->probes > 2); /* which do not restart it */
	raw_run(&s, 150 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.stats->closed_idle, 1);
	raw_server_stop(&s);
}

static void
test_draining(void)
{
	static const uint8_t bye[] = {
		PS_FRAME_CONNECTION_CLOSE_APP, 7, 5, 'b', 'y', 'e', 0x1b, '['};
	struct ps_quic_conn_id old;
	struct raw_peer *p, *next;

	raw_server_defaults(&s);
	s.limits.conns = s.limits.handshakes = 1;
	raw_server_start(&s);
	p = raw_established(&s);
	old = s.id;
	raw_send(p, PS_LEVEL_APP, bye, sizeof(bye));
	CU_ASSERT_TRUE(s.closed == 1 && s.why.by_peer && s.why.app && s.why.code == 7);
	CU_ASSERT_STRING_EQUAL(s.why.reason, "bye?[");
	CU_ASSERT_EQUAL(s.stats->closed_by_peer, 1);
	CU_ASSERT_EQUAL(s.stats->conns_open, 0);
	for (int i = 0; i < 10; i++)
		ping(p);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_CLOSING), 10);
	next = raw_peer_new(&s, NULL);
	CU_ASSERT_FALSE(raw_handshake(next));
	CU_ASSERT_TRUE(raw_closed_with(next, false, PS_QUIC_CONNECTION_REFUSED, 0));
	raw_run(&s, 200 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
	CU_ASSERT_EQUAL(p->n_frames, 0);

	next = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(next));
	CU_ASSERT_TRUE(s.id.slot == old.slot && s.id.generation != old.generation);
	ps_quic_close(s.q, old, 1, "", s.now_ns);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	ping(p);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_CONN), 1);
	ps_quic_close(s.q, s.id, 4, "too_many", s.now_ns);
	raw_pump(&s);
	CU_ASSERT_TRUE(raw_closed_with(next, true, 4, 0));
	raw_server_stop(&s);
}

static void
test_closing_backs_off(void)
{
	struct raw_peer *p = start();
	unsigned int before = p->datagrams;

	raw_send(p, PS_LEVEL_APP, "\x21", 1);
	CU_ASSERT_EQUAL(p->datagrams, before + 1);
	for (int i = 0; i < 31; i++)
		ping(p);
	CU_ASSERT_EQUAL(p->datagrams, before + 1 + 5); /* 1, 2, 4, 8, 16 */
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_CONNECTION_CLOSE), 6);
	CU_ASSERT_EQUAL(p->n_frames, 6);
	raw_run(&s, 200 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
	ping(p);
	CU_ASSERT_EQUAL(p->datagrams, before + 6);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_CONN), 1);
	CU_ASSERT_EQUAL(s.closed, 1);
	raw_server_stop(&s);
}

static void
test_close_all(void)
{
	struct raw_peer *p[3];
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n;

	p[0] = start();
	p[1] = raw_established(&s);
	p[2] = raw_peer_new(&s, NULL);
	raw_hello(p[2]);
	n = ps_frame_crypto_put(
		frame, sizeof(frame), 0, p[2]->io.out[0], p[2]->io.out_len[PS_LEVEL_INITIAL]);
	raw_send(p[2], PS_LEVEL_INITIAL, frame, n);
	raw_send_stream(p[0], 2, 0, 10, false);
	CU_ASSERT_EQUAL(s.stats->half_open, 1);
	ps_quic_close_all(s.q, 1, "dropped", s.now_ns);
	raw_pump(&s);
	CU_ASSERT_TRUE(raw_closed_with(p[0], true, 1, 0));
	CU_ASSERT_TRUE(raw_closed_with(p[1], true, 1, 0));
	/* before 1-RTT the code is not for everybody's eyes, RFC 9000 section 10.2.3 */
	CU_ASSERT_TRUE(raw_closed_with(p[2], false, PS_QUIC_APPLICATION_ERROR, 0));
	CU_ASSERT_EQUAL(s.closed, 3);
	CU_ASSERT_EQUAL(raw_stream_of(&s, 2)->abandoned, 1);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_EQUAL(s.stats->conns_open + s.stats->half_open, 0);
	raw_run(&s, 10 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
	raw_server_stop(&s);
}

static void
test_quiet_connection_is_quiet(void)
{
	struct raw_peer *p = start();

	raw_send_stream(p, 2, 0, 10, true);
	raw_run(&s, 100 * PS_MS_NS);
	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, 10 * PS_MS_NS);
	s.services = 0;
	raw_peer_clear(p);
	raw_run(&s, 29 * PS_SEC_NS);
	CU_ASSERT_TRUE(s.services <= 20); /* the wheel's laps of 4 s among them */
	CU_ASSERT_EQUAL(p->n_frames, 0);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* HANDSHAKE_DONE that is never acknowledged: again with back-off, then the idle timeout. */
static void
test_probes_when_established(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_run(&s, 29 * PS_SEC_NS);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_HANDSHAKE_DONE) >= 4);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_HANDSHAKE_DONE) <= 40);
	CU_ASSERT_EQUAL(s.stats->probes, raw_count(p, PS_FRAME_HANDSHAKE_DONE) - 1);
	CU_ASSERT_TRUE(s.services < 200);
	raw_run(&s, 2 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->closed_idle, 1);
	raw_server_stop(&s);
}

/* Once the peer is heard again, the back-off is over. */
static void
test_back_off_ends(void)
{
	struct raw_peer *p = start();
	uint64_t probes;

	raw_send_stream(p, 2, 0, 10, true);
	raw_send_stream(p, 6, 0, 10, true);
	raw_run(&s, 2 * PS_SEC_NS);
	probes = s.stats->probes;
	CU_ASSERT_TRUE(probes >= 5);
	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->probes, probes);
	raw_send_stream(p, 10, 0, 10, true);
	raw_send_stream(p, 14, 0, 10, true);
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_TRUE(s.stats->probes > probes);
	raw_server_stop(&s);
}

/* A peer that acknowledges nothing and goes on sending: the log of what we sent fills, and neither
 * acknowledgements nor credit stop, nor does a timer run wild. */
static void
test_peer_acknowledges_nothing(void)
{
	struct raw_peer *p = start();
	uint64_t granted = 16, sent = 0;

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 4 && sent < granted; i++)
			raw_send_stream(p, sent++ << 2 | 2, 0, 10, true);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		raw_peer_clear(p);
		ping(p);
		ping(p);
		raw_run(&s, 2 * PS_MS_NS);
		CU_ASSERT_TRUE(raw_count(p, PS_FRAME_ACK) > 0);
		raw_run(&s, PS_SEC_NS);
	}
	CU_ASSERT_TRUE(sent > 100);
	CU_ASSERT_EQUAL(s.delivered, sent);
	CU_ASSERT_TRUE(s.services < 3000);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* A late packet whose number lies below everything the peer saw acknowledged. */
static void
test_late_packet_below_forgotten_ranges(void)
{
	uint8_t frame[64];
	struct raw_peer *p = start();
	struct raw_how how = {.set_pn = true, .pn = 5};
	size_t n;

	p->next_pn[PS_LEVEL_APP] = 10;
	raw_send_stream(p, 2, 0, 10, true);
	raw_send_stream(p, 6, 0, 10, true);
	CU_ASSERT_TRUE_FATAL(
		raw_last(p, PS_FRAME_ACK)->pn == raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->pn);
	CU_ASSERT_EQUAL_FATAL(raw_last(p, PS_FRAME_ACK)->f.ack.largest, 11);
	frame[0] = PS_FRAME_PING;
	n = 1 + ps_frame_ack_put(frame + 1, sizeof(frame) - 1, &p->got[PS_LEVEL_APP], 0);
	raw_send_how(p, PS_LEVEL_APP, frame, n, &how);
	s.services = 0;
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_TRUE(s.services < 20);
	ping(p);
	ping(p);
	raw_run(&s, 2 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->f.ack.largest, 13);
	raw_server_stop(&s);
}

/* The wheel: deadlines on both sides of its laps, each met within a tick. */
static void
test_wheel(void)
{
	static const uint32_t ms[] = {
		100, 101, 999, 4094, 4095, 4096, 4097, 8191, 8192, 8193, 10000, 29999};
	const unsigned int n = sizeof(ms) / sizeof(ms[0]);
	uint64_t t0;

	raw_server_defaults(&s);
	s.now_ns += 123456; /* not at a tick */
	raw_server_start(&s);
	for (unsigned int i = n; i-- > 0;) {
		struct raw_peer *p = raw_peer_new(&s, NULL);

		p->tp.max_idle_timeout_ms = ms[i];
		CU_ASSERT_TRUE_FATAL(raw_handshake(p));
		raw_ack(p, PS_LEVEL_APP);
	}
	t0 = s.now_ns;
	for (unsigned int i = 0; i < n; i++) {
		raw_run(&s, t0 + ms[i] * PS_MS_NS - 1 - s.now_ns);
		CU_ASSERT_EQUAL(s.closed, i);
		s.now_ns = t0 + ms[i] * PS_MS_NS + PS_MS_NS - 1;
		ps_quic_service(s.q, s.now_ns);
		CU_ASSERT_TRUE(s.closed > i);
		if (i + 1 < n && ms[i + 1] > ms[i] + 1)
			CU_ASSERT_EQUAL(s.closed, i + 1);
		s.now_ns = t0 + ms[i] * PS_MS_NS;
	}
	raw_server_stop(&s);
}

/* The owner slept for an hour: one call meets every deadline. */
static void
test_long_sleep(void)
{
	start();
	for (int i = 0; i < 7; i++)
		raw_established(&s);
	s.now_ns += 3600 * PS_SEC_NS;
	CU_ASSERT_EQUAL(ps_quic_service(s.q, s.now_ns), PS_NEVER);
	CU_ASSERT_EQUAL(s.closed, 8);
	CU_ASSERT_EQUAL(s.stats->closed_idle, 8);
	CU_ASSERT_TRUE(raw_handshake(raw_peer_new(&s, NULL)));
	raw_server_stop(&s);
}

/* Slots come back whatever ended the connection; none leaks. */
static void
test_slots_come_back(void)
{
	raw_server_defaults(&s);
	s.limits.conns = 3;
	s.limits.handshakes = 2;
	raw_server_start(&s);
	for (int i = 0; i < 60; i++) {
		struct raw_peer *p = raw_established(&s);

		raw_send_stream(p, 2, 0, 10, false);
		if (i % 3 == 0)
			raw_send(p, PS_LEVEL_APP, "\x21", 1);
		else if (i % 3 == 1)
			raw_send(p, PS_LEVEL_APP, "\x1c\x00\x00\x00", 4);
		else
			ps_quic_close_all(s.q, 1, "", s.now_ns);
		raw_run(&s, 3 * PS_SEC_NS);
	}
	CU_ASSERT_EQUAL(s.stats->refused, 0);
	CU_ASSERT_EQUAL(s.closed, 60);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"idle timeout, the lesser of both", test_idle_timeout},
	{"late answers hold no place", test_late_answers_hold_no_place},
	{"what we send restarts the idle timeout", test_idle_restarts_on_sending},
	{"draining is silent, then the slot is new", test_draining},
	{"closing answers less and less", test_closing_backs_off},
	{"close all", test_close_all},
	{"a quiet connection is quiet", test_quiet_connection_is_quiet},
	{"probes when established", test_probes_when_established},
	{"back-off ends when the peer is heard", test_back_off_ends},
	{"a peer that acknowledges nothing", test_peer_acknowledges_nothing},
	{"a late packet below forgotten ranges", test_late_packet_below_forgotten_ranges},
	{"the wheel", test_wheel},
	{"a long sleep", test_long_sleep},
	{"slots come back", test_slots_come_back},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_timers", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
