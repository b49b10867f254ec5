/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "app.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "0-3,6" for a message. */
static void
describe(const cpu_set_t *set, char *text, size_t cap)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < CPU_SETSIZE && used < cap; i++) {
		int last = i;

		if (!CPU_ISSET(i, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		used += (size_t)snprintf(text + used, cap - used, last > i ? "%s%d-%d" : "%s%d",
			used > 0 ? "," : "", i, last);
		i = last;
	}
}

int
ps_lcores_choose(struct ps_lcores *l, const char *list, struct ps_err *e)
{
	cpu_set_t allowed, chosen, missing;
	char have[128];

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return ps_fail(e, errno, "cannot read the processors of this process: %s",
			strerror(errno));
	CPU_ZERO(&chosen);
	if (list[0] != '\0') {
		if (!ps_conf_list(list, CPU_SETSIZE, &chosen))
			return ps_fail(e, EINVAL,
				"-l %s: not a list of processors; write it like 2,4-6", list);
	} else {
		for (int i = CPU_SETSIZE - 1; i >= 0 && CPU_COUNT(&chosen) == 0; i--)
			if (CPU_ISSET(i, &allowed))
				CPU_SET(i, &chosen);
	}
	describe(&allowed, have, sizeof(have));
	CPU_AND(&missing, &chosen, &allowed);
	CPU_XOR(&missing, &missing, &chosen);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &missing))
			return ps_fail(e, ENODEV,
				"lcore %d does not exist or is not this process's; choose among "
				"%s, in lcores of [penstock] or with -l",
				i, have);
	if (CPU_COUNT(&chosen) > PS_WORKERS_MAX)
		return ps_fail(e, EINVAL, "-l %s: more than %d workers; choose fewer", list,
			PS_WORKERS_MAX);
	l->n = 0;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &chosen))
			l->cpu[l->n++] = i;
	CPU_XOR(&l->control, &allowed, &chosen);
	if (CPU_COUNT(&l->control) == 0)
		l->control = allowed;
	return 0;
}
