/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "net.h"

#include "checksum.h"

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

/* Checksums come from the values and not from the headers: reading back what was just stored in
 * other pieces costs more than adding it up. */
void
ps_net_headers(const struct ps_datagram *dg, const struct rte_ether_addr *source)
{
	struct rte_mbuf *m = dg->frame;
	struct headers *h = rte_pktmbuf_mtod(m, struct headers *);
	const uint16_t udp_len = rte_cpu_to_be_16(sizeof(h->udp) + dg->len);
	const uint16_t total_len = rte_cpu_to_be_16(sizeof(h->ip) + sizeof(h->udp) + dg->len);
	const uint8_t version_ihl = 4 << 4 | sizeof(h->ip) / 4, tos = dg->ecn & 3;
	const uint64_t addresses = (uint64_t)dg->flow.saddr_be + dg->flow.daddr_be;
	const uint64_t ip_sum = addresses + rte_cpu_to_be_16((uint16_t)(version_ihl << 8 | tos)) +
				total_len + RTE_BE16(RTE_IPV4_HDR_DF_FLAG) +
				RTE_BE16(TTL << 8 | IPPROTO_UDP);
	const uint64_t udp_sum = addresses + RTE_BE16(IPPROTO_UDP) + dg->flow.sport_be +
				 dg->flow.dport_be + 2 * (uint64_t)udp_len;
	const uint16_t udp_cksum = (uint16_t)~ps_net_fold(ps_net_sum(udp_sum, dg->data, dg->len));

	unpack_mac(&h->eth.dst_addr, dg->link);
	h->eth.src_addr = *source;
	h->eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	/* The id says nothing in a packet that may not be fragmented (RFC 6864). */
	h->ip = (struct rte_ipv4_hdr){
		.version_ihl = version_ihl,
		.type_of_service = tos,
		.total_length = total_len,
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_UDP,
		.hdr_checksum = (uint16_t)~ps_net_fold(ip_sum),
		.src_addr = dg->flow.saddr_be,
		.dst_addr = dg->flow.daddr_be,
	};
	h->udp = (struct rte_udp_hdr){
		.src_port = dg->flow.sport_be,
		.dst_port = dg->flow.dport_be,
		.dgram_len = udp_len,
		.dgram_cksum = udp_cksum == 0 ? UINT16_MAX : udp_cksum, /* 0: none, RFC 768 */
	};
	m->data_len = PS_NET_HEADROOM + dg->len;
	m->pkt_len = m->data_len;
}
