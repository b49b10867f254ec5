/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the XDP program (steer.bpf.c) and the process that drives it (af_xdp.c) agree on: the names
 * by which a program of ours is recognised, and the layout of its maps.
 *
 * The program redirects a UDP datagram of a service to the AF_XDP socket of the receive queue it
 * came in on, as long as the worker of that queue beats. Everything else is the kernel's.
 * Included by BPF code: only fixed-size types of linux/types.h here. */
#ifndef PS_GLUE_XDP_STEER_H
#define PS_GLUE_XDP_STEER_H

#include <linux/types.h>

/* The kernel keeps 15 characters of each name. */
#define PS_STEER_PROG      "penstock_steer"
#define PS_STEER_XSKS      "xsks_map"     /* XSKMAP by queue; the DPDK driver expects this name */
#define PS_STEER_ALLOW     "ps_allow"     /* hash of struct ps_steer_key; the value is unused */
#define PS_STEER_HEARTBEAT "ps_heartbeat" /* array by queue, mmap-able: CLOCK_MONOTONIC ns */
#define PS_STEER_DENY      "ps_deny"      /* trie of struct ps_steer_prefix; the value is unused */
#define PS_STEER_COUNT     "ps_count"     /* per-CPU array by enum ps_steer_counter: packets */

#define PS_STEER_QUEUES 64
#define PS_STEER_KEYS   4096 /* the map has room for twice as many: new ones before old ones go */

#define PS_STEER_DENIES 65536 /* likewise */

/* A queue whose last beat is older belongs to the kernel. */
#define PS_STEER_STALE_NS 1000000000ull

struct ps_steer_key {
	__be32 addr_be; /* 0: any unicast address */
	__be16 port_be;
	__u16 zero; /* hash keys are compared whole */
};

/* Sources whose datagrams to a service are dropped. All else of theirs is the kernel's, and so is
 * everything while no worker beats: the kernel has rules of its own. */
struct ps_steer_prefix {
	__u32 bits;
	__be32 addr_be;
};

enum ps_steer_counter {
	PS_STEER_REDIRECTED,
	PS_STEER_PASSED,       /* not a service's */
	PS_STEER_PASSED_STALE, /* a service's, but no worker beats or no socket is there */
	PS_STEER_DENIED,       /* a service's, dropped for its source */
	PS_STEER_ELSEWHERE, /* of those passed: on a queue that never beat, or without a socket */
	PS_STEER_COUNTS
};

#endif
