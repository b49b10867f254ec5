/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Preloaded into penstock init by the tests: at the Nth replacement of a state file (HOOK_AT) the
 * process is killed before or after it, or the replacement fails as on a full disk (HOOK_DO). */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
rename(const char *from, const char *to)
{
	static int count;
	int (*real)(const char *, const char *);
	const char *at = getenv("HOOK_AT"), *what = getenv("HOOK_DO");
	const size_t len = strlen(to);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "rename");
	if (at == NULL || what == NULL || len < 6 || strcmp(to + len - 6, ".state") != 0 ||
		++count != atoi(at))
		return real(from, to);
	if (strcmp(what, "fail") == 0) {
		errno = ENOSPC;
		return -1;
	}
	if (strcmp(what, "kill-before") == 0)
		kill(getpid(), SIGKILL);
	rc = real(from, to);
	if (strcmp(what, "kill-after") == 0)
		kill(getpid(), SIGKILL);
	return rc;
}
