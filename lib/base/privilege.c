/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ps_privilege.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sets {
	struct __user_cap_data_struct word[_LINUX_CAPABILITY_U32S_3];
};

static long
call(long number, struct sets *s)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(number, &head, s->word);
}

uint64_t
ps_privilege_have(void)
{
	struct sets s = {0};

	if (call(SYS_capget, &s) < 0)
		return 0;
	return s.word[0].permitted | (uint64_t)s.word[1].permitted << 32;
}

int
ps_privilege_use(uint64_t set)
{
	struct sets s = {0};

	if (call(SYS_capget, &s) < 0)
		return -errno;
	s.word[0].effective = s.word[0].permitted & (uint32_t)set;
	s.word[1].effective = s.word[1].permitted & (uint32_t)(set >> 32);
	return call(SYS_capset, &s) < 0 ? -errno : 0;
}

int
ps_privilege_keep(uint64_t set)
{
	const uint64_t kept = ps_privilege_have() & set;
	const struct __user_cap_data_struct low = {(uint32_t)kept, (uint32_t)kept, 0},
					    high = {(uint32_t)(kept >> 32), (uint32_t)(kept >> 32),
						    0};
	struct sets s = {{low, high}};

	/* Needs CAP_SETPCAP, which a service manager may have withheld together with the rest. */
	ps_privilege_use(PS_CAP(CAP_SETPCAP));
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return call(SYS_capset, &s) < 0 ? -errno : 0;
}
