/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Least privilege while serving: once ports are up, workers run and telemetry answers, every thread
 * keeps only what the watch, putting back and the end need on the paths that the ports have taken.
 * Workers keep nothing from their start on (worker.c). Control thread. */
#ifndef PS_APP_PRIVILEGE_H
#define PS_APP_PRIVILEGE_H

#include "ps_err.h"

#define PS_PRIVILEGE_TEXT 96

struct ps_app;

/* Writes what is left into app->privileges, such as "net_admin", "none". -EPERM, with a line in e:
 * a thread still has more. */
int ps_privilege_settle(struct ps_app *app, struct ps_err *e);

#endif
