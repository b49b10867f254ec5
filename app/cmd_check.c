/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "host/step.h"

#include <getopt.h>

const char ps_help_check[] =
	"usage: penstock check -c FILE [--contact-info FILE|-] [--json]\n"
	"\n"
	"Is this host ready for the configuration? Changes nothing. One row per finding: state,\n"
	"step, subject, why; below it the command that mends it.\n"
	"\n"
	"  -c FILE              configuration\n"
	"  --contact-info FILE  compare the services with what a validator announces: the output\n"
	"                       of agave-validator contact-info --output json; - is standard "
	"input\n"
	"  --json               one JSON object\n"
	"  -h                   this text\n"
	"\n"
	"ok; not: it would not start or do harm; partial: works, but worse than it could;\n"
	"skip: does not apply, or cannot be seen from here. Exit code 1 when a row is not.\n";

static int
check(const char *file, const char *contact, bool json)
{
	static struct ps_conf conf;
	static struct ps_host host;
	struct ps_err e;
	int rc = ps_host_open(&host, &conf, file, &e);

	if (rc < 0) {
		ps_log(PS_LOG_ERROR, "%s", e.text);
		return PS_EXIT_FAILED;
	}
	host.contact_file = contact;
	ps_host_look(&host);
	ps_host_print(&host, json, stdout);
	rc = ps_host_ready(&host) && fflush(stdout) == 0 ? PS_EXIT_OK : PS_EXIT_FAILED;
	ps_host_close(&host);
	return rc;
}

int
ps_cmd_check(int argc, char **argv)
{
	static const struct option longs[] = {
		{"contact-info", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *file = NULL, *contact = NULL;
	bool json = false;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:c:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'c':
			file = optarg;
			break;
		case 'i':
			contact = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			return ps_print_help(ps_help_check);
		default:
			return ps_usage_option("check", opt, argv);
		}
	}
	if (optind < argc)
		return ps_usage("check", "unexpected '%s'", argv[optind]);
	if (file == NULL)
		return ps_usage("check", "-c FILE is missing");
	return check(file, contact, json);
}
