/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The client role against the server role, without a crafted end: stateless resets, congestion
 * marks, ids that both issue, streams that are not wanted. */

#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "engine.h"

#define STREAMS 64

static const struct ps_flow4 flow = {
	.saddr_be = 0x0100000a, .daddr_be = 0x0200000a, .sport_be = 0x3930, .dport_be = 0x491f};

struct end {
	struct ps_quic *q;
	struct ps_tls *tls;
	void *mem;
	struct ps_drops drops;
};

static struct end server, client;
static uint64_t now_ns;
static struct ps_quic_conn_id id;
static bool connected, closed, congested;
static struct ps_quic_close why;
static unsigned int acked, lost, stopped, delivered;
static unsigned int lose; /* so many of the client's next datagrams do not arrive */
static uint8_t last_short[PS_UDP_PAYLOAD_MAX]; /* of the client's packets */
static uint16_t last_short_len;

static bool
reserve(void *ctx, const struct ps_stream_frame *f, unsigned int n)
{
	(void)ctx;
	(void)f;
	(void)n;
	return true;
}

/* A stream counts by its end; what there is before it stays in no slot. */
static enum ps_sink_result
data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	(void)ctx;
	(void)peer;
	if (f->slot == PS_SLOT_NONE && !(f->fin && f->offset == 0)) {
		f->slot = 0;
		return PS_SINK_MORE;
	}
	if (!f->fin)
		return PS_SINK_MORE;
	delivered++;
	return PS_SINK_DONE;
}

static void
abandon(void *ctx, uint32_t slot)
{
	(void)ctx;
	(void)slot;
}

static uint32_t
room(void *ctx)
{
	(void)ctx;
	return 1000;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id which, const struct ps_peer *peer)
{
	(void)ctx;
	(void)which;
	(void)peer;
	connected = true;
}

static void
on_acked(void *ctx, struct ps_quic_conn_id which, uint64_t user)
{
	(void)ctx;
	(void)which;
	(void)user;
	acked++;
}

static void
on_lost(void *ctx, struct ps_quic_conn_id which, uint64_t user)
{
	(void)ctx;
	(void)which;
	(void)user;
	lost++;
}

static void
on_stopped(void *ctx, struct ps_quic_conn_id which, uint64_t user)
{
	on_lost(ctx, which, user);
	stopped++;
}

static void
on_closed(void *ctx, struct ps_quic_conn_id which, const struct ps_quic_close *w)
{
	(void)ctx;
	(void)which;
	closed = true;
	why = *w;
}

static void
end_new(struct end *e, bool is_server)
{
	struct ps_tls_config tc = {.server = is_server, .sessions = 8, .alpn = "solana-tpu"};
	struct ps_quic_limits l;
	struct ps_quic_config c;
	struct ps_err err;

	memset(tc.seed, is_server ? 1 : 2, sizeof(tc.seed));
	ps_quic_defaults(&l, &c);
	l.conns = l.handshakes = 8;
	l.streams = 64;
	l.send_streams = is_server ? 0 : STREAMS;
	l.sent_packets = 256;
	l.key_cache = 16;
	c.server = is_server;
	c.retry = PS_RETRY_OFF;
	memset(c.keys.reset_key, 5, sizeof(c.keys.reset_key));
	c.drops = &e->drops;
	if (is_server)
		c.sink = (struct ps_sink){NULL, reserve, data, abandon, room};
	else
		c.events = (struct ps_quic_events){
			NULL, on_connected, on_acked, on_lost, on_closed, on_stopped};
	e->tls = c.tls = ps_tls_new(&tc, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->tls);
	e->mem = aligned_alloc(64, ps_quic_footprint(&l));
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->mem);
	e->q = ps_quic_new(e->mem, &l, &c, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->q);
}

static void
end_free(struct end *e)
{
	ps_tls_free(e->tls);
	ps_quic_stop(e->q);
	free(e->mem);
}

/* Everything that an end has to send, to the other one; returns the datagrams. */
static unsigned int
carry(struct end *from, struct end *to)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	unsigned int n = 0;

	for (;; n++) {
		struct ps_datagram d = {.data = buf, .len = sizeof(buf)}, *p = &d;

		if (ps_quic_tx_burst(from->q, &p, 1, now_ns) == 0)
			return n;
		if (from == &client && (buf[0] & 0x80) == 0)
			memcpy(last_short, buf, last_short_len = d.len);
		if (from == &client && lose > 0) {
			lose--;
			continue;
		}
		d.ecn = congested && d.ecn == 2 ? 3 : d.ecn;
		ps_quic_rx_burst(to->q, &p, 1, now_ns);
	}
}

/* Both ends, back and forth, for so long, 1 ms a way. */
static void
run(uint64_t ns)
{
	for (uint64_t end_ns = now_ns + ns; now_ns < end_ns; now_ns += PS_MS_NS) {
		ps_quic_service(client.q, now_ns);
		ps_quic_service(server.q, now_ns);
		carry(&client, &server);
		now_ns += PS_MS_NS;
		carry(&server, &client);
	}
}

static void
start(void)
{
	now_ns = 1000 * PS_SEC_NS;
	connected = closed = congested = false;
	acked = lost = stopped = delivered = lose = 0;
	memset(&server, 0, sizeof(server));
	memset(&client, 0, sizeof(client));
	end_new(&server, true);
	end_new(&client, false);
	CU_ASSERT_EQUAL_FATAL(ps_quic_connect(client.q, flow, 0, now_ns, &id), 0);
	run(50 * PS_MS_NS);
	CU_ASSERT_TRUE_FATAL(connected);
}

static void
stop(void)
{
	end_free(&server);
	end_free(&client);
}

static void
restart_server(void)
{
	end_free(&server);
	memset(&server, 0, sizeof(server));
	end_new(&server, true);
}

static void
send_streams(unsigned int n)
{
	uint8_t text[1000] = {1};

	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_EQUAL(ps_quic_send_stream(client.q, id, text, sizeof(text), i), 0);
}

/* The server was restarted with the same keys: it knows nothing and says so. */
static void
test_reset_ends_the_connection(void)
{
	start();
	restart_server();
	send_streams(1);
	run(20 * PS_MS_NS);
	CU_ASSERT_TRUE(ps_quic_stats(server.q)->resets_tx >= 1);
	CU_ASSERT_TRUE_FATAL(closed);
	CU_ASSERT_TRUE(why.by_peer);
	CU_ASSERT_STRING_EQUAL(why.reason, "stateless reset");
	CU_ASSERT_EQUAL(ps_quic_stats(client.q)->conns_open, 0);
	CU_ASSERT_NOT_EQUAL(ps_quic_send_stream(client.q, id, "x", 1, 0), 0);
	run(20 * PS_MS_NS); /* and the client is silent: no reset for the reset */
	CU_ASSERT_EQUAL(carry(&client, &server), 0);
	stop();
}

/* Any datagram of the right address that ends in other bytes is noise. */
static void
test_noise_is_no_reset(void)
{
	uint8_t noise[64];

	start();
	for (unsigned int i = 0; i < 1000; i++) {
		struct ps_datagram d = {.data = noise, .len = 42, .flow = ps_flow4_reverse(flow)},
				   *p = &d;

		memset(noise, (int)i, sizeof(noise));
		noise[0] = 0x40 | (noise[0] & 0x3f);
		ps_quic_rx_burst(client.q, &p, 1, now_ns);
	}
	CU_ASSERT_FALSE(closed);
	send_streams(1);
	run(60 * PS_MS_NS);
	CU_ASSERT_EQUAL(acked, 1);
	stop();
}

/* The token counts from the address that the connection goes to, and from no other. */
static void
test_reset_from_elsewhere(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d = {.data = buf, .flow = flow}, *p = &d;

	start();
	send_streams(1);
	run(20 * PS_MS_NS);
	restart_server();
	memcpy(buf, last_short, last_short_len);
	d.len = last_short_len;
	ps_quic_rx_burst(server.q, &p, 1, now_ns);
	d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
	CU_ASSERT_EQUAL_FATAL(ps_quic_tx_burst(server.q, &p, 1, now_ns), 1);
	d.flow.saddr_be ^= 1;
	ps_quic_rx_burst(client.q, &p, 1, now_ns);
	CU_ASSERT_FALSE(closed);
	d.flow.saddr_be ^= 1;
	ps_quic_rx_burst(client.q, &p, 1, now_ns);
	CU_ASSERT_TRUE(closed);
	stop();
}

/* How many datagrams of streams a client sends before it waits. */
static unsigned int
window(void)
{
	send_streams(40);
	return carry(&client, &server);
}

static void
test_congestion_marks(void)
{
	unsigned int before, after;

	start();
	before = window();
	run(100 * PS_MS_NS);
	CU_ASSERT_EQUAL(acked, 40);
	stop();
	start();
	congested = true; /* one round trip of marks */
	send_streams(4);
	run(20 * PS_MS_NS);
	CU_ASSERT_EQUAL(acked, 4);
	CU_ASSERT_TRUE(ps_quic_stats(server.q)->ecn_ce > 0);
	congested = false;
	after = window();
	CU_ASSERT_TRUE(before >= 10);
	CU_ASSERT_TRUE(after * 3 < before * 2);
	run(100 * PS_MS_NS);
	CU_ASSERT_EQUAL(acked, 44);
	CU_ASSERT_EQUAL(delivered, 44);
	CU_ASSERT_EQUAL(ps_quic_stats(client.q)->packets_lost, 0);
	stop();
}

/* A connection without streams ends after its idle timeout of 30 s, unless it is kept. */
static void
test_keep_alive(void)
{
	start();
	run(40 * PS_SEC_NS);
	CU_ASSERT_TRUE(closed);
	stop();
	start();
	for (int i = 0; i < 10; i++) {
		ps_quic_keep_alive(client.q, id);
		run(10 * PS_SEC_NS);
	}
	CU_ASSERT_FALSE(closed);
	CU_ASSERT_EQUAL(ps_quic_stats(server.q)->conns_open, 1);
	CU_ASSERT_EQUAL(ps_quic_stats(client.q)->probes, 0);
	ps_quic_keep_alive(client.q, (struct ps_quic_conn_id){id.slot, id.generation + 1});
	CU_ASSERT_EQUAL(carry(&client, &server), 0);
	stop();
}

/* STREAM frames of streams that are over for the server: what it said about them was not heard. */
static uint64_t
unwanted(void)
{
	return server.drops.n[PS_DROP_QUIC_STREAM_DONE];
}

/* All of it but the last datagram is lost until the server gives the stream up. */
static void
stopped_stream(void)
{
	uint8_t text[4000] = {1};

	CU_ASSERT_EQUAL(ps_quic_send_stream(client.q, id, text, sizeof(text), 7), 0);
	lose = 3;
	carry(&client, &server);
	CU_ASSERT_EQUAL(ps_quic_stats(server.q)->streams_open, 1);
}

static void
give_up_stream(void)
{
	uint64_t done = ps_quic_stats(server.q)->streams_done;

	for (int i = 0; i < 50 && ps_quic_stats(server.q)->streams_done == done; i++) {
		lose = 1000;
		run(100 * PS_MS_NS);
	}
	CU_ASSERT_EQUAL(ps_quic_stats(server.q)->streams_open, 0);
}

/* A stream that the server stops is reset, once for its owner and until the server knows. */
static void
test_stopped_stream_is_reset(void)
{
	for (unsigned int reset_lost = 0; reset_lost < 3; reset_lost++) {
		uint64_t before;

		start();
		stopped_stream();
		give_up_stream();
		before = unwanted();
		CU_ASSERT_EQUAL(lost, 1);
		CU_ASSERT_EQUAL(stopped, 1);
		lose = reset_lost;
		run(10 * PS_SEC_NS);
		CU_ASSERT_EQUAL(lost, 1);
		CU_ASSERT_EQUAL(acked, 0);
		CU_ASSERT_EQUAL(unwanted(), before);
		CU_ASSERT_FALSE(closed);
		/* every place is free again, those that follow arrive */
		for (int round = 0; round < 3; round++) {
			send_streams(STREAMS);
			run(PS_SEC_NS);
		}
		CU_ASSERT_EQUAL(acked, 3 * STREAMS);
		CU_ASSERT_EQUAL(delivered, 3 * STREAMS);
		stop();
		CU_ASSERT_EQUAL(lost, 1);
	}
}

/* The frame as if in a packet of the server's, for streams in every state. */
static void
stop_sending(uint64_t stream, uint8_t error)
{
	const uint8_t frame[] = {PS_FRAME_STOP_SENDING, (uint8_t)stream, error};
	struct ps_datagram d = {.flow = ps_flow4_reverse(flow)};
	struct conn *c = conn_find(client.q, id);

	client.q->packet.dg = &d;
	frames_receive(client.q, c, PS_PKT_1RTT, 0, frame, sizeof(frame), now_ns);
}

static void
test_stop_in_every_state(void)
{
	start();
	send_streams(1); /* nothing sent yet */
	stop_sending(2, 9);
	CU_ASSERT_EQUAL(lost, 1);
	stop_sending(2, 9); /* twice is once */
	run(100 * PS_MS_NS);
	CU_ASSERT_EQUAL(server.drops.n[PS_DROP_QUIC_STREAM_RESET], 1);
	CU_ASSERT_EQUAL(delivered, 0);
	send_streams(1); /* all sent, nothing acknowledged: it had arrived */
	carry(&client, &server);
	stop_sending(6, 9);
	CU_ASSERT_EQUAL(lost, 2);
	run(100 * PS_MS_NS);
	CU_ASSERT_EQUAL(delivered, 1);
	CU_ASSERT_EQUAL(acked, 0);
	send_streams(1); /* acknowledged */
	run(100 * PS_MS_NS);
	stop_sending(10, 9);
	CU_ASSERT_EQUAL(lost, 2);
	CU_ASSERT_EQUAL(acked, 1);
	run(100 * PS_MS_NS);
	CU_ASSERT_FALSE(closed);
	stop_sending(14, 9); /* never made */
	CU_ASSERT_TRUE(closed);
	CU_ASSERT_EQUAL(why.code, PS_QUIC_STREAM_STATE_ERROR);
	CU_ASSERT_EQUAL(why.frame_type, PS_FRAME_STOP_SENDING);
	stop();
}

/* One that ends with its connection was not stopped. */
static void
test_lost_is_not_stopped(void)
{
	start();
	send_streams(2);
	stop_sending(2, 9);
	ps_quic_close(client.q, id, 0, "", now_ns);
	run(10 * PS_SEC_NS);
	CU_ASSERT_EQUAL(lost, 2);
	CU_ASSERT_EQUAL(stopped, 1);
	stop();
}

/* What is not sent does not count against the connection's window. */
static void
test_stop_gives_credit_back(void)
{
	struct conn *c;
	uint64_t before;

	start();
	c = conn_find(client.q, id);
	before = c->send.data_sent;
	send_streams(1);
	CU_ASSERT_EQUAL(c->send.data_sent, before + 1000);
	stop_sending(2, 0);
	CU_ASSERT_EQUAL(c->send.data_sent, before);
	stop();
}

/* For an hour with one stream each 10 s: ids, tokens and marks disturb nothing. */
static void
test_long_and_slow(void)
{
	start();
	for (unsigned int i = 0; i < 360; i++) {
		send_streams(1);
		run(20 * PS_MS_NS);
		now_ns += 9980 * PS_MS_NS;
	}
	CU_ASSERT_FALSE(closed);
	CU_ASSERT_EQUAL(acked, 360);
	CU_ASSERT_EQUAL(ps_quic_stats(server.q)->closed_no_progress, 0);
	stop();
}

static CU_TestInfo tests[] = {
	{"a stateless reset ends the connection", test_reset_ends_the_connection},
	{"noise is no reset", test_noise_is_no_reset},
	{"a reset from another address", test_reset_from_elsewhere},
	{"congestion marks make the window smaller", test_congestion_marks},
	{"a stream that the server stops is reset", test_stopped_stream_is_reset},
	{"STOP_SENDING in every state of a stream", test_stop_in_every_state},
	{"a stream that ends with its connection is lost", test_lost_is_not_stopped},
	{"what is not sent costs no credit", test_stop_gives_credit_back},
	{"long and slow", test_long_and_slow},
	{"keep alive", test_keep_alive},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_client", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
