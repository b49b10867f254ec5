/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* ECN, RFC 9000 section 13.4: what we count, and whether our marks come through. */

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server s;

static struct raw_peer *
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	return raw_quiet(&s);
}

static void
test_counts(void)
{
	static const uint8_t marks[] = {2, 2, 1, 0, 3, 2, 3, 0};
	uint8_t seen[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	const struct raw_frame *f;
	size_t n;

	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_run(&s, 2 * PS_MS_NS);
	CU_ASSERT_PTR_NOT_NULL(raw_last(p, PS_FRAME_ACK)); /* nothing was marked */
	CU_ASSERT_PTR_NULL(raw_last(p, PS_FRAME_ACK_ECN));
	for (size_t i = 0; i < sizeof(marks); i++) {
		s.ecn = marks[i];
		n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, NULL, seen);
		raw_send_bytes(p, seen, n);
		raw_send_bytes(p, seen, n); /* a copy does not count */
		raw_pump(&s);
	}
	raw_run(&s, 100 * PS_MS_NS);
	f = raw_last(p, PS_FRAME_ACK_ECN);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->f.ack.ect0, 3);
	CU_ASSERT_EQUAL(f->f.ack.ect1, 1);
	CU_ASSERT_EQUAL(f->f.ack.ce, 2);
	CU_ASSERT_EQUAL(s.stats->ecn_ce, 2);
	raw_server_stop(&s);
}

/* RFC 9000 section 13.2.1: one that met congestion is acknowledged at once. */
static void
test_congestion_is_told_at_once(void)
{
	struct raw_peer *p = start();

	s.ecn = 2;
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_PTR_NULL(raw_last(p, PS_FRAME_ACK_ECN));
	s.ecn = 3;
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw_last(p, PS_FRAME_ACK_ECN));
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK_ECN)->f.ack.ce, 1);
	raw_server_stop(&s);
}

/* Packets of ours that ask for an acknowledgement, one a call. */
static void
make_send(struct raw_peer *p)
{
	raw_send(p, PS_LEVEL_APP,
		"\x1a"
		"12345678",
		9); /* a challenge: its response */
}

static void
ack_ecn(struct raw_peer *p, const struct ps_ranges *r, uint64_t ect0, uint64_t ect1, uint64_t ce)
{
	uint8_t frame[512];
	size_t n = ps_frame_ack_put(frame, sizeof(frame), r, 0);

	n = ps_frame_ack_ecn(frame, n, sizeof(frame), (uint64_t[]){ect0, ect1, ce});
	raw_send(p, PS_LEVEL_APP, frame, n);
}

static uint64_t
received(const struct raw_peer *p)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < p->got[PS_LEVEL_APP].n; i++)
		n += p->got[PS_LEVEL_APP].r[i].hi - p->got[PS_LEVEL_APP].r[i].lo + 1;
	return n;
}

/* A connection over a path that keeps the marks of every packet. */
static struct raw_peer *
marked(void)
{
	struct raw_peer *p = raw_peer_new(&s, NULL);

	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	ack_ecn(p, &p->got[PS_LEVEL_APP], received(p), 0, 0);
	make_send(p);
	CU_ASSERT_EQUAL_FATAL(p->in.ecn, 2);
	return p;
}

static void
test_marks_stay_while_they_count(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = marked();
	for (uint64_t ce = 0; ce < 50; ce++) {
		ack_ecn(p, &p->got[PS_LEVEL_APP], received(p) - ce, 0, ce);
		make_send(p);
		CU_ASSERT_EQUAL(p->in.ecn, 2);
	}
	raw_server_stop(&s);
}

enum fault { MISSING, TOO_FEW, OTHER_MARK, MORE_THAN_SENT, HUGE, FAULTS };

static void
test_marks_stop(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	for (enum fault f = MISSING; f < FAULTS; f++) {
		struct raw_peer *p = marked();
		const struct ps_ranges *r = &p->got[PS_LEVEL_APP];
		uint64_t n = received(p);

		if (f == MISSING)
			raw_ack(p, PS_LEVEL_APP);
		else if (f == TOO_FEW)
			ack_ecn(p, r, n - 1, 0, 0);
		else if (f == OTHER_MARK)
			ack_ecn(p, r, n, 1, 0);
		else if (f == MORE_THAN_SENT)
			ack_ecn(p, r, n + 1, 0, 0);
		else
			ack_ecn(p, r, PS_VARINT_MAX, 0, PS_VARINT_MAX);
		make_send(p);
		CU_ASSERT_EQUAL(p->in.ecn, 0);
		CU_ASSERT_EQUAL(s.closed, 0);
		ack_ecn(p, r, received(p), 0, 0); /* and do not come back */
		make_send(p);
		CU_ASSERT_EQUAL(p->in.ecn, 0);
	}
	raw_server_stop(&s);
}

/* An ACK that was overtaken carries counts of its own time. */
static void
test_late_ack_proves_nothing(void)
{
	struct ps_ranges old, newest;
	struct raw_peer *p;
	uint64_t n;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = marked();
	n = received(p);
	ps_ranges_init(&old);
	ps_ranges_init(&newest);
	ps_ranges_add(&old, raw_last(p, PS_FRAME_PATH_RESPONSE)->pn);
	make_send(p);
	ps_ranges_add(&newest, raw_last(p, PS_FRAME_PATH_RESPONSE)->pn);
	ack_ecn(p, &newest, received(p), 0, 0);
	ack_ecn(p, &old, n, 0, 0);
	make_send(p);
	CU_ASSERT_EQUAL(p->in.ecn, 2);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"ECN counts", test_counts},
	{"congestion is told at once", test_congestion_is_told_at_once},
	{"marks stay while they count", test_marks_stay_while_they_count},
	{"marks stop when counts are missing or impossible", test_marks_stop},
	{"a late ACK proves nothing about marks", test_late_ack_proves_nothing},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic_ecn", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
