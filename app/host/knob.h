/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A knob is one setting of the machine that init may turn and fini turns back: its kind, what it
 * belongs to, its name there, and a text for a value. Everything that init does is a list of knobs,
 * so that saving, rolling back and restoring are written once (change.c).
 *
 *   kind     target        key                              value
 *   file     path          ""                               first line, of /proc/sys or /sys
 *   setting  interface     as in settings.h                 likewise
 *   driver   PCI address   ""                               name of the kernel driver, or none
 *
 * A knob of something that is not there has the value "absent"; to set that is to do nothing, as it
 * goes with what it belongs to. Main thread. */
#ifndef PS_HOST_KNOB_H
#define PS_HOST_KNOB_H

#include <stdbool.h>
#include <stddef.h>

#include "ps_err.h"
#include "settings.h"

#define PS_KNOB_VALUE  PS_SETTING_BYTES
#define PS_KNOB_ABSENT "absent"

struct ps_knob {
	const char *kind;
	char target[192], key[64];
};

/* A setting of an interface, as drivers-glue/settings.h names it. */
struct ps_knob ps_knob_setting(const char *ifname, const char *key);
/* -EOPNOTSUPP: there is no such setting here. */
int ps_knob_get(const struct ps_knob *k, char value[PS_KNOB_VALUE]);
/* Reads it back: what is accepted without effect fails, with one line in e. */
int ps_knob_set(const struct ps_knob *k, const char *value, struct ps_err *e);
/* The command by which a person does the same; returns text. */
char *ps_knob_command(const struct ps_knob *k, const char *value, char *text, size_t cap);

#endif
