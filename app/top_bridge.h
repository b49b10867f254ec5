/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What penstock top shows of a bridge. It comes and goes, and drops clients when there are many: at
 * each look one that does not answer is connected to again. */
#ifndef PS_APP_TOP_BRIDGE_H
#define PS_APP_TOP_BRIDGE_H

#include "tel_command.h"

struct ps_top_bridge {
	bool there;
	uint64_t at_ns;
	struct ps_tel_dict info, stats, latency;
};

/* That of --bridge, else that of the instance; -1 when there is none. */
int ps_top_bridge_connect(const struct ps_tel_options *o);
/* fd: -1 when it is not there. */
void ps_top_bridge_take(const struct ps_tel_options *o, int *fd, struct ps_top_bridge *s);
void ps_top_bridge_json(const struct ps_top_bridge *s, struct ps_json *j);
void ps_top_bridge_print(const struct ps_top_bridge *s, const struct ps_top_bridge *before);

#endif
