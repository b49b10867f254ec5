/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The endpoint's handshake: admission, CRYPTO, Retry, limits of half-open connections. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server s;

static uint64_t
drops(enum ps_drop why)
{
	return s.drops.n[why];
}

/* The ClientHello in one Initial, and no more than that from us. */
static void
first_flight(struct raw_peer *p)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_INITIAL],
		p->io.out_len[PS_LEVEL_INITIAL]);

	raw_send(p, PS_LEVEL_INITIAL, frame, n);
}

static void
send_crypto(struct raw_peer *p, enum ps_level level, size_t from, size_t to)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n =
		ps_frame_crypto_put(frame, sizeof(frame), from, p->io.out[level] + from, to - from);

	raw_send(p, level, frame, n);
}

static void
start(void)
{
	raw_server_defaults(&s);
	raw_server_start(&s);
}

static void
test_first_flight_after_handshake(void)
{
	const struct raw_frame *done, *streams;
	struct ps_tparam t;
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	done = raw_nth(p, PS_FRAME_HANDSHAKE_DONE, 0);
	streams = raw_nth(p, PS_FRAME_MAX_STREAMS_UNI, 0);
	CU_ASSERT_TRUE_FATAL(done != NULL && streams != NULL);
	CU_ASSERT_TRUE(done->pkt == PS_PKT_1RTT && done->pn == 0 && streams->pn == 0);
	CU_ASSERT_EQUAL(streams->f.limit.max, 16);

	CU_ASSERT_EQUAL_FATAL(ps_tparam_parse(&t, p->io.peer_tp, p->io.peer_tp_len, false), 0);
	CU_ASSERT_EQUAL(t.initial_max_streams_uni, 0);
	CU_ASSERT_EQUAL(t.initial_max_streams_bidi, 0);
	CU_ASSERT_EQUAL(t.initial_max_stream_data_uni, 4096);
	CU_ASSERT_EQUAL(t.initial_max_data, s.config.conn_bytes);
	CU_ASSERT_EQUAL(t.max_idle_timeout_ms, s.config.idle_timeout_ms);
	CU_ASSERT_TRUE(t.disable_active_migration);
	CU_ASSERT_TRUE(t.has_original_dcid && ps_cid_equal(&t.original_dcid, &p->odcid));
	CU_ASSERT_TRUE(t.has_initial_scid && ps_cid_equal(&t.initial_scid, &p->dcid));
	CU_ASSERT_FALSE(t.has_retry_scid);
	CU_ASSERT_TRUE(s.identity.has_key);
	CU_ASSERT_EQUAL(s.stats->conns_open, 1);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(p->undecoded, 0);
	raw_server_stop(&s);
}

static void
test_hello_over_many_packets(void)
{
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	for (int i = 0; i < 6; i++)
		raw_flush(p, 7);
	CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(s.connected, 1);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
	raw_server_stop(&s);
}

/* Last piece first, then pieces that overlap on both sides, at both levels. */
static void
send_shuffled(struct raw_peer *p, enum ps_level level)
{
	size_t len = p->io.out_len[level], part = len / 5;

	for (int i = 4; i >= 0; i--) {
		size_t from = (size_t)i * part, to = i == 4 ? len : from + part + part / 2;

		send_crypto(p, level, from > part / 2 ? from - part / 2 : 0, to < len ? to : len);
	}
	p->crypto_sent[level] = (uint16_t)len;
}

static void
test_crypto_in_any_order(void)
{
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	send_shuffled(p, PS_LEVEL_INITIAL);
	CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(s.connected, 0);
	send_shuffled(p, PS_LEVEL_HANDSHAKE);
	CU_ASSERT_EQUAL(s.connected, 1);
	raw_server_stop(&s);
}

static void
test_crypto_beyond_buffer(void)
{
	uint8_t frame[64];
	size_t n = ps_frame_crypto_put(frame, sizeof(frame), 8192, (const uint8_t *)"x", 1);
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_CRYPTO_BUFFER_EXCEEDED, PS_FRAME_CRYPTO));
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	raw_send(p, PS_LEVEL_HANDSHAKE, frame, n);
	CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_CRYPTO_BUFFER_EXCEEDED, PS_FRAME_CRYPTO));
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	raw_server_stop(&s);
}

static void
test_alerts(void)
{
	struct ps_tls_config tls = raw_client_tls();
	struct raw_peer *p;

	start();
	tls.alpn = "h3";
	p = raw_peer_new(&s, &tls);
	CU_ASSERT_FALSE(raw_handshake(p));
	CU_ASSERT_TRUE(
		raw_closed_with(p, false, PS_QUIC_CRYPTO_ERROR + 120, PS_FRAME_CRYPTO)); /* 0x178 */
	tls = raw_client_tls();
	tls.no_certificate = true;
	p = raw_peer_new(&s, &tls);
	CU_ASSERT_FALSE(raw_handshake(p));
	CU_ASSERT_TRUE(
		raw_closed_with(p, false, PS_QUIC_CRYPTO_ERROR + 116, PS_FRAME_CRYPTO)); /* 0x174 */
	CU_ASSERT_EQUAL(s.stats->handshakes_failed, 2);
	CU_ASSERT_EQUAL(s.connected, 0);
	raw_server_stop(&s);
}

/* Transport parameters that name another source id than the packets do. */
static void
test_forged_scid_parameter(void)
{
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	p->scid.id[0] ^= 1;
	first_flight(p);
	CU_ASSERT_TRUE(
		raw_closed_with(p, false, PS_QUIC_TRANSPORT_PARAMETER_ERROR, PS_FRAME_CRYPTO));
	raw_server_stop(&s);
}

static void
test_retry(void)
{
	struct ps_tparam t;
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.retry = PS_RETRY_ALWAYS;
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	CU_ASSERT_EQUAL(p->retries, 1);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(s.stats->retries_tx, 1);
	for (int i = 0; i < 4; i++)
		raw_flush(p, 900);
	CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(s.connected, 1);
	CU_ASSERT_EQUAL(p->retries, 1);
	CU_ASSERT_EQUAL_FATAL(ps_tparam_parse(&t, p->io.peer_tp, p->io.peer_tp_len, false), 0);
	CU_ASSERT_TRUE(t.has_original_dcid && ps_cid_equal(&t.original_dcid, &p->odcid));
	CU_ASSERT_TRUE(t.has_retry_scid && ps_cid_equal(&t.retry_scid, &p->retry_scid));
	raw_server_stop(&s);
}

enum token_fault { FORGED, CUT, EXPIRED, OTHER_ADDRESS, OTHER_PORT, OTHER_ID };

static void
test_bad_tokens(void)
{
	for (enum token_fault fault = FORGED; fault <= OTHER_ID; fault++) {
		struct raw_peer *p;

		raw_server_defaults(&s);
		s.config.retry = PS_RETRY_ALWAYS;
		raw_server_start(&s);
		p = raw_peer_new(&s, NULL);
		raw_hello(p);
		first_flight(p);
		CU_ASSERT_EQUAL_FATAL(p->retries, 1);
		if (fault == FORGED)
			p->token[p->token_len - 1] ^= 1;
		else if (fault == CUT)
			p->token_len--;
		else if (fault == EXPIRED)
			s.now_ns += PS_TOKEN_LIFE_NS + PS_MS_NS;
		else if (fault == OTHER_ADDRESS)
			p->flow.saddr_be ^= 0x01000000;
		else if (fault == OTHER_PORT)
			p->flow.sport_be ^= 0x0100;
		else
			p->dcid = p->odcid;
		if (fault == OTHER_ID)
			ps_initial_keys(&p->tx[0], &p->rx[0], p->dcid.id, p->dcid.len);
		first_flight(p);
		if (fault == CUT) { /* no token of ours: as good as none */
			CU_ASSERT_EQUAL(p->retries, 2);
		} else {
			CU_ASSERT_TRUE(raw_closed_with(p, false, PS_QUIC_INVALID_TOKEN, 0));
			CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_TOKEN), 1);
		}
		CU_ASSERT_EQUAL(s.stats->handshakes_started, 0);
		raw_server_stop(&s);
	}
}

static void
test_small_and_short(void)
{
	struct raw_how how = {.pad_to = 1199};
	struct raw_peer *p;
	uint8_t ping = PS_FRAME_PING;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	raw_send_how(p, PS_LEVEL_INITIAL, &ping, 1, &how);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_INITIAL_SMALL), 1);
	p->dcid.len = 7;
	ps_initial_keys(&p->tx[0], &p->rx[0], p->dcid.id, p->dcid.len);
	first_flight(p);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_CID_LENGTH), 1);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 0);
	CU_ASSERT_EQUAL(p->datagrams, 0);

	/* below 1200 of a connection that exists is no better */
	p->dcid = p->odcid;
	ps_initial_keys(&p->tx[0], &p->rx[0], p->dcid.id, p->dcid.len);
	first_flight(p);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
	raw_send_how(p, PS_LEVEL_INITIAL, &ping, 1, &how);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_INITIAL_SMALL), 2);
	raw_server_stop(&s);
}

static void
test_version_negotiation(void)
{
	uint8_t d[1200] = {0xc0, 0x0a, 0x1a, 0x2a, 0x3a, 8};
	struct raw_peer *p;

	start();
	p = raw_peer_new(&s, NULL);
	memset(d + 6, 0x55, 8);
	d[14] = p->scid.len;
	memcpy(d + 15, p->scid.id, p->scid.len);
	raw_send_bytes(p, d, 1199);
	raw_pump(&s);
	CU_ASSERT_EQUAL(p->datagrams, 0);
	raw_send_bytes(p, d, 1200);
	raw_pump(&s);
	CU_ASSERT_EQUAL(p->versions, 1);
	CU_ASSERT_EQUAL(p->datagrams, 1);
	CU_ASSERT_EQUAL(s.stats->version_tx, 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_VERSION), 2);
	raw_server_stop(&s);
}

static void
test_pool_full(void)
{
	struct raw_peer *p[4];

	raw_server_defaults(&s);
	s.limits.handshakes = 2;
	raw_server_start(&s);
	for (int i = 0; i < 3; i++) {
		p[i] = raw_peer_new(&s, NULL);
		raw_hello(p[i]);
		first_flight(p[i]);
	}
	CU_ASSERT_EQUAL(p[0]->tls_result, PS_TLS_DONE);
	CU_ASSERT_TRUE(raw_closed_with(p[2], false, PS_QUIC_CONNECTION_REFUSED, 0));
	CU_ASSERT_EQUAL(p[2]->datagrams, 1);
	CU_ASSERT_EQUAL(s.stats->refused, 1);
	CU_ASSERT_EQUAL(s.stats->half_open, 2);
	raw_run(&s, s.config.handshake_timeout_ms * PS_MS_NS + PS_MS_NS);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(s.stats->handshakes_late, 2);
	CU_ASSERT_EQUAL(s.closed, 2);
	p[3] = raw_peer_new(&s, NULL);
	CU_ASSERT_TRUE(raw_handshake(p[3]));
	raw_server_stop(&s);
}

/* A client that never answers: the flight comes again after 1, 2, 4 s and so on until the
 * deadline, never beyond three times what the client sent. raw_peer checks the limit at every
 * datagram. */
/* A client that repeats itself did not see our flight: it comes at once, not with the back-off, and
 * not for every packet. */
static void
test_flight_on_a_clients_word(void)
{
	struct raw_peer *p;
	unsigned int n;

	raw_server_defaults(&s);
	s.config.handshake_timeout_ms = 60000;
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	n = raw_count(p, PS_FRAME_CRYPTO);
	CU_ASSERT_TRUE(n > 0);
	raw_send(p, PS_LEVEL_INITIAL, "\x01", 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_CRYPTO), n); /* it may be on its way */
	raw_run(&s, 150 * PS_MS_NS);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_CRYPTO), n);
	raw_send(p, PS_LEVEL_INITIAL, "\x01", 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_CRYPTO), 2 * n);
	raw_send(p, PS_LEVEL_INITIAL, "\x01", 1);
	CU_ASSERT_EQUAL(raw_count(p, PS_FRAME_CRYPTO), 2 * n);
	raw_server_stop(&s);
}

static void
test_probes_and_amplification(void)
{
	struct raw_peer *p;
	unsigned int first;
	uint64_t t0;

	raw_server_defaults(&s);
	s.config.handshake_timeout_ms = 60000;
	s.config.idle_timeout_ms = 0;
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	t0 = s.now_ns;
	first = p->datagrams;
	CU_ASSERT_TRUE(first >= 1);
	raw_run(&s, 900 * PS_MS_NS);
	CU_ASSERT_EQUAL(p->datagrams, first);
	raw_run(&s, 200 * PS_MS_NS);
	CU_ASSERT_TRUE(p->datagrams > first);
	CU_ASSERT_TRUE(raw_last(p, PS_FRAME_CRYPTO)->at_ns - t0 >= 990 * PS_MS_NS);
	raw_run(&s, 20 * PS_SEC_NS);
	CU_ASSERT_EQUAL(p->tx_bytes, 1200);
	CU_ASSERT_TRUE(p->rx_bytes > 2400 && p->rx_bytes <= 3600);
	CU_ASSERT_TRUE(s.services < 40);
	/* more from the client, more to it */
	raw_send(p, PS_LEVEL_INITIAL, "\x01", 1);
	raw_run(&s, 20 * PS_SEC_NS);
	CU_ASSERT_TRUE(p->rx_bytes > 3600 && p->rx_bytes <= 7200);
	raw_run(&s, 30 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(s.stats->handshakes_late, 1);
	first = p->datagrams;
	raw_run(&s, 100 * PS_SEC_NS);
	CU_ASSERT_EQUAL(p->datagrams, first);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
	raw_server_stop(&s);
}

/* With the address validated by Retry only the back-off and the deadline limit the probes. */
static void
test_probe_back_off(void)
{
	uint64_t at[8] = {0};
	unsigned int n = 0;
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.retry = PS_RETRY_ALWAYS;
	s.config.handshake_timeout_ms = 40000;
	s.config.idle_timeout_ms = 0;
	raw_server_start(&s);
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	first_flight(p);
	for (unsigned int last = p->datagrams; s.stats->half_open > 0 && n < 8;) {
		raw_run(&s, 10 * PS_MS_NS);
		if (p->datagrams != last)
			at[n++] = s.now_ns;
		last = p->datagrams;
	}
	CU_ASSERT_TRUE_FATAL(n >= 4);
	CU_ASSERT_EQUAL(s.stats->probes, n);
	for (unsigned int i = 2; i < n; i++) {
		uint64_t before = at[i - 1] - at[i - 2], gap = at[i] - at[i - 1];

		CU_ASSERT_TRUE(gap > before * 19 / 10 && gap < before * 21 / 10);
	}
	CU_ASSERT_EQUAL(s.stats->handshakes_late, 1);
	raw_server_stop(&s);
}

/* A lost server flight: the probe alone lets the client finish. */
static void
test_probe_carries_the_flight(void)
{
	struct raw_peer *p;
	uint8_t buf[PS_UDP_PAYLOAD_MAX], frame[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;
	size_t n;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	n = ps_frame_crypto_put(
		frame, sizeof(frame), 0, p->io.out[0], p->io.out_len[PS_LEVEL_INITIAL]);
	raw_send_bytes(p, buf,
		raw_packet(p, PS_LEVEL_INITIAL, frame, n, &(struct raw_how){.pad_to = 1200}, buf));
	do
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
	while (ps_quic_tx_burst(s.q, &out, 1, s.now_ns) == 1);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
	CU_ASSERT_EQUAL(p->datagrams, 0);
	raw_run(&s, 1500 * PS_MS_NS);
	CU_ASSERT_EQUAL(p->tls_result, PS_TLS_DONE);
	raw_flush(p, 900);
	CU_ASSERT_EQUAL(s.connected, 1);
	raw_server_stop(&s);
}

/* The client's Handshake flight and a 1-RTT packet in one datagram, and one such packet before. */
static void
test_coalesced(void)
{
	uint8_t d[PS_UDP_PAYLOAD_MAX], app[PS_UDP_PAYLOAD_MAX], frame[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;
	size_t n, m;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	first_flight(p);
	CU_ASSERT_EQUAL_FATAL(p->tls_result, PS_TLS_DONE);
	raw_send(p, PS_LEVEL_APP, "\x01", 1);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_NO_KEY), 1);
	n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_HANDSHAKE],
		p->io.out_len[PS_LEVEL_HANDSHAKE]);
	n = raw_packet(p, PS_LEVEL_HANDSHAKE, frame, n, NULL, d);
	m = raw_packet(p, PS_LEVEL_APP, "\x01", 1, &(struct raw_how){.pad_to = 60}, app);
	CU_ASSERT_TRUE_FATAL(n + m <= sizeof(d));
	memcpy(d + n, app, m);
	raw_send_bytes(p, d, n + m);
	raw_pump(&s);
	CU_ASSERT_EQUAL(s.connected, 1);
	/* number 1 came beside the Finished and counts; number 0 came too early and does not */
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw_last(p, PS_FRAME_ACK));
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->pkt, PS_PKT_1RTT);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->f.ack.largest, 1);
	CU_ASSERT_EQUAL(raw_last(p, PS_FRAME_ACK)->f.ack.first_range, 0);
	raw_server_stop(&s);
}

static void
test_coalesced_for_another(void)
{
	uint8_t d[2 * PS_UDP_PAYLOAD_MAX], other[PS_UDP_PAYLOAD_MAX];
	struct raw_how how = {.pad_to = 650};
	struct raw_peer *p;
	size_t n, m;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	n = raw_packet(p, PS_LEVEL_INITIAL, "\x01", 1, &how, d);
	p->dcid.id[0] ^= 1;
	ps_initial_keys(&p->tx[0], &p->rx[0], p->dcid.id, p->dcid.len);
	m = raw_packet(p, PS_LEVEL_INITIAL, "\x01", 1, &how, other);
	memcpy(d + n, other, m);
	raw_send_bytes(p, d, n + m);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 1);
	CU_ASSERT_EQUAL(s.stats->packets_rx, 1);
	raw_server_stop(&s);
}

/* Nothing that anybody can forge makes state or an answer. */
static void
test_unverified_initial(void)
{
	uint8_t d[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p;
	size_t n;

	start();
	p = raw_peer_new(&s, NULL);
	raw_hello(p);
	n = raw_packet(p, PS_LEVEL_INITIAL, "\x01", 1, &(struct raw_how){.pad_to = 1200}, d);
	d[n - 1] ^= 1;
	raw_send_bytes(p, d, n);
	raw_pump(&s);
	CU_ASSERT_EQUAL(drops(PS_DROP_QUIC_DECRYPT), 1);
	CU_ASSERT_EQUAL(s.stats->handshakes_started, 0);
	CU_ASSERT_EQUAL(p->datagrams, 0);
	raw_server_stop(&s);
}

static CU_TestInfo tests[] = {
	{"HANDSHAKE_DONE and credit come first, parameters are right",
		test_first_flight_after_handshake},
	{"a ClientHello over many packets", test_hello_over_many_packets},
	{"CRYPTO out of order and overlapping", test_crypto_in_any_order},
	{"CRYPTO beyond the buffer", test_crypto_beyond_buffer},
	{"TLS alerts: ALPN, certificate", test_alerts},
	{"initial_source_connection_id is authenticated", test_forged_scid_parameter},
	{"Retry keeps no state and goes through", test_retry},
	{"bad tokens are refused", test_bad_tokens},
	{"small Initials and short ids are dropped", test_small_and_short},
	{"version negotiation", test_version_negotiation},
	{"half-open pool and deadline", test_pool_full},
	{"the flight again on a client's word", test_flight_on_a_clients_word},
	{"probes within three times", test_probes_and_amplification},
	{"probes back off and stop", test_probe_back_off},
	{"a probe carries the flight", test_probe_carries_the_flight},
	{"coalesced packets, 1-RTT beside Finished", test_coalesced},
	{"a coalesced packet for another id", test_coalesced_for_another},
	{"an Initial that does not verify", test_unverified_initial},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
