/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <stdlib.h>

#include <sodium.h>

#include "load.h"

int
ps_load_sign(struct ps_load *l, struct ps_err *e)
{
	uint32_t n = l->o.count < PS_LOAD_SIGNED ? (uint32_t)l->o.count : PS_LOAD_SIGNED;
	size_t at = 0;

	if (sodium_init() < 0)
		return ps_fail(e, EIO, "libsodium does not start");
	l->bytes = malloc((size_t)n * l->o.gen.max + PS_TXGEN_LARGE_SIZE_MAX);
	l->txn = calloc(n, sizeof(*l->txn));
	if (l->bytes == NULL || l->txn == NULL)
		return ps_fail(e, ENOMEM, "no memory for %u transactions; lower --count", n);
	for (uint32_t i = 0; i < n; i++) {
		l->txn[i].at = (uint32_t)at;
		l->txn[i].len = (uint32_t)ps_txgen_make(&l->o.gen, i, l->bytes + at);
		at += l->txn[i].len;
	}
	l->n_txns = n;
	return 0;
}
