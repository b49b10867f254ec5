/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steer.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_MORE_FRAGMENTS 0x2000
#define IP_OFFSET_MASK    0x1fff
#define IP_FIRST_GROUP    0xe0000000u /* 224.0.0.0: multicast, reserved and broadcast from here on */

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, PS_STEER_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * PS_STEER_KEYS);
	__type(key, struct ps_steer_key);
	__type(value, __u32);
} ps_allow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2 * PS_STEER_DENIES);
	__type(key, struct ps_steer_prefix);
	__type(value, __u32);
} ps_deny SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PS_STEER_QUEUES);
	__type(key, __u32);
	__type(value, __u64);
} ps_heartbeat SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PS_STEER_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} ps_count SEC(".maps");

static __always_inline void
count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&ps_count, &what);

	if (n)
		(*n)++;
}

/* Fills *key and *source with the ends of a whole unicast IPv4 UDP datagram; false for all else. */
static __always_inline bool
parse(const struct xdp_md *ctx, struct ps_steer_key *key, struct ps_steer_prefix *source)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp;

	if ((void *)(ip + 1) > end)
		return false;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || (eth->h_dest[0] & 1))
		return false;
	if (ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_UDP)
		return false;
	if (ip->frag_off & bpf_htons(IP_MORE_FRAGMENTS | IP_OFFSET_MASK))
		return false;
	if (bpf_ntohl(ip->daddr) >= IP_FIRST_GROUP)
		return false;
	udp = (void *)ip + ip->ihl * 4;
	if ((void *)(udp + 1) > end)
		return false;
	key->addr_be = ip->daddr;
	key->port_be = udp->dest;
	key->zero = 0;
	source->bits = 32;
	source->addr_be = ip->saddr;
	return true;
}

static __always_inline bool
allowed(struct ps_steer_key *key)
{
	if (bpf_map_lookup_elem(&ps_allow, key))
		return true;
	key->addr_be = 0;
	return bpf_map_lookup_elem(&ps_allow, key) != NULL;
}

SEC("xdp")
int
penstock_steer(struct xdp_md *ctx)
{
	__u32 queue = ctx->rx_queue_index;
	struct ps_steer_prefix source;
	struct ps_steer_key key;
	__u64 *beat;
	long verdict;

	if (!parse(ctx, &key, &source) || !allowed(&key)) {
		count(PS_STEER_PASSED);
		return XDP_PASS;
	}
	/* Signed: the worker's clock may be read on another CPU, a little after ours. */
	beat = bpf_map_lookup_elem(&ps_heartbeat, &queue);
	if (!beat || (__s64)(bpf_ktime_get_ns() - *beat) > (__s64)PS_STEER_STALE_NS) {
		count(PS_STEER_PASSED_STALE);
		if (!beat || !*beat)
			count(PS_STEER_ELSEWHERE);
		return XDP_PASS;
	}
	if (bpf_map_lookup_elem(&ps_deny, &source)) {
		count(PS_STEER_DENIED);
		return XDP_DROP;
	}
	verdict = bpf_redirect_map(&xsks_map, queue, XDP_PASS);
	if (verdict != XDP_REDIRECT)
		count(PS_STEER_ELSEWHERE);
	count(verdict == XDP_REDIRECT ? PS_STEER_REDIRECTED : PS_STEER_PASSED_STALE);
	return verdict;
}

/* bpf_ktime_get_ns() is for programs that the GPL lets in. */
char kernel_license[] SEC("license") = "Dual BSD/GPL";
