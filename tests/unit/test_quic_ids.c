/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Connection ids of both sides after the handshake (RFC 9000 sections 5.1, 19.15, 19.16) and
 * stateless resets as a server sends them (10.3). */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server s;

static uint64_t
drops(enum ps_drop why)
{
	return s.drops.n[why];
}

/* A connection of a client that keeps so many ids, its first flight of frames still there. */
static struct raw_peer *
keeping(uint64_t limit)
{
	struct raw_peer *p = raw_peer_new(&s, NULL);

	p->tp.active_connection_id_limit = limit;
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	return p;
}

static struct raw_peer *
start(uint64_t limit)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	return keeping(limit);
}

static struct ps_cid
id_in(const struct raw_frame *f)
{
	struct ps_cid c = {.len = (uint8_t)f->f.len};

	memcpy(c.id, f->f.data, c.len);
	return c;
}

/* The id of a sequence number that came; the handshake's is kept by the caller. */
static struct ps_cid
id_of(const struct raw_peer *p, uint64_t seq)
{
	for (unsigned int i = 0; i < raw_count(p, PS_FRAME_NEW_CONNECTION_ID); i++) {
		const struct raw_frame *f = raw_nth(p, PS_FRAME_NEW_CONNECTION_ID, i);

		if (f->f.ncid.seq == seq)
			return id_in(f);
	}
	CU_FAIL_FATAL("no such id");
	return (struct ps_cid){0};
}

static void
send_retire(struct raw_peer *p, uint8_t seq)
{
	const uint8_t frame[] = {PS_FRAME_RETIRE_CONNECTION_ID, seq};

	raw_send(p, PS_LEVEL_APP, frame, sizeof(frame));
}

/* NEW_CONNECTION_ID with an id that follows from name; the peer goes by it when use is set. */
static void
send_id(struct raw_peer *p, uint8_t seq, uint8_t prior, uint8_t name, bool use)
{
	uint8_t frame[4 + 5 + 16] = {PS_FRAME_NEW_CONNECTION_ID, seq, prior, 5};

	memset(frame + 4, name, 5);
	memset(frame + 9, (uint8_t)(name + 1), 16);
	if (use) {
		p->scid_was = p->scid;
		memset(p->scid.id, name, 5);
	}
	raw_send(p, PS_LEVEL_APP, frame, sizeof(frame));
}

static bool
refused(const struct raw_peer *p, uint64_t code, uint64_t frame)
{
	return raw_closed_with(p, false, code, frame) && s.stats->conns_open == 0;
}

static void
test_issued_up_to_the_limit(void)
{
	static const struct {
		uint64_t limit;
		unsigned int ids;
	} t[] = {{2, 1}, {3, 2}, {4, 3}, {8, 3}, {PS_VARINT_MAX, 3}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct raw_peer *p = start(t[i].limit);
		unsigned int sent = 0;

		raw_ack(p, PS_LEVEL_APP);
		raw_run(&s, PS_SEC_NS);
		CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), t[i].ids);
		for (uint64_t seq = 1; seq <= t[i].ids; seq++) {
			const struct raw_frame *f =
				raw_nth(p, PS_FRAME_NEW_CONNECTION_ID, (unsigned int)seq - 1);
			struct ps_cid id = id_in(f);

			CU_ASSERT_EQUAL(f->f.ncid.seq, seq);
			CU_ASSERT_EQUAL(f->f.ncid.retire_prior_to, 0);
			CU_ASSERT_EQUAL(f->f.len, PS_OUR_CID_LEN);
			CU_ASSERT_FALSE(ps_cid_equal(&id, &p->dcid));
			p->dcid = id; /* and each leads to the connection */
			raw_send_stream(p, sent++ << 2 | 2, 0, 100, true);
			CU_ASSERT_EQUAL(s.delivered, sent);
		}
		raw_server_stop(&s);
	}
}

static void
test_issued_again_when_lost(void)
{
	uint8_t hello[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;
	size_t n;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	p->tp.active_connection_id_limit = 4;
	raw_hello(p);
	n = ps_frame_crypto_put(
		hello, sizeof(hello), 0, p->io.out[0], p->io.out_len[PS_LEVEL_INITIAL]);
	raw_send(p, PS_LEVEL_INITIAL, hello, n);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
	s.lose = 100;
	raw_flush(p, 900);
	CU_ASSERT_EQUAL_FATAL(s.connected, 1);
	CU_ASSERT_TRUE_FATAL(s.lose < 100);
	s.lose = 0;
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), 0);
	raw_run(&s, 5 * PS_SEC_NS);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		p->dcid = id_of(p, seq);
		raw_send_stream(p, seq << 2 | 2, 0, 10, true);
	}
	CU_ASSERT_EQUAL(s.delivered, 3);
	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, 100 * PS_MS_NS);
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), 0); /* acknowledged: no more */
	raw_server_stop(&s);
}

static void
test_retired_is_replaced_once(void)
{
	struct raw_peer *p = start(4);
	struct ps_cid first = p->dcid, second = id_of(p, 1);

	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	send_retire(p, 1);
	raw_run(&s, 10 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), 1);
	CU_ASSERT_EQUAL_FATAL(raw_last(p, PS_FRAME_NEW_CONNECTION_ID)->f.ncid.seq, 4);
	send_retire(p, 1); /* as a retransmission would */
	raw_run(&s, 10 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), 1);

	p->dcid = second; /* leads nowhere now */
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 0);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_CONN), 1);
	CU_ASSERT_TRUE(p->resets == 1 && p->reset_of == 1);

	p->dcid = id_of(p, 4); /* and with another in use the handshake's may go */
	send_retire(p, 0);
	raw_run(&s, 10 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_NEW_CONNECTION_ID)->f.ncid.seq, 5);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	p->dcid = first;
	raw_send_stream(p, 6, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* Each new id in turn, the one before it retired: always one more, never one twice. */
static void
test_retired_over_and_over(void)
{
	struct raw_peer *p = start(2);
	struct ps_cid before = p->dcid;

	for (unsigned int seq = 1; seq < 300; seq++) {
		const uint8_t frame[] = {PS_FRAME_RETIRE_CONNECTION_ID,
			(uint8_t)(0x40 | (seq - 1) >> 8), (uint8_t)(seq - 1)};
		struct ps_cid next = id_of(p, seq);

		CU_ASSERT_FALSE(ps_cid_equal(&next, &p->dcid) || ps_cid_equal(&next, &before));
		before = p->dcid;
		p->dcid = next;
		raw_peer_clear(p);
		raw_send(p, PS_LEVEL_APP, frame, sizeof(frame));
		raw_ack(p, PS_LEVEL_APP);
		CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_NEW_CONNECTION_ID), 1);
	}
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static void
test_bad_retirements(void)
{
	struct raw_peer *p = start(4);

	send_retire(p, 4); /* never issued */
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_RETIRE_CONNECTION_ID));
	p = keeping(4);
	send_retire(p, 0); /* the one it came with */
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_RETIRE_CONNECTION_ID));
	p = keeping(4);
	p->dcid = id_of(p, 2);
	send_retire(p, 2);
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_RETIRE_CONNECTION_ID));
	raw_server_stop(&s);
}

static void
test_ids_of_the_peer(void)
{
	struct raw_peer *p = start(2);

	send_id(p, 1, 0, 0xc1, false);
	send_id(p, 1, 0, 0xc1, false); /* again */
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_RETIRE_CONNECTION_ID), 0);
	send_id(p, 2, 0, 0xc2, false);
	CU_ASSERT_TRUE(refused(p, PS_QUIC_CONNECTION_ID_LIMIT_ERROR, PS_FRAME_NEW_CONNECTION_ID));

	p = keeping(2); /* the limit holds after the retirements that come with the id */
	send_id(p, 1, 0, 0xc1, false);
	memset(p->scid.id, 0xc1, 5);
	send_id(p, 2, 1, 0xc2, false);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	raw_server_stop(&s);
}

/* What the server sends goes to the lowest id that is not retired, from that packet on. */
static void
test_retire_prior_to(void)
{
	struct raw_peer *p = start(2);
	const struct raw_frame *f;

	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	send_id(p, 1, 1, 0xc1, true); /* raw_peer takes nothing for the old id any more */
	raw_run(&s, 30 * PS_MS_NS);
	f = raw_last(p, PS_FRAME_RETIRE_CONNECTION_ID);
	CU_ASSERT_TRUE_FATAL(f != NULL && f->f.ncid.seq == 0);
	raw_ack(p, PS_LEVEL_APP);
	send_id(p, 5, 5, 0xc5, true);
	raw_run(&s, 30 * PS_MS_NS);
	f = raw_last(p, PS_FRAME_RETIRE_CONNECTION_ID);
	CU_ASSERT_TRUE_FATAL(f != NULL && f->f.ncid.seq == 1);
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	/* one that comes late is retired unseen, and a lower Retire Prior To takes nothing back */
	send_id(p, 3, 2, 0xc3, false);
	raw_run(&s, 30 * PS_MS_NS);
	f = raw_last(p, PS_FRAME_RETIRE_CONNECTION_ID);
	CU_ASSERT_TRUE_FATAL(f != NULL && f->f.ncid.seq == 3);
	send_id(p, 6, 5, 0xc6, false);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static void
test_contradictions(void)
{
	struct raw_peer *p = start(2);

	send_id(p, 1, 0, 0xc1, false);
	send_id(p, 1, 0, 0xc2, false);
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_NEW_CONNECTION_ID));
	p = keeping(2);
	send_id(p, 1, 0, 0xc1, false);
	send_id(p, 2, 0, 0xc1, false);
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_NEW_CONNECTION_ID));
	p = keeping(2);
	send_id(p, 0, 0, 0xc1, false); /* the handshake's has number 0 */
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_NEW_CONNECTION_ID));
	p = keeping(2);
	send_id(p, 1, 0, p->scid.id[0], false); /* and no other */
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_NEW_CONNECTION_ID));
	raw_server_stop(&s);
}

static void
test_peer_without_ids(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	p->scid.len = 0;
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	send_id(p, 1, 0, 0xc1, false);
	CU_ASSERT_TRUE(refused(p, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_NEW_CONNECTION_ID));
	raw_server_stop(&s);
}

/* Every packet retires one more, and no retirement is ever acknowledged. */
static void
test_retirement_flood(void)
{
	struct raw_peer *p = start(2);
	uint8_t seq = 1;

	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	for (; seq < 63 && s.closed == 0; seq++)
		send_id(p, seq, seq, (uint8_t)(0x90 + seq), true);
	CU_ASSERT_TRUE(refused(p, PS_QUIC_CONNECTION_ID_LIMIT_ERROR, PS_FRAME_NEW_CONNECTION_ID));
	CU_ASSERT_TRUE(seq > 8 && seq < 48);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_RETIRE_CONNECTION_ID) < seq);
	raw_server_stop(&s);
}

static void
test_retirement_lost(void)
{
	struct raw_peer *p = start(2);

	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, 10 * PS_MS_NS);
	raw_peer_clear(p);
	s.lose = 1;
	send_id(p, 1, 1, 0xc1, true);
	CU_ASSERT_EQUAL(s.lose, 0);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_RETIRE_CONNECTION_ID), 0);
	raw_run(&s, 3 * PS_SEC_NS);
	CU_ASSERT_TRUE_FATAL(raw_count(p, PS_FRAME_RETIRE_CONNECTION_ID) >= 1);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_RETIRE_CONNECTION_ID)->f.ncid.seq, 0);
	raw_ack(p, PS_LEVEL_APP); /* the first copy counts as lost now, and comes once more */
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	raw_run(&s, 3 * PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_RETIRE_CONNECTION_ID), 0);
	raw_server_stop(&s);
}

/* Many copies of one retirement are on their way, and the next one comes when a probe made them due
 * again: that is one more, not a flood. */
static void
test_copies_are_not_a_flood(void)
{
	struct raw_peer *p = start(2);

	raw_ack(p, PS_LEVEL_APP);
	send_id(p, 1, 1, 0xc1, true);
	for (int probes = 0; probes < 4; probes++) {
		s.now_ns = s.next_ns = ps_quic_service(s.q, s.now_ns);
		ps_quic_service(s.q, s.now_ns);
		if (probes < 3)
			raw_pump(&s);
	}
	CU_ASSERT_TRUE_FATAL(raw_count(p, PS_FRAME_RETIRE_CONNECTION_ID) > 2);
	send_id(p, 2, 2, 0xc2, true);
	CU_ASSERT_EQUAL(s.closed, 0);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_RETIRE_CONNECTION_ID)->f.ncid.seq, 0);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* -- stateless reset -- */

/* len bytes that look like a packet to an id. */
static void
send_short(struct raw_peer *p, const struct ps_cid *to, size_t len)
{
	uint8_t d[PS_UDP_PAYLOAD_MAX] = {0x5a};

	memset(d + 1, 0x77, sizeof(d) - 1);
	memcpy(d + 1, to->id, to->len);
	raw_send_bytes(p, d, len);
	raw_pump(&s);
}

static void
test_reset_sizes(void)
{
	static const size_t sizes[] = {37, 38, 42, 43, 44, 100, 1200, 1472};
	struct raw_peer *p = start(4);

	ps_quic_close_all(s.q, 1, "", s.now_ns);
	raw_run(&s, 10 * PS_SEC_NS);
	p->datagrams = 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p->resets = 0;
		send_short(p, &p->dcid, sizes[i]);
		CU_ASSERT_EQUAL(p->resets, 1);
		CU_ASSERT_EQUAL(p->reset_of, 0);
		CU_ASSERT_TRUE(p->reset_len < sizes[i] && p->reset_len >= 21);
		CU_ASSERT_TRUE(p->reset_len <= 42);
		s.now_ns += PS_MS_NS;
	}
	for (unsigned int seq = 1; seq <= 3; seq++) { /* the tokens that came with the ids */
		struct ps_cid id = id_of(p, seq);

		send_short(p, &id, 100);
		CU_ASSERT_EQUAL(p->reset_of, seq);
		s.now_ns += PS_MS_NS;
	}
	CU_ASSERT_EQUAL(p->resets, 4);
	p->resets = 0;
	for (size_t len = 1; len < 37; len++)
		send_short(p, &p->dcid, len);
	CU_ASSERT_EQUAL(p->resets, 0);
	CU_ASSERT_EQUAL(p->datagrams, 0);
	raw_server_stop(&s);
}

static void
test_reset_rate(void)
{
	struct raw_peer *p = start(2);

	ps_quic_close_all(s.q, 1, "", s.now_ns);
	raw_run(&s, 10 * PS_SEC_NS);
	for (int i = 0; i < 1000; i++)
		send_short(p, &p->dcid, 100);
	CU_ASSERT_EQUAL(p->resets, 1);
	for (int i = 0; i < 1000; i++) { /* a second, one datagram each millisecond / 10 */
		s.now_ns += PS_MS_NS / 10;
		send_short(p, &p->dcid, 100);
	}
	CU_ASSERT_TRUE(p->resets >= 99 && p->resets <= 101);
	CU_ASSERT_EQUAL(s.stats->resets_tx, p->resets);
	raw_server_stop(&s);
}

/* The id of another worker, of a slot that does not exist, of nobody; a long header. */
static void
test_no_reset(void)
{
	struct raw_peer *p = start(2);
	struct ps_cid_parts parts = {.worker = 1};
	struct ps_cid id = {.len = PS_OUR_CID_LEN};
	uint8_t d[PS_UDP_PAYLOAD_MAX];
	size_t n;

	ps_protect_static_keys(p->protect, &s.config.keys);
	ps_cid_make(p->protect, &parts, id.id);
	send_short(p, &id, 100);
	s.now_ns += PS_MS_NS;
	parts = (struct ps_cid_parts){.slot = s.limits.conns};
	ps_cid_make(p->protect, &parts, id.id);
	send_short(p, &id, 100);
	for (int i = 0; i < 1000; i++) {
		s.now_ns += PS_MS_NS;
		memset(id.id, i, 16);
		id.id[i % 16] ^= (uint8_t)(i / 256 + 1);
		send_short(p, &id, 100);
	}
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_CONN), 1002);
	ps_quic_close_all(s.q, 1, "", s.now_ns);
	raw_pump(&s);
	s.now_ns += PS_MS_NS;
	send_short(p, &p->dcid, 100); /* closing is not gone */
	raw_run(&s, 10 * PS_SEC_NS);
	n = raw_packet(p, PS_LEVEL_HANDSHAKE, "\x01", 1, &(struct raw_how){.pad_to = 200}, d);
	raw_send_bytes(p, d, n);
	raw_pump(&s);
	CU_ASSERT_EQUAL(p->resets, 0);
	CU_ASSERT_EQUAL(s.stats->resets_tx, 0);
	CU_ASSERT_EQUAL(s.unrouted, 0);
	send_short(p, &p->dcid, 100);
	CU_ASSERT_EQUAL(p->resets, 1);
	raw_server_stop(&s);
}

/* A client has no reset token: no bytes at the end of a packet are one, least of all zeros. */
static void
test_client_cannot_reset(void)
{
	struct raw_peer *p = start(2);
	uint8_t d[100] = {0x40};

	memcpy(d + 1, p->dcid.id, p->dcid.len);
	raw_send_bytes(p, d, sizeof(d));
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DECRYPT), 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"as many ids as the peer keeps, at most four", test_issued_up_to_the_limit},
	{"ids are issued again when lost", test_issued_again_when_lost},
	{"a retired id is replaced, once, and leads nowhere", test_retired_is_replaced_once},
	{"ids retired over and over", test_retired_over_and_over},
	{"retirement of what was never issued, or is in use", test_bad_retirements},
	{"ids of the peer, up to two", test_ids_of_the_peer},
	{"Retire Prior To", test_retire_prior_to},
	{"ids that contradict each other", test_contradictions},
	{"a peer without ids issues none", test_peer_without_ids},
	{"a flood of retirements", test_retirement_flood},
	{"a retirement that is lost", test_retirement_lost},
	{"copies of a retirement are not a flood", test_copies_are_not_a_flood},
	{"stateless reset: token and size", test_reset_sizes},
	{"stateless reset: rate", test_reset_rate},
	{"stateless reset: not for everything", test_no_reset},
	{"stateless reset: not by a client without a token", test_client_cannot_reset},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic_ids", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
