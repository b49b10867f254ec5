/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The Internet checksum, RFC 1071. A sum of 64-bit words with the carry added back is the sum of
 * their 16-bit words, modulo 2^16 - 1: eight bytes take two instructions, and four sums hide each
 * other's latency. That is the rate of the first-level cache, so nothing is gained by wider
 * registers. Private to lib/net. */
#ifndef PS_NET_CHECKSUM_H
#define PS_NET_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_udp.h>

static inline uint64_t
ps_net_carry_add(uint64_t a, uint64_t b)
{
	a += b;
	return a + (a < b);
}

/* Fewer than eight bytes, by parts at even places. */
static inline uint64_t
ps_net_tail(const uint8_t *at, size_t len)
{
	uint32_t four = 0;
	uint16_t two = 0;

	if ((len & 4) != 0) {
		memcpy(&four, at, 4);
		at += 4;
	}
	if ((len & 2) != 0) {
		memcpy(&two, at, 2);
		at += 2;
	}
	return (uint64_t)four + two + ((len & 1) != 0 ? *at : 0);
}

/* len bytes at p, the last one followed by zero when it is odd, added to sum; not folded. */
static inline uint64_t
ps_net_sum(uint64_t sum, const void *p, size_t len)
{
	const uint8_t *at = p;
	uint64_t four[4] = {sum}, w[4] = {0};

	for (; len >= sizeof(w); at += sizeof(w), len -= sizeof(w)) {
		memcpy(w, at, sizeof(w));
		for (int i = 0; i < 4; i++)
			four[i] = ps_net_carry_add(four[i], w[i]);
	}
	for (; len >= 8; at += 8, len -= 8) {
		memcpy(w, at, 8);
		four[0] = ps_net_carry_add(four[0], w[0]);
	}
	four[1] = ps_net_carry_add(four[1], ps_net_tail(at, len));
	return ps_net_carry_add(
		ps_net_carry_add(four[0], four[1]), ps_net_carry_add(four[2], four[3]));
}

/* Down to 16 bits: 0xffff for what a right checksum was summed with. */
static inline uint16_t
ps_net_fold(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)((sum & UINT16_MAX) + (sum >> 16));
}

/* The UDP datagram of dgram_len bytes with its pseudo header, RFC 768. */
static inline uint64_t
ps_net_udp_sum(const struct rte_ipv4_hdr *ip, const struct rte_udp_hdr *udp)
{
	uint64_t pseudo = (uint64_t)ip->src_addr + ip->dst_addr + udp->dgram_len +
			  rte_cpu_to_be_16(ip->next_proto_id);

	return ps_net_sum(pseudo, udp, rte_be_to_cpu_16(udp->dgram_len));
}

#endif
