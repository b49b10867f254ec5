/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ps_err.h"

#include <stdarg.h>
#include <stdio.h>

enum ps_log_level ps_log_level = PS_LOG_INFO;

/* What a file or a peer wrote must not end the line or steer the terminal. */
static void
make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int
ps_fail(struct ps_err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (e != NULL) {
		va_start(ap, fmt);
		vsnprintf(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
		make_printable(e->text);
	}
	return -errnum;
}

void
ps_log(enum ps_log_level level, const char *fmt, ...)
{
	static const char *const name[] = {"error: ", "warning: ", "", "debug: "};
	char line[1024];
	va_list ap;

	if (level > ps_log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	make_printable(line);
	fprintf(stderr, "penstock: %s%s\n", name[level], line);
}
