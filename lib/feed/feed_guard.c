/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

static struct {
	uintptr_t start; /* 0: free; stored last, for the handler */
	size_t bytes;
} guarded[PS_FEED_GUARDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool installed;
static struct sigaction before;

/* The whole mapping goes, because a huge page cannot be replaced in part. */
static bool
replace_mapping(uintptr_t at)
{
	for (unsigned int i = 0; i < PS_FEED_GUARDS; i++) {
		uintptr_t start = __atomic_load_n(&guarded[i].start, __ATOMIC_ACQUIRE);

		if (start != 0 && at - start < guarded[i].bytes)
			return mmap((void *)start, guarded[i].bytes, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				       0) != MAP_FAILED;
	}
	return false;
}

static void
on_sigbus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (replace_mapping((uintptr_t)info->si_addr)) {
		errno = saved;
		return;
	}
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(sig, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(sig);
	else
		sigaction(sig, &before, NULL); /* the access is repeated and ends the process */
}

int
ps_feed_guard(const void *map, size_t bytes)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
	int rc = -ENOSPC;

	pthread_mutex_lock(&lock);
	if (!installed)
		installed = sigaction(SIGBUS, &action, &before) == 0;
	for (unsigned int i = 0; i < PS_FEED_GUARDS; i++) {
		if (guarded[i].start != 0)
			continue;
		guarded[i].bytes = bytes;
		__atomic_store_n(&guarded[i].start, (uintptr_t)map, __ATOMIC_RELEASE);
		rc = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void
ps_feed_unguard(const void *map)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < PS_FEED_GUARDS; i++) {
		if (guarded[i].start == (uintptr_t)map)
			__atomic_store_n(&guarded[i].start, 0, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}
