/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <rte_ethdev.h>

#include "family.h"

/* Broadcom. Queue 0 cannot be the target of a rule: it takes what no rule takes, and nothing else
 * may be spread over the others, so that a packet on another queue was steered. The IP protocol
 * is read from the spec although its mask must be zero. A second rule with the same match changes
 * the first and answers NULL without an error. MARK would cost the vector receive path, COUNT is
 * refused. */
const struct ps_family ps_family_bnxt = {
	.caps =
		{
			.name = "bnxt",
			.rules = true,
			.mixed = true,
			.proto_in_spec = true,
			.subset = PS_SUBSET_LIST,
			.subset_max = 63,
			.queue_base = 1,
			.proof = PS_PROOF_QUEUE,
			.rest = PS_REST_EXCEPTION,
			.actions = {PS_ACT_FATE, PS_ACT_END},
			.create_remedy = "on a VF: ip link set PF vf N trust on",
			.lost_on = "stop, firmware recovery",
			.unproven = "drop rules; that TCP to the same port is left alone; any rule "
				    "before a "
				    "packet of its own arrived",
		},
	.drivers = {"net_bnxt"},
	.rss_types = RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};
