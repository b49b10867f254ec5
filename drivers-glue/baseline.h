/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What decides by which queue of the kernel's interface a packet comes: channels, rings,
 * indirection table and hash key, hashed fields. As they were when the port was installed, so that
 * a change by somebody else is seen, and taken back.
 *
 * Control thread. Owns the texts from take to free. */
#ifndef PS_GLUE_BASELINE_H
#define PS_GLUE_BASELINE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "ps_err.h"

/* Where settings are read and set, which tests replace. */
struct ps_setting_ops {
	int (*get)(
		const char *ifname, const char *key, char *text, size_t size, struct ps_err *err);
	int (*set)(const char *ifname, const char *key, const char *text, struct ps_err *err);
};

extern const struct ps_setting_ops ps_setting_ops_kernel;

#define PS_BASELINE_SETTINGS 4

struct ps_baseline {
	const struct ps_setting_ops *ops;
	char ifname[IF_NAMESIZE];
	char *text[PS_BASELINE_SETTINGS]; /* NULL: the interface has no such setting */
};

/* Fills *b, which has nothing to free after a failure. */
int ps_baseline_take(struct ps_baseline *b, const char *ifname, const struct ps_setting_ops *ops,
	struct ps_err *err);
/* 0: as it was. -ESTALE with a line that names the first that is not. Others: cannot be read. */
int ps_baseline_verify(const struct ps_baseline *b, struct ps_err *err);
/* Sets what is not as it was. */
int ps_baseline_restore(const struct ps_baseline *b, struct ps_err *err);
void ps_baseline_free(struct ps_baseline *b);

#endif
