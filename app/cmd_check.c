/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "cmd_host.h"

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
check(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e)
{
	static const char not_ready[] = "not ready: see the rows marked not";
	static struct ps_conf conf;
	static struct ps_host host;
	unsigned int wishes;
	bool ready;
	int rc = ps_host_open(&host, &conf, o->file, e);

	if (rc < 0)
		return rc;
	host.contact_file = o->contact_file;
	ps_host_look(&host);
	ready = ps_host_ready(&host);
	wishes = ps_host_wishes(&host);
	ps_rows_begin(r, conf.name);
	ps_rows_add_host(r, &host);
	ps_rows_close(r);
	if (wishes > 0 && !o->json)
		printf("* penstock init -c %s does these %u, and penstock fini undoes them\n",
			o->file, wishes);
	ps_rows_end(r, ready, ready ? "ready" : not_ready);
	if (!ready && !o->json)
		printf("%s\n", not_ready);
	ps_host_close(&host);
	return !ready;
}

int
ps_cmd_check(int argc, char **argv)
{
	return ps_host_command(argc, argv, "i", ps_help_check, check);
}
