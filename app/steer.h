/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Services as selectors: one for each address of each service, numbered from 1 in the order of the
 * configuration, so that everyone (planner, XDP list, workers, telemetry) means the same by a
 * number. Control thread; workers look up their own copies. */
#ifndef PS_APP_STEER_H
#define PS_APP_STEER_H

#include "conf.h"
#include "plan.h"

struct ps_steer {
	unsigned int n;
	struct ps_selector *sel; /* sel[i].id is i + 1; workers as configured, of any port */
	uint16_t *service;       /* index in the configuration */
};

int ps_steer_new(struct ps_steer *s, const struct ps_conf *conf, struct ps_err *e);
void ps_steer_free(struct ps_steer *s);
/* sum[n] += add[n] */
void ps_steer_add(struct ps_steer_count sum[], const struct ps_steer_count add[], unsigned int n);

#endif
