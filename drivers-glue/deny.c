/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "deny.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 256

/* A length of 0 would deny everybody, which is no list but a service too many. */
static bool
parse_bits(const char *text, uint32_t *bits)
{
	unsigned long n;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	n = strtoul(text, &end, 10);
	*bits = (uint32_t)n;
	return *end == '\0' && n >= 1 && n <= 32;
}

static int
parse_prefix(char *text, struct ps_steer_prefix *p)
{
	char *slash = strchr(text, '/');
	struct in_addr addr;

	p->bits = 32;
	if (slash != NULL) {
		*slash = '\0';
		if (!parse_bits(slash + 1, &p->bits))
			return -EINVAL;
	}
	if (inet_pton(AF_INET, text, &addr) != 1)
		return -EINVAL;
	p->addr_be = addr.s_addr;
	return (ntohl(addr.s_addr) & ~(UINT32_MAX << (32 - p->bits))) != 0 ? -ERANGE : 0;
}

static int
read_line(struct ps_deny *d, char *line, const char *file, unsigned int number, struct ps_err *e)
{
	const bool whole = strlen(line) < LINE_BYTES - 1;
	char *text, *rest, copy[64];
	int rc;

	line[strcspn(line, "#")] = '\0';
	text = strtok_r(line, " \t\r\n", &rest);
	if (text == NULL && whole)
		return 0;
	if (!whole || strtok_r(NULL, " \t\r\n", &rest) != NULL)
		return ps_fail(
			e, EINVAL, "deny list %s:%u: give one IPv4 prefix a line", file, number);
	if (d->n == PS_STEER_DENIES)
		return ps_fail(e, E2BIG,
			"deny list %s:%u: more than %u prefixes; join neighbours into shorter "
			"prefixes",
			file, number, PS_STEER_DENIES);
	snprintf(copy, sizeof(copy), "%s", text);
	rc = parse_prefix(text, &d->prefix[d->n]);
	if (rc == -ERANGE)
		return ps_fail(e, EINVAL,
			"deny list %s:%u: '%s' has bits beyond its length; set them to zero", file,
			number, copy);
	if (rc < 0)
		return ps_fail(e, EINVAL,
			"deny list %s:%u: '%s' is no IPv4 prefix; write it as 192.0.2.0/24, with a "
			"length of 1 to 32",
			file, number, copy);
	d->n++;
	return 0;
}

/* Of a file only: opening a pipe would wait for its writer. */
static int
open_file(FILE **f, const char *file, struct ps_err *e)
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc = fd < 0 ? errno : 0;

	if (rc == 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		rc = EINVAL;
	if (rc == 0) {
		*f = fdopen(fd, "r");
		rc = *f != NULL ? 0 : errno;
	}
	if (rc == 0)
		return 0;
	if (fd >= 0)
		close(fd);
	return ps_fail(e, rc,
		"deny list: cannot read %s: %s; give a file with one IPv4 prefix a line", file,
		strerror(rc));
}

static int
compare(const void *a, const void *b)
{
	const struct ps_steer_prefix *x = a, *y = b;

	if (x->addr_be != y->addr_be)
		return x->addr_be < y->addr_be ? -1 : 1;
	return x->bits < y->bits ? -1 : x->bits > y->bits;
}

static void
sort(struct ps_deny *d)
{
	uint32_t n = 0;

	qsort(d->prefix, d->n, sizeof(*d->prefix), compare);
	for (uint32_t i = 0; i < d->n; i++)
		if (n == 0 || compare(&d->prefix[n - 1], &d->prefix[i]) != 0)
			d->prefix[n++] = d->prefix[i];
	d->n = n;
}

bool
ps_deny_has(const struct ps_deny *d, const struct ps_steer_prefix *p)
{
	return d->n > 0 && bsearch(p, d->prefix, d->n, sizeof(*p), compare) != NULL;
}

int
ps_deny_load(struct ps_deny *d, const char *file, struct ps_err *e)
{
	char line[LINE_BYTES];
	FILE *f;
	int rc = open_file(&f, file, e);

	*d = (struct ps_deny){0};
	if (rc < 0)
		return rc;
	d->prefix = calloc(PS_STEER_DENIES, sizeof(*d->prefix));
	if (d->prefix == NULL)
		rc = ps_fail(e, ENOMEM, "out of memory");
	for (unsigned int n = 1; rc == 0 && fgets(line, sizeof(line), f) != NULL; n++)
		rc = read_line(d, line, file, n, e);
	if (rc == 0 && ferror(f))
		rc = ps_fail(e, EIO, "deny list: cannot read %s; give a file", file);
	fclose(f);
	if (rc < 0)
		ps_deny_free(d);
	else
		sort(d);
	return rc;
}

void
ps_deny_free(struct ps_deny *d)
{
	free(d->prefix);
	*d = (struct ps_deny){0};
}
