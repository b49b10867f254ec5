/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"

int
ps_text_read(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, cap - 1);
	if (n < 0) {
		n = -errno;
		close(fd);
		return (int)n;
	}
	close(fd);
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (n = (ssize_t)strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
		text[n - 1] = '\0';
	return 0;
}

int
ps_text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc = 0;
	const size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		rc = errno != 0 ? -errno : -EIO;
	close(fd);
	return rc;
}

int
ps_text_load(const char *path, size_t max, char **text)
{
	size_t n = 0, cap = 4096;
	FILE *f = fopen(path, "re");
	char *buf = NULL;
	int rc = 0;

	if (f == NULL)
		return -errno;
	do {
		char *larger = realloc(buf, cap);

		if (larger == NULL) {
			rc = -ENOMEM;
			break;
		}
		buf = larger;
		n += fread(buf + n, 1, cap - 1 - n, f);
		rc = ferror(f) ? -EIO : n >= max ? -E2BIG : 0;
		cap *= 2;
	} while (rc == 0 && !feof(f));
	fclose(f);
	if (rc == 0 && memchr(buf, '\0', n) != NULL)
		rc = -EINVAL;
	if (rc < 0) {
		free(buf);
		return rc;
	}
	buf[n] = '\0';
	*text = buf;
	return 0;
}

bool
ps_text_number(const char *path, int64_t *value)
{
	char text[64], *end;

	if (ps_text_read(path, text, sizeof(text)) < 0 || text[0] == '\0')
		return false;
	*value = strtoll(text, &end, 10);
	return *end == '\0';
}

bool
ps_text_cpus(const char *path, cpu_set_t *set)
{
	char text[4096];

	CPU_ZERO(set);
	if (ps_text_read(path, text, sizeof(text)) < 0)
		return false;
	return text[0] == '\0' || ps_conf_list(text, CPU_SETSIZE, set);
}

char *
ps_text_cpu_list(const cpu_set_t *set, char *text, size_t cap)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < CPU_SETSIZE && used < cap; i++) {
		int last = i;

		if (!CPU_ISSET(i, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		used += (size_t)snprintf(text + used, cap - used, last > i ? "%s%d-%d" : "%s%d",
			used > 0 ? "," : "", i, last);
		i = last;
	}
	return text;
}

bool
ps_text_link(const char *path, char *text, size_t cap)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	if (n < 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(text, cap, "%s", slash != NULL ? slash + 1 : target);
	return true;
}

bool
ps_text_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool
ps_text_existsf(const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return ps_text_exists(path);
}
