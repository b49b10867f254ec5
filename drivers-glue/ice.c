/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "family.h"

/* Intel E810 and E830, the PF. MARK and COUNT force the flow director: without one of them the
 * switch engine takes the rule, which neither marks nor counts. One set of fields per packet
 * type. The COUNT query knows hits only. */
const struct ps_family ps_family_ice = {
	.caps =
		{
			.name = "ice",
			.rules = true,
			.subset = PS_SUBSET_POW2,
			.subset_max = 128,
			.proof = PS_PROOF_COUNT,
			.rest = PS_REST_EXCEPTION,
			.actions = {PS_ACT_FATE, PS_ACT_MARK, PS_ACT_COUNT, PS_ACT_END},
			.max_rules = 256,
			.limit_remedy =
				"each rule takes one of the 256 counters; name fewer addresses",
			.create_remedy =
				"load the ice DDP package, and remove other flow director rules",
			.lost_on = "stop, close",
			.unproven = "fragments: no rule takes them",
		},
	.drivers = {"net_ice"},
};
