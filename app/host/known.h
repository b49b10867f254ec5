/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Drivers and kernels that are known not to do what a port asks of them, as a table. Without I/O;
 * for penstock check. */
#ifndef PS_HOST_KNOWN_H
#define PS_HOST_KNOWN_H

#include <stdbool.h>

/* What the configuration asks of an interface's kernel driver; bits. */
enum ps_use {
	PS_USE_AF_XDP = 1,
	PS_USE_UDP_RULES = 2,    /* ntuple rules that lead to queues: layout = dedicated */
	PS_USE_DROP_RULES = 4,   /* ntuple rules that drop: for a VF with its PF's address */
	PS_USE_VF = 8,           /* a virtual function of it */
	PS_USE_UNTRUSTED_VF = 16 /* and vf_trust = off */
};

struct ps_known {
	const char *driver;
	unsigned int uses;           /* any of these */
	unsigned int from[2], to[2]; /* kernels from, up to but not including to; 0.0: open */
	bool fatal;                  /* it cannot work; else worse than it could */
	const char *why, *remedy;    /* "": nothing to do */
};

/* The first row that fits, behind after (NULL: of all); NULL: there is none. */
const struct ps_known *ps_known_next(const struct ps_known *after, const char *driver,
	const unsigned int kernel[2], unsigned int uses);

#endif
