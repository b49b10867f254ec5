/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Counts the services' datagrams that reach the kernel's stack by one interface. Where rules should
 * take or drop all of them, any is proof that a rule does not act, whatever the driver says of it.
 *
 * A packet socket with a filter: it sees whole unicast UDP datagrams over IPv4 that came in for
 * this host, exactly those of the rules, and keeps none. It does not see what an XDP program
 * took before, what a VLAN on top of the interface gets, nor what the card lost.
 *
 * Control thread. Owns its socket. Needs CAP_NET_RAW. */
#ifndef PS_GLUE_LEAK_H
#define PS_GLUE_LEAK_H

#include <stdint.h>

#include "plan.h"
#include "ps_err.h"

/* Instructions of a filter end at 4,096. */
#define PS_LEAK_RULES 800

struct ps_leak {
	int fd;
};

/* 0, or -errno with nothing left open. */
int ps_leak_open(struct ps_leak *l, const char *ifname, const struct ps_rule *rule, uint32_t n,
	struct ps_err *err);
/* Packets since the last call, or since it was opened. */
int ps_leak_read(struct ps_leak *l, uint32_t *packets, struct ps_err *err);
void ps_leak_close(struct ps_leak *l);

#endif
