/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "family.h"

/* Intel X710 and XL710, the PF. One set of fields for all rules of a packet type; a partial mask is
 * widened in silence, so the planner makes none. With more than 128 programming requests under
 * way the driver answers success without a rule: creates are paced, and a handle alone is believed
 * in no case. MARK must follow QUEUE. Do not use the devarg support-multi-driver. */
const struct ps_family ps_family_i40e = {
	.caps =
		{
			.name = "i40e",
			.rules = true,
			.subset = PS_SUBSET_NONE,
			.proof = PS_PROOF_MARK,
			.rest = PS_REST_EXCEPTION,
			.actions = {PS_ACT_FATE, PS_ACT_MARK, PS_ACT_END},
			.batch = 64,
			.batch_pause_us = 1000,
			.max_rules = 8192,
			.limit_remedy = "name fewer addresses",
			.create_remedy =
				"remove other flow director rules and support-multi-driver=1",
			.xstat = "rx_flow_director_sb_match_packets",
			.lost_on = "stop, port reset",
			.unproven = "drop rules; any rule before a packet of its own arrived; "
				    "fragments",
		},
	.drivers = {"net_i40e"},
};
