/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A command that shows something of a running penstock: which one, one flag of its own, perhaps the
 * path of another socket, --json. */
#ifndef PS_APP_TEL_COMMAND_H
#define PS_APP_TEL_COMMAND_H

#include <stdbool.h>

#include "tel_client.h"

struct ps_tel_options {
	char prefix[128]; /* EAL's file prefix of the instance */
	const char *path; /* NULL: not given */
	bool flag, json;
};

struct ps_tel_command {
	const char *name, *help;
	const char *flag; /* without the dashes */
	const char *path; /* the same; NULL: there is none */
	int (*show)(const struct ps_tel_options *o, struct ps_err *e);
};

/* Parses and shows; returns the exit code, with its line printed. */
int ps_tel_command(const struct ps_tel_command *c, int argc, char **argv);

#endif
