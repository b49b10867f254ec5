/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What stands against touching a port: a way in that leads over it, or somebody who uses it. */
#ifndef PS_HOST_USE_H
#define PS_HOST_USE_H

#include "conf.h"
#include "state.h"

/* -EBUSY: an interface of a port, its PF, or one that its PCI device still has, carries the default
 * route, an SSH session, a bond or a bridge. */
int ps_use_way_in(const struct ps_conf *conf, struct ps_err *e);
/* -EBUSY: a penstock of this name runs or hangs, or a process has a device open that is to be given
 * back. */
int ps_use_busy(const struct ps_conf *conf, const struct ps_state *s, struct ps_err *e);
/* Is a penstock of this name there, alive or stopped? */
bool ps_use_running(const char *name);
/* Who has this open, a path or "socket:[INODE]"; false: nobody that can be seen. */
bool ps_use_opener(const char *file, char pid[16]);
/* Takes a killed penstock's XDP program off the interfaces. Nobody of this name runs. Returns how
 * many there were; one that does not come off is logged. */
int ps_use_stale_programs(const struct ps_conf *conf);

#endif
