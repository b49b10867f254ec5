/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "known.h"

#include <string.h>

#define OWN_MAC "give the VF an address of its own: vf_mac in [port]"
#define SIMPLE  "set layout = simple in [port]"
#define TRUST   "set vf_trust = on in [port]"

static const struct ps_known known[] = {
	{"i40e", PS_USE_AF_XDP, {0, 0}, {5, 19}, true,
		"AF_XDP in the driver is not reliable before 5.19", "use kernel 6.1 or later"},
	{"i40e", PS_USE_AF_XDP, {6, 5}, {6, 6}, false,
		"ntuple rules added while AF_XDP sockets are bound were reported without effect",
		"add the rules first, or use another kernel"},
	{"i40e", PS_USE_VF, {0, 0}, {0, 0}, false,
		"a VF of i40e takes no steering rules: RSS over its queues, and software", ""},
	{"bnxt_en", PS_USE_UDP_RULES, {0, 0}, {6, 9}, true,
		"the kernel takes no ntuple rules for this driver", SIMPLE},
	{"bnxt_en", PS_USE_DROP_RULES, {0, 0}, {6, 9}, true,
		"the kernel takes no ntuple rules for this driver", OWN_MAC},
	{"bnxt_en", PS_USE_DROP_RULES, {6, 9}, {0, 0}, false,
		"rules that drop did not act in kernels of this driver until 2026", OWN_MAC},
	{"bnxt_en", PS_USE_UNTRUSTED_VF, {0, 0}, {0, 0}, true,
		"the firmware takes rules from a trusted VF only", TRUST},
	{"mlx5_core", PS_USE_UNTRUSTED_VF, {0, 0}, {0, 0}, false,
		"the firmware takes most rules from a trusted VF only", TRUST},
	{"ixgbe", PS_USE_AF_XDP, {0, 0}, {0, 0}, false,
		"with an XDP program it refuses an MTU above 3 KB", "keep an MTU of 1500"},
	{"igb", PS_USE_AF_XDP, {0, 0}, {6, 14}, false,
		"no zero-copy AF_XDP in this kernel's driver", "use kernel 6.14 or later"},
	{"igb", PS_USE_UDP_RULES, {0, 0}, {0, 0}, true,
		"its ntuple rules are for Ethernet fields, none for UDP", SIMPLE},
	{"igb", PS_USE_DROP_RULES, {0, 0}, {0, 0}, true,
		"its ntuple rules are for Ethernet fields, none for UDP", OWN_MAC},
	{"virtio_net", PS_USE_AF_XDP, {0, 0}, {6, 11}, false,
		"no zero-copy AF_XDP in this kernel's driver", "use a later kernel"},
};

static bool
applies(const struct ps_known *k, const char *driver, const unsigned int kernel[2],
	unsigned int uses)
{
	const unsigned int now = kernel[0] << 16 | kernel[1];
	const unsigned int from = k->from[0] << 16 | k->from[1], to = k->to[0] << 16 | k->to[1];

	return (k->uses & uses) != 0 && strcmp(k->driver, driver) == 0 && now >= from &&
	       (to == 0 || now < to);
}

const struct ps_known *
ps_known_next(const struct ps_known *after, const char *driver, const unsigned int kernel[2],
	unsigned int uses)
{
	const struct ps_known *end = known + sizeof(known) / sizeof(known[0]);

	for (const struct ps_known *k = after != NULL ? after + 1 : known; k < end; k++)
		if (applies(k, driver, kernel, uses))
			return k;
	return NULL;
}
