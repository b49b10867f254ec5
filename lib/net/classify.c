/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "net.h"

#include <stdbool.h>
#include <stdlib.h>

#include <rte_prefetch.h>

#include "checksum.h"

#define PREFETCH_AHEAD 4

#define NO_SERVICE UINT16_MAX

/* Open addressing, at most half full; a slot without a port is empty. */
struct ps_net_selectors {
	uint32_t mask;
	struct ps_net_selector slot[];
};

static uint32_t
hash(uint32_t daddr_be, uint16_t dport_be)
{
	uint32_t h = (daddr_be ^ ((uint32_t)dport_be << 16 | dport_be)) * UINT32_C(0x9e3779b1);

	return h >> 16 ^ h;
}

/* The place of this address and port, or the empty slot where it would go. */
static uint32_t
place(const struct ps_net_selectors *s, uint32_t daddr_be, uint16_t dport_be)
{
	uint32_t i = hash(daddr_be, dport_be) & s->mask;

	while (s->slot[i].dport_be != 0 &&
		(s->slot[i].dport_be != dport_be || s->slot[i].daddr_be != daddr_be))
		i = (i + 1) & s->mask;
	return i;
}

struct ps_net_selectors *
ps_net_selectors_new(const struct ps_net_selector *list, unsigned int n)
{
	struct ps_net_selectors *s;
	uint32_t size = 16;

	while (size < 2 * n)
		size *= 2;
	s = calloc(1, sizeof(*s) + size * sizeof(s->slot[0]));
	if (s == NULL)
		return NULL;
	s->mask = size - 1;
	for (unsigned int i = 0; i < n; i++) {
		struct ps_net_selector *slot =
			&s->slot[place(s, list[i].daddr_be, list[i].dport_be)];

		if (slot->dport_be == 0)
			*slot = list[i];
	}
	return s;
}

void
ps_net_selectors_free(struct ps_net_selectors *s)
{
	free(s);
}

static uint16_t
select_service(const struct ps_net_selectors *s, uint32_t daddr_be, uint16_t dport_be)
{
	const struct ps_net_selector *slot;

	if (dport_be == 0)
		return NO_SERVICE;
	slot = &s->slot[place(s, daddr_be, dport_be)];
	if (slot->dport_be == 0)
		slot = &s->slot[place(s, PS_NET_ADDR_ANY, dport_be)];
	return slot->dport_be != 0 ? slot->service : NO_SERVICE;
}

/* GOOD: the device checked it. NONE: it never left this machine and is right by construction. */
static bool
ip_checksum_ok(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip)
{
	switch (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) {
	case RTE_MBUF_F_RX_IP_CKSUM_GOOD:
	case RTE_MBUF_F_RX_IP_CKSUM_NONE:
		return true;
	case RTE_MBUF_F_RX_IP_CKSUM_BAD:
		return false;
	default:
		return ps_net_fold(ps_net_sum(0, ip, sizeof(*ip))) == 0xffff;
	}
}

static bool
udp_checksum_ok(
	const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, const struct rte_udp_hdr *udp)
{
	if (udp->dgram_cksum == 0)
		return true;
	switch (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) {
	case RTE_MBUF_F_RX_L4_CKSUM_GOOD:
	case RTE_MBUF_F_RX_L4_CKSUM_NONE:
		return true;
	case RTE_MBUF_F_RX_L4_CKSUM_BAD:
		return false;
	default:
		return ps_net_fold(ps_net_udp_sum(ip, udp)) == 0xffff;
	}
}

/* The reason for refusing the frame, or PS_DROP_COUNT with *dg and *service filled. */
static enum ps_drop
classify(const struct ps_net_selectors *s, uint16_t port_id, struct rte_mbuf *m,
	struct ps_datagram *dg, uint16_t *service)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	uint32_t len = m->data_len;
	uint16_t ip_len, udp_len;

	if (m->nb_segs != 1)
		return PS_DROP_RX_SEGMENTED;
	if (len < sizeof(*eth))
		return PS_DROP_RX_SHORT;
	if (eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return PS_DROP_RX_NOT_IPV4;
	len -= sizeof(*eth);
	if (len < sizeof(*ip))
		return PS_DROP_RX_SHORT;
	if (ip->version_ihl != (4 << 4 | sizeof(*ip) / 4))
		return PS_DROP_RX_IP_HEADER;
	ip_len = rte_be_to_cpu_16(ip->total_length);
	if (ip_len < sizeof(*ip) || ip_len > len)
		return PS_DROP_RX_SHORT;
	if (!ip_checksum_ok(m, ip))
		return PS_DROP_RX_IP_CHECKSUM;
	if (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK))
		return PS_DROP_RX_FRAGMENT;
	if (ip->next_proto_id != IPPROTO_UDP)
		return PS_DROP_RX_NOT_UDP;
	if (ip_len < sizeof(*ip) + sizeof(*udp))
		return PS_DROP_RX_SHORT;
	udp_len = rte_be_to_cpu_16(udp->dgram_len);
	if (udp_len != ip_len - sizeof(*ip))
		return PS_DROP_RX_SHORT;
	*service = select_service(s, ip->dst_addr, udp->dst_port);
	if (*service == NO_SERVICE)
		return PS_DROP_RX_NO_SERVICE;
	if (!udp_checksum_ok(m, ip, udp))
		return PS_DROP_RX_UDP_CHECKSUM;
	*dg = (struct ps_datagram){
		.data = (uint8_t *)(udp + 1),
		.len = udp_len - sizeof(*udp),
		.ecn = ip->type_of_service & 3,
		.flow = {ip->src_addr, ip->dst_addr, udp->src_port, udp->dst_port},
		.link = ps_net_link(port_id, &eth->src_addr),
		.frame = m,
	};
	return PS_DROP_COUNT;
}

void
ps_net_classify_burst(const struct ps_net_selectors *s, uint16_t port_id,
	struct rte_mbuf *const frames[], unsigned int n, struct ps_net_rx *out,
	struct ps_drops *drops)
{
	out->n = 0;
	out->n_refused = 0;
	for (unsigned int i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		enum ps_drop why;

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + PREFETCH_AHEAD], void *));
		why = classify(s, port_id, frames[i], &out->dg[out->n], &out->service[out->n]);
		if (why == PS_DROP_COUNT) {
			out->n++;
		} else {
			ps_drop(drops, why);
			out->refused[out->n_refused++] = frames[i];
		}
	}
}
