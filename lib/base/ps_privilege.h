/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the calling thread may do beyond what its user may: capabilities(7), which Linux keeps for
 * each thread alone. A set has one bit for each CAP_* of linux/capability.h. Any thread; all of
 * these are safe in a signal handler. */
#ifndef PS_BASE_PRIVILEGE_H
#define PS_BASE_PRIVILEGE_H

#include <stdint.h>

#include <linux/capability.h>

#define PS_CAP(cap) (UINT64_C(1) << (cap))

/* Those it has, in use or not. */
uint64_t ps_privilege_have(void);

/* Of those it has these are in use from now on, and no others. */
int ps_privilege_use(uint64_t set);

/* Gives up all but these for good, here and in every thread made later: no program that is executed
 * gets any (no_new_privs, and no bounding, inheritable or ambient set). */
int ps_privilege_keep(uint64_t set);

#endif
