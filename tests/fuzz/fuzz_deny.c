/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A deny list. What is read is sorted, each prefix once and without bits beyond its length, and
 * written again is the same list. */

#include <arpa/inet.h>

#include "deny.h"
#include "fuzz_file.h"

static void
check_again(const struct ps_deny *d)
{
	char *text = malloc(d->n * 20 + 1), *p = text;
	struct ps_deny again;
	struct ps_err e = {""};

	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t a = ntohl(d->prefix[i].addr_be);

		p += sprintf(p, "%u.%u.%u.%u/%u\n", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255,
			d->prefix[i].bits);
	}
	FUZZ_CHECK(ps_deny_load(&again, fuzz_file((uint8_t *)text, p - text), &e) == 0);
	FUZZ_CHECK(again.n == d->n);
	FUZZ_CHECK(d->n == 0 || memcmp(again.prefix, d->prefix, d->n * sizeof(*d->prefix)) == 0);
	ps_deny_free(&again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ps_deny d;
	struct ps_err e = {""};
	int rc = ps_deny_load(&d, fuzz_file(data, size), &e);

	fuzz_told(rc, &e);
	FUZZ_CHECK(d.n <= PS_STEER_DENIES && (rc == 0 || (d.n == 0 && d.prefix == NULL)));
	for (uint32_t i = 0; i < d.n; i++) {
		FUZZ_CHECK(d.prefix[i].bits >= 1 && d.prefix[i].bits <= 32);
		FUZZ_CHECK(((uint64_t)ntohl(d.prefix[i].addr_be) << d.prefix[i].bits &
				   UINT32_MAX) == 0);
		FUZZ_CHECK(ps_deny_has(&d, &d.prefix[i]));
	}
	if (rc == 0)
		check_again(&d);
	ps_deny_free(&d);
	return 0;
}
