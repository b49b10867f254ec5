/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "family.h"

/* A VF of Intel's kernel drivers. Whether there is a flow director is the PF's doing, and the VF
 * only receives what carries its own MAC. Run without the devarg auto_reset: it loses the rules
 * without an event. Rules are never sent with COUNT, a priority or a partial mask: the first is
 * refused, the others are undefined. */
const struct ps_family ps_family_iavf_ice = {
	.caps =
		{
			.name = "iavf on ice",
			.rules = true,
			.subset = PS_SUBSET_POW2,
			.subset_max = 128,
			.proof = PS_PROOF_MARK,
			.rest = PS_REST_EXCEPTION,
			.actions = {PS_ACT_FATE, PS_ACT_MARK, PS_ACT_END},
			.max_rules = 128,
			.limit_remedy =
				"the PF gives a VF 128; name fewer addresses, or use a second VF",
			.create_remedy = "the PF must offer a flow director (ice, not i40e)",
			.lost_on =
				"stop, every VF reset (also by a change of MAC or trust on the PF)",
			.unproven = "drop rules; any rule before a packet of its own arrived",
		},
	.drivers = {"net_iavf"},
};

/* The kernel's i40e has no flow director for VFs: RSS and software here. Rules of the PF may
 * choose the queue within the VF; they never bring traffic to it. */
const struct ps_family ps_family_iavf_i40e = {
	.caps =
		{
			.name = "iavf on i40e",
			.rest = PS_REST_EXCEPTION,
			.lost_on = "VF reset; rules of the PF stay",
			.unproven = "steering, there is none in the VF; rules of the PF by "
				    "readback there",
		},
	.drivers = {"net_iavf"},
	.pf_driver = "i40e",
};
