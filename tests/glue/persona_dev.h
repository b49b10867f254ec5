/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Between the two halves of the persona driver: rules (persona_pmd.c) and device (persona_dev.c).
 */
#ifndef PERSONA_DEV_H
#define PERSONA_DEV_H

#include <rte_flow_driver.h>

#include "persona_pmd.h"

extern const struct rte_flow_ops persona_flow_ops;

void persona_attach(uint16_t port, struct persona *p);
/* Every handle dies, and its rule with it. */
void persona_forget(struct persona *p);
/* Every handle dies, its rule stays in the NIC: i40e's configure. */
void persona_orphan(struct persona *p);

#endif
