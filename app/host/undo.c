/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "undo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "pf_record.h"
#include "use.h"

#define RETRY_S 10

static void
log_change(void *arg, const struct ps_change *c, enum ps_outcome o, const char *why)
{
	unsigned int *failed = arg;

	*failed += o == PS_FAILED;
	syslog(LOG_NOTICE, "undo: %s %s %s: %s", ps_outcome_name(o), c->target, c->key, why);
}

static void
sleep_until(uint64_t deadline_ns)
{
	const struct timespec t = {
		.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
		.tv_nsec = (long)(deadline_ns % UINT64_C(1000000000)),
	};

	while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* What penstock run left, as fini does; the program of one that runs is its own. */
static void
clear(const struct ps_conf *conf)
{
	unsigned int gone;
	struct ps_err e;
	int rc = ps_pf_record_remove(conf->name, true, &gone, &e);

	if (rc < 0)
		syslog(LOG_ERR, "undo: %s", e.text);
	else if (rc > 0)
		syslog(LOG_NOTICE, "undo: %d drop rules removed", rc);
	if (!ps_use_running(conf->name) && ps_use_stale_programs(conf) > 0)
		syslog(LOG_NOTICE, "undo: the XDP program of a killed penstock removed");
}

/* True when there is nothing left to do. */
static bool
try_undo(const struct ps_conf *conf, uint64_t deadline_ns)
{
	static struct ps_state s;
	unsigned int failed = 0;
	struct ps_err e;
	int rc = ps_state_open(&s, conf->name, &e);

	if (rc < 0) {
		syslog(LOG_ERR, "undo: %s", e.text);
		/* Where the state's directory is gone, nothing is known that could be undone. */
		return rc == -ENOENT;
	}
	/* Confirmed, undone, or another init has set a deadline of its own. */
	if (s.undo_ns != deadline_ns) {
		ps_state_close(&s);
		return true;
	}
	syslog(LOG_WARNING, "undo: %s was not confirmed in time", conf->name);
	clear(conf);
	s.undo_ns = 0;
	/* What is gone is for fini; to try it again each time would not bring it back. */
	rc = ps_change_undo(&s, false, log_change, &failed, &e);
	if (rc < 0 || failed > 0) {
		s.undo_ns = deadline_ns;
		ps_state_write(&s, &e);
	}
	ps_state_close(&s);
	return rc >= 0 && failed == 0;
}

static void __attribute__((noreturn)) run_timer(const struct ps_conf *conf, uint64_t deadline_ns)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	if (chdir("/") != 0)
		_exit(1);
	openlog("penstock", LOG_PID, LOG_DAEMON);
	sleep_until(deadline_ns);
	while (!try_undo(conf, deadline_ns))
		sleep(RETRY_S);
	_exit(0);
}

int
ps_undo_start(const struct ps_state *s, const struct ps_conf *conf, struct ps_err *e)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return ps_fail(e, errno, "cannot start the undo timer: %s", strerror(errno));
	if (pid == 0) {
		/* The lock belongs to the open file, which the parent goes on using. */
		close(s->lock_fd);
		setsid();
		pid = fork();
		if (pid == 0)
			run_timer(conf, s->undo_ns);
		_exit(pid < 0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return ps_fail(e, EAGAIN, "cannot start the undo timer: too many processes");
	return 0;
}
