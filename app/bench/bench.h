/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* In-memory measurements of the receive path, behind `penstock bench`. Packets are made, copied and
 * checked outside the measured time; what a bench compares is measured in turn in every repetition,
 * so that a machine that slows down slows all of it. */
#ifndef PS_APP_BENCH_H
#define PS_APP_BENCH_H

#include <signal.h>
#include <stdbool.h>

#include "ps_err.h"

#define PS_BENCH_MIN_SIZE  134
#define PS_BENCH_MAX_SIZE  4096
#define PS_BENCH_MAX_CONNS 100000
#define PS_BENCH_MAX_REPS  1000
#define PS_BENCH_MAX_FLOOD 20000000
#define PS_BENCH_MAX_HS    100000
#define PS_BENCH_MAX_ROWS  40

struct ps_bench_options {
	const char *what;
	unsigned int size, conns, reps;
	unsigned int flood_pps;  /* `flood`: Initials per second */
	unsigned int handshakes; /* `flood`: handshakes per second */
};

/* One figure, measured in each repetition. */
struct ps_bench_row {
	char what[40];
	const char *unit;
	unsigned int n;
	double value[PS_BENCH_MAX_REPS];
};

struct ps_bench_result {
	unsigned int n;
	struct ps_bench_row row[PS_BENCH_MAX_ROWS];
};

bool ps_bench_known(const char *what);
/* "open, ingest, .." for usage messages. */
const char *ps_bench_names(void);
/* The library that does the public-key operations. */
const char *ps_bench_curves(void);
/* Fills r. Gives up with -EINTR when *stop becomes non-zero. */
int ps_bench_run(const struct ps_bench_options *o, struct ps_bench_result *r,
	const volatile sig_atomic_t *stop, struct ps_err *e);

#endif
