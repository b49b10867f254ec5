/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a TLS library brings to tls.c, which owns sessions, rings and the helper thread. For tls.c
 * only. A library is made on any thread; after that one thread at a time uses it and all its
 * handshakes, the helper or, inline, the engine's. They may allocate. */
#ifndef PS_QUIC_TLS_BACKEND_H
#define PS_QUIC_TLS_BACKEND_H

#include "tls.h"

/* RFC 8446 section 6.2 */
enum {
	PS_TLS_ALERT_UNEXPECTED_MESSAGE = 10,
	PS_TLS_ALERT_DECODE_ERROR = 50,
	PS_TLS_ALERT_INTERNAL_ERROR = 80,
};

struct ps_tls_lib;
struct ps_tls_handshake;

struct ps_tls_lib *ps_tls_lib_new(const struct ps_tls_config *c, struct ps_err *e);
void ps_tls_lib_free(struct ps_tls_lib *lib);

/* io outlives the last step; freeing a handshake does not touch it. NULL: out of memory. */
struct ps_tls_handshake *ps_tls_handshake_new(struct ps_tls_lib *lib, struct ps_tls_io *io);
void ps_tls_handshake_free(struct ps_tls_handshake *h);
/* Consumes io->in, whose level and message boundaries were checked. MORE, DONE, or ALERT with
 * io->alert set; not called again after DONE or ALERT. */
enum ps_tls_result ps_tls_handshake_step(struct ps_tls_handshake *h);

#endif
