/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Datagrams that come in bursts, again, late or where they do not belong; what the server sent and
 * the peer lost; TLS on its helper thread. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server s;

static uint64_t
drops(enum ps_drop why)
{
	return s.drops.n[why];
}

static void
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
}

/* Up to 64 datagrams, given to the server in one call. */
struct burst {
	unsigned int n;
	struct ps_datagram d[PS_QUIC_BURST];
	uint8_t bytes[PS_QUIC_BURST][PS_UDP_PAYLOAD_MAX];
};

static void
add(struct burst *b, struct raw_peer *p, enum ps_level level, const void *frames, size_t len)
{
	struct raw_how how = {.pad_to = level == PS_LEVEL_INITIAL ? PS_UDP_PAYLOAD_MIN : 0};
	struct ps_datagram *d = &b->d[b->n];

	*d = (struct ps_datagram){.data = b->bytes[b->n], .flow = p->flow};
	d->len = (uint16_t)raw_packet(p, level, frames, len, &how, d->data);
	p->tx_bytes += d->len;
	b->n++;
}

static void
give(struct burst *b)
{
	struct ps_datagram *ptr[PS_QUIC_BURST];

	for (unsigned int i = 0; i < b->n; i++)
		ptr[i] = &b->d[i];
	ps_quic_rx_burst(s.q, ptr, b->n, s.now_ns);
	b->n = 0;
	raw_pump(&s);
}

/* 64 streams of two connections in one burst: each connection answers with one ACK. */
static void
test_full_burst(void)
{
	static struct burst b;
	struct raw_peer *p[2];

	raw_server_defaults(&s);
	s.config.stream_window = 32;
	raw_server_start(&s);
	p[0] = raw_established(&s);
	p[1] = raw_established(&s);
	for (unsigned int i = 0; i < PS_QUIC_BURST; i++) {
		uint8_t frame[] = {0x0b, 0x40, (uint8_t)((i / 2) << 2 | 2), 1, (uint8_t)i};

		add(&b, p[i % 2], PS_LEVEL_APP, frame, sizeof(frame));
	}
	give(&b);
	CU_ASSERT_EQUAL(s.delivered, 64);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(raw_count(p[i], PS_FRAME_ACK), 1);
		CU_ASSERT_EQUAL(raw_nth(p[i], PS_FRAME_ACK, 0)->f.ack.largest, 32);
		CU_ASSERT_EQUAL(raw_nth(p[i], PS_FRAME_ACK, 0)->f.ack.first_range, 32);
	}
	raw_server_stop(&s);
}

/* Every piece of the ClientHello goes to the id that the client made up, as when all of them left
 * before the server answered; then once more, as a client that lost the answer does. */
static void
test_hello_in_a_burst(void)
{
	static struct burst b;
	const uint8_t *hello;
	size_t len, part;
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	hello = p->io.out[PS_LEVEL_INITIAL];
	len = p->io.out_len[PS_LEVEL_INITIAL];
	part = len / 8;
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < 8; i++) {
			size_t from = i == 0 ? 0 : i * part - 3, to = i == 7 ? len : (i + 1) * part;
			uint8_t frame[1000];
			struct ps_cid learnt = p->dcid;

			p->dcid = p->odcid;
			add(&b, p, PS_LEVEL_INITIAL, frame,
				ps_frame_crypto_put(
					frame, sizeof(frame), from, hello + from, to - from));
			p->dcid = learnt;
		}
		give(&b);
		CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
		CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	}
	p->crypto_sent[PS_LEVEL_INITIAL] = (uint16_t)len;
	raw_flush(p, 900);
	CU_ASSERT_EQUAL(s.connected, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DECRYPT), 0);
	raw_server_stop(&s);
}

static enum ps_sink_result (*sink_data)(
	void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f);
static uint64_t half_open; /* when the last bytes were delivered */

static enum ps_sink_result
look_and_take(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	half_open = s.stats->half_open;
	return sink_data(ctx, peer, f);
}

/* However many new clients stand before them in the burst. */
static void
test_established_first(void)
{
	static struct burst b;
	struct raw_peer *p, *late[3];

	raw_server_defaults(&s);
	sink_data = s.config.sink.data;
	s.config.sink.data = look_and_take;
	raw_server_start(&s);
	p = raw_established(&s);
	half_open = 99;
	for (int i = 0; i < 3; i++) {
		uint8_t frame[PS_UDP_PAYLOAD_MAX];

		late[i] = raw_peer_new(&s, NULL);
		raw_hello(late[i]);
		add(&b, late[i], PS_LEVEL_INITIAL, frame,
			ps_frame_crypto_put(frame, sizeof(frame), 0,
				late[i]->io.out[PS_LEVEL_INITIAL],
				late[i]->io.out_len[PS_LEVEL_INITIAL]));
	}
	add(&b, p, PS_LEVEL_APP, "\x0b\x02\x01x", 4);
	give(&b);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(half_open, 0);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 4);
	raw_server_stop(&s);
}

/* What is coalesced with the Initial that begins a connection belongs to it. */
static void
test_hello_in_two_packets(void)
{
	uint8_t datagram[PS_UDP_PAYLOAD_MAX], frame[PS_UDP_PAYLOAD_MAX];
	const uint8_t *hello;
	struct raw_how how = {0};
	size_t len, half, size;
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	hello = p->io.out[PS_LEVEL_INITIAL];
	len = p->io.out_len[PS_LEVEL_INITIAL];
	half = len / 2;
	size = raw_packet(p, PS_LEVEL_INITIAL, frame,
		ps_frame_crypto_put(frame, sizeof(frame), 0, hello, half), &how, datagram);
	how.pad_to = (uint16_t)(PS_UDP_PAYLOAD_MIN - size);
	size += raw_packet(p, PS_LEVEL_INITIAL, frame,
		ps_frame_crypto_put(frame, sizeof(frame), half, hello + half, len - half), &how,
		datagram + size);
	raw_send_bytes(p, datagram, size);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.stats->packets_rx, 2);
	CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	raw_server_stop(&s);
}

/* The same made-up id from two clients is two connections. */
static void
test_same_id_two_clients(void)
{
	struct raw_peer *p[2];

	start();
	for (int i = 0; i < 2; i++) {
		p[i] = raw_peer_new(&s, NULL);
		p[i]->odcid = p[i]->dcid = p[0]->odcid;
	}
	CU_ASSERT_TRUE(raw_handshake(p[0]));
	CU_ASSERT_TRUE(raw_handshake(p[1]));
	CU_ASSERT_EQUAL(s.stats->conns_open, 2);
	raw_server_stop(&s);
}

static void
test_packets_out_of_place(void)
{
	uint8_t d[1200] = {0xd0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x44, 0x00}, ping = 1;
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_send_bytes(p, d, sizeof(d)); /* 0-RTT */
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_TYPE), 1);
	d[0] = 0xf0; /* Retry */
	raw_send_bytes(p, d, sizeof(d));
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_TYPE), 2);
	memset(d + 1, 0, 4); /* Version Negotiation */
	raw_send_bytes(p, d, sizeof(d));
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_TYPE), 3);
	raw_send_bytes(p, d, 0);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_SHORT), 1);

	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_ack(p, PS_LEVEL_APP);
	raw_send(p, PS_LEVEL_HANDSHAKE, &ping, 1);
	raw_send(p, PS_LEVEL_INITIAL, &ping, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_KEY), 2);

	/* a Handshake packet that names another source id */
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	{
		uint8_t frame[1000];
		size_t n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_INITIAL],
			p->io.out_len[PS_LEVEL_INITIAL]);

		raw_send(p, PS_LEVEL_INITIAL, frame, n);
	}
	p->scid.id[0] ^= 1;
	raw_send(p, PS_LEVEL_HANDSHAKE, &ping, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_CONN), 1);
	CU_ASSERT_EQUAL(s.stats->half_open, 1);
	raw_server_stop(&s);
}

/* As many one-byte frames as fit, and answers to unknown versions. */
static void
test_bounds(void)
{
	uint8_t frames[1400], d[1200] = {0xc0, 9, 9, 9, 9, 8, 1, 2, 3, 4, 5, 6, 7, 8, 5};
	struct raw_peer *p;

	start();
	p = raw_established(&s);
	memset(frames, PS_FRAME_HANDSHAKE_DONE, sizeof(frames));
	raw_send(p, PS_LEVEL_APP, frames, sizeof(frames));
	CU_ASSERT_TRUE(
		raw_closed_with(p, false, PS_QUIC_PROTOCOL_VIOLATION, PS_FRAME_HANDSHAKE_DONE));
	p = raw_peer_new(&s, NULL);
	memcpy(d + 15, p->scid.id, 5);
	for (int i = 0; i < 100; i++)
		raw_send_bytes(p, d, sizeof(d));
	raw_pump(&s);
	CU_ASSERT_EQUAL(p->versions, 1); /* not often, whoever asks */
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_VERSION), 100);
	s.now_ns += 100 * PS_US_NS;
	raw_send_bytes(p, d, sizeof(d));
	raw_pump(&s);
	CU_ASSERT_EQUAL(p->versions, 2);
	raw_server_stop(&s);
}

/* Initials that are answered with Retry, before anything of theirs is looked at. */
static void
test_answers_full(void)
{
	struct ps_flow4 nobody = {0x0900000a, 0x0200000a, 0x0908, 0x491f};
	uint8_t d[1200] = {0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 5, 1, 2, 3, 4, 5, 0, 0x44,
		0x99}; /* ids of 8 and 5 bytes, no token, 1,177 bytes follow */

	raw_server_defaults(&s);
	s.config.retry = PS_RETRY_ALWAYS;
	raw_server_start(&s);
	for (int i = 0; i < 100; i++)
		raw_inject(&s, nobody, d, sizeof(d));
	CU_ASSERT_EQUAL(s.stats->retries_tx, 64);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_REPLY_FULL), 36);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.unrouted, 64);
	raw_inject(&s, nobody, d, sizeof(d));
	CU_ASSERT_EQUAL(s.stats->retries_tx, 65);
	raw_server_stop(&s);
}

/* Packet 0 of the server, with HANDSHAKE_DONE, is lost: packets 1.. are acknowledged, and it comes
 * again with no probe timeout in between. */
static void
test_loss_by_packet_threshold(void)
{
	uint8_t ack[] = {PS_FRAME_ACK, 0, 0, 0, 0};
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	for (uint64_t i = 0; p->got[PS_LEVEL_APP].r[0].hi < 3; i++)
		raw_send_stream(p, i << 2 | 2, 0, 10, true);
	raw_peer_clear(p);
	ack[1] = 3;
	ack[4] = 2; /* 1..3 */
	raw_send(p, PS_LEVEL_APP, ack, sizeof(ack));
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_MAX_STREAMS_UNI), 0); /* overtaken */
	CU_ASSERT_EQUAL(s.stats->packets_lost, 1);
	CU_ASSERT_EQUAL(s.stats->probes, 0);
	raw_ack(p, PS_LEVEL_APP);
	raw_run(&s, PS_SEC_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 1);
	raw_server_stop(&s);
}

/* Only the packet after it is acknowledged: lost when 9/8 of a round trip have passed. */
static void
test_loss_by_time(void)
{
	uint8_t ack[] = {PS_FRAME_ACK, 1, 0, 0, 0};
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	for (uint64_t i = 0; raw_count(p, PS_FRAME_MAX_STREAMS_UNI) < 2; i++)
		raw_send_stream(p, i << 2 | 2, 0, 10, true);
	raw_run(&s, 16 * PS_MS_NS); /* the round trip */
	ack[1] = (uint8_t)raw_nth(p, PS_FRAME_MAX_STREAMS_UNI, 1)->pn;
	CU_ASSERT_TRUE_FATAL(ack[1] < 3);
	raw_peer_clear(p);
	raw_send(p, PS_LEVEL_APP, ack, sizeof(ack));
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 0);
	raw_run(&s, 4 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 1);
	CU_ASSERT_EQUAL(s.stats->packets_lost, 1);
	CU_ASSERT_EQUAL(s.stats->probes, 0);
	raw_server_stop(&s);
}

static void
test_threaded_tls(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.threaded = true;
	raw_server_start(&s);
	for (unsigned int i = 1; i <= 4; i++) {
		p = raw_peer_new(&s, NULL);
		raw_hello(p);
		raw_flush(p, 100);
		CU_ASSERT_TRUE_FATAL(
			raw_wait(&s, (const unsigned int *)&p->tls_result, PS_TLS_DONE));
		raw_flush(p, 100);
		CU_ASSERT_TRUE_FATAL(raw_wait(&s, &s.connected, i));
		CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_HANDSHAKE_DONE), 1);
		raw_send_stream(p, 2, 0, 10, true);
		CU_ASSERT_EQUAL(s.delivered, i);
	}
	CU_ASSERT_TRUE(s.identity.has_key);
	raw_server_stop(&s);
}

/* Connections that end while their TLS step is under way: the objects come back, all of them. */
static void
test_end_while_tls_works(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.threaded = true;
	s.limits.conns = 4;
	s.limits.handshakes = 2;
	raw_server_start(&s);
	for (int i = 0; i < 30; i++) {
		p = raw_peer_new(&s, NULL);
		raw_hello(p);
		raw_flush(p, 1000);
		if (i % 2 == 0)
			s.now_ns += 3 * PS_SEC_NS;
		else
			ps_quic_close_all(s.q, 1, "", s.now_ns);
		raw_run(&s, 3 * PS_SEC_NS);
		CU_ASSERT_EQUAL(s.stats->half_open, 0);
	}
	/* the helper lets go of the last ones in real time */
	for (uint64_t end_ns = ps_now_ns() + 20 * PS_SEC_NS; ps_now_ns() < end_ns;) {
		p = raw_peer_new(&s, NULL);
		raw_hello(p);
		raw_flush(p, 1000);
		if (!raw_closed_with(p, false, PS_QUIC_CONNECTION_REFUSED, 0))
			break;
		raw_run(&s, 3 * PS_SEC_NS);
		s.n_peers--;
		raw_peer_free(p);
	}
	CU_ASSERT_TRUE_FATAL(raw_wait(&s, (const unsigned int *)&p->tls_result, PS_TLS_DONE));
	raw_flush(p, 1000);
	CU_ASSERT_TRUE(raw_wait(&s, &s.connected, 1));
	raw_server_stop(&s);
}

/* A connection ends while it waits to send, and another one takes its place before that came. */
static void
test_place_reused_in_the_queue(void)
{
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.limits.conns = s.limits.handshakes = 1;
	raw_server_start(&s);
	raw_established(&s);
	ps_quic_close(s.q, s.id, 1, "", s.now_ns);
	s.now_ns += 10 * PS_SEC_NS;
	s.next_ns = ps_quic_service(s.q, s.now_ns);
	CU_ASSERT_EQUAL(s.stats->conns_open, 0);
	p = raw_established(&s);
	raw_send_stream(p, 2, 0, 10, true);
	raw_run(&s, 30 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.delivered, 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_ACK), 1);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"a full burst", test_full_burst},
	{"a ClientHello in a burst, and again", test_hello_in_a_burst},
	{"the established first", test_established_first},
	{"a ClientHello in two packets of a datagram", test_hello_in_two_packets},
	{"the same id of two clients", test_same_id_two_clients},
	{"packets out of place", test_packets_out_of_place},
	{"bounds of frames and answers", test_bounds},
	{"the queue of stateless answers", test_answers_full},
	{"a place is used again while it waits to send", test_place_reused_in_the_queue},
	{"loss by packet threshold", test_loss_by_packet_threshold},
	{"loss by time", test_loss_by_time},
	{"TLS on its thread", test_threaded_tls},
	{"ends while TLS works", test_end_while_tls_works},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_bursts", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
