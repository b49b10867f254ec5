/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* An input as steps of one endpoint's life, with ciphers and TLS replaced (fake_protect.h,
 * fake_tls.h). A step is an op byte and
 *   op & 3 == 0, 1  a datagram: two bytes of length, then its bytes; op & 32: it comes in one burst
 *                   with the next one
 *   op & 3 == 2     one byte: so many ms pass, 64 times as many with op & 4
 *   op & 3 == 3     the harness's */
#ifndef PS_FUZZ_SCRIPT_H
#define PS_FUZZ_SCRIPT_H

#include "fake_tls.h"
#include "quic.h"

#define SCRIPT_BURST 8

struct script {
	struct ps_quic *q;
	const struct ps_quic_stats *stats;
	struct ps_drops drops;
	uint64_t now_ns;
	struct fake_tls tls;
	struct ps_datagram datagram[SCRIPT_BURST]; /* that wait for the rest of their burst */
	unsigned int held;
	/* The harness's. drain: takes and judges all that there is to send. make: what the step
	 * brings, in memory of its own that the script frees. other: a step with op & 3 == 3. */
	void (*drain)(void);
	struct ps_datagram (*make)(uint8_t op, const uint8_t *bytes, size_t len);
	void (*other)(uint8_t op);
};

/* A new endpoint in the memory of the last one; limits must always be the same. c: without tls and
 * drops, which are the script's; s: zero but for the harness's functions and tls. */
struct ps_quic *script_start(
	struct script *s, const struct ps_quic_limits *l, const struct ps_quic_config *c);
void script_run(struct script *s, const uint8_t *p, const uint8_t *end);
/* Every connection is closed, judge looks, and a minute later nothing is left. */
void script_end(struct script *s, void (*judge)(void));

#endif
