/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tel_command.h"

#include <getopt.h>
#include <stdio.h>

#include "cmd.h"

/* -1, or the exit code. */
static int
parse(const struct ps_tel_command *c, int argc, char **argv, struct ps_tel_options *o)
{
	const struct option longs[] = {
		{"name", required_argument, NULL, 'n'},
		{"file-prefix", required_argument, NULL, 'f'},
		{c->flag, no_argument, NULL, '1'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{c->path, required_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'n':
			snprintf(o->prefix, sizeof(o->prefix), "penstock-%s", optarg);
			break;
		case 'f':
			snprintf(o->prefix, sizeof(o->prefix), "%s", optarg);
			break;
		case '1':
			o->flag = true;
			break;
		case 'j':
			o->json = true;
			break;
		case 'p':
			o->path = optarg;
			break;
		case 'h':
			return ps_print_help(c->help);
		default:
			return ps_usage_option(c->name, opt, argv);
		}
	}
	return optind < argc ? ps_usage(c->name, "unexpected '%s'", argv[optind]) : -1;
}

int
ps_tel_command(const struct ps_tel_command *c, int argc, char **argv)
{
	struct ps_tel_options o = {.prefix = "penstock-penstock"};
	struct ps_err e;
	const int rc = parse(c, argc, argv, &o);

	if (rc >= 0)
		return rc;
	if (c->show(&o, &e) == 0)
		return 0;
	ps_log(PS_LOG_ERROR, "%s", e.text);
	return 1;
}
