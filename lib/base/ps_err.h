/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Errors and log lines for people.
 *
 * A function that can fail returns 0 or a negative errno value and, where a user will read the
 * cause, fills a struct ps_err with one line: what went wrong and what mends it. The line is
 * printed once, by the command that gave up. The packet path uses neither: it counts (ps_drops.h).
 */
#ifndef PS_BASE_ERR_H
#define PS_BASE_ERR_H

struct ps_err {
	char text[512];
};

/* Fills e (which may be NULL), control characters as '?', and returns -errnum, so that a caller can
 * write: return ps_fail(...)
 */
int ps_fail(struct ps_err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

enum ps_log_level { PS_LOG_ERROR, PS_LOG_WARN, PS_LOG_INFO, PS_LOG_DEBUG };

/* Lines above this level are dropped; default PS_LOG_INFO. Set before threads start. */
extern enum ps_log_level ps_log_level;

/* One line on standard error. Any thread but a worker. */
void ps_log(enum ps_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
