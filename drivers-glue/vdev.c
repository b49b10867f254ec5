/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "family.h"

/* No rte_flow. The XDP program chooses by address and port, and passes the rest (af_xdp.h). */
const struct ps_family ps_family_af_xdp = {
	.caps =
		{
			.name = "af_xdp",
			.rest = PS_REST_KERNEL,
			.lost_on = "another XDP program, link or channels changed",
			.unproven = "which queue a packet takes: the kernel driver's RSS decides",
		},
	.drivers = {"net_af_xdp"},
};

/* Virtual devices, and every driver without a family of its own: nothing is steered, software
 * takes what is ours out of all that arrives. */
const struct ps_family ps_family_vdev = {
	.caps =
		{
			.name = "vdev",
			.rest = PS_REST_EXCEPTION,
			.lost_on = "nothing",
			.unproven = "steering, there is none",
		},
	.drivers = {"net_tap", "net_ring", "net_memif", "net_pcap", "net_null", "net_virtio_user",
		"net_e1000_igb_vf"},
};
