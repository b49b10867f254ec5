/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Counts allocations while one of the endpoint's calls runs. Every allocation of the process is
 * seen, by interposition (under AddressSanitizer by its hooks); those that happen inside tls.h are
 * counted apart: they are the TLS library's, of which a server with the built-in TLS has none. The
 * linker's --wrap marks where the calls begin and end: see wrapped in meson.build. */
#ifndef PS_TEST_ALLOC_SEEN_H
#define PS_TEST_ALLOC_SEEN_H

#include <stdbool.h>
#include <stdint.h>

/* volatile: the compiler knows that malloc() neither reads nor writes them */
extern volatile bool in_engine, in_tls;
/* nested: inside tls.h, called by the endpoint. */
extern volatile uint64_t engine_calls, engine_allocations, tls_allocations, nested_allocations;

void alloc_seen_reset(void);

#endif
