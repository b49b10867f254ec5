/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* How init turns knobs and fini turns them back, through the state file. Main thread. */
#ifndef PS_HOST_CHANGE_H
#define PS_HOST_CHANGE_H

#include <stdbool.h>

#include "state.h"
#include "step.h"

enum ps_outcome {
	PS_CHANGED,   /* init: made */
	PS_REFUSED,   /* init: could not be made */
	PS_KEPT,      /* confirm */
	PS_RESTORED,  /* fini: the old value is back */
	PS_ALREADY,   /* fini: it had the old value */
	PS_FOREIGN,   /* fini: changed by someone else meanwhile, and left alone */
	PS_GONE,      /* fini: its device is not there; kept for when it comes back */
	PS_FORGOTTEN, /* fini: the same, and given up */
	PS_FAILED,
};

/* Called for each change with what came of it and one line about it. */
typedef void ps_report(void *arg, const struct ps_change *c, enum ps_outcome o, const char *why);

const char *ps_outcome_name(enum ps_outcome o);

/* Makes the wishes among the host's rows true, in their order. When one cannot be, all have the
 * values from before this call again, which need not be those of the state file, and e says why. */
int ps_change_all(struct ps_state *s, const struct ps_host *h, ps_report *report, void *arg,
	struct ps_err *e);

/* Restores all changes, the last first. What is restored or foreign leaves the state; what failed
 * stays, and what is gone, unless forget. Returns how many stay, or -errno when the state cannot be
 * written. */
int ps_change_undo(struct ps_state *s, bool forget, ps_report *report, void *arg, struct ps_err *e);

/* The command by which a person gives this change's knob the value; returns text. */
char *ps_change_command(const struct ps_change *c, const char *value, char *text, size_t cap);

#endif
