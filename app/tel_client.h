/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A client of the telemetry socket of a running penstock, or of its bridge: flat dictionaries only.
 */
#ifndef PS_APP_TEL_CLIENT_H
#define PS_APP_TEL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ps_err.h"
#include "ps_json.h"

#define PS_TEL_ENTRIES 256 /* as many as a dictionary holds */
#define PS_TEL_KEY     64
#define PS_TEL_TEXT    128

struct ps_tel_entry {
	char key[PS_TEL_KEY];
	bool is_text;
	uint64_t number;
	char text[PS_TEL_TEXT];
};

struct ps_tel_dict {
	unsigned int n;
	struct ps_tel_entry entry[PS_TEL_ENTRIES];
};

/* Returns a descriptor or -errno. */
int ps_tel_open(const char *path);
/* The socket of a file prefix: in /var/run/dpdk for root, else where EAL puts it for a user, or
 * where the units have it; all are tried. Returns a descriptor or -errno. */
int ps_tel_connect(const char *prefix, struct ps_err *e);
/* command: "/penstock/queue,0". -ENOENT when it answers with no dictionary. */
int ps_tel_query(int fd, const char *command, struct ps_tel_dict *d, struct ps_err *e);
const struct ps_tel_entry *ps_tel_find(const struct ps_tel_dict *d, const char *key);
/* 0 when it is not there. */
uint64_t ps_tel_number(const struct ps_tel_dict *d, const char *key);
/* "" when it is not there, or no text. */
const char *ps_tel_text(const struct ps_tel_dict *d, const char *key);
/* Its entries, into the object that is open. */
void ps_tel_put(struct ps_json *j, const struct ps_tel_dict *d);

#endif
