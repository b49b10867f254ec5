/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* While the program runs: do the validator's ports still fit the services? Reads the file of
 * [penstock] contact_info again whenever it changed, and says once what differs, and once that it
 * does no longer. Control thread; owns no resource. */
#ifndef PS_HOST_DRIFT_H
#define PS_HOST_DRIFT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "conf.h"

struct ps_drift {
	uint64_t due_ns;
	struct stat seen;      /* of the file as last read; all zero: not yet */
	unsigned int failures; /* in a row */
	uint32_t n;            /* services that differ */
	bool differs[PS_CONF_SERVICES];
	bool was_same[PS_CONF_SERVICES];
};

/* Does nothing before the next period of watch_ms, nor without a file. */
void ps_drift_look(struct ps_drift *d, const struct ps_conf *conf, uint64_t now_ns);

#endif
