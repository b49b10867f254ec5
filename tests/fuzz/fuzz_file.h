/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* For parsers that open what they read: the input as a file, in memory. */
#ifndef PS_FUZZ_FILE_H
#define PS_FUZZ_FILE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "ps_err.h"

/* The name of a file with these bytes; good until the next call. */
static inline const char *
fuzz_file(const uint8_t *data, size_t size)
{
	static char name[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	}
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
	FUZZ_CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
	return name;
}

/* A failure is told in one line, success in none. */
static inline void
fuzz_told(int rc, const struct ps_err *e)
{
	FUZZ_CHECK(rc <= 0 && (rc == 0) == (e->text[0] == '\0'));
	FUZZ_CHECK(strlen(e->text) < sizeof(e->text) && strpbrk(e->text, "\r\n") == NULL);
}

#endif
