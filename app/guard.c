/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/pf_record.h"
#include "ps_privilege.h"
#include "ps_time.h"

#define LOOK_MS  100
#define STALE_NS (2 * PS_SEC_NS)
#define TRIES    60 /* seconds, after penstock's end */

static const char title[] = "ps-guard";

/* -- the guard's own process -- */

static void
take_title(void)
{
	char line[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, line, sizeof(line)) : 0;

	if (n > (ssize_t)sizeof(title)) {
		memset(program_invocation_name, 0, (size_t)n);
		memcpy(program_invocation_name, title, sizeof(title));
	}
	if (fd >= 0)
		close(fd);
	prctl(PR_SET_NAME, title);
}

/* What only penstock may hold on to; standard error stays for the guard's few lines. */
static void
let_go(int pidfd)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	syscall(SYS_close_range, 3, (unsigned int)pidfd - 1, 0);
	syscall(SYS_close_range, (unsigned int)pidfd + 1, ~0u, 0);
	for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGPIPE, 0}; *s != 0; s++)
		signal(*s, SIG_IGN);
}

/* The first worker that stands still, or -1. */
static int
find_still(const struct ps_guard_beat *beat)
{
	const uint64_t now_ns = ps_now_ns();

	for (int w = 0; w < PS_WORKERS_MAX; w++) {
		uint64_t ns = __atomic_load_n(&beat[w].ns, __ATOMIC_RELAXED);

		if (ns != 0 && now_ns > ns && now_ns - ns > STALE_NS)
			return w;
	}
	return -1;
}

/* True when nothing is left to be done. */
static bool
free_traffic(const char *name, bool owned_too, const char *why)
{
	unsigned int gone;
	struct ps_err e;
	int rc = ps_pf_record_remove(name, owned_too, &gone, &e);

	if (rc > 0)
		ps_log(PS_LOG_WARN, "guard: %s; %d drop rules removed, the kernel has the traffic",
			why, rc);
	else if (rc < 0)
		ps_log(PS_LOG_ERROR, "guard: %s; %s", why, e.text);
	return rc >= 0;
}

static void __attribute__((noreturn))
run_guard(const struct ps_guard_beat *beat, const char *name, int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	char why[48];

	let_go(pidfd);
	take_title();
	ps_privilege_keep(PS_CAP(CAP_NET_ADMIN));
	while (poll(&p, 1, LOOK_MS) <= 0 || p.revents == 0) {
		int still = find_still(beat);

		if (still < 0)
			continue;
		snprintf(why, sizeof(why), "worker %d stands still", still);
		free_traffic(name, true, why);
	}
	for (int i = 0; i < TRIES && !free_traffic(name, false, "penstock ended"); i++)
		sleep(1);
	_exit(0);
}

/* -- penstock's side -- */

static bool
is_needed(const struct ps_conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (conf->port[i].pf[0] != '\0')
			return true;
	return false;
}

/* Through a child that ends at once, so that nobody but init has to wait for it. */
static int
fork_guard(const struct ps_guard *g, const char *name, struct ps_err *e)
{
	int pidfd = pidfd_open(getpid(), 0), status = 0;
	pid_t pid;

	if (pidfd < 0)
		return ps_fail(e, errno,
			"cannot watch over this process: %s; use Linux 5.3 or later",
			strerror(errno));
	pid = fork();
	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid == 0)
			run_guard(g->beat, name, pidfd);
		_exit(pid < 0);
	}
	close(pidfd);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return ps_fail(e, EAGAIN, "cannot start the guard: too many processes");
	return 0;
}

int
ps_guard_start(struct ps_guard *g, const struct ps_conf *conf, struct ps_err *e)
{
	const size_t bytes = PS_WORKERS_MAX * sizeof(*g->beat);
	int rc;

	if (!is_needed(conf))
		return 0;
	g->beat = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->beat == MAP_FAILED) {
		g->beat = NULL;
		return ps_fail(e, ENOMEM, "out of memory");
	}
	rc = fork_guard(g, conf->name, e);
	if (rc == 0)
		rc = ps_pf_record_open(conf->name, e);
	if (rc < 0)
		ps_guard_stop(g);
	return rc;
}

/* The page stays mapped in workers that do not end; nobody stores in it after them. */
void
ps_guard_stop(struct ps_guard *g)
{
	ps_pf_record_close();
	if (g->beat != NULL)
		munmap(g->beat, PS_WORKERS_MAX * sizeof(*g->beat));
	g->beat = NULL;
}
