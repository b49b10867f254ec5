/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The steps themselves, for the table in steps.c only. */
#ifndef PS_HOST_STEPS_H
#define PS_HOST_STEPS_H

#include "step.h"

/* step_memory.c */
void ps_step_hugepages(struct ps_host *h);
void ps_step_memlock(struct ps_host *h);
void ps_step_privileges(struct ps_host *h);
/* step_cpu.c */
void ps_step_lcores(struct ps_host *h);
void ps_step_interrupts(struct ps_host *h);
void ps_step_governor(struct ps_host *h);
void ps_step_validator(struct ps_host *h);
/* step_device.c */
void ps_step_driver(struct ps_host *h);
void ps_step_vf(struct ps_host *h);
void ps_step_binding(struct ps_host *h);
void ps_step_iommu(struct ps_host *h);
void ps_step_vfio(struct ps_host *h);
void ps_step_known(struct ps_host *h);
/* step_link.c */
void ps_step_link(struct ps_host *h);
void ps_step_stacked(struct ps_host *h);
void ps_step_mtu(struct ps_host *h);
void ps_step_offloads(struct ps_host *h);
void ps_step_channels(struct ps_host *h);
void ps_step_rings(struct ps_host *h);
void ps_step_rss(struct ps_host *h);
void ps_step_ntuple(struct ps_host *h);
/* step_dedicated.c */
void ps_step_rules(struct ps_host *h);
/* The part of layout = dedicated in the steps ntuple and rss of step_link.c. */
void ps_look_dedicated_ntuple(struct ps_host *h, const char *ifname);
void ps_look_dedicated_rss(struct ps_host *h, const struct ps_conf_port *p, const char *ifname);
/* step_xdp.c */
void ps_step_xdp(struct ps_host *h);
void ps_step_deny(struct ps_host *h);
/* step_system.c */
void ps_step_sysctl(struct ps_host *h);
void ps_step_sockets(struct ps_host *h);
void ps_step_netfilter(struct ps_host *h);
void ps_step_contact(struct ps_host *h);

#endif
