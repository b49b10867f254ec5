/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "text.h"

#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)

/* A count of huge pages; node -1: of the whole machine, where it has no nodes. */
static void
page_path(char *path, size_t cap, int node, uint64_t page_bytes, const char *name)
{
	if (node < 0)
		snprintf(path, cap, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s",
			page_bytes / 1024, name);
	else
		snprintf(path, cap,
			"/sys/devices/system/node/node%d/hugepages/hugepages-%" PRIu64 "kB/%s",
			node, page_bytes / 1024, name);
}

static int64_t
pages(int node, uint64_t page_bytes, const char *name)
{
	char path[192];
	int64_t n;

	page_path(path, sizeof(path), node, page_bytes, name);
	return ps_text_number(path, &n) && n > 0 ? n : 0;
}

/* What the kernel could give without swapping; asked for more, it would first drive out all else.
 */
static uint64_t
available_bytes(void)
{
	unsigned long long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kb * 1024;
}

static void
look_at_node(struct ps_host *h, unsigned int n, uint64_t need)
{
	const int node = ps_text_existsf("/sys/devices/system/node/node%u", n) ? (int)n : -1;
	const uint64_t have = (uint64_t)pages(node, PAGE_2M, "free_hugepages") * PAGE_2M +
			      (uint64_t)pages(node, PAGE_1G, "free_hugepages") * PAGE_1G;
	struct ps_knob k = {.kind = "file"};
	char subject[32], value[32], why[160];

	snprintf(subject, sizeof(subject), "node %u", n);
	if (have >= need) {
		ps_row_add(h, PS_STEP_OK, subject, "", "%" PRIu64 " MB free, %" PRIu64 " MB needed",
			have >> 20, need >> 20);
		return;
	}
	if (need - have > available_bytes()) {
		ps_row_add(h, PS_STEP_NOT, subject, "lower mbufs or queues in [port]",
			"%" PRIu64 " MB more are needed, and %" PRIu64
			" MB of memory are available",
			(need - have) >> 20, available_bytes() >> 20);
		return;
	}
	page_path(k.target, sizeof(k.target), node, PAGE_2M, "nr_hugepages");
	snprintf(value, sizeof(value), "%" PRIu64,
		(uint64_t)pages(node, PAGE_2M, "nr_hugepages") +
			ps_mem_pages(need - have, PAGE_2M));
	snprintf(why, sizeof(why), "%" PRIu64 " MB free, %" PRIu64 " MB needed (penstock mem)",
		have >> 20, need >> 20);
	ps_host_want(h, PS_STEP_NOT, subject, &k, value, why);
}

void
ps_step_hugepages(struct ps_host *h)
{
	if (h->conf->memory == PS_MEMORY_NO_HUGE) {
		ps_row_add(h, PS_STEP_SKIP, "", "", "memory = no-huge needs none");
		return;
	}
	if (h->running) {
		ps_row_add(
			h, PS_STEP_OK, "", "", "penstock %s runs and has its pages", h->conf->name);
		return;
	}
	for (unsigned int n = 0; n < h->mem.n_nodes; n++)
		if (h->mem.bytes[n][PS_MEM_HUGE] > 0)
			look_at_node(h, n, h->mem.bytes[n][PS_MEM_HUGE]);
}

/* -- privileges -- */

static uint64_t
capabilities(void)
{
	uint64_t caps = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "CapEff:", 7) == 0)
			caps = strtoull(line + 7, NULL, 16);
	if (f != NULL)
		fclose(f);
	return caps;
}

static bool
has(uint64_t caps, unsigned int cap)
{
	return caps >> cap & 1;
}

/* They take no privilege, and lock no memory. */
static bool
only_sockets(const struct ps_host *h)
{
	for (unsigned int i = 0; i < h->conf->n_ports; i++)
		if (h->conf->port[i].path != PS_PATH_SOCKET)
			return false;
	return true;
}

void
ps_step_memlock(struct ps_host *h)
{
	uint64_t need = 0;
	struct rlimit limit;

	if (only_sockets(h)) {
		ps_row_add(h, PS_STEP_SKIP, "", "", "kernel sockets lock no memory");
		return;
	}
	for (unsigned int i = 0; i < h->conf->n_ports; i++)
		need += ps_port_memory(&h->conf->port[i]);
	if (has(capabilities(), CAP_IPC_LOCK)) {
		ps_row_add(h, PS_STEP_OK, "", "", "CAP_IPC_LOCK lifts the limit");
		return;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
		limit.rlim_cur >= need) {
		ps_row_add(h, PS_STEP_OK, "", "", "above the %" PRIu64 " MB needed", need >> 20);
		return;
	}
	ps_row_add(h, PS_STEP_NOT, "", "ulimit -l unlimited (LimitMEMLOCK=infinity in systemd)",
		"%" PRIu64 " MB allowed, %" PRIu64 " MB needed for packet buffers",
		(uint64_t)limit.rlim_cur >> 20, need >> 20);
}

void
ps_step_privileges(struct ps_host *h)
{
	static const struct {
		unsigned int cap;
		const char *name, *why;
	} wanted[] = {
		{CAP_NET_ADMIN, "CAP_NET_ADMIN", "settings of interfaces, AF_XDP"},
		{CAP_NET_RAW, "CAP_NET_RAW", "AF_XDP sockets"},
		{CAP_BPF, "CAP_BPF", "the XDP program"},
		{CAP_IPC_LOCK, "CAP_IPC_LOCK", "locked packet buffers"},
	};
	const uint64_t caps = capabilities();
	bool all = true;

	if (only_sockets(h)) {
		ps_row_add(h, PS_STEP_SKIP, "", "", "kernel sockets need none");
		return;
	}
	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (has(caps, wanted[i].cap))
			continue;
		all = false;
		ps_row_add(h, PS_STEP_NOT, wanted[i].name,
			"run as root, or with AmbientCapabilities as in penstock.service",
			"missing: %s", wanted[i].why);
	}
	if (all)
		ps_row_add(h, PS_STEP_OK, "", "", "all that AF_XDP needs");
}
