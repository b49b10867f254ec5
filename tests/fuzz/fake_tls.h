/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* tls.h without cryptography, for harnesses of the engine: sessions, pending steps and their end.
 * What the messages are is the harness's. The linker puts these functions in the place of the real
 * ones (--wrap). */
#ifndef PS_FUZZ_FAKE_TLS_H
#define PS_FUZZ_FAKE_TLS_H

#include "tls.h"

struct fake_session {
	struct ps_tls_io *io; /* NULL: free */
	struct fake_tls *tls;
	const uint8_t *at[2]; /* bytes of a level that run() has not taken */
	uint16_t have[2];
	bool pending;
	/* the harness's */
	bool heard;
	uint32_t number;
};

struct fake_tls {
	bool slow; /* every step answers PENDING first */
	bool held; /* no pending step ends */
	unsigned int sessions, sessions_max;
	/* A step with new bytes in s->at, after which s->io->result says how it ended. */
	void (*run)(struct fake_session *s);
};

/* Forgets the sessions of t. */
void fake_tls_start(
	struct fake_tls *t, unsigned int sessions_max, void (*run)(struct fake_session *s));

#endif
