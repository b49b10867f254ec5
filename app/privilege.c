/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "privilege.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_eal.h>

#include "app.h"
#include "ps_privilege.h"
#include "ps_time.h"

#define WAIT_NS (2 * PS_SEC_NS)

static const struct {
	unsigned int cap;
	const char *name;
} names[] = {
	{CAP_NET_ADMIN, "net_admin"},
	{CAP_NET_RAW, "net_raw"},
	{CAP_IPC_LOCK, "ipc_lock"},
	{CAP_BPF, "bpf"},
	{CAP_SYS_ADMIN, "sys_admin"},
	{CAP_DAC_OVERRIDE, "dac_override"},
	{CAP_DAC_READ_SEARCH, "dac_read_search"},
};

/* -- what is needed -- */

static uint64_t
need_of(const struct ps_port *p)
{
	uint64_t set = 0;

	switch (p->kind) {
	case PS_PORT_SOCKET:
		break;
	case PS_PORT_AF_XDP:
		/* To attach, to detach, and for the interface's flags. */
		set = PS_CAP(CAP_NET_ADMIN);
		break;
	case PS_PORT_PCI:
		/* A port that is reset maps memory for the device again. */
		set = PS_CAP(CAP_IPC_LOCK);
		if (p->conf->pf[0] != '\0')
			set |= PS_CAP(CAP_NET_ADMIN);
		if (p->family == &ps_family_mlx5)
			set |= PS_CAP(CAP_NET_ADMIN) | PS_CAP(CAP_NET_RAW);
		/* Physical addresses are read from /proc/self/pagemap. */
		if (rte_eal_iova_mode() == RTE_IOVA_PA)
			set |= PS_CAP(CAP_SYS_ADMIN);
		break;
	case PS_PORT_EAL:
		/* Such as net_tap, which works on an interface of the kernel. */
		set = PS_CAP(CAP_NET_ADMIN) | PS_CAP(CAP_NET_RAW) | PS_CAP(CAP_IPC_LOCK);
		break;
	}
	return set;
}

static bool
is_denied(const char *path, int mode)
{
	return path[0] != '\0' && faccessat(AT_FDCWD, path, mode, AT_EACCESS) < 0 &&
	       errno == EACCES;
}

/* The kernel before 5.19 asks for a privilege when a map is read, by default. */
static bool
may_read_maps(const struct ps_app *app)
{
	struct ps_xdp_counts unused;

	for (unsigned int i = 0; i < app->n_ports; i++)
		if (app->port[i].kind == PS_PORT_AF_XDP &&
			ps_xdp_counts(&app->port[i].xdp, &unused) == -EPERM)
			return false;
	return true;
}

/* What depends on the kernel and on whose files these are is tried. */
static uint64_t
find_needs(const struct ps_app *app)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < app->n_ports; i++)
		set |= need_of(&app->port[i]);
	ps_privilege_use(set);
	for (unsigned int i = 0; i < app->n_ports; i++)
		if (is_denied(app->port[i].conf->deny, R_OK))
			set |= PS_CAP(CAP_DAC_READ_SEARCH);
	if (is_denied(app->conf.contact_info, R_OK))
		set |= PS_CAP(CAP_DAC_READ_SEARCH);
	if (is_denied(app->conf.feed.dir, W_OK | X_OK))
		set |= PS_CAP(CAP_DAC_OVERRIDE);
	if (!may_read_maps(app)) {
		ps_privilege_use(set | PS_CAP(CAP_BPF));
		set |= PS_CAP(may_read_maps(app) ? CAP_BPF : CAP_SYS_ADMIN);
	}
	return set;
}

/* -- in every thread -- */

static uint64_t kept; /* for the handler */

static void
on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	ps_privilege_keep(kept);
	errno = saved;
}

static bool
has_more(pid_t tid, char name[32])
{
	char path[64], line[128];
	uint64_t permitted = 0;
	unsigned int sealed = 1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return false; /* ended meanwhile */
	while (fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "Name: %31s", name);
		sscanf(line, "CapPrm: %" SCNx64, &permitted);
		sscanf(line, "NoNewPrivs: %u", &sealed);
	}
	fclose(f);
	return (permitted & ~kept) != 0 || sealed == 0;
}

/* Asks each thread that still has more; how many there were, the last one's name in name. */
static unsigned int
ask(int sig, char name[32])
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *d;
	unsigned int n = 0;

	if (dir == NULL)
		return 1;
	while ((d = readdir(dir)) != NULL) {
		pid_t tid = atoi(d->d_name);

		if (tid <= 0 || !has_more(tid, name))
			continue;
		syscall(SYS_tgkill, getpid(), tid, sig);
		n++;
	}
	closedir(dir);
	return n;
}

/* EAL made its threads while all privileges were needed, and a thread can only give up its own:
 * each is interrupted for it, as the C library does for setuid(). What the kernel then tells of it
 * is what counts. */
static int
settle_threads(struct ps_err *e)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const uint64_t deadline = ps_now_ns() + WAIT_NS;
	const int sig = SIGRTMIN;
	char name[32] = "?";

	if (sigaction(sig, &action, NULL) < 0)
		return ps_fail(e, errno, "privileges: %s", strerror(errno));
	while (ask(sig, name) > 0) {
		if (ps_now_ns() > deadline)
			return ps_fail(e, EPERM, "thread %s keeps its privileges", name);
		nanosleep(&(struct timespec){.tv_nsec = PS_MS_NS}, NULL);
	}
	return 0;
}

static void
describe(uint64_t set, char text[PS_PRIVILEGE_TEXT])
{
	size_t used = 0;

	snprintf(text, PS_PRIVILEGE_TEXT, "none");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((set & PS_CAP(names[i].cap)) != 0)
			used += (size_t)snprintf(text + used, PS_PRIVILEGE_TEXT - used, "%s%s",
				used > 0 ? " " : "", names[i].name);
}

int
ps_privilege_settle(struct ps_app *app, struct ps_err *e)
{
	int rc;

	kept = find_needs(app);
	rc = ps_privilege_keep(kept);
	if (rc < 0)
		return ps_fail(e, -rc, "privileges cannot be given up: %s", strerror(-rc));
	describe(ps_privilege_have(), app->privileges);
	return settle_threads(e);
}
