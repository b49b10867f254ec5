/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Rows about datagrams, handshakes and many clients at once. */

#include "hostile.h"

/* -- datagrams -- */

/* Whatever an ICMP message claims about the path: nothing is larger than 1200 bytes, or smaller
 * than the RFC asks for. lib/net takes UDP only, and there is no path MTU to be lowered; real ICMP
 * is sent by tests/netns/54. */
static void
row_3(void)
{
	struct raw_peer *p;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	for (unsigned int i = 0; i < 100; i++)
		raw_send_stream(p, i % 16 << 2 | 2, 0, 100, true);
	for (unsigned int i = 0; i < p->n_frames; i++)
		CU_ASSERT_TRUE(p->frame[i].size <= 1200);
	hostile_settle();
}

static void
row_19(void)
{
	uint8_t d[80];
	struct raw_peer *p = hostile_peer();
	uint64_t got = s.stats->datagrams_rx, sent = s.stats->datagrams_tx;
	unsigned int n = 0;

	for (unsigned int first = 0; first < 256; first += 17)
		for (size_t len = 0; len <= sizeof(d); len++, n++) {
			memset(d, (int)first, sizeof(d));
			memcpy(d + 1, p->dcid.id, p->dcid.len);
			raw_send_bytes(p, d, len);
			raw_pump(&s);
		}
	CU_ASSERT_EQUAL(s.stats->datagrams_rx - got, n); /* each counted */
	CU_ASSERT_EQUAL(s.stats->datagrams_tx, sent);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_SHORT] > 500, true);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	hostile_settle();
}

/* Our stateless reset comes back as if it were a packet, from an end that does what we do. */
static void
row_20(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX] = {0x40};
	struct raw_peer *p = hostile_peer();
	struct ps_datagram d, *out = &d;
	unsigned int rounds = 0;

	ps_quic_close_all(s.q, 1, "", s.now_ns);
	raw_run(&s, 10 * PS_SEC_NS);
	d = (struct ps_datagram){.data = buf, .len = 1200};
	memcpy(buf + 1, p->dcid.id, p->dcid.len);
	do {
		raw_inject(&s, p->flow, buf, d.len);
		d.len = sizeof(buf);
		s.now_ns += PS_SEC_NS;
	} while (ps_quic_tx_burst(s.q, &out, 1, s.now_ns) == 1 && ++rounds < 100);
	CU_ASSERT_EQUAL(rounds, 1);
	/* the same id in each, each a byte shorter: an end there is, too */
	d.len = 1200;
	for (rounds = 0; rounds < 2000 && d.len > 0; rounds++) {
		memset(buf, 0x40, sizeof(buf));
		memcpy(buf + 1, p->dcid.id, p->dcid.len);
		raw_inject(&s, p->flow, buf, d.len);
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		s.now_ns += PS_SEC_NS;
		if (ps_quic_tx_burst(s.q, &out, 1, s.now_ns) == 0)
			break;
	}
	CU_ASSERT_TRUE(rounds < 10);
	hostile_settle();
}

static void
row_25(void)
{
	uint8_t d[1400] = {0xc0, 0, 0, 0, 0, 8};
	struct raw_peer *p = hostile_peer();
	uint64_t sent = s.stats->datagrams_tx;

	for (size_t len = 20; len <= sizeof(d); len += 20) {
		d[14] = 8;
		raw_send_bytes(p, d, len);
		raw_pump(&s);
	}
	memcpy(d + 6, p->dcid.id, 8); /* and one that quotes an id */
	raw_send_bytes(p, d, sizeof(d));
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.stats->datagrams_tx, sent);
	CU_ASSERT_EQUAL(s.stats->version_tx, 0);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	hostile_settle();
}

static void
row_37(void)
{
	static uint8_t d[9000];
	struct raw_peer *p = hostile_peer();
	static const uint8_t bye[] = {PS_FRAME_CONNECTION_CLOSE, 0, 0, 0};

	for (size_t len = PS_UDP_PAYLOAD_MAX + 1; len <= sizeof(d); len += 100) {
		memset(d, 0x40, sizeof(d));
		raw_send_bytes(p, d, len);
	}
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_OVERSIZED], 76);
	/* packets at every end that a connection can have */
	raw_send(p, PS_LEVEL_APP, bye, sizeof(bye));
	for (int i = 0; i < 20; i++)
		raw_send_stream(p, 2, 0, 100, true);
	raw_run(&s, 30 * PS_SEC_NS);
	raw_send_stream(p, 2, 0, 100, true);
	p = raw_peer_new(&s, NULL);
	hostile_hello(p);
	raw_send(p, PS_LEVEL_INITIAL, bye, sizeof(bye));
	raw_flush(p, 900);
	p = raw_peer_new(&s, NULL);
	hostile_hello(p);
	raw_send(p, PS_LEVEL_HANDSHAKE, bye, sizeof(bye));
	raw_flush(p, 900);
	CU_ASSERT_EQUAL(s.delivered, 0);
	CU_ASSERT_EQUAL(s.stats->handshakes_failed, 2);
	hostile_settle();
}

/* -- transport parameters and TLS -- */

static void
parameters_close(const uint8_t *bytes, size_t len)
{
	struct raw_peer *p = raw_peer_new(&s, NULL);

	memcpy(p->tp_more, bytes, p->tp_more_len = len);
	hostile_hello(p);
	CU_ASSERT_TRUE(
		raw_closed_with(p, false, PS_QUIC_TRANSPORT_PARAMETER_ERROR, PS_FRAME_CRYPTO));
	raw_run(&s, 3 * PS_SEC_NS);
}

#define P(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void
row_15(void)
{
	hostile_defaults();
	hostile_start();
	parameters_close(P(0x04));                   /* no length */
	parameters_close(P(0x04, 4, 0x80));          /* cut short */
	parameters_close(P(0x09, 1, 0x40));          /* half an integer */
	parameters_close(P(0x09, 2, 5, 5));          /* more than one */
	parameters_close(P(0x09, 0));                /* none */
	parameters_close(P(0xc0));                   /* half an id */
	parameters_close(P(0x0f, 21));               /* a length that is too long, cut short */
	parameters_close(P(0x40, 0x55, 0xff, 0xff)); /* unknown, of no length */
	CU_ASSERT_EQUAL(s.stats->handshakes_failed, 8);
	hostile_settle();
}

static void
row_24(void)
{
	hostile_defaults();
	hostile_start();
	for (int i = 0; i < 20; i++)
		parameters_close(P(0x05, 1, 1, 0x05, 1, 1));
	CU_ASSERT_EQUAL(s.stats->handshakes_failed, 20);
	hostile_settle();
}

/* A ClientHello of 16 MB by its length, as much of it as is taken. */
static void
row_28(void)
{
	uint8_t frame[1100], text[1000] = {1, 0xff, 0xff, 0xff};
	struct raw_peer *p;
	size_t at = 0;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	for (; at < 20000 && s.closed == 0; at += sizeof(text)) {
		size_t n = ps_frame_crypto_put(frame, sizeof(frame), at, text, sizeof(text));

		raw_send(p, PS_LEVEL_INITIAL, frame, n);
		memset(text, 0, sizeof(text));
	}
	CU_ASSERT_EQUAL(s.closed, 1);
	CU_ASSERT_TRUE(at <= 9000);
	CU_ASSERT_TRUE(raw_closed_with(p, false, 0x132, PS_FRAME_CRYPTO));
	hostile_settle();
}

static void
row_33(void)
{
	struct raw_peer *p;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	p->tp.max_idle_timeout_ms = PS_VARINT_MAX;
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_ack(p, PS_LEVEL_APP);
	raw_send(p, PS_LEVEL_APP, /* a delay of 2^62 - 1 */
		P(0x02, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0));
	raw_run(&s, 29 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	raw_run(&s, 2 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->closed_idle, 1);
	hostile_settle();
}

/* Every datagram of the server's is lost for as long as the handshake lasts. */
static void
row_36(void)
{
	struct raw_peer *p;

	hostile_defaults();
	s.config.handshake_timeout_ms = 30000;
	hostile_start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	hostile_hello(p);
	raw_run(&s, 20 * PS_SEC_NS);
	for (unsigned int i = 0; i < p->n_frames; i++)
		if (p->frame[i].pkt == PS_PKT_INITIAL && p->frame[i].f.type == PS_FRAME_CRYPTO)
			CU_ASSERT_TRUE(p->frame[i].size >= 1200);
	CU_ASSERT_TRUE(p->rx_bytes <= 3 * p->tx_bytes);
	CU_ASSERT_TRUE(s.stats->probes < 10);
	hostile_settle();
}

static void
row_40(void)
{
	uint8_t frame[64];
	struct raw_peer *p;
	size_t n;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	hostile_hello(p);
	hostile_hello(p); /* all of it again */
	n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[0], 40);
	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	raw_flush(p, 100); /* many packets, then the first once more */
	CU_ASSERT_EQUAL(s.connected, 1);
	n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_HANDSHAKE], 40);
	raw_send(p, PS_LEVEL_HANDSHAKE, frame, n);
	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	raw_send_stream(p, 2, 0, 10, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	/* one level's bytes at the other are no message of it */
	p = raw_peer_new(&s, NULL);
	hostile_hello(p);
	n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[0], 60);
	raw_send(p, PS_LEVEL_HANDSHAKE, frame, n);
	CU_ASSERT_TRUE(raw_closed_with(p, false, 0x10a, PS_FRAME_CRYPTO)); /* unexpected_message */
	hostile_settle();
}

/* -- many clients -- */

static struct ps_flow4
spoofed(unsigned int i)
{
	return (struct ps_flow4){.saddr_be = __builtin_bswap32(0x0b000000u + i),
		.daddr_be = __builtin_bswap32(0x0a000002u),
		.sport_be = __builtin_bswap16((uint16_t)(1024 + i)),
		.dport_be = __builtin_bswap16(8009)};
}

/* An Initial with a whole ClientHello that names new ids, from an address that is not there. */
static void
spoof(struct raw_peer *p, unsigned int i, const struct ps_flow4 *from)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX], d[PS_UDP_PAYLOAD_MAX];
	struct ps_flow4 flow = from == NULL ? spoofed(i) : *from;
	size_t n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_INITIAL],
		p->io.out_len[PS_LEVEL_INITIAL]);

	memcpy(p->dcid.id, &i, sizeof(i));
	ps_initial_keys(&p->tx[0], &p->rx[0], p->dcid.id, p->dcid.len);
	p->next_pn[PS_LEVEL_INITIAL] = 0;
	n = raw_packet(p, PS_LEVEL_INITIAL, frame, n, &(struct raw_how){.pad_to = 1200}, d);
	raw_inject(&s, flow, d, n);
	raw_pump(&s);
}

/* 200 Initials with zero-length source ids from one address and port. */
static void
row_18(void)
{
	struct raw_peer *p, *good;

	hostile_defaults();
	hostile_start();
	p = raw_peer_new(&s, NULL);
	p->scid.len = 0;
	raw_hello(p);
	for (unsigned int i = 1; i <= 200; i++)
		spoof(p, i, &(struct ps_flow4){1, 2, 3, 4});
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 8);
	CU_ASSERT_EQUAL(s.stats->refused, 192);
	p->dcid.len = 7;
	spoof(p, 1, NULL);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_CID_LENGTH], 1);
	raw_run(&s, 3 * PS_SEC_NS);
	good = raw_peer_new(&s, NULL); /* and it is a legal thing to do */
	good->scid.len = 0;
	CU_ASSERT_TRUE(raw_handshake(good));
	hostile_settle();
}

/* 10,000 spoofed ClientHellos: a quarter of the pool is lost to them, then each costs a Retry and
 * no public-key operation; who is established does not notice. */
static void
row_45(void)
{
	struct raw_peer *p, *good;

	hostile_defaults();
	s.config.retry = PS_RETRY_AUTO;
	hostile_start();
	good = raw_established(&s);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	for (unsigned int i = 1; i <= 10000; i++) {
		spoof(p, i, NULL);
		if (i % 1000 == 0)
			raw_send_stream(good, i / 1000 << 2 | 2, 0, 100, true);
	}
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1 + 2);
	CU_ASSERT_EQUAL(s.stats->retries_tx, 9998);
	CU_ASSERT_EQUAL(s.stats->retry_on, 1);
	CU_ASSERT_EQUAL(s.delivered, 10);
	p = raw_peer_new(&s, NULL); /* a new one gets in, by one round trip more */
	CU_ASSERT_TRUE(raw_handshake(p));
	CU_ASSERT_EQUAL(p->retries, 1);
	hostile_settle();
}

/* One address opens and drops connections without end: it gets what one address gets. */
static void
row_46(void)
{
	struct raw_peer *good, *p;
	unsigned int in = 0;

	hostile_defaults();
	s.config.source_per_min = 2;
	s.limits.conns = 128;
	hostile_start();
	good = raw_established(&s);
	for (int i = 0; i < 50; i++) {
		p = raw_peer_new(&s, NULL);
		p->flow.saddr_be = spoofed(1).saddr_be;
		in += raw_handshake(p);
		raw_send(p, PS_LEVEL_APP, P(PS_FRAME_CONNECTION_CLOSE_APP, 0, 0));
		raw_run(&s, 100 * PS_MS_NS);
	}
	CU_ASSERT_EQUAL(in, 8);
	CU_ASSERT_EQUAL(s.stats->source_limited, 42);
	raw_send_stream(good, 2, 0, 100, true); /* nobody was put out for it */
	CU_ASSERT_EQUAL(s.delivered, 1);
	p = raw_peer_new(&s, NULL);
	p->flow.saddr_be = spoofed(2).saddr_be;
	CU_ASSERT_TRUE(raw_handshake(p));
	hostile_settle();
}

/* Half a second to and fro: a window of streams every round trip, whatever its length. */
static void
row_48(void)
{
	struct raw_peer *p;
	uint64_t granted = 512, sent = 0, before;

	hostile_defaults();
	s.config.stream_window = 512;
	hostile_start();
	p = raw_established(&s);
	for (int trip = 0; trip < 10; trip++) {
		before = sent;
		while (sent < granted)
			raw_send_stream(p, sent++ << 2 | 2, 0, 100, true);
		CU_ASSERT_TRUE(sent - before >= 448);
		raw_run(&s, PS_SEC_NS / 2);
		if (raw_last(p, PS_FRAME_MAX_STREAMS_UNI) != NULL)
			granted = raw_last(p, PS_FRAME_MAX_STREAMS_UNI)->f.limit.max;
		raw_ack(p, PS_LEVEL_APP);
		raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(s.delivered, sent);
	hostile_settle();
}

/* A byte each 100 ms on one stream, nothing on another, others at their pace. */
static void
row_49(void)
{
	struct raw_peer *p = hostile_peer();
	unsigned int whole = 0;

	raw_send(p, PS_LEVEL_APP, P(0x0a, 6, 0));
	for (unsigned int i = 0; i < 40; i++) {
		raw_send_stream(p, 2, i, 1, false);
		if (whole < 10)
			raw_send_stream(p, (2 + whole++) << 2 | 2, 0, 50, true);
		raw_run(&s, 100 * PS_MS_NS);
		raw_peer_clear(p);
	}
	CU_ASSERT_EQUAL(s.delivered, whole);
	CU_ASSERT_EQUAL(s.drops.n[PS_DROP_QUIC_STREAM_LATE], 2); /* 2 s from the first byte on */
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	raw_send_stream(p, 12 << 2 | 2, 0, 1, false);
	raw_send(p, PS_LEVEL_APP, P(0x04, 12 << 2 | 2, 0, 1));
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_EQUAL(s.closed, 0);
	hostile_settle();
}

/* The half-open pool full of clients that really are where they say: it drains by its deadline,
 * and those that are established go on. */
static void
row_50(void)
{
	struct raw_peer *p[10], *good;

	hostile_defaults();
	s.config.retry = PS_RETRY_AUTO;
	hostile_start();
	good = raw_established(&s);
	for (int i = 0; i < 10; i++) {
		p[i] = raw_peer_new(&s, NULL);
		raw_hello(p[i]);
		hostile_hello(p[i]);
		if (p[i]->retries > 0)
			hostile_hello(p[i]);
	}
	CU_ASSERT_EQUAL(s.stats->half_open, 8);
	CU_ASSERT_EQUAL(s.stats->refused, 2);
	raw_send_stream(good, 2, 0, 100, true);
	CU_ASSERT_EQUAL(s.delivered, 1);
	raw_run(&s, 2001 * PS_MS_NS);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_TRUE(raw_handshake(raw_peer_new(&s, NULL)));
	raw_send_stream(good, 6, 0, 100, true);
	CU_ASSERT_EQUAL(s.delivered, 2);
	hostile_settle();
}

static const struct hostile_row table[] = {
	{"3", "ICMP claims a small path MTU", row_3, NULL},
	{"15", "transport parameters cut short", row_15, NULL},
	{"18", "many Initials without source id from one flow", row_18, NULL},
	{"19", "datagrams too short for anything", row_19, NULL},
	{"20", "stateless resets thrown back and forth", row_20, NULL},
	{"24", "duplicate transport parameters, over and over", row_24, NULL},
	{"25", "Version Negotiation sent to a server", row_25, NULL},
	{"28", "TLS message larger than will ever come", row_28, NULL},
	{"33", "idle timeout and ACK delay near 2^62", row_33, NULL},
	{"36", "Initials of the server below 1200 bytes, probes without end", row_36, NULL},
	{"37", "jumbo datagrams, packets at every end of a connection", row_37, NULL},
	{"40", "old CRYPTO again, and at another level", row_40, NULL},
	{"45", "flood of spoofed ClientHellos", row_45, NULL},
	{"46", "one address opens and drops connections", row_46, NULL},
	{"47", "stake kept from the time of the handshake", NULL,
		"not applicable: no admission by stake"},
	{"48", "credit over a long round trip", row_48, NULL},
	{"49", "slow loris", row_49, NULL},
	{"50", "half-open pool full", row_50, NULL},
	{"51", "GSO sends that fail", NULL, "not applicable: one frame per datagram, no GSO"},
	{"52", "frames in several buffers from a broken driver", NULL,
		"tested in unit/classify: dropped as rx_segmented"},
};

int
main(void)
{
	return hostile_main("hostile_load", table, sizeof(table) / sizeof(table[0]));
}
