/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The benches of bench.c's table that have files of their own. Each adds one value per repetition
 * to every row of its result, and answers 0 or -errno with run->e set. */
#ifndef PS_APP_BENCH_RUNS_H
#define PS_APP_BENCH_RUNS_H

#include "ends.h"

int bench_run_open(const struct bench_run *run);
int bench_run_handshake(const struct bench_run *run);
int bench_run_retry(const struct bench_run *run);
int bench_run_unknown_cid(const struct bench_run *run);
int bench_run_classify(const struct bench_run *run);
int bench_run_conns(const struct bench_run *run);
int bench_run_timers(const struct bench_run *run);
int bench_run_scale(const struct bench_run *run);
int bench_run_cores(const struct bench_run *run);
int bench_run_flood(const struct bench_run *run);
int bench_run_stages(const struct bench_run *run);

#endif
