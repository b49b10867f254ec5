/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "deny.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int
ps_deny_load(struct ps_deny *d, const char *file, struct ps_err *e)
{
	FILE *f = fopen(file, "re");
	char line[LINE_BYTES];
	int rc = 0;

	*d = (struct ps_deny){0};
	if (f == NULL)
		return ps_fail(e, errno,
			"deny list: cannot read %s: %s; give a file with one IPv4 prefix a line",
			file, strerror(errno));
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
	return rc;
}

void
ps_deny_free(struct ps_deny *d)
{
	free(d->prefix);
	*d = (struct ps_deny){0};
}
