/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <rte_ethdev.h>

#include "family.h"

/* NVIDIA ConnectX, shared with the kernel's mlx5_core. Isolation comes first: without it the port
 * takes all traffic away from the kernel, with it the kernel keeps what no rule takes. Use the
 * devarg dv_flow_en=1. Counters are refreshed about once a second. */
const struct ps_family ps_family_mlx5 = {
	.caps =
		{
			.name = "mlx5",
			.rules = true,
			.mixed = true,
			.isolate = true,
			.dump = true,
			.subset = PS_SUBSET_LIST,
			.subset_max = 64,
			.proof = PS_PROOF_COUNT,
			.rest = PS_REST_KERNEL,
			.actions = {PS_ACT_MARK, PS_ACT_COUNT, PS_ACT_FATE, PS_ACT_END},
			.patience_ms = 1500,
			.create_remedy = "use devarg dv_flow_en=1, and trust the VF on its PF",
			.lost_on = "stop, removal",
			.unproven = "that packets match, until one was counted; a VF sees its own "
				    "MAC only",
		},
	.drivers = {"mlx5_pci", "mlx5_auxiliary"},
	.rss_types = RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};
