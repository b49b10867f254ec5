/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Frames of a network card, in bursts. What is accepted lies within its frame and belongs to the
 * service it is for; sent back with headers of ours it is accepted again.
 *
 * Input: frames, each of an option byte, two bytes of length and the bytes of it that there are.
 * Options: 1, 2: the IP and the UDP checksum are put right; 4: two segments; op >> 3: what the card
 * says of the checksums. */

#include <string.h>

#include "fuzz.h"
#include "net.h"
#include "ps_be.h"

#include <rte_ip.h>
#include <rte_udp.h>

#define FRAME_MAX 2048
#define SERVICES  3

struct frame {
	struct rte_mbuf m;
	uint8_t *bytes;
};

static struct frame frames[PS_NET_BURST];
static struct ps_net_selectors *selectors;

static void
make_selectors(void)
{
	const struct ps_net_selector list[SERVICES] = {
		{RTE_BE32(0x0a000002), RTE_BE16(8000), 0},
		{RTE_BE32(0x0a000003), RTE_BE16(8000), 1},
		{PS_NET_ADDR_ANY, RTE_BE16(8001), 2},
	};

	selectors = ps_net_selectors_new(list, SERVICES);
	FUZZ_CHECK(selectors != NULL);
}

static void
put_right(uint8_t *p, size_t len, uint8_t op)
{
	struct rte_ipv4_hdr *ip = (void *)(p + 14);
	struct rte_udp_hdr *udp = (void *)(p + 34);

	if (len < 34 || ip->version_ihl != 0x45)
		return; /* refused before any checksum */
	if (op & 1) {
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
	if (op & 2 && len >= 42 && ps_be16_load(p + 16) >= 28 && ps_be16_load(p + 16) <= len - 14) {
		udp->dgram_cksum = 0;
		udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
	}
}

/* A frame of exactly the size of its bytes. */
static void
make_frame(struct frame *f, uint8_t op, const uint8_t *bytes, size_t len)
{
	static const uint64_t flags[] = {0, RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_BAD,
		RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD,
		RTE_MBUF_F_RX_IP_CKSUM_NONE, RTE_MBUF_F_RX_L4_CKSUM_NONE,
		RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD};

	/* DPDK's buffers are aligned so that the IP header is not. */
	f->bytes = malloc(len > 0 ? len : 1);
	FUZZ_CHECK(f->bytes != NULL);
	memcpy(f->bytes, bytes, len);
	put_right(f->bytes, len, op);
	memset(&f->m, 0, sizeof(f->m));
	f->m.buf_addr = f->bytes;
	f->m.data_len = f->m.buf_len = (uint16_t)len;
	f->m.pkt_len = (uint32_t)len;
	f->m.nb_segs = op & 4 ? 2 : 1;
	f->m.ol_flags = flags[op >> 3 & 7];
}

static void
check_again(const struct ps_datagram *dg, uint16_t service)
{
	static const struct rte_ether_addr source = {{2, 0, 0, 0, 0, 9}};
	static struct ps_net_rx rx;
	struct ps_datagram out = *dg;
	struct ps_drops drops = {0};
	struct rte_mbuf m = {.buf_len = PS_NET_HEADROOM + FRAME_MAX, .nb_segs = 1}, *list = &m;

	m.buf_addr = malloc(m.buf_len);
	FUZZ_CHECK(m.buf_addr != NULL);
	ps_net_tx_open(&out, &m);
	FUZZ_CHECK(out.len == FRAME_MAX);
	out.len = dg->len;
	memcpy(out.data, dg->data, dg->len);
	ps_net_headers(&out, &source);
	ps_net_classify_burst(selectors, 3, &list, 1, &rx, &drops);
	FUZZ_CHECK(rx.n == 1 && rx.service[0] == service && rx.dg[0].len == dg->len);
	FUZZ_CHECK(memcmp(&rx.dg[0].flow, &dg->flow, sizeof(dg->flow)) == 0);
	FUZZ_CHECK(rx.dg[0].ecn == dg->ecn && ps_net_link_port(rx.dg[0].link) == 3);
	FUZZ_CHECK(memcmp(rx.dg[0].data, dg->data, dg->len) == 0);
	free(m.buf_addr);
}

static void
burst(unsigned int n)
{
	static struct ps_net_rx rx;
	struct rte_mbuf *list[PS_NET_BURST];
	struct ps_drops drops = {0};

	for (unsigned int i = 0; i < n; i++)
		list[i] = &frames[i].m;
	ps_net_classify_burst(selectors, 7, list, n, &rx, &drops);
	FUZZ_CHECK(rx.n + rx.n_refused == n);
	for (unsigned int i = 0; i < rx.n; i++) {
		const struct ps_datagram *dg = &rx.dg[i];
		const struct frame *f = (const void *)dg->frame;

		FUZZ_CHECK(dg->data == f->bytes + PS_NET_HEADROOM && f->m.nb_segs == 1);
		FUZZ_CHECK(PS_NET_HEADROOM + dg->len <= f->m.data_len);
		FUZZ_CHECK(rx.service[i] < SERVICES && ps_net_link_port(dg->link) == 7);
		FUZZ_CHECK(dg->flow.dport_be == RTE_BE16(rx.service[i] == 2 ? 8001 : 8000));
		check_again(dg, rx.service[i]);
	}
	for (unsigned int i = 0; i < n; i++)
		free(frames[i].bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p = data, *end = data + size;
	unsigned int n = 0;

	if (selectors == NULL)
		make_selectors();
	while (end - p > 3 && n < PS_NET_BURST) {
		size_t len = (size_t)(p[1] | p[2] << 8) % (FRAME_MAX - PS_NET_HEADROOM);

		if (len > (size_t)(end - p - 3))
			len = (size_t)(end - p - 3);
		make_frame(&frames[n++], p[0], p + 3, len);
		p += 3 + len;
	}
	burst(n);
	return 0;
}
