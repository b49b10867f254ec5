/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "app.h"
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#define OVERRIDES_MAX 128

const char ps_help_run[] =
	"usage: penstock run -c FILE [-l LCORES] [--port NAME|PCI]... [-o SECTION.KEY=VALUE]...\n"
	"                    [-- EAL ARGUMENTS]\n"
	"\n"
	"Receives the configured services until SIGINT or SIGTERM. SIGHUP reads deny lists again.\n"
	"\n"
	"  -c FILE    configuration; penstock help config lists every option\n"
	"  -l LCORES  processors of the workers, such as 2,4-6; control takes the others\n"
	"  --port P   use only these ports of the configuration; an interface, PCI address or EAL\n"
	"             device that it does not name becomes a port with default options\n"
	"  -o S.K=V   set an option, as in quic.retry=always or service.NAME.port=8009\n"
	"  -h         this text\n"
	"\n"
	"PCI is not probed unless a port names a PCI address or -a stands among EAL's arguments.\n"
	"Exit codes: 0 stopped, 1 failed or a mistake in FILE, 2 a mistake on the command line.\n";

struct options {
	const char *file;
	unsigned int n_ports, n_overrides;
	const char *port[PS_CONF_PORTS + 1];
	const char *override[OVERRIDES_MAX];
	char lcores[PS_CONF_STRING + 32];
};

static bool
is_override(const char *text)
{
	const char *equals = strchr(text, '='), *dot = strchr(text, '.');

	return equals != NULL && dot != NULL && dot < equals;
}

/* PS_EXIT_OK, PS_EXIT_USAGE, or -1 for help. */
static int
parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"port", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:c:l:o:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'c':
			o->file = optarg;
			break;
		case 'l':
			snprintf(o->lcores, sizeof(o->lcores), "penstock.lcores=%s", optarg);
			break;
		case 'o':
			if (!is_override(optarg))
				return ps_usage("run",
					"-o %s: write section.key=value or "
					"section.NAME.key=value",
					optarg);
			if (o->n_overrides == OVERRIDES_MAX - 1)
				return ps_usage("run", "too many -o; use a file");
			o->override[o->n_overrides++] = optarg;
			break;
		case 'p':
			if (o->n_ports == PS_CONF_PORTS)
				return ps_usage("run", "at most %d --port", PS_CONF_PORTS);
			o->port[o->n_ports++] = optarg;
			break;
		case 'h':
			return -1;
		default:
			return ps_usage_option("run", opt, argv);
		}
	}
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return ps_usage("run", "unexpected '%s'; EAL arguments follow --", argv[optind]);
	if (o->file == NULL)
		return ps_usage("run", "-c FILE is missing");
	if (o->lcores[0] != '\0')
		o->override[o->n_overrides++] = o->lcores;
	return PS_EXIT_OK;
}

int
ps_cmd_run(int argc, char **argv)
{
	static struct ps_app app;
	struct options o = {0};
	struct ps_err e;
	int rc = parse(argc, argv, &o);

	if (rc < 0)
		return ps_print_help(ps_help_run);
	if (rc != PS_EXIT_OK)
		return rc;
	rc = ps_conf_load(&app.conf, o.file, o.override, o.n_overrides, &e);
	if (rc == -EDOM)
		return ps_usage("run", "%s", e.text);
	if (rc == 0 && ps_conf_select_ports(&app.conf, o.port, o.n_ports, &e) < 0)
		return ps_usage("run", "%s", e.text);
	if (rc == 0)
		rc = ps_conf_check(&app.conf, &e);
	if (rc == 0) {
		rc = ps_lcores_choose(&app.lcores, app.conf.lcores, &e);
		if (rc < 0 && o.lcores[0] != '\0')
			return ps_usage("run", "%s", e.text);
	}
	if (rc == 0) {
		ps_log_level = app.conf.log;
		ps_control_block_signals();
		rc = ps_control_run(&app, argc - optind, argv + optind, &e);
	}
	if (rc == 0)
		return PS_EXIT_OK;
	ps_log(PS_LOG_ERROR, "%s", e.text);
	return PS_EXIT_FAILED;
}
