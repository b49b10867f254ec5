/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Frames are built by hand, byte by byte, so that a mistake in the headers of the code under test
 * cannot hide itself. Buffers are plain memory: no EAL. */

#include "net.h"
#include "ps_be.h"

#include <string.h>

#include <CUnit/Basic.h>

#define OUR_IP   0x0a000002u /* 10.0.0.2 */
#define OTHER_IP 0x0a000003u
#define PEER_IP  0x0a000001u
#define ETH      14
#define IP       ETH
#define UDP      (ETH + 20)
#define PAYLOAD  (ETH + 28)

enum { TPU = 3, VOTE = 4, ANYWHERE = 5 };

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 2}, peer_mac[6] = {2, 0, 0, 0, 0, 1};

struct frame {
	struct rte_mbuf m;
	uint8_t buf[2176];
};

static struct frame frame[PS_NET_BURST];
static struct ps_net_selectors *selectors;
static struct ps_net_rx rx;
static struct ps_drops drops;

/* RFC 1071, two bytes at a time. */
static uint16_t
sum16(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void
fill_checksums(uint8_t *p, uint16_t udp_len)
{
	uint32_t pseudo = sum16(p + IP + 12, 8, 17u + udp_len);
	uint16_t c;

	ps_be16_store(p + IP + 10, 0);
	ps_be16_store(p + IP + 10, (uint16_t)~sum16(p + IP, 20, 0));
	ps_be16_store(p + UDP + 6, 0);
	c = (uint16_t)~sum16(p + UDP, udp_len, pseudo);
	ps_be16_store(p + UDP + 6, c == 0 ? 0xffff : c);
}

static void
empty(struct frame *f)
{
	memset(f, 0, sizeof(*f));
	f->m.buf_addr = f->buf;
	f->m.buf_len = sizeof(f->buf);
	f->m.data_off = RTE_PKTMBUF_HEADROOM;
	f->m.nb_segs = 1;
}

static uint8_t *
good(struct frame *f, uint32_t daddr, uint16_t dport, uint16_t len)
{
	uint8_t *p = f->buf + RTE_PKTMBUF_HEADROOM;

	empty(f);
	memcpy(p, our_mac, 6);
	memcpy(p + 6, peer_mac, 6);
	ps_be16_store(p + 12, 0x0800);
	p[IP] = 0x45;
	p[IP + 1] = 0x02; /* ECT(0) */
	ps_be16_store(p + IP + 2, 28 + len);
	ps_be16_store(p + IP + 6, 0x4000);
	p[IP + 8] = 64;
	p[IP + 9] = 17;
	ps_be32_store(p + IP + 12, PEER_IP);
	ps_be32_store(p + IP + 16, daddr);
	ps_be16_store(p + UDP, 40000);
	ps_be16_store(p + UDP + 2, dport);
	ps_be16_store(p + UDP + 4, 8 + len);
	for (unsigned int i = 0; i < len; i++)
		p[PAYLOAD + i] = (uint8_t)(i * 7 + len);
	fill_checksums(p, 8 + len);
	f->m.data_len = PAYLOAD + len;
	f->m.pkt_len = f->m.data_len;
	return p;
}

static void
classify(unsigned int n)
{
	struct rte_mbuf *m[PS_NET_BURST] = {NULL};

	for (unsigned int i = 0; i < n; i++)
		m[i] = &frame[i].m;
	memset(&drops, 0, sizeof(drops));
	memset(&rx, 0xee, sizeof(rx));
	ps_net_classify_burst(selectors, 9, m, n, &rx, &drops);
	CU_ASSERT_EQUAL(rx.n + rx.n_refused, n);
}

static void
expect_drop(enum ps_drop why)
{
	uint64_t total = 0;

	classify(1);
	CU_ASSERT_EQUAL(rx.n, 0);
	CU_ASSERT_EQUAL(rx.n_refused, 1);
	CU_ASSERT_PTR_EQUAL(rx.refused[0], &frame[0].m);
	for (int i = 0; i < PS_DROP_COUNT; i++)
		total += drops.n[i];
	CU_ASSERT_EQUAL(total, 1);
	CU_ASSERT_EQUAL(drops.n[why], 1);
	if (drops.n[why] != 1)
		printf("expected %s\n", ps_drop_info[why].key);
}

static void
expect_service(uint16_t service)
{
	classify(1);
	CU_ASSERT_EQUAL_FATAL(rx.n, 1);
	CU_ASSERT_EQUAL(rx.service[0], service);
}

static void
test_good(void)
{
	uint8_t *p = good(&frame[0], OUR_IP, 8009, 1232);
	const struct ps_datagram *d = &rx.dg[0];

	expect_service(TPU);
	CU_ASSERT_PTR_EQUAL(d->data, p + PAYLOAD);
	CU_ASSERT_EQUAL(d->len, 1232);
	CU_ASSERT_EQUAL(d->ecn, 2);
	CU_ASSERT_EQUAL(ps_be32_load(&d->flow.saddr_be), PEER_IP);
	CU_ASSERT_EQUAL(ps_be32_load(&d->flow.daddr_be), OUR_IP);
	CU_ASSERT_EQUAL(ps_be16_load(&d->flow.sport_be), 40000);
	CU_ASSERT_EQUAL(ps_be16_load(&d->flow.dport_be), 8009);
	CU_ASSERT_PTR_EQUAL(d->frame, &frame[0].m);
	CU_ASSERT_EQUAL(ps_net_link_port(d->link), 9);
	CU_ASSERT_EQUAL(d->link & 0xffffffffffffULL, 0x020000000001ULL);
}

static void
test_sizes(void)
{
	for (uint16_t len = 0; len <= 1472; len++) {
		good(&frame[0], OUR_IP, 8009, len);
		classify(1);
		CU_ASSERT_EQUAL_FATAL(rx.n, 1);
		CU_ASSERT_EQUAL_FATAL(rx.dg[0].len, len);
	}
}

static void
test_padding(void)
{
	good(&frame[0], OUR_IP, 8009, 1);
	frame[0].m.data_len = frame[0].m.pkt_len = 60;
	expect_service(TPU);
	CU_ASSERT_EQUAL(rx.dg[0].len, 1);
}

static void
test_selectors(void)
{
	good(&frame[0], OUR_IP, 8010, 100);
	expect_service(VOTE);
	good(&frame[0], OTHER_IP, 8009, 100);
	expect_drop(PS_DROP_RX_NO_SERVICE);
	good(&frame[0], OUR_IP, 8011, 100);
	expect_drop(PS_DROP_RX_NO_SERVICE);
	good(&frame[0], OUR_IP, 0, 100);
	expect_drop(PS_DROP_RX_NO_SERVICE);
	/* Every address of a port, but one that has its own selector. */
	good(&frame[0], OTHER_IP, 9000, 100);
	expect_service(ANYWHERE);
	good(&frame[0], 0xe0000001, 9000, 100);
	expect_service(ANYWHERE);
	good(&frame[0], OUR_IP, 9000, 100);
	expect_service(TPU);
}

static void
test_selectors_many(void)
{
	struct ps_net_selector list[500];
	struct ps_net_selectors *old = selectors;

	for (unsigned int i = 0; i < 500; i++)
		list[i] = (struct ps_net_selector){
			RTE_BE32(OUR_IP + i % 5), rte_cpu_to_be_16(1000 + i / 5), i};
	selectors = ps_net_selectors_new(list, 500);
	CU_ASSERT_PTR_NOT_NULL_FATAL(selectors);
	for (unsigned int i = 0; i < 500; i++) {
		good(&frame[0], OUR_IP + i % 5, 1000 + i / 5, 10);
		expect_service(i);
	}
	good(&frame[0], OUR_IP + 5, 1000, 10);
	expect_drop(PS_DROP_RX_NO_SERVICE);
	ps_net_selectors_free(selectors);
	selectors = old;
}

static void
test_short(void)
{
	uint8_t *p;

	/* No cut of a packet passes, at whatever byte. */
	for (unsigned int cut = 0; cut < PAYLOAD + 100; cut++) {
		good(&frame[0], OUR_IP, 8009, 100);
		frame[0].m.data_len = frame[0].m.pkt_len = cut;
		expect_drop(PS_DROP_RX_SHORT);
	}
	p = good(&frame[0], OUR_IP, 8009, 100);
	ps_be16_store(p + IP + 2, 19);
	fill_checksums(p, 108);
	expect_drop(PS_DROP_RX_SHORT);
	ps_be16_store(p + IP + 2, 27);
	fill_checksums(p, 108);
	expect_drop(PS_DROP_RX_SHORT);
	ps_be16_store(p + IP + 2, 129);
	fill_checksums(p, 108);
	expect_drop(PS_DROP_RX_SHORT);
	for (unsigned int len = 0; len < 200; len += 107) {
		p = good(&frame[0], OUR_IP, 8009, 100);
		ps_be16_store(p + UDP + 4, len);
		fill_checksums(p, 108);
		expect_drop(PS_DROP_RX_SHORT);
	}
}

static void
test_headers(void)
{
	static const uint16_t types[] = {0x86dd, 0x0806, 0x8100, 0x88a8, 0x05dc};
	static const uint8_t versions[] = {0x65, 0x44, 0x40, 0x46, 0x4f, 0x05};
	static const uint16_t fragments[] = {0x2000, 0x0001, 0x3fff, 0x6000};
	uint8_t *p;

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		p = good(&frame[0], OUR_IP, 8009, 100);
		ps_be16_store(p + 12, types[i]);
		expect_drop(PS_DROP_RX_NOT_IPV4);
	}
	for (unsigned int i = 0; i < RTE_DIM(versions); i++) {
		p = good(&frame[0], OUR_IP, 8009, 100);
		p[IP] = versions[i];
		fill_checksums(p, 108);
		expect_drop(PS_DROP_RX_IP_HEADER);
	}
	for (unsigned int i = 0; i < RTE_DIM(fragments); i++) {
		p = good(&frame[0], OUR_IP, 8009, 100);
		ps_be16_store(p + IP + 6, fragments[i]);
		fill_checksums(p, 108);
		expect_drop(PS_DROP_RX_FRAGMENT);
	}
	p = good(&frame[0], OUR_IP, 8009, 100);
	p[IP + 9] = 47; /* GRE */
	fill_checksums(p, 108);
	expect_drop(PS_DROP_RX_NOT_UDP);
	good(&frame[0], OUR_IP, 8009, 100);
	frame[0].m.nb_segs = 2;
	expect_drop(PS_DROP_RX_SEGMENTED);
}

static void
test_checksums(void)
{
	uint8_t *p;

	for (unsigned int i = 0; i < 20; i++) {
		p = good(&frame[0], OUR_IP, 8009, 101);
		if (i == 0 || i == 2 || i == 3)
			continue; /* version and length have checks of their own */
		p[IP + i] ^= 0x10;
		expect_drop(PS_DROP_RX_IP_CHECKSUM);
	}
	for (unsigned int i = PAYLOAD; i < PAYLOAD + 101; i++) {
		p = good(&frame[0], OUR_IP, 8009, 101);
		p[i] ^= 0x01;
		expect_drop(PS_DROP_RX_UDP_CHECKSUM);
	}
	/* None sent. */
	p = good(&frame[0], OUR_IP, 8009, 101);
	ps_be16_store(p + UDP + 6, 0);
	expect_service(TPU);
	/* A device that checked is believed, both ways. */
	p = good(&frame[0], OUR_IP, 8009, 101);
	p[PAYLOAD] ^= 1;
	p[IP + 10] ^= 1;
	frame[0].m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	expect_service(TPU);
	good(&frame[0], OUR_IP, 8009, 101);
	frame[0].m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD;
	expect_drop(PS_DROP_RX_UDP_CHECKSUM);
	frame[0].m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_BAD;
	expect_drop(PS_DROP_RX_IP_CHECKSUM);
}

static void
test_burst(void)
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < PS_NET_BURST; i++) {
		uint8_t *p = good(&frame[i], OUR_IP, i % 2 ? 8009 : 8010, i);

		if (i % 3 == 0)
			ps_be16_store(p + 12, 0x86dd);
	}
	classify(PS_NET_BURST);
	CU_ASSERT_EQUAL(rx.n_refused, 22);
	CU_ASSERT_EQUAL(drops.n[PS_DROP_RX_NOT_IPV4], 22);
	for (unsigned int i = 0; i < PS_NET_BURST; i++) {
		if (i % 3 == 0)
			continue;
		CU_ASSERT_PTR_EQUAL(rx.dg[got].frame, &frame[i].m);
		CU_ASSERT_EQUAL(rx.service[got], i % 2 ? TPU : VOTE);
		CU_ASSERT_EQUAL(rx.dg[got].len, i);
		got++;
	}
	CU_ASSERT_EQUAL(rx.n, got);
	classify(0);
}

/* What we send for an answer is, byte for byte, what the frame built by hand holds. */
static void
test_transmit(void)
{
	for (unsigned int len = 0; len <= 1472; len += 1 + len / 8) {
		uint8_t *p = good(&frame[0], OUR_IP, 8009, len), *q;
		struct ps_datagram d;
		struct rte_ether_addr mac;

		classify(1);
		CU_ASSERT_EQUAL_FATAL(rx.n, 1);
		empty(&frame[1]);
		ps_net_tx_open(&d, &frame[1].m);
		CU_ASSERT_EQUAL(d.len, sizeof(frame[1].buf) - RTE_PKTMBUF_HEADROOM - 42);
		memcpy(d.data, p + PAYLOAD, len);
		d.len = len;
		d.ecn = 2;
		d.flow = ps_flow4_reverse(rx.dg[0].flow);
		d.link = rx.dg[0].link;
		memcpy(&mac, our_mac, sizeof(mac));
		ps_net_headers(&d, &mac);
		CU_ASSERT_EQUAL(frame[1].m.data_len, PAYLOAD + len);
		CU_ASSERT_EQUAL(frame[1].m.pkt_len, PAYLOAD + len);
		/* Turn the request into the answer. */
		memcpy(p, peer_mac, 6);
		memcpy(p + 6, our_mac, 6);
		ps_be32_store(p + IP + 12, OUR_IP);
		ps_be32_store(p + IP + 16, PEER_IP);
		ps_be16_store(p + UDP, 8009);
		ps_be16_store(p + UDP + 2, 40000);
		fill_checksums(p, 8 + len);
		q = frame[1].buf + RTE_PKTMBUF_HEADROOM;
		CU_ASSERT_EQUAL(memcmp(p, q, PAYLOAD + len), 0);
	}
}

int
main(void)
{
	static const struct ps_net_selector list[] = {
		{RTE_BE32(OUR_IP), RTE_BE16(8009), TPU},
		{RTE_BE32(OUR_IP), RTE_BE16(8010), VOTE},
		{RTE_BE32(OUR_IP), RTE_BE16(8010), TPU}, /* too late */
		{PS_NET_ADDR_ANY, RTE_BE16(9000), ANYWHERE},
		{RTE_BE32(OUR_IP), RTE_BE16(9000), TPU},
	};
	CU_TestInfo tests[] = {
		{"a good datagram", test_good},
		{"every size", test_sizes},
		{"padding", test_padding},
		{"selectors", test_selectors},
		{"many selectors", test_selectors_many},
		{"cut short", test_short},
		{"headers", test_headers},
		{"checksums", test_checksums},
		{"a mixed burst", test_burst},
		{"transmit", test_transmit},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"classify", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};
	unsigned int failed;

	selectors = ps_net_selectors_new(list, RTE_DIM(list));
	if (selectors == NULL || CU_initialize_registry() != CUE_SUCCESS ||
		CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	ps_net_selectors_free(selectors);
	return failed != 0;
}
