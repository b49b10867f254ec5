/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

/* In the order in which init makes their wishes true; fini goes the other way. */
/* clang-format off */
const struct ps_step ps_steps[] = {
	{"hugepages", "pages of each NUMA node against the footprint", ps_step_hugepages},
	{"memlock", "limit of locked memory", ps_step_memlock},
	{"privileges", "capabilities of this process", ps_step_privileges},
	{"lcores", "the workers' processors: online and isolated", ps_step_lcores},
	{"interrupts", "interrupts that may come to them", ps_step_interrupts},
	{"governor", "their frequency governor", ps_step_governor},
	{"validator", "threads of a validator that are pinned to them", ps_step_validator},
	{"driver", "kernel driver, firmware and modules of each port", ps_step_driver},
	{"vf", "virtual function: made, address, trust", ps_step_vf},
	{"binding", "PCI devices are with the driver that DPDK needs", ps_step_binding},
	{"iommu", "IOMMU on, and the group exclusive", ps_step_iommu},
	{"vfio", "device files, and no unsafe mode", ps_step_vfio},
	{"known", "kernels and drivers known to fail together", ps_step_known},
	{"link", "interface up", ps_step_link},
	{"stacked", "bond, bridge or VLAN on top", ps_step_stacked},
	{"mtu", "frames fit into the buffers", ps_step_mtu},
	{"offloads", "merging and tunnel offloads that corrupt XDP's frames", ps_step_offloads},
	{"channels", "queues of the interface", ps_step_channels},
	{"rings", "their length", ps_step_rings},
	{"ntuple", "exact rules can be set where they are needed", ps_step_ntuple},
	{"rss", "how packets spread over them", ps_step_rss},
	{"rules", "a rule for each service to queues of its own (layout = dedicated)", ps_step_rules},
	{"xdp", "XDP programs and AF_XDP sockets of others", ps_step_xdp},
	{"deny", "lists of source prefixes that the XDP program drops", ps_step_deny},
	{"sysctl", "settings of the kernel", ps_step_sysctl},
	{"sockets", "kernel sockets on the services' ports", ps_step_sockets},
	{"netfilter", "rules that redirected packets will not meet", ps_step_netfilter},
	{"contact", "ports that the validator announces", ps_step_contact},
};
/* clang-format on */

const unsigned int ps_n_steps = sizeof(ps_steps) / sizeof(ps_steps[0]);
