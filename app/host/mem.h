/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a configuration takes of the memory, item by item and per NUMA node, from the functions that
 * the allocators call themselves. Main thread. */
#ifndef PS_HOST_MEM_H
#define PS_HOST_MEM_H

#include <stdint.h>

#include "app.h"

#define PS_MEM_NODES 16
#define PS_MEM_ITEMS 256

enum ps_mem_kind {
	PS_MEM_HUGE,     /* huge pages that are reserved beforehand */
	PS_MEM_ORDINARY, /* the process's own, in transparent huge pages where there are some */
	PS_MEM_FILE,     /* files of feeds, in /dev/shm */
};

struct ps_mem_item {
	char what[64];
	unsigned int node;
	enum ps_mem_kind kind;
	uint64_t bytes;
};

struct ps_mem {
	unsigned int n_nodes;            /* highest used, plus one */
	uint64_t bytes[PS_MEM_NODES][3]; /* by enum ps_mem_kind */
	unsigned int n;
	struct ps_mem_item item[PS_MEM_ITEMS];
};

void ps_mem_of(struct ps_mem *m, const struct ps_conf *conf, const struct ps_lcores *lcores);
uint64_t ps_mem_pages(uint64_t bytes, uint64_t page_bytes);

#endif
