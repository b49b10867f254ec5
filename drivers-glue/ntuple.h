/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Exact UDP rules of a kernel driver (ethtool -N ... flow-type udp4 dst-ip A dst-port P): install,
 * list, read back and compare by meaning, remove. For rules that put a validator's UDP on a queue
 * or, where PF and VF share a MAC, keep the PF's kernel from seeing it (drop).
 *
 * A rule that the kernel accepted is not proof: drivers accept what they do not install, and
 * report back more, less or other bits than they were given. So every insert is read back, and a
 * rule is removed only while what stands at its location still means what was inserted.
 *
 * Control thread only. Keeps no state and no descriptor. */
#ifndef PS_GLUE_NTUPLE_H
#define PS_GLUE_NTUPLE_H

#include <linux/ethtool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ps_err.h"

struct ps_ntuple_rule {
	uint32_t daddr_be; /* 0: any */
	uint16_t dport_be;
	bool drop;  /* else to the queue */
	bool to_vf; /* the queue is one of the VF's; only i40e and ixgbe have this */
	uint8_t vf; /* counted from 0 */
	uint32_t queue;
	uint32_t context;  /* not 0: an RSS context chooses the queue */
	uint32_t location; /* RX_CLS_LOC_ANY until inserted */
};

/* What a driver's readback may look like beside the plain one. */
enum ps_ntuple_quirk {
	PS_NTUPLE_EXACT,
	/* i40e reports the field set of all UDP rules in place of this rule's masks, and the
	 * IPv6 view of that set overwrites the IPv4 one. */
	PS_NTUPLE_I40E,
};

enum ps_ntuple_verdict {
	PS_NTUPLE_EQUAL,
	/* Nothing differs, but the driver's report does not tell the masks: the rule count and a
	 * packet must confirm it. */
	PS_NTUPLE_UNKNOWN,
	PS_NTUPLE_FLOW_TYPE, /* from here on: not the same rule, and the field that tells */
	PS_NTUPLE_VALUE_SRC_IP,
	PS_NTUPLE_VALUE_DST_IP,
	PS_NTUPLE_VALUE_SRC_PORT,
	PS_NTUPLE_VALUE_DST_PORT,
	PS_NTUPLE_VALUE_TOS,
	PS_NTUPLE_MASK_SRC_IP,
	PS_NTUPLE_MASK_DST_IP,
	PS_NTUPLE_MASK_SRC_PORT,
	PS_NTUPLE_MASK_DST_PORT,
	PS_NTUPLE_MASK_TOS,
	PS_NTUPLE_MASK_VLAN,
	PS_NTUPLE_MASK_USER_DATA,
	PS_NTUPLE_MASK_DST_MAC,
	PS_NTUPLE_FATE,
	PS_NTUPLE_QUEUE,
	PS_NTUPLE_VF,
	PS_NTUPLE_LOCATION,
	PS_NTUPLE_VERDICTS
};

/* One static line, for people. */
const char *ps_ntuple_reason(enum ps_ntuple_verdict v);

enum ps_ntuple_quirk ps_ntuple_quirk_of(const char *driver);

/* The request for this rule; every byte that is not part of it is zero. */
void ps_ntuple_spec(const struct ps_ntuple_rule *rule, struct ethtool_rx_flow_spec *fs);

/* Does got mean what want asks for? want is a UDP_V4_FLOW request without extensions, which may
 * lead to an RSS context (that it is the same one is not told here). Bytes that mean nothing for
 * such a flow are not looked at. The location counts only if want chose one. */
enum ps_ntuple_verdict ps_ntuple_compare(const struct ethtool_rx_flow_spec *want,
	const struct ethtool_rx_flow_spec *got, enum ps_ntuple_quirk quirk);

struct ps_ntuple_table {
	uint32_t size;       /* locations 0..size-1; 0: the driver does not tell */
	bool driver_chooses; /* the location must be left to the driver */
	uint32_t n;
	uint32_t *locations; /* n of them, in the driver's order; free() */
};

/* -EOPNOTSUPP where the driver has no such rules. */
int ps_ntuple_list(const char *ifname, struct ps_ntuple_table *t, struct ps_err *err);

/* -ENOENT when there is none. */
int ps_ntuple_read(
	const char *ifname, uint32_t location, struct ethtool_rx_flow_spec *fs, struct ps_err *err);

struct ps_ntuple_report {
	struct ethtool_rx_flow_spec fs;
	uint32_t context; /* with FLOW_RSS in fs.flow_type */
};

/* All of them as the driver reports them; *all is the caller's to free(). */
int ps_ntuple_all(const char *ifname, struct ps_ntuple_report **all, uint32_t *n,
	enum ps_ntuple_quirk *quirk, struct ps_err *err);

/* Of the reports, the one at the lowest location that matches exactly the packets that rule does,
 * whatever becomes of them; that is in *of, with the location. NULL: none. */
const struct ps_ntuple_report *ps_ntuple_match(const struct ps_ntuple_report *all, uint32_t n,
	const struct ps_ntuple_rule *rule, enum ps_ntuple_quirk quirk, struct ps_ntuple_rule *of);

/* Finds a rule of the same meaning at any location (rule->location is not an argument) and stores
 * where and how sure in *location and *v. 0, or -ENOENT. */
int ps_ntuple_find(const char *ifname, const struct ps_ntuple_rule *rule, uint32_t *location,
	enum ps_ntuple_verdict *v, struct ps_err *err);

/* Inserts at rule->location, or at the lowest free one or where the driver likes when that is
 * RX_CLS_LOC_ANY; fills rule->location; reads back. An insert whose readback differs is undone and
 * fails. *v is EQUAL or UNKNOWN. -EEXIST when a rule of this meaning is there already: it is not
 * ours, rule->location tells where. Never replaces a rule. */
int ps_ntuple_insert(const char *ifname, struct ps_ntuple_rule *rule, enum ps_ntuple_verdict *v,
	struct ps_err *err);

/* Is it still there? *v tells; -ENOENT when nothing is at its location. */
int ps_ntuple_verify(const char *ifname, const struct ps_ntuple_rule *rule,
	enum ps_ntuple_verdict *v, struct ps_err *err);

/* Removes it if what stands at its location is still this rule. -ENOENT: gone already; -ESTALE:
 * another rule stands there and was left alone. */
int ps_ntuple_delete(const char *ifname, const struct ps_ntuple_rule *rule, struct ps_err *err);

/* -- ntuple_text.c: the rule for one address and port as a setting (settings.h) -- */

/* "192.0.2.10.8009"; address 0.0.0.0: any. */
bool ps_ntuple_key_parse(const char *key, struct ps_ntuple_rule *rule);
/* "queue=7", "rss=6+2" (an RSS context over these queues), "drop", ... size >= 64. */
void ps_ntuple_fate_text(
	const char *ifname, const struct ps_ntuple_rule *rule, char *text, size_t size);
/* Likewise, or "none" when there is no rule. */
int ps_ntuple_text(
	const char *ifname, const char *key, char *text, size_t size, struct ps_err *err);
/* Takes "none", "queue=N" and "rss=FIRST+N". -EEXIST: a rule with another fate stands there, and is
 * never replaced. */
int ps_ntuple_restore(const char *ifname, const char *key, const char *text, struct ps_err *err);

#endif
