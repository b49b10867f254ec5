/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "net.h"

#include "checksum.h"
#include <rte_udp.h>

#define TTL 64

struct headers {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
} __attribute__((packed, aligned(2)));

_Static_assert(sizeof(struct headers) == PS_NET_HEADROOM, "PS_NET_HEADROOM");

void
ps_net_tx_open(struct ps_datagram *dg, struct rte_mbuf *frame)
{
	dg->frame = frame;
	dg->data = rte_pktmbuf_mtod_offset(frame, uint8_t *, PS_NET_HEADROOM);
	dg->len = rte_pktmbuf_tailroom(frame) - PS_NET_HEADROOM;
}

static void
unpack_mac(struct rte_ether_addr *mac, uint64_t link)
{
	for (int i = RTE_ETHER_ADDR_LEN - 1; i >= 0; i--, link >>= 8)
		mac->addr_bytes[i] = (uint8_t)link;
}

void
ps_net_headers(const struct ps_datagram *dg, const struct rte_ether_addr *source)
{
	struct rte_mbuf *m = dg->frame;
	struct headers *h = rte_pktmbuf_mtod(m, struct headers *);
	uint16_t sum;

	unpack_mac(&h->eth.dst_addr, dg->link);
	h->eth.src_addr = *source;
	h->eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	/* The id says nothing in a packet that may not be fragmented (RFC 6864). */
	h->ip = (struct rte_ipv4_hdr){
		.version_ihl = 4 << 4 | sizeof(h->ip) / 4,
		.type_of_service = dg->ecn & 3,
		.total_length = rte_cpu_to_be_16(sizeof(h->ip) + sizeof(h->udp) + dg->len),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = dg->flow.saddr_be,
		.dst_addr = dg->flow.daddr_be,
	};
	h->ip.hdr_checksum = (uint16_t)~ps_net_fold(ps_net_sum(0, &h->ip, sizeof(h->ip)));
	h->udp = (struct rte_udp_hdr){
		.src_port = dg->flow.sport_be,
		.dst_port = dg->flow.dport_be,
		.dgram_len = rte_cpu_to_be_16(sizeof(h->udp) + dg->len),
	};
	sum = (uint16_t)~ps_net_fold(ps_net_udp_sum(&h->ip, &h->udp));
	h->udp.dgram_cksum = sum == 0 ? UINT16_MAX : sum; /* 0 means none, RFC 768 */
	m->data_len = PS_NET_HEADROOM + dg->len;
	m->pkt_len = m->data_len;
}
