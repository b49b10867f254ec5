/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "ps_json.h"
#include "tel_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char ps_help_flows[] =
	"usage: penstock flows [--name NAME | --file-prefix PREFIX] [--verify] [--json]\n"
	"\n"
	"How a running penstock gets its services' packets: every selector with its rule, state,\n"
	"proof and counters; then the drop rules in a physical function (pf-drop).\n"
	"\n"
	"  --name NAME           the instance's [penstock] name (penstock)\n"
	"  --file-prefix PREFIX  its EAL file prefix (penstock-NAME)\n"
	"  --verify              look at all rules now, before they are shown\n"
	"  --json                one JSON object\n"
	"  -h, --help            this text\n"
	"\n"
	"planned: not in the driver. created: it answered a handle. proven: seen to be there.\n"
	"lost: gone, an alarm. software: no rule, the packet is picked out of all that arrive.\n"
	"Exit code 1 when a rule is lost, or could not be verified.\n";

static void
print_row(const struct ps_tel_dict *d)
{
	char where[32], queues[24];

	snprintf(queues, sizeof(queues), "%" PRIx64, ps_tel_number(d, "queues"));
	snprintf(where, sizeof(where), "%.15s:%" PRIu64, ps_tel_text(d, "address"),
		ps_tel_number(d, "udp_port"));
	printf("%-10s %-12s %-14s %-21s %6s %-8s %12" PRIu64 " %10" PRIu64 "  %s\n",
		ps_tel_text(d, "port"), ps_tel_text(d, "family"), ps_tel_text(d, "service"), where,
		strcmp(ps_tel_text(d, "action"), "drop") == 0 ? "drop" : queues,
		ps_tel_text(d, "state"), ps_tel_number(d, "right"), ps_tel_number(d, "missteered"),
		ps_tel_text(d, "proof"));
}

static int
print_rows(int fd, uint64_t n, struct ps_json *j, struct ps_err *e)
{
	static struct ps_tel_dict row;
	char command[64];

	for (uint64_t i = 0; i < n; i++) {
		int rc;

		snprintf(command, sizeof(command), "/penstock/flow,%" PRIu64, i);
		rc = ps_tel_query(fd, command, &row, e);
		if (rc < 0)
			return rc;
		if (j == NULL) {
			print_row(&row);
			continue;
		}
		ps_json_open(j, NULL, '{');
		ps_tel_put(j, &row);
		ps_json_close(j, '}');
	}
	return 0;
}

static void
print_sums(const struct ps_tel_dict *d)
{
	printf("%" PRIu64 " flows: %" PRIu64 " proven, %" PRIu64 " created, %" PRIu64
	       " planned, %" PRIu64 " in software, %" PRIu64 " lost; %" PRIu64 " losses, %" PRIu64
	       " times installed again; %" PRIu64 " packets leaked to the kernel\n",
		ps_tel_number(d, "flows"), ps_tel_number(d, "proven"), ps_tel_number(d, "created"),
		ps_tel_number(d, "planned"), ps_tel_number(d, "software"), ps_tel_number(d, "lost"),
		ps_tel_number(d, "losses"), ps_tel_number(d, "reinstalls"),
		ps_tel_number(d, "leaked"));
}

static int
print(int fd, const struct ps_tel_options *o, struct ps_err *e)
{
	static struct ps_tel_dict sums;
	struct ps_json j = {.out = stdout};
	int rc = ps_tel_query(fd, o->flag ? "/penstock/verify" : "/penstock/flows", &sums, e);

	if (rc < 0)
		return rc;
	if (o->json) {
		ps_json_open(&j, NULL, '{');
		ps_tel_put(&j, &sums);
		ps_json_open(&j, "rules", '[');
	} else {
		printf("%-10s %-12s %-14s %-21s %6s %-8s %12s %10s  %s\n", "port", "family",
			"service", "address:port", "queues", "state", "packets", "missteered",
			"proof");
	}
	rc = print_rows(fd, ps_tel_number(&sums, "flows"), o->json ? &j : NULL, e);
	if (rc < 0)
		return rc;
	if (o->json) {
		ps_json_close(&j, ']');
		ps_json_close(&j, '}');
		putchar('\n');
	} else {
		print_sums(&sums);
	}
	if (o->flag && ps_tel_number(&sums, "verified") == 0)
		return ps_fail(e, ETIMEDOUT,
			"the rules were not looked at within a second; is "
			"penstock stopped?");
	if (ps_tel_number(&sums, "lost") > 0)
		return ps_fail(e, EIO, "%" PRIu64 " rules are lost; the log says why",
			ps_tel_number(&sums, "lost"));
	return 0;
}

static int
show(const struct ps_tel_options *o, struct ps_err *e)
{
	const int fd = ps_tel_connect(o->prefix, e);
	int rc;

	if (fd < 0)
		return fd;
	rc = print(fd, o, e);
	close(fd);
	return rc;
}

int
ps_cmd_flows(int argc, char **argv)
{
	static const struct ps_tel_command command = {"flows", ps_help_flows, "verify", NULL, show};

	return ps_tel_command(&command, argc, argv);
}
