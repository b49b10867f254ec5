/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Whoever may write PATH.consumer may also truncate it, and reading a mapping beyond the end of its
 * file raises SIGBUS. A guarded mapping is replaced by zero pages when that happens, so that the
 * producer reads a cursor it does not believe instead of dying. Start and stop only. */
#ifndef PS_FEED_GUARD_H
#define PS_FEED_GUARD_H

#include <stddef.h>

/* 0, or -ENOSPC when PS_FEED_GUARDS mappings are guarded already. */
#define PS_FEED_GUARDS 1024
int ps_feed_guard(const void *map, size_t bytes);
void ps_feed_unguard(const void *map);

#endif
