/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The configuration. The first byte of an input says what the rest is: a file (0), lines as given
 * with -o (1), a keypair file (2). */

#include "conf.h"
#include "fuzz_file.h"

#define OVERRIDES 8

static void
check_conf(const struct ps_conf *c)
{
	FUZZ_CHECK(c->n_ports <= PS_CONF_PORTS && c->n_services <= PS_CONF_SERVICES);
	for (unsigned int i = 0; i < c->n_ports; i++) {
		uint32_t addr_be[PS_CONF_ADDRS], n = 0;
		struct ps_err e = {""};

		FUZZ_CHECK(memchr(c->port[i].name, '\0', PS_CONF_NAME) != NULL);
		FUZZ_CHECK(memchr(c->port[i].device, '\0', PS_CONF_STRING) != NULL);
		fuzz_told(ps_conf_addresses(&c->port[i], addr_be, &n, &e), &e);
		FUZZ_CHECK(n <= PS_CONF_ADDRS);
	}
	for (unsigned int i = 0; i < c->n_services; i++) {
		FUZZ_CHECK(memchr(c->service[i].name, '\0', PS_CONF_NAME) != NULL);
		FUZZ_CHECK(c->service[i].n_addrs <= PS_CONF_ADDRS);
		FUZZ_CHECK(c->service[i].port <= UINT16_MAX);
	}
}

static void
keypair(const uint8_t *data, size_t size)
{
	static struct ps_conf c;
	struct ps_err e = {""};
	uint8_t seed[32];

	snprintf(c.tls.keypair, sizeof(c.tls.keypair), "%s", fuzz_file(data, size));
	fuzz_told(ps_conf_keypair(&c, seed, &e), &e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ps_conf c;
	struct ps_err e = {""};
	const char *lines[OVERRIDES];
	char *copy, *rest, *line;
	unsigned int n = 0;
	int rc;

	if (size == 0)
		return 0;
	if (data[0] % 3 == 2) {
		keypair(data + 1, size - 1);
		return 0;
	}
	copy = rest = calloc(1, size);
	memcpy(copy, data + 1, size - 1);
	while (data[0] % 3 == 1 && n < OVERRIDES && (line = strsep(&rest, "\n")) != NULL)
		lines[n++] = line;
	rc = ps_conf_load(&c, n > 0 ? NULL : fuzz_file(data + 1, size - 1), lines, n, &e);
	fuzz_told(rc, &e);
	if (rc == 0) {
		check_conf(&c);
		fuzz_told(ps_conf_check(&c, &e), &e);
	}
	free(copy);
	return 0;
}
