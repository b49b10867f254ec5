/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Netfilter's rules of this network namespace, read without its tools: nftables (and with it
 * iptables-nft) through netlink, the older iptables through its socket option. Main thread. */
#ifndef PS_HOST_NETFILTER_H
#define PS_HOST_NETFILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "ps_err.h"

#define PS_FILTER_CHAINS 64

struct ps_filter_chain {
	char name[160];    /* "inet filter input" as nft names it, or an iptables table */
	char command[192]; /* that lists it */
	const char *hook;  /* "prerouting", ... */
	bool drops;        /* its policy */
	uint32_t rules;    /* of the chain itself, without those it jumps to */
};

/* Chains by which IPv4 packets would pass; at most PS_FILTER_CHAINS are stored, all are counted. A
 * negative errno when nftables cannot be asked. */
int ps_filter_nft(struct ps_filter_chain *out, struct ps_err *e);
/* Tables of the older iptables that hold rules; the same. */
int ps_filter_iptables(struct ps_filter_chain *out, struct ps_err *e);

#endif
