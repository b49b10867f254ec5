/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the commands share with main.c. A command is int ps_cmd_NAME(int argc, char **argv), where
 * argv[0] is its name; it returns 0 ok, 1 not ready or failed, 2 usage, and prints one line on
 * standard error in the last two cases. */
#ifndef PS_APP_CMD_H
#define PS_APP_CMD_H

int ps_cmd_run(int argc, char **argv);
int ps_cmd_top(int argc, char **argv);
int ps_cmd_flows(int argc, char **argv);
int ps_cmd_feed(int argc, char **argv);
int ps_cmd_bench(int argc, char **argv);
int ps_cmd_load(int argc, char **argv);
int ps_cmd_bridge(int argc, char **argv);
int ps_cmd_check(int argc, char **argv);
int ps_cmd_init(int argc, char **argv);
int ps_cmd_confirm(int argc, char **argv);
int ps_cmd_fini(int argc, char **argv);
int ps_cmd_mem(int argc, char **argv);

extern const char ps_help_run[], ps_help_top[], ps_help_flows[], ps_help_bench[], ps_help_load[];
extern const char ps_help_bridge[];
extern const char ps_help_check[], ps_help_init[], ps_help_confirm[], ps_help_fini[], ps_help_mem[];

/* Prints the one line of a usage mistake; returns 2. */
int ps_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for '?' and ':' of getopt_long(), whose option string starts with "+:". */
int ps_usage_option(const char *command, int opt, char **argv);
/* Prints text on standard output; returns 0. */
int ps_print_help(const char *text);

#endif
