/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What else lives on an interface: the default route, people's SSH sessions, a bond or bridge, and
 * sockets on a port. For check and init, so that nobody loses the way in. Keeps no state. */
#ifndef PS_GLUE_HOSTNET_H
#define PS_GLUE_HOSTNET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "iface.h"
#include "ps_err.h"

/* IPv4 is kept as ::ffff:a.b.c.d. */
struct ps_ip {
	uint8_t b[16];
};

bool ps_ip_parse(const char *text, struct ps_ip *ip);

/* Index of the interface by which packets to this address leave; -ENETUNREACH. */
int ps_route_to(const struct ps_ip *remote, uint32_t *index, struct ps_err *err);

/* Why an interface must not be taken without another way in. */
struct ps_iface_uses {
	bool default_route; /* IPv4 or IPv6, of any table, directly or through what is on top */
	bool ssh;           /* a session comes in or goes out by it */
	bool bond, bridge;  /* is one, or serves one; any other master counts as a bridge */
	bool stacked;       /* VLAN, macvlan or the like on top */
	char why[160];      /* the reasons, for people; empty: none */
};

/* SSH sessions are those of SSH_CONNECTION (pass getenv()'s; may be NULL) and all established TCP
 * connections of local port 22 or of the local port that SSH_CONNECTION names. */
int ps_iface_uses(
	const char *name, const char *ssh_connection, struct ps_iface_uses *u, struct ps_err *err);

struct ps_udp_socket {
	struct ps_ip addr; /* all zero, or ::ffff:0.0.0.0: any */
	bool ipv6;
	uint32_t uid;
	uint64_t inode;
	pid_t pid;     /* 0: not found, or no right to see it */
	char comm[16]; /* of that process */
};

/* Sockets of this network namespace that are bound to this UDP port; at most max are stored, all
 * are counted. A negative errno on failure. */
int ps_udp_bound(uint16_t port, struct ps_udp_socket *out, int max, struct ps_err *err);

#endif
