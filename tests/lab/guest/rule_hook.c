/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Preloaded into penstock run by guard.sh: the process is killed right after its first ntuple rule
 * went in (HOOK_AT=insert) or out (HOOK_AT=delete). What it has forked is left alone. */
#include <dlfcn.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t self;

static void __attribute__((constructor)) begin(void)
{
	self = getpid();
}

int
ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...);
	const char *at = getenv("HOOK_AT");
	const struct ifreq *ifr;
	unsigned int command;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	rc = real(fd, request, arg);
	if (request != SIOCETHTOOL || at == NULL || getpid() != self)
		return rc;
	ifr = arg;
	memcpy(&command, ifr->ifr_data, sizeof(command));
	if (command == (strcmp(at, "insert") == 0 ? ETHTOOL_SRXCLSRLINS : ETHTOOL_SRXCLSRLDEL))
		kill(self, SIGKILL);
	return rc;
}
