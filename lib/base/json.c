/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ps_json.h"

#include <inttypes.h>
#include <math.h>

static void
quoted(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void
lead(struct ps_json *j, const char *key)
{
	if (j->comma)
		fputs(", ", j->out);
	j->comma = true;
	if (key != NULL) {
		quoted(j->out, key);
		fputs(": ", j->out);
	}
}

void
ps_json_open(struct ps_json *j, const char *key, char bracket)
{
	lead(j, key);
	fputc(bracket, j->out);
	j->comma = false;
}

void
ps_json_close(struct ps_json *j, char bracket)
{
	fputc(bracket, j->out);
	j->comma = true;
}

void
ps_json_str(struct ps_json *j, const char *key, const char *value)
{
	lead(j, key);
	quoted(j->out, value);
}

void
ps_json_u64(struct ps_json *j, const char *key, uint64_t value)
{
	lead(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void
ps_json_double(struct ps_json *j, const char *key, double value)
{
	lead(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.3f", value);
	else
		fputs("null", j->out); /* JSON has no word for it */
}

void
ps_json_bool(struct ps_json *j, const char *key, bool value)
{
	lead(j, key);
	fputs(value ? "true" : "false", j->out);
}
