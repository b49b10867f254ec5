/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Time is int64-safe nanoseconds of CLOCK_MONOTONIC, read once per burst by the caller and passed
 * down as now_ns. Nothing below the worker loop reads a clock. */
#ifndef PS_BASE_TIME_H
#define PS_BASE_TIME_H

#include <stdint.h>
#include <time.h>

#define PS_US_NS  UINT64_C(1000)
#define PS_MS_NS  UINT64_C(1000000)
#define PS_SEC_NS UINT64_C(1000000000)
#define PS_NEVER  UINT64_MAX

static inline uint64_t
ps_clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * PS_SEC_NS + (uint64_t)ts.tv_nsec;
}

static inline uint64_t
ps_now_ns(void)
{
	return ps_clock_ns(CLOCK_MONOTONIC);
}

#endif
