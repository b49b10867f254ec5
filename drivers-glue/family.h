/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A NIC family: its capabilities as data, and only those steps that differ from the common
 * transaction in flow.c. One file per family; the table of all is in family.c. */
#ifndef PS_GLUE_FAMILY_H
#define PS_GLUE_FAMILY_H

#include <stddef.h>
#include <stdint.h>

#include "plan.h"

struct ps_flow;
struct ps_flow_rule;

enum ps_verdict {
	PS_VERDICT_OPEN,    /* nothing seen either way */
	PS_VERDICT_PRESENT, /* the rule is there */
	PS_VERDICT_ABSENT,  /* it is not, or does not act: LOST when this stays so */
};

struct ps_family {
	struct ps_caps caps;
	const char *drivers[8]; /* rte_eth_dev_info.driver_name */
	const char *pf_driver;  /* only for VFs whose physical function has this kernel driver */
	uint64_t rss_types;     /* of the RSS action */
	/* Each may be NULL: nothing to do beyond what flow.c does for everyone. */
	int (*prepare)(struct ps_flow *f, struct ps_err *e); /* before rte_eth_dev_configure() */
	int (*install)(struct ps_flow *f, struct ps_err *e); /* before the first rule is created */
	enum ps_verdict (*verify)(struct ps_flow *f, const struct ps_flow_rule *r);
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
