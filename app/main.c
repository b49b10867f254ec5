/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "conf.h"
#include "ps_drops.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_version.h>

static int help(int argc, char **argv);
static int version(int argc, char **argv);

static const char help_help[] = "usage: penstock help [COMMAND|config|drops]\n"
				"\n"
				"Without a word all commands; config: every option of the "
				"configuration; drops: every reason\n"
				"to drop.\n";
static const char help_version[] = "usage: penstock version\n"
				   "\n"
				   "The versions of penstock and DPDK.\n";

static const struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: the command prints it for --help */
} commands[] = {
	{"check", "is this host ready? changes nothing", ps_cmd_check, ps_help_check},
	{"init", "prepare it, and remember how it was", ps_cmd_init, ps_help_init},
	{"confirm", "keep what init did", ps_cmd_confirm, ps_help_confirm},
	{"run", "receive the configured services", ps_cmd_run, ps_help_run},
	{"top", "show a running penstock", ps_cmd_top, ps_help_top},
	{"flows", "show how its packets are brought to it, and prove it", ps_cmd_flows,
		ps_help_flows},
	{"fini", "put back what init changed", ps_cmd_fini, ps_help_fini},
	{"mem", "memory that a configuration takes", ps_cmd_mem, ps_help_mem},
	{"feed", "print the records of a feed", ps_cmd_feed, NULL},
	{"bench", "measure what packets and handshakes cost, in memory", ps_cmd_bench,
		ps_help_bench},
	{"load", "send signed transactions to a TPU port", ps_cmd_load, ps_help_load},
	{"bridge", "deliver feeds to a validator over TPU QUIC or UDP", ps_cmd_bridge,
		ps_help_bridge},
	{"help", "help COMMAND, help config (all options), help drops", help, help_help},
	{"version", "versions of penstock and DPDK", version, help_version},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

int
ps_usage(const char *command, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "penstock %s: %s; see penstock help %s\n", command, text, command);
	return 2;
}

int
ps_usage_option(const char *command, int opt, char **argv)
{
	char shorter[3] = {'-', (char)optopt, '\0'};
	const char *name = argv[optind - 1];

	/* A long option leaves no letter of its own, or the value of one that is known. */
	if (optopt != 0 && strncmp(name, "--", 2) != 0)
		name = shorter;
	return ps_usage(command, opt == ':' ? "%s needs a value" : "unknown option %s", name);
}

int
ps_print_help(const char *text)
{
	fputs(text, stdout);
	return 0;
}

static const struct command *
find_command(const char *name)
{
	for (unsigned int i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void
print_overview(void)
{
	printf("usage: penstock COMMAND [ARGUMENTS]\n\n");
	for (unsigned int i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].summary);
	printf("\nExit codes: 0 done, 1 not ready or failed, 2 usage.\n");
}

static void
print_drops(void)
{
	for (int i = 0; i < PS_DROP_COUNT; i++)
		printf("%-20s %s\n", ps_drop_info[i].key, ps_drop_info[i].help);
}

static int
help(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;
	char *help_args[] = {argv[1], "--help", NULL};

	if (argc > 2)
		return ps_usage("help", "unexpected '%s'", argv[2]);
	if (c != NULL && c->help != NULL)
		return ps_print_help(c->help);
	if (c != NULL)
		return c->run(2, help_args);
	if (argc < 2)
		print_overview();
	else if (strcmp(argv[1], "config") == 0)
		ps_conf_help(stdout);
	else if (strcmp(argv[1], "drops") == 0)
		print_drops();
	else
		return ps_usage("help", "there is no command '%s'", argv[1]);
	return 0;
}

static int
version(int argc, char **argv)
{
	if (argc > 1)
		return ps_usage("version", "unexpected '%s'", argv[1]);
	printf("penstock %s, %s\n", PS_VERSION, rte_version());
	return 0;
}

/* What was printed and did not arrive is a failure of every command. */
static int
end(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "penstock: cannot write to standard output: %s; send it elsewhere\n",
		strerror(errno != 0 ? errno : EIO));
	return code != 0 ? code : 1;
}

int
main(int argc, char **argv)
{
	const struct command *c;
	const char *name = argv[1];

	if (argc < 2) {
		fprintf(stderr, "penstock: a command is missing; see penstock help\n");
		return 2;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	else if (strcmp(name, "--version") == 0)
		name = "version";
	c = find_command(name);
	if (c == NULL) {
		fprintf(stderr, "penstock: unknown command '%s'; see penstock help\n", name);
		return 2;
	}
	return end(c->run(argc - 1, argv + 1));
}
