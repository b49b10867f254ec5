/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The record of the drop rules that penstock run has put into physical functions: whoever takes
 * them out after it (its guard, fini, the undo timer, the next run) takes exactly these, whatever
 * the configuration says by then, and none whose meaning is another by now.
 *
 *   penstock-rules BOOT_ID
 *   drop INTERFACE ADDRESS PORT any|LOCATION     one line per rule; a later line for it counts
 *
 * NAME.rules lies beside the state file and only grows: a line is on the disk before the rule is
 * in the driver ("any": wherever the driver has put it), and another one after it. Rules do not
 * outlive a restart of the machine, and neither does what the record says. It is locked for as long
 * as its penstock lives. One per process; the control thread's, or a process's without threads. */
#ifndef PS_HOST_PF_RECORD_H
#define PS_HOST_PF_RECORD_H

#include <stdbool.h>

#include "ntuple.h"
#include "ps_err.h"

/* penstock run: takes the record, after it has taken out what an earlier run left. -EBUSY: another
 * penstock of this name has it. */
int ps_pf_record_open(const char *name, struct ps_err *e);
/* Before each insertion, with RX_CLS_LOC_ANY, and after it. Does nothing when none is open. */
int ps_pf_record_note(const char *ifname, const struct ps_ntuple_rule *rule, struct ps_err *e);
/* The end: takes out what is still there; the file goes when nothing is left. */
void ps_pf_record_close(void);

/* Takes out the recorded rules, those of a living penstock only if owned_too; its record stays.
 * Goes on over what cannot be removed. Returns how many there were, or the first -errno. *gone:
 * those of interfaces that are not there; they stay recorded. */
int ps_pf_record_remove(const char *name, bool owned_too, unsigned int *gone, struct ps_err *e);
/* Forgets what is recorded, unless a living penstock has it. */
void ps_pf_record_forget(const char *name);

#endif
