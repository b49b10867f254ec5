/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A streaming JSON writer: commas and quotes are its business, nesting the caller's.
 * Keys and strings are escaped; numbers are integers or fixed-point. */
#ifndef PS_BASE_JSON_H
#define PS_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ps_json {
	FILE *out;
	bool comma;
};

void ps_json_open(
	struct ps_json *j, const char *key, char bracket); /* '{' or '['; key may be NULL */
void ps_json_close(struct ps_json *j, char bracket);       /* '}' or ']' */
void ps_json_str(struct ps_json *j, const char *key, const char *value);
void ps_json_u64(struct ps_json *j, const char *key, uint64_t value);
void ps_json_double(struct ps_json *j, const char *key, double value);
void ps_json_bool(struct ps_json *j, const char *key, bool value);

#endif
