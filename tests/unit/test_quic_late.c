/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Packets of a handshake that the server has behind it: late Initials, and a client that moved
 * before it heard so. RFC 9001 section 4.9, RFC 9000 sections 8.1 and 9. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

#define OTHER_IP   0x0a000063u
#define OTHER_PORT 30000

static struct raw_server s;

static void
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
}

/* Sends the ClientHello; the datagram, as it left, and its size. */
static size_t
first_flight(struct raw_peer *p, uint8_t *initial)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX], copy[PS_UDP_PAYLOAD_MAX];
	size_t n;

	n = ps_frame_crypto_put(
		frame, sizeof(frame), 0, p->io.out[0], p->io.out_len[PS_LEVEL_INITIAL]);
	n = raw_packet(p, PS_LEVEL_INITIAL, frame, n, &(struct raw_how){.pad_to = 1200}, initial);
	memcpy(copy, initial, n);
	raw_send_bytes(p, copy, n);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
	raw_pump(&s);
	return n;
}

/* The first Initial of a new peer, kept, and its handshake completed. */
static struct raw_peer *
complete(uint8_t *initial, size_t *len)
{
	struct raw_peer *p = raw_peer_new(&s, NULL);

	raw_hello(p);
	*len = first_flight(p, initial);
	raw_flush(p, 900);
	CU_ASSERT_EQUAL_FATAL(p->tls_result, PS_TLS_DONE);
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	return p;
}

/* A copy of the ClientHello begins nothing, for as long as copies are under way. */
static void
test_late_initial(void)
{
	uint8_t kept[PS_UDP_PAYLOAD_MAX], copy[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;
	uint64_t sent;
	size_t len;

	start();
	p = complete(kept, &len);
	sent = s.stats->datagrams_tx;
	for (int i = 0; i < 49; i++) {
		memcpy(copy, kept, len);
		raw_send_bytes(p, copy, len);
		raw_run(&s, 100 * PS_MS_NS);
	}
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(s.stats->datagrams_tx, sent);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_NO_KEY], 49);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	raw_run(&s, PS_SEC_NS); /* and is forgotten then */
	raw_send_bytes(p, kept, len);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 2);
	raw_server_stop(&s);
}

/* The same id from elsewhere, or another one from there, is somebody else. */
static void
test_late_initial_of_others(void)
{
	uint8_t kept[PS_UDP_PAYLOAD_MAX], copy[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p, *other;
	size_t len;

	start();
	p = complete(kept, &len);
	memcpy(copy, kept, len);
	raw_inject(&s, (struct ps_flow4){1, 2, 3, 4}, copy, len);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 2);
	other = raw_peer_new(&s, NULL);
	other->flow = p->flow;
	raw_move(p, 0, OTHER_PORT);
	p->was = p->flow;
	CU_ASSERT_TRUE(raw_handshake(other));
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 3);
	raw_server_stop(&s);
}

/* More handshakes than are remembered cost no more memory; the newest are remembered. */
static void
test_many_are_remembered(void)
{
	uint8_t kept[PS_UDP_PAYLOAD_MAX];
	unsigned int again = 0;

	start();
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t began;
		struct raw_peer *p;
		size_t len;

		while (s.n_peers > 0)
			raw_peer_free(s.peer[--s.n_peers]);
		s.now_ns += 20 * PS_MS_NS;
		p = complete(kept, &len);
		began = s.stats->handshakes_started;
		raw_send_bytes(p, kept, len);
		again += s.stats->handshakes_started != began;
		ps_quic_close_all(s.q, 0, "", s.now_ns);
		raw_run(&s, 6 * PS_SEC_NS);
	}
	CU_ASSERT_EQUAL(again, 0);
	raw_server_stop(&s);
}

/* RFC 9001 section 4.9.1: Initial keys end with the first Handshake packet, in both directions. */
static void
test_initial_keys_end(void)
{
	uint8_t kept[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p, kept);
	raw_send(p, PS_LEVEL_INITIAL, "\x01", 1);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_NO_KEY], 0);
	raw_send(p, PS_LEVEL_HANDSHAKE, "\x01", 1);
	raw_peer_clear(p);
	raw_send(p, PS_LEVEL_INITIAL, "\x01", 1);
	raw_send(p, PS_LEVEL_INITIAL, "\x21", 1); /* would be an error */
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_NO_KEY], 2);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_TRUE(p->n_frames > 0);
	for (unsigned int i = 0; i < p->n_frames; i++)
		CU_ASSERT_EQUAL(p->frame[i].pkt, PS_PKT_HANDSHAKE);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* A handshake whose HANDSHAKE_DONE, and all that came with it, was lost. */
static struct raw_peer *
unheard(void)
{
	uint8_t kept[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = raw_peer_new(&s, NULL);

	raw_hello(p);
	first_flight(p, kept);
	s.lose = 100;
	raw_flush(p, 900);
	s.lose = 0;
	CU_ASSERT_EQUAL_FATAL(s.connected, 1);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 0);
	raw_peer_clear(p);
	return p;
}

/* The last bytes of its Handshake level once more, as a probe would. */
static void
repeat_finished(struct raw_peer *p)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	uint16_t len = p->io.out_len[PS_LEVEL_HANDSHAKE];
	size_t n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_HANDSHAKE], len);

	raw_send(p, PS_LEVEL_HANDSHAKE, frame, n);
}

static void
test_moved_before_done(void)
{
	struct raw_peer *p;
	const struct raw_frame *f;

	start();
	p = unheard();
	raw_move(p, OTHER_IP, OTHER_PORT);
	repeat_finished(p);
	f = raw_last(p, PS_FRAME_PATH_CHALLENGE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->flow.daddr_be, p->flow.saddr_be);
	CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
	CU_ASSERT_TRUE(p->moved_rx_bytes <= 3 * p->moved_tx_bytes);
	raw_send(p, PS_LEVEL_APP,
		(uint8_t[]){PS_FRAME_PATH_RESPONSE, f->f.path[0], f->f.path[1], f->f.path[2],
			f->f.path[3], f->f.path[4], f->f.path[5], f->f.path[6], f->f.path[7]},
		9);
	CU_ASSERT_EQUAL(s.stats->paths_moved, 1);
	raw_run(&s, 3 * PS_SEC_NS);
	f = raw_last(p, PS_FRAME_HANDSHAKE_DONE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->flow.daddr_be, p->flow.saddr_be);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
	raw_server_stop(&s);
}

/* Without proof nothing moves; nobody is flooded by it, whoever sends the packet. */
static void
test_moved_before_done_unproven(void)
{
	struct raw_peer *p;

	start();
	p = unheard();
	raw_move(p, OTHER_IP, OTHER_PORT);
	for (int i = 0; i < 50; i++)
		repeat_finished(p);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_PATH_CHALLENGE) >= 1);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_PATH_CHALLENGE) <= 3);
	CU_ASSERT_TRUE(p->moved_rx_bytes <= 3 * p->moved_tx_bytes);
	CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
	raw_run(&s, 20 * PS_SEC_NS);
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_PATH_CHALLENGE) <= 3);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 0);
	raw_server_stop(&s);
}

/* Once the client was heard at 1-RTT such a packet asks for nothing. */
static void
test_old_handshake_packet_moves_nothing(void)
{
	struct raw_peer *p;

	start();
	p = raw_established(&s);
	raw_move(p, OTHER_IP, OTHER_PORT);
	repeat_finished(p);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_EQUAL(p->moved_rx_bytes, 0);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_PATH], 1);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"a late Initial begins nothing", test_late_initial},
	{"an Initial of somebody else does", test_late_initial_of_others},
	{"the newest handshakes are remembered", test_many_are_remembered},
	{"Initial keys end with the first Handshake packet", test_initial_keys_end},
	{"a client that moved before HANDSHAKE_DONE", test_moved_before_done},
	{"a move before HANDSHAKE_DONE without proof", test_moved_before_done_unproven},
	{"an old Handshake packet moves nothing", test_old_handshake_packet_moves_nothing},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic_late", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
