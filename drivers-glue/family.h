/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A NIC family: one const struct, data alone. What families differ in is told by struct ps_caps,
 * and one transaction, one proof and one loss (flow.c) act on it. One file per family, with the
 * reasons; the table of all is in family.c. */
#ifndef PS_GLUE_FAMILY_H
#define PS_GLUE_FAMILY_H

#include <stddef.h>
#include <stdint.h>

#include "plan.h"

struct ps_family {
	struct ps_caps caps;
	const char *drivers[8]; /* rte_eth_dev_info.driver_name */
	const char *pf_driver;  /* only for VFs whose physical function has this kernel driver */
	uint64_t rss_types;     /* of the RSS action */
};

extern const struct ps_family ps_family_mlx5, ps_family_ice, ps_family_iavf_ice,
	ps_family_iavf_i40e, ps_family_i40e, ps_family_bnxt, ps_family_af_xdp, ps_family_vdev;

/* By driver name and, for VFs, kernel driver of the physical function (NULL or "": not known, as in
 * a guest). A driver without a family of its own gets vdev: RSS and software work on any. */
const struct ps_family *ps_family_find(const char *driver, const char *pf_driver);

/* Kernel driver of the physical function of the VF at this PCI address; "" when it cannot be seen.
 * Returns text. */
char *ps_family_pf_driver(const char *pci, char *text, size_t cap);

#endif
