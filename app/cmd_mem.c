/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "cmd_host.h"
#include "host/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)

const char ps_help_mem[] =
	"usage: penstock mem -c FILE [--json]\n"
	"\n"
	"What the configuration takes of the memory, per NUMA node, and as huge pages; whether "
	"they\n"
	"are there, and the command that reserves them.\n"
	"\n"
	"  -c FILE   configuration\n"
	"  --json    one JSON object\n"
	"  -h        this text\n"
	"\n"
	"huge: reserved beforehand (penstock init does it); ordinary: the process's own;\n"
	"file: feeds, in the memory of /dev/shm.\n";

static const char *const kind_name[] = {"huge", "ordinary", "file"};

static void
add_numbers(struct ps_json *j, const struct ps_mem *m)
{
	ps_json_open(j, "nodes", '[');
	for (unsigned int n = 0; n < m->n_nodes; n++) {
		const uint64_t huge = m->bytes[n][PS_MEM_HUGE];

		ps_json_open(j, NULL, '{');
		ps_json_u64(j, "node", n);
		for (unsigned int k = 0; k < 3; k++) {
			char key[32];

			snprintf(key, sizeof(key), "%s_bytes", kind_name[k]);
			ps_json_u64(j, key, m->bytes[n][k]);
		}
		ps_json_u64(j, "pages_1g", ps_mem_pages(huge, PAGE_1G));
		ps_json_u64(j, "pages_2m", ps_mem_pages(huge, PAGE_2M));
		ps_json_close(j, '}');
	}
	ps_json_close(j, ']');
	ps_json_open(j, "items", '[');
	for (unsigned int i = 0; i < m->n; i++) {
		ps_json_open(j, NULL, '{');
		ps_json_str(j, "what", m->item[i].what);
		ps_json_u64(j, "node", m->item[i].node);
		ps_json_str(j, "kind", kind_name[m->item[i].kind]);
		ps_json_u64(j, "bytes", m->item[i].bytes);
		ps_json_close(j, '}');
	}
	ps_json_close(j, ']');
}

static void
print_table(const struct ps_mem *m)
{
	printf("%-4s  %-9s %14s  %s\n", "node", "kind", "bytes", "what");
	for (unsigned int i = 0; i < m->n; i++)
		printf("%-4u  %-9s %14" PRIu64 "  %s\n", m->item[i].node,
			kind_name[m->item[i].kind], m->item[i].bytes, m->item[i].what);
	for (unsigned int n = 0; n < m->n_nodes; n++) {
		const uint64_t huge = m->bytes[n][PS_MEM_HUGE];

		printf("node %u: %" PRIu64 " MB huge (%" PRIu64 " pages of 1 GiB or %" PRIu64
		       " of 2 MiB), %" PRIu64 " MB ordinary, %" PRIu64 " MB files\n",
			n, huge >> 20, ps_mem_pages(huge, PAGE_1G), ps_mem_pages(huge, PAGE_2M),
			m->bytes[n][PS_MEM_ORDINARY] >> 20, m->bytes[n][PS_MEM_FILE] >> 20);
	}
}

/* Too little of it is for check to judge, and no failure here. */
static int
show(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e)
{
	static const char *const steps[] = {"hugepages", "memlock", NULL};
	static struct ps_conf conf;
	static struct ps_host host;
	int rc = ps_host_open(&host, &conf, o->file, e);

	if (rc < 0)
		return rc;
	ps_host_look_at(&host, steps);
	if (!o->json)
		print_table(&host.mem);
	ps_rows_begin(r, conf.name);
	ps_rows_add_host(r, &host);
	ps_rows_close(r);
	if (o->json)
		add_numbers(&r->j, &host.mem);
	ps_rows_end(r, ps_host_ready(&host), "");
	ps_host_close(&host);
	return 0;
}

int
ps_cmd_mem(int argc, char **argv)
{
	return ps_host_command(argc, argv, "", ps_help_mem, show);
}
