/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Small files of the kernel as text: /proc and /sys. Main thread; nothing is kept open. */
#ifndef PS_HOST_TEXT_H
#define PS_HOST_TEXT_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first line, without its end and trailing blanks; -errno. */
int ps_text_read(const char *path, char *text, size_t cap);
int ps_text_write(const char *path, const char *text);
/* The whole of a file below max bytes, to be freed. -E2BIG, -EINVAL when it holds a zero byte. */
int ps_text_load(const char *path, size_t max, char **text);
/* A number alone on the first line; false when there is none. */
bool ps_text_number(const char *path, int64_t *value);
/* "0-3,6" on the first line, as a set; an empty line is the empty set. */
bool ps_text_cpus(const char *path, cpu_set_t *set);
/* The other way; returns text. */
char *ps_text_cpu_list(const cpu_set_t *set, char *text, size_t cap);
/* The last component of what a symbolic link names; false when there is no link. */
bool ps_text_link(const char *path, char *text, size_t cap);
bool ps_text_exists(const char *path);
/* printf into a path and ps_text_exists(). */
bool ps_text_existsf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
