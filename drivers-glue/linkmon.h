/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Tells what happens to one interface, as rtnetlink and ethtool netlink announce it: what can take
 * steering rules away behind our back. Two sockets, polled by the control thread; owns them and the
 * last known state. A change that was undone before the next poll is told too. */
#ifndef PS_GLUE_LINKMON_H
#define PS_GLUE_LINKMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iface.h"
#include "ps_err.h"

struct mnl_socket;

enum ps_link_change {
	PS_LINK_GONE = 1 << 0, /* removed, or moved to another network namespace */
	PS_LINK_DOWN = 1 << 1, /* lost its carrier, or was set down */
	PS_LINK_UP = 1 << 2,
	PS_LINK_MAC = 1 << 3,
	PS_LINK_MTU = 1 << 4,
	PS_LINK_MASTER = 1 << 5,     /* bond or bridge: entered or left */
	PS_LINK_XDP = 1 << 6,        /* a program attached, detached or replaced */
	PS_LINK_NTUPLE_OFF = 1 << 7, /* drivers drop their rules with it */
	PS_LINK_NTUPLE_ON = 1 << 8,
	PS_LINK_FEATURES = 1 << 9, /* any other offload */
	PS_LINK_RINGS = 1 << 10,
	PS_LINK_CHANNELS = 1 << 11,
	PS_LINK_NAME = 1 << 12,
	PS_LINK_MISSED = 1 << 13,   /* the kernel could not queue all of it; state was read anew */
	PS_LINK_SETTINGS = 1 << 14, /* anything else that ethtool sets, RSS on newer kernels */
};

struct ps_linkmon {
	struct mnl_socket *route, *ethtool;
	struct ps_iface link; /* as last told */
	uint16_t family;      /* of ethtool netlink */
	uint32_t ntuple_bit;
	bool ntuple; /* the feature is on */
	bool gone;
};

/* 0, or -errno with nothing left open. */
int ps_linkmon_open(struct ps_linkmon *m, const char *ifname, struct ps_err *err);
void ps_linkmon_close(struct ps_linkmon *m);

/* To poll() for input: rtnetlink's and ethtool's descriptor. */
void ps_linkmon_fds(const struct ps_linkmon *m, int fds[2]);

/* Everything announced since the last call, as bits of enum ps_link_change; never waits.
 * A negative errno when a socket failed. */
int ps_linkmon_poll(struct ps_linkmon *m, struct ps_err *err);

/* "MAC address changed, ntuple-filters turned off". Returns text. */
const char *ps_link_change_text(int changes, char *text, size_t size);

#endif
