/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The state file of init and fini: what was changed, with the value before, in the order of the
 * changes. It is written to the disk before each change and once more after it, so that whatever
 * ends init, fini knows what to put back.
 *
 *   penstock-state 1
 *   boot BOOT_ID
 *   undo DEADLINE_NS                   only while init waits for confirm; CLOCK_BOOTTIME
 *   open|done KIND TARGET KEY OLD NEW  one line per change, separated by tabs
 *   end COUNT                          of the changes
 *
 * open: the change was about to be made, and may or may not have been. No value holds a control
 * character. Main thread; owns its strings. */
#ifndef PS_HOST_STATE_H
#define PS_HOST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ps_err.h"

#define PS_STATE_CHANGES 1024
#define PS_STATE_PATH    256

struct ps_change {
	bool done;
	char *kind, *target, *key, *old, *new_value;
};

struct ps_state {
	char path[PS_STATE_PATH];
	char boot[64];
	int lock_fd;
	uint64_t undo_ns; /* 0: none is waiting */
	unsigned int n;
	struct ps_change change[PS_STATE_CHANGES];
};

/* The path of NAME.SUFFIX in $STATE_DIRECTORY (as systemd sets it) or /var/lib/penstock, which is
 * made. */
int ps_state_path(char path[PS_STATE_PATH], const char *name, const char *suffix, struct ps_err *e);
/* What was renamed or made beside path is on the disk when this returns. */
int ps_state_sync_directory(const char *path);
/* Another one after each restart of the machine. */
void ps_state_boot_id(char *text, size_t cap);

/* Takes the lock of NAME's state and reads the file if there is one. -EBUSY: another command holds
 * it. */
int ps_state_open(struct ps_state *s, const char *name, struct ps_err *e);
void ps_state_close(struct ps_state *s);

/* The same without lock and file: text is changed. Fills what ps_state_write() writes. */
int ps_state_parse(struct ps_state *s, char *text, struct ps_err *e);

/* Replaces the file as a whole, on the disk when it returns; without changes and undo it removes
 * it. */
int ps_state_write(const struct ps_state *s, struct ps_err *e);

struct ps_change *ps_state_find(
	struct ps_state *s, const char *kind, const char *target, const char *key);
/* Adds an open change, in memory only; NULL when there are too many or a value cannot be kept. */
struct ps_change *ps_state_add(struct ps_state *s, const char *kind, const char *target,
	const char *key, const char *old, const char *new_value);
void ps_state_remove(struct ps_state *s, unsigned int index);

/* The machine has been restarted since the file was written. */
bool ps_state_rebooted(const struct ps_state *s);
/* CLOCK_BOOTTIME in ns. */
uint64_t ps_state_now_ns(void);

#endif
