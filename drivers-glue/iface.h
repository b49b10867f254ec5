/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Network interfaces as rtnetlink shows and sets them: link, MTU, address, what is on top, XDP,
 * virtual functions. Control thread and host commands only; keeps no state. */
#ifndef PS_GLUE_IFACE_H
#define PS_GLUE_IFACE_H

#include <linux/netlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "ps_err.h"

#define PS_IFACE_ADDR 6

struct ps_iface {
	char name[IF_NAMESIZE];
	char kind[16]; /* "bond", "bridge", "vlan", "veth", "tun", ...; "" for hardware */
	uint32_t index;
	uint32_t master;       /* index of its bond or bridge; 0: none */
	uint32_t lower;        /* index of the interface it is stacked on; 0: none here */
	uint32_t mtu, max_mtu; /* bytes; max_mtu 0: the kernel does not tell */
	uint32_t n_vfs;        /* virtual functions there are now */
	uint32_t prog_id;      /* XDP program; 0: none */
	uint8_t xdp_mode;      /* XDP_ATTACHED_* of linux/if_link.h */
	bool up;               /* as configured */
	bool carrier;          /* and usable */
	bool promisc;
	uint8_t mac[PS_IFACE_ADDR], perm_mac[PS_IFACE_ADDR]; /* zero where there is none */
};

/* By name; -ENODEV. */
int ps_iface_get(const char *name, struct ps_iface *out, struct ps_err *err);

/* All of them; *list is the caller's to free(). */
int ps_iface_list(struct ps_iface **list, unsigned int *n, struct ps_err *err);

const struct ps_iface *ps_iface_by_index(
	const struct ps_iface *list, unsigned int n, uint32_t index);

/* Is upper this interface, or stacked on it (VLAN, macvlan, ...), or a bond or bridge it serves,
 * at any depth? */
bool ps_iface_carries(const struct ps_iface *list, unsigned int n, uint32_t lower, uint32_t upper);

int ps_iface_set_mtu(const char *name, uint32_t mtu, struct ps_err *err);
int ps_iface_set_up(const char *name, bool up, struct ps_err *err);
int ps_iface_set_mac(const char *name, const uint8_t mac[PS_IFACE_ADDR], struct ps_err *err);

/* "aa:bb:cc:dd:ee:ff" */
#define PS_MAC_TEXT 18
void ps_mac_text(const uint8_t mac[PS_IFACE_ADDR], char text[PS_MAC_TEXT]);
bool ps_mac_parse(const char *text, uint8_t mac[PS_IFACE_ADDR]);

struct ps_vf {
	uint8_t mac[PS_IFACE_ADDR];
	bool spoofchk, trust;
};

/* vf counts from 0. -ENOENT: no such virtual function. */
int ps_vf_get(const char *name, uint32_t vf, struct ps_vf *out, struct ps_err *err);
int ps_vf_set_mac(
	const char *name, uint32_t vf, const uint8_t mac[PS_IFACE_ADDR], struct ps_err *err);
int ps_vf_set_spoofchk(const char *name, uint32_t vf, bool on, struct ps_err *err);
/* Resets the VF on i40e: before its driver starts. */
int ps_vf_set_trust(const char *name, uint32_t vf, bool on, struct ps_err *err);

/* Fills *out from an RTM_NEWLINK or RTM_DELLINK message. */
void ps_iface_read(const struct nlmsghdr *h, struct ps_iface *out);

#endif
