/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A peer that turns up at another address: RFC 9000 sections 8.2 and 9. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

#define OTHER_IP   0x0a000063u
#define OTHER_PORT 30000

static struct raw_server s;

static struct raw_peer *
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
	return raw_quiet(&s);
}

static bool
to_new(const struct raw_peer *p, const struct raw_frame *f)
{
	return f->flow.daddr_be == p->flow.saddr_be && f->flow.dport_be == p->flow.sport_be;
}

static void
send_path(struct raw_peer *p, uint8_t type, const uint8_t data[8], uint16_t pad_to)
{
	uint8_t frame[9] = {type};

	memcpy(frame + 1, data, 8);
	raw_send_how(p, PS_LEVEL_APP, frame, sizeof(frame), &(struct raw_how){.pad_to = pad_to});
}

/* Answers the last challenge. */
static void
respond(struct raw_peer *p)
{
	const struct raw_frame *f = raw_last(p, PS_FRAME_PATH_CHALLENGE);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	send_path(p, PS_FRAME_PATH_RESPONSE, f->f.path, 1200);
}

static void
padded_stream(struct raw_peer *p, uint8_t id)
{
	const uint8_t frame[] = {0x0b, id, 3, 'a', 'b', 'c'};

	raw_send_how(p, PS_LEVEL_APP, frame, sizeof(frame), &(struct raw_how){.pad_to = 1200});
}

static void
test_challenge_is_answered(void)
{
	struct raw_peer *p = start();
	const struct raw_frame *f;

	send_path(p, PS_FRAME_PATH_CHALLENGE, (const uint8_t *)"12345678", 0);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_PATH_RESPONSE), 1);
	f = raw_last(p, PS_FRAME_PATH_RESPONSE);
	CU_ASSERT_EQUAL(memcmp(f->f.path, "12345678", 8), 0);
	CU_ASSERT_EQUAL(f->size, 1200);
	raw_peer_clear(p);
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_PATH_RESPONSE), 0); /* never again by itself */
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_PATH_CHALLENGE), 0);
	raw_server_stop(&s);
}

/* Section 8.2.2: one response each, together in one datagram; a fifth has to be asked again. */
static void
test_every_challenge_is_answered(void)
{
	uint8_t frames[6 * 9];
	struct raw_peer *p = start();

	for (unsigned int i = 0; i < 6; i++) {
		frames[9 * i] = PS_FRAME_PATH_CHALLENGE;
		memset(frames + 9 * i + 1, 'a' + (int)i, 8);
	}
	for (unsigned int n = 1; n <= 6; n++) {
		raw_peer_clear(p);
		raw_send(p, PS_LEVEL_APP, frames, 9 * n);
		CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_PATH_RESPONSE), n < 4 ? n : 4);
		for (unsigned int i = 0; i < n && i < 4; i++) {
			const struct raw_frame *f = raw_nth(p, PS_FRAME_PATH_RESPONSE, i);

			CU_ASSERT_EQUAL(memcmp(f->f.path, frames + 9 * i + 1, 8), 0);
			CU_ASSERT_EQUAL(f->size, 1200);
			CU_ASSERT_EQUAL(f->datagram, p->frame[0].datagram);
		}
	}
	raw_server_stop(&s);
}

/* Challenges from two addresses wait together: each answer goes to its own. */
static void
test_challenges_from_both(void)
{
	uint8_t here[PS_UDP_PAYLOAD_MAX], there[PS_UDP_PAYLOAD_MAX];
	struct raw_how how = {.pad_to = 1200};
	struct raw_peer *p = start();
	struct ps_flow4 old = p->flow;
	const struct raw_frame *f;
	size_t n, m;

	n = raw_packet(p, PS_LEVEL_APP,
		"\x1a"
		"aaaaaaaa",
		9, &how, here);
	m = raw_packet(p, PS_LEVEL_APP,
		"\x1a"
		"bbbbbbbb",
		9, &how, there);
	raw_move(p, OTHER_IP, OTHER_PORT);
	raw_inject(&s, old, here, n);
	raw_inject(&s, p->flow, there, m);
	raw_pump(&s);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_PATH_RESPONSE), 2);
	for (unsigned int i = 0; i < 2; i++) {
		f = raw_nth(p, PS_FRAME_PATH_RESPONSE, i);
		CU_ASSERT_EQUAL(f->f.path[0], i == 0 ? 'a' : 'b');
		CU_ASSERT_EQUAL(to_new(p, f), i == 1);
		CU_ASSERT_EQUAL(f->size, 1200);
	}
	raw_server_stop(&s);
}

/* The answer goes where the question came from. */
static void
test_challenge_from_elsewhere(void)
{
	struct raw_peer *p = start();
	const struct raw_frame *f;

	raw_move(p, OTHER_IP, OTHER_PORT);
	send_path(p, PS_FRAME_PATH_CHALLENGE, (const uint8_t *)"12345678", 1200);
	f = raw_last(p, PS_FRAME_PATH_RESPONSE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_TRUE(to_new(p, f));
	CU_ASSERT_EQUAL(memcmp(f->f.path, "12345678", 8), 0);
	CU_ASSERT_EQUAL(f->size, 1200);
	raw_server_stop(&s);
}

/* Port alone, and address: data counts at once, replies move with the answer and not before. */
static void
test_rebinding(void)
{
	for (int address = 0; address < 2; address++) {
		struct raw_peer *p = start();
		const struct raw_frame *f;

		raw_move(p, address ? OTHER_IP : 0, OTHER_PORT);
		s.link = 9;
		padded_stream(p, 2);
		CU_ASSERT_EQUAL(s.delivered, 1);
		f = raw_last(p, PS_FRAME_PATH_CHALLENGE);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_TRUE(to_new(p, f) && f->link == 9 && f->size >= 1200);
		f = raw_last(p, PS_FRAME_ACK); /* beside it: what is sent to the old one is lost */
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_TRUE(to_new(p, f) && f->link == 9 && f->size >= 1200);
		padded_stream(p, 6);
		CU_ASSERT_EQUAL(s.delivered, 2);
		f = raw_last(p, PS_FRAME_ACK);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_TRUE(!to_new(p, f) && f->link == 7);
		CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
		CU_ASSERT_TRUE(
			s.sender.addr_be == p->was.saddr_be && s.sender.port_be == p->was.sport_be);

		respond(p);
		CU_ASSERT_EQUAL(s.stats->paths_moved, 1);
		raw_peer_clear(p);
		raw_run(&s, 30 * PS_MS_NS);
		f = raw_last(p, PS_FRAME_ACK); /* of the response itself */
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_TRUE(to_new(p, f) && f->link == 9);
		raw_peer_clear(p);
		padded_stream(p, 10);
		padded_stream(p, 14);
		CU_ASSERT_TRUE(s.sender.addr_be == p->flow.saddr_be &&
			       s.sender.port_be == p->flow.sport_be);
		f = raw_last(p, PS_FRAME_ACK);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_TRUE(to_new(p, f) && f->link == 9);
		CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_PATH_CHALLENGE), 0);
		raw_run(&s, 10 * PS_SEC_NS);
		CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_PATH_CHALLENGE), 0);
		CU_ASSERT_EQUAL(s.stats->conns_open, 1);
		raw_server_stop(&s);
	}
}

/* Another address may be far away: its round trips are measured anew. Another port is not. */
static void
test_round_trips_of_a_new_address(void)
{
	for (int address = 0; address < 2; address++) {
		struct raw_peer *p = start();
		uint64_t sent_ns;

		raw_move(p, address ? OTHER_IP : 0, OTHER_PORT);
		padded_stream(p, 2);
		respond(p);
		CU_ASSERT_EQUAL(s.stats->paths_moved, 1);
		raw_peer_clear(p);
		sent_ns = s.now_ns;
		send_path(p, PS_FRAME_PATH_CHALLENGE, (const uint8_t *)"12345678", 0);
		raw_run(&s, 3 * PS_SEC_NS);
		CU_ASSERT_PTR_NOT_NULL_FATAL(raw_nth(p, PS_FRAME_PING, 0));
		CU_ASSERT_EQUAL(
			raw_nth(p, PS_FRAME_PING, 0)->at_ns - sent_ns > 900 * PS_MS_NS, address);
		raw_server_stop(&s);
	}
}

static void
test_wrong_response(void)
{
	struct raw_peer *p = start();

	send_path(p, PS_FRAME_PATH_RESPONSE, (const uint8_t *)"\0\0\0\0\0\0\0\0", 0); /* unasked */
	raw_move(p, 0, OTHER_PORT);
	padded_stream(p, 2);
	send_path(p, PS_FRAME_PATH_RESPONSE, (const uint8_t *)"\0\0\0\0\0\0\0\0", 0);
	CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_peer_clear(p);
	padded_stream(p, 6);
	padded_stream(p, 10);
	CU_ASSERT_FALSE(to_new(p, raw_last(p, PS_FRAME_ACK)));
	raw_server_stop(&s);
}

/* Someone who saw packets sends them again, or holds one back: no challenge, nothing moves. */
static void
test_old_packets_move_nothing(void)
{
	uint8_t seen[PS_UDP_PAYLOAD_MAX], held[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n, m;

	n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, &(struct raw_how){.pad_to = 1200}, seen);
	raw_send_bytes(p, seen, n);
	m = raw_packet(p, PS_LEVEL_APP, "\x01", 1, &(struct raw_how){.pad_to = 1200}, held);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_move(p, OTHER_IP, OTHER_PORT);
	raw_send_bytes(p, seen, n);
	raw_send_bytes(p, held, m);
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_PATH_CHALLENGE), 0);
	CU_ASSERT_EQUAL(p->moved_rx_bytes, 0);
	/* nor does a packet that does not verify */
	n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, &(struct raw_how){.pad_to = 1200}, seen);
	seen[n - 1] ^= 1;
	raw_send_bytes(p, seen, n);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_EQUAL(p->moved_rx_bytes, 0);
	raw_server_stop(&s);
}

/* The way back at the link layer follows new packets only, too. */
static void
test_link_follows_new_packets(void)
{
	uint8_t seen[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n;

	n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, NULL, seen);
	raw_send_bytes(p, seen, n);
	s.link = 9;
	raw_send_bytes(p, seen, n);
	s.link = 7;
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->link, 7);
	s.link = 9;
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	raw_run(&s, 100 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->link, 9);
	raw_server_stop(&s);
}

static bool
threefold(const struct raw_peer *p)
{
	return p->moved_rx_bytes <= 3 * p->moved_tx_bytes;
}

/* An address that is not proven gets three times what it sent, whatever it asks. */
static void
test_amplification(void)
{
	struct raw_peer *p = start();

	raw_move(p, OTHER_IP, OTHER_PORT);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_TRUE(p->moved_rx_bytes > 0 && threefold(p));
	raw_run(&s, 5 * PS_SEC_NS);
	CU_ASSERT_TRUE(threefold(p));
	for (int i = 0; i < 20; i++) {
		send_path(p, PS_FRAME_PATH_CHALLENGE, (const uint8_t *)"12345678", 0);
		CU_ASSERT_TRUE(threefold(p));
		raw_ack(p, PS_LEVEL_APP);
		raw_run(&s, 100 * PS_MS_NS);
		CU_ASSERT_TRUE(threefold(p));
	}
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_PATH_RESPONSE) >= 15);
	CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
	raw_server_stop(&s);
}

static void
test_challenge_again_and_given_up(void)
{
	struct raw_peer *p = start();
	const struct raw_frame *a, *b;

	raw_move(p, OTHER_IP, OTHER_PORT);
	raw_send(p, PS_LEVEL_APP, "\x01", 1); /* all that this allows is one small challenge */
	padded_stream(p, 2);
	padded_stream(p, 6);
	raw_run(&s, 10 * PS_SEC_NS);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_PATH_CHALLENGE), 3);
	CU_ASSERT_TRUE(raw_nth(p, PS_FRAME_PATH_CHALLENGE, 0)->size < 200);
	CU_ASSERT_EQUAL(raw_nth(p, PS_FRAME_PATH_CHALLENGE, 1)->size, 1200);
	CU_ASSERT_TRUE(threefold(p));
	a = raw_nth(p, PS_FRAME_PATH_CHALLENGE, 0);
	b = raw_nth(p, PS_FRAME_PATH_CHALLENGE, 1);
	CU_ASSERT_TRUE(b->at_ns - a->at_ns >= 20 * PS_MS_NS);
	CU_ASSERT_TRUE(b->at_ns - a->at_ns < PS_SEC_NS);
	respond(p); /* far too late: it does not count, but its packet is news from there */
	CU_ASSERT_EQUAL(s.stats->paths_moved, 0);
	CU_ASSERT_EQUAL_FATAL(raw_count(p, PS_FRAME_PATH_CHALLENGE), 4);
	a = raw_nth(p, PS_FRAME_PATH_CHALLENGE, 3);
	CU_ASSERT_NOT_EQUAL(memcmp(a->f.path, b->f.path, 8), 0);
	respond(p);
	CU_ASSERT_EQUAL(s.stats->paths_moved, 1);
	raw_server_stop(&s);
}

/* A peer that changes its address at every packet makes one challenge per probe timeout. */
static void
test_address_storm(void)
{
	struct raw_peer *p = start();
	uint64_t before = s.stats->datagrams_tx;

	for (unsigned int i = 0; i < 1000; i++) {
		raw_move(p, OTHER_IP + i, OTHER_PORT);
		padded_stream(p, 2);
	}
	CU_ASSERT_TRUE(s.stats->datagrams_tx - before <= 510); /* and an ACK for every other */
	CU_ASSERT_TRUE(raw_count(p, PS_FRAME_PATH_CHALLENGE) <= 1);
	CU_ASSERT_EQUAL(s.closed, 0);
	raw_server_stop(&s);
}

/* What comes from elsewhere for a connection that is closing is not answered at all. */
static void
test_not_when_closing(void)
{
	struct raw_peer *p = start();
	uint64_t sent;

	raw_send(p, PS_LEVEL_APP, "\x21", 1);
	CU_ASSERT_EQUAL(s.closed, 1);
	sent = s.stats->datagrams_tx;
	raw_move(p, OTHER_IP, OTHER_PORT);
	for (int i = 0; i < 16; i++)
		raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_EQUAL(s.stats->datagrams_tx, sent);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_PATH], 16);
	raw_server_stop(&s);
}

/* During the handshake an address is fixed. */
static void
test_not_before_the_handshake_is_over(void)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;
	size_t n;

	raw_server_defaults(&s);
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	n = ps_frame_crypto_put(
		frame, sizeof(frame), 0, p->io.out[0], p->io.out_len[PS_LEVEL_INITIAL]);
	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
	raw_move(p, 0, OTHER_PORT);
	raw_flush(p, 900);
	CU_ASSERT_EQUAL(s.connected, 0);
	CU_ASSERT_EQUAL(p->moved_rx_bytes, 0);
	CU_ASSERT_TRUE(s.drops.n[PS_DROP_QUIC_PATH] >= 1);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"a challenge is answered once, in a full datagram", test_challenge_is_answered},
	{"each of four challenges is answered", test_every_challenge_is_answered},
	{"challenges from two addresses", test_challenges_from_both},
	{"a challenge from elsewhere is answered there", test_challenge_from_elsewhere},
	{"port and address rebinding", test_rebinding},
	{"round trips of a new address", test_round_trips_of_a_new_address},
	{"a wrong response", test_wrong_response},
	{"old packets move nothing", test_old_packets_move_nothing},
	{"the link follows new packets", test_link_follows_new_packets},
	{"three times, at the new address too", test_amplification},
	{"a challenge is sent again, and given up", test_challenge_again_and_given_up},
	{"a new address with every packet", test_address_storm},
	{"no new address when closing", test_not_when_closing},
	{"no new address during the handshake", test_not_before_the_handshake_is_over},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic_paths", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
