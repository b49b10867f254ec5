/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The timer that takes back what init did unless penstock confirm is run: a small process of its
 * own session, which outlives shell and connection. It sleeps until the deadline in the state file,
 * looks whether that still stands, and then restores as fini does, even while the port is in use:
 * its purpose is to give an operator the way in again. What fails it tries again every ten seconds.
 * It writes to syslog. A logind with KillUserProcesses=yes, or the end of a systemd unit that ran
 * init, ends it too. */
#ifndef PS_HOST_UNDO_H
#define PS_HOST_UNDO_H

#include "conf.h"
#include "state.h"

/* Starts the timer for s->undo_ns, which is in the file already. The caller goes on. */
int ps_undo_start(const struct ps_state *s, const struct ps_conf *conf, struct ps_err *e);

#endif
