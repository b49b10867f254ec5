/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What telemetry.c and telemetry_flows.c share. Each command fills a dictionary that is already
 * begun, under telemetry's lock; params: what follows the comma, or NULL. */
#ifndef PS_APP_TELEMETRY_H
#define PS_APP_TELEMETRY_H

#include <stdint.h>

#include <rte_telemetry.h>

#include "app.h"

void ps_tel_u64(struct rte_tel_data *d, const char *key, uint64_t value);

int ps_tel_flows(struct ps_app *app, const char *params, struct rte_tel_data *d);
int ps_tel_flow(struct ps_app *app, const char *params, struct rte_tel_data *d);
int ps_tel_verify(struct ps_app *app, const char *params, struct rte_tel_data *d);

#endif
