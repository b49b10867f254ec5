/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What check, init, confirm, fini and mem share: their command line, and their rows. With --json
 * each prints one object, whatever happens:
 *
 *   {"name": INSTANCE, "steps": [{"name", "subject", "state", "why", "remedy"}, ...], "ok", "text"}
 *
 * state is ok, not, partial or skip; remedy the command that mends it, or "". Rows of check and mem
 * have init (true: penstock init does it), those of init and fini outcome (enum ps_outcome). mem
 * adds nodes and items. */
#ifndef PS_APP_CMD_HOST_H
#define PS_APP_CMD_HOST_H

#include <stdbool.h>

#include "host/step.h"
#include "ps_err.h"
#include "ps_json.h"

struct ps_host_options {
	const char *file, *contact_file;
	bool json, way_in, rules_only, forget;
	double undo_minutes;
};

struct ps_rows {
	bool json, begun;
	struct ps_json j;
	unsigned int n;
};

struct ps_line {
	const char *name, *subject, *state, *why, *remedy;
	const char *outcome; /* NULL: none; else what people see in place of the state */
	bool has_init, init;
};

/* Its own options, each a letter of: i --contact-info, w --i-have-another-way-in, u --undo-after,
 * r --rules-only, f --forget. run returns 0, -errno with e, or 1 for failed without a word. */
int ps_host_command(int argc, char **argv, const char *own, const char *help_text,
	int (*run)(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e));

void ps_rows_begin(struct ps_rows *r, const char *instance);
void ps_rows_add(struct ps_rows *r, const struct ps_line *line);
void ps_rows_add_host(struct ps_rows *r, const struct ps_host *h);
/* The last row; other keys of the object may follow before its end. */
void ps_rows_close(struct ps_rows *r);
void ps_rows_end(struct ps_rows *r, bool ok, const char *text);

#endif
