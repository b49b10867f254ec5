/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a validator prints about itself, compared with one service of each kind. */

#include "contact.h"
#include "fuzz_file.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t kinds[] = {
		PS_SERVICE_UDP, PS_SERVICE_TPU_QUIC, PS_SERVICE_TPU_QUIC_VOTE};
	static struct ps_conf_service s;
	struct ps_contact c;
	struct ps_err e = {""};
	char text[160];
	int rc = ps_contact_parse(&c, (const char *)data, size, &e);

	fuzz_told(rc, &e);
	FUZZ_CHECK(c.n <= PS_CONTACT_SOCKETS && (rc != 0 || c.n > 0));
	FUZZ_CHECK(memchr(c.id, '\0', sizeof(c.id)) != NULL);
	for (unsigned int i = 0; i < c.n; i++) {
		FUZZ_CHECK(memchr(c.socket[i].name, '\0', sizeof(c.socket[i].name)) != NULL);
		FUZZ_CHECK(c.socket[i].addr_be != 0 && c.socket[i].port > 1);
		s.n_addrs = 1;
		s.addr_be[0] = c.socket[i].addr_be;
		s.port = c.socket[i].port;
		for (unsigned int k = 0; k < 3; k++) {
			s.kind = kinds[k];
			memset(text, 0, sizeof(text));
			FUZZ_CHECK(ps_contact_compare(&c, &s, text, sizeof(text)) <=
				   PS_CONTACT_KERNEL);
			FUZZ_CHECK(text[0] != '\0' && strpbrk(text, "\r\n") == NULL);
		}
	}
	return 0;
}
