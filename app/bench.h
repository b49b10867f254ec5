/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* In-memory measurements of the receive path, behind `penstock bench`. Each repetition runs a fixed
 * number of 64-packet bursts; packets are made, copied and checked outside the measured time. */
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

struct ps_bench_options {
	const char *what;
	unsigned int size, conns, reps;
	unsigned int flood_pps; /* `flood`: Initials per second */
};

struct ps_bench_result {
	double ns[PS_BENCH_MAX_REPS];       /* per packet */
	double flood_ns[PS_BENCH_MAX_REPS]; /* `flood`: per Initial */
	double kept[PS_BENCH_MAX_REPS]; /* `flood`: share of the established load still served */
};

bool ps_bench_known(const char *what);
/* Fills reps results. Gives up with -EINTR when *stop becomes non-zero. */
int ps_bench_run(const struct ps_bench_options *o, struct ps_bench_result *r,
	const volatile sig_atomic_t *stop, struct ps_err *e);

#endif
