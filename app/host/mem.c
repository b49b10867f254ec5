/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <numa.h>

#include "text.h"

#define EAL_BYTES (UINT64_C(16) << 20) /* EAL's own and its devices', beside the pools */

uint64_t
ps_mem_pages(uint64_t bytes, uint64_t page_bytes)
{
	return (bytes + page_bytes - 1) / page_bytes;
}

static void add(struct ps_mem *m, enum ps_mem_kind kind, int node, uint64_t bytes, const char *fmt,
	...) __attribute__((format(printf, 5, 6)));

static void
add(struct ps_mem *m, enum ps_mem_kind kind, int node, uint64_t bytes, const char *fmt, ...)
{
	const unsigned int n = node < 0 || node >= PS_MEM_NODES ? 0 : (unsigned int)node;
	va_list ap;

	m->bytes[n][kind] += bytes;
	if (n >= m->n_nodes)
		m->n_nodes = n + 1;
	if (m->n == PS_MEM_ITEMS)
		return;
	m->item[m->n] = (struct ps_mem_item){.node = n, .kind = kind, .bytes = bytes};
	va_start(ap, fmt);
	vsnprintf(m->item[m->n].what, sizeof(m->item[m->n].what), fmt, ap);
	va_end(ap);
	m->n++;
}

static int
port_node(const struct ps_conf_port *p)
{
	char path[PS_CONF_STRING + 64];
	int64_t node;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/numa_node", p->device);
	if (ps_text_number(path, &node))
		return (int)node;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%s/numa_node",
		strlen(p->device) < 12 ? "0000:" : "", p->device);
	return ps_text_number(path, &node) ? (int)node : -1;
}

static uint64_t
whole_pages(uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return ps_mem_pages(bytes, page) * page;
}

/* A feed's two files: the ring, and the consumer's cursor. */
static uint64_t
feed_bytes(const struct ps_conf *conf)
{
	return whole_pages(PENSTOCK_FEED_DATA_OFFSET + ((uint64_t)conf->feed.size_mb << 20)) +
	       whole_pages(sizeof(struct penstock_feed_cursor));
}

static void
add_worker(struct ps_mem *m, const struct ps_conf *conf, unsigned int w, int cpu)
{
	const int node = numa_available() >= 0 ? numa_node_of_cpu(cpu) : -1;

	for (unsigned int i = 0; i < conf->n_services; i++) {
		const struct ps_conf_service *s = &conf->service[i];

		if (!s->all_workers && !CPU_ISSET(w, &s->workers))
			continue;
		add(m, PS_MEM_FILE, node, feed_bytes(conf), "feed %s.%u", s->name, w);
		if (s->kind != PS_SERVICE_UDP)
			add(m, PS_MEM_ORDINARY, node, whole_pages(ps_endpoint_footprint(conf)),
				"connections %s.%u", s->name, w);
	}
	add(m, PS_MEM_ORDINARY, node, whole_pages(sizeof(struct ps_worker)), "worker %u", w);
}

void
ps_mem_of(struct ps_mem *m, const struct ps_conf *conf, const struct ps_lcores *lcores)
{
	const bool huge = conf->memory == PS_MEMORY_HUGE;

	memset(m, 0, sizeof(*m));
	m->n_nodes = 1;
	if (!huge)
		add(m, PS_MEM_ORDINARY, 0, (uint64_t)conf->memory_mb << 20, "memory_mb");
	for (unsigned int i = 0; huge && i < conf->n_ports; i++)
		add(m, PS_MEM_HUGE, port_node(&conf->port[i]), ps_port_memory(&conf->port[i]),
			"packet buffers %s", conf->port[i].name);
	if (huge)
		add(m, PS_MEM_HUGE, 0, EAL_BYTES, "EAL and its devices");
	for (unsigned int w = 0; w < lcores->n; w++)
		add_worker(m, conf, w, lcores->cpu[w]);
}
