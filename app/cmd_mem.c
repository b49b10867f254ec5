/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "host/mem.h"
#include "ps_json.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)

const char ps_help_mem[] =
	"usage: penstock mem -c FILE [--json]\n"
	"\n"
	"What the configuration takes of the memory, per NUMA node, and as huge pages.\n"
	"\n"
	"  -c FILE   configuration\n"
	"  --json    one JSON object\n"
	"  -h        this text\n"
	"\n"
	"huge: reserved beforehand (penstock init does it); ordinary: the process's own;\n"
	"file: feeds, in the memory of /dev/shm.\n";

static const char *const kind_name[] = {"huge", "ordinary", "file"};

static void
print_json(const struct ps_mem *m)
{
	struct ps_json j = {.out = stdout};

	ps_json_open(&j, NULL, '{');
	ps_json_open(&j, "nodes", '[');
	for (unsigned int n = 0; n < m->n_nodes; n++) {
		const uint64_t huge = m->bytes[n][PS_MEM_HUGE];

		ps_json_open(&j, NULL, '{');
		ps_json_u64(&j, "node", n);
		for (unsigned int k = 0; k < 3; k++) {
			char key[32];

			snprintf(key, sizeof(key), "%s_bytes", kind_name[k]);
			ps_json_u64(&j, key, m->bytes[n][k]);
		}
		ps_json_u64(&j, "pages_1g", ps_mem_pages(huge, PAGE_1G));
		ps_json_u64(&j, "pages_2m", ps_mem_pages(huge, PAGE_2M));
		ps_json_close(&j, '}');
	}
	ps_json_close(&j, ']');
	ps_json_open(&j, "items", '[');
	for (unsigned int i = 0; i < m->n; i++) {
		ps_json_open(&j, NULL, '{');
		ps_json_str(&j, "what", m->item[i].what);
		ps_json_u64(&j, "node", m->item[i].node);
		ps_json_str(&j, "kind", kind_name[m->item[i].kind]);
		ps_json_u64(&j, "bytes", m->item[i].bytes);
		ps_json_close(&j, '}');
	}
	ps_json_close(&j, ']');
	ps_json_close(&j, '}');
	putchar('\n');
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

static int
show(const char *file, bool json)
{
	static struct ps_lcores lcores;
	static struct ps_conf conf;
	static struct ps_mem mem;
	struct ps_err e;
	int rc = ps_conf_load(&conf, file, NULL, 0, &e);

	if (rc == 0)
		rc = ps_conf_check(&conf, &e);
	if (rc == 0)
		rc = ps_lcores_choose(&lcores, conf.lcores, &e);
	if (rc < 0) {
		ps_log(PS_LOG_ERROR, "%s", e.text);
		return PS_EXIT_FAILED;
	}
	ps_mem_of(&mem, &conf, &lcores);
	if (json)
		print_json(&mem);
	else
		print_table(&mem);
	return PS_EXIT_OK;
}

int
ps_cmd_mem(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *file = NULL;
	bool json = false;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:c:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'c':
			file = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			return ps_print_help(ps_help_mem);
		default:
			return ps_usage_option("mem", opt, argv);
		}
	}
	if (optind < argc)
		return ps_usage("mem", "unexpected '%s'", argv[optind]);
	if (file == NULL)
		return ps_usage("mem", "-c FILE is missing");
	return show(file, json);
}
