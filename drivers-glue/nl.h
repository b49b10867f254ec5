/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* One netlink request and its answers, for rtnetlink and ethtool netlink (through libmnl).
 * Not for the packet path. Each call has a socket of its own: settings are rare. */
#ifndef PS_GLUE_NL_H
#define PS_GLUE_NL_H

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <stdint.h>

#include "ps_err.h"

/* Room for any request made here. */
#define PS_NL_REQUEST_BYTES 8192

struct ps_nl {
	_Alignas(struct nlmsghdr) char buf[PS_NL_REQUEST_BYTES];
	struct nlmsghdr *head;
	int bus; /* NETLINK_ROUTE, NETLINK_GENERIC */
};

/* One answer. A negative errno ends the request with it. */
typedef int ps_nl_fn(const struct nlmsghdr *answer, void *arg);

/* Puts the header; flags beside NLM_F_REQUEST, as NLM_F_DUMP. Returns the family's header, zero. */
void *ps_nl_route(struct ps_nl *nl, uint16_t type, uint16_t flags, size_t header_bytes);

/* An ethtool netlink message about this interface; header_attr is the message's _HEADER. */
int ps_nl_ethtool(struct ps_nl *nl, uint8_t cmd, uint16_t header_attr, const char *ifname,
	struct ps_err *err);

/* Sends and calls fn (may be NULL) for each answer. On failure *err says `what`, and why in the
 * kernel's own words where it gave some. -EINTR: a dump changed while it was read, ask again. */
int ps_nl_talk(struct ps_nl *nl, ps_nl_fn *fn, void *arg, const char *what, struct ps_err *err);

/* Id of generic netlink's "ethtool" family, and of its multicast group "monitor". */
int ps_nl_ethtool_id(uint16_t *family, uint32_t *monitor_group, struct ps_err *err);

/* Attributes of a message or nest by type; types above max are left out. */
void ps_nl_attrs(
	const struct nlmsghdr *h, size_t header_bytes, const struct nlattr **tb, unsigned int max);
void ps_nl_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max);

/* 0 when absent or too short. */
uint32_t ps_nl_u32(const struct nlattr *a);
uint8_t ps_nl_u8(const struct nlattr *a);

#endif
