/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "knob.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"

extern char **environ;

struct kind {
	const char *name;
	int (*get)(const struct ps_knob *k, char *value);
	int (*set)(const struct ps_knob *k, const char *value, struct ps_err *e);
	void (*command)(const struct ps_knob *k, const char *value, char *text, size_t cap);
};

/* -- file -- */

static int
get_file(const struct ps_knob *k, char *value)
{
	return ps_text_read(k->target, value, PS_KNOB_VALUE);
}

static int
set_file(const struct ps_knob *k, const char *value, struct ps_err *e)
{
	int rc = ps_text_write(k->target, value);
	char got[128];

	if (rc == 0)
		rc = ps_text_read(k->target, got, sizeof(got));
	if (rc < 0)
		return ps_fail(
			e, -rc, "cannot write %.64s to %s: %s", value, k->target, strerror(-rc));
	if (strcmp(got, value) != 0)
		return ps_fail(e, EIO,
			"%s: set to %.64s, but reads back as %.64s; the kernel "
			"cannot give more",
			k->target, value, got);
	return 0;
}

/* /proc/sys/net/core/x is net.core.x */
static void
command_file(const struct ps_knob *k, const char *value, char *text, size_t cap)
{
	static const char sysctl[] = "/proc/sys/";
	char name[sizeof(k->target)];

	if (strncmp(k->target, sysctl, strlen(sysctl)) != 0) {
		snprintf(text, cap, "echo %.64s > %s", value, k->target);
		return;
	}
	snprintf(name, sizeof(name), "%s", k->target + strlen(sysctl));
	for (char *p = name; *p != '\0'; p++)
		*p = *p == '/' ? '.' : *p == '.' ? '/' : *p;
	snprintf(text, cap, "sysctl -w %s=%.64s", name, value);
}

/* -- setting -- */

static int
get_setting(const struct ps_knob *k, char *value)
{
	struct ps_err unused;
	int rc = ps_setting_get(k->target, k->key, value, PS_KNOB_VALUE, &unused);

	/* A virtual function comes and goes with its physical one's count of them. */
	if (rc == -ENOENT && strncmp(k->key, "vf.", 3) == 0) {
		snprintf(value, PS_KNOB_VALUE, PS_KNOB_ABSENT);
		return 0;
	}
	return rc == -ENOENT ? -EOPNOTSUPP : rc;
}

static int
set_setting(const struct ps_knob *k, const char *value, struct ps_err *e)
{
	return ps_setting_set(k->target, k->key, value, e);
}

/* "combined=4 rx=0" is "combined 4 rx 0" for ethtool. */
static void
spaced(const char *value, char *text, size_t cap)
{
	snprintf(text, cap, "%s", value);
	for (; *text != '\0'; text++)
		if (*text == '=')
			*text = ' ';
}

/* "hash=... table=even" and the like: back to the default. "table=but:0+1/8": all queues of eight
 * but one from 0 on. */
static void
command_rss(const struct ps_knob *k, const char *value, char *text, size_t cap)
{
	unsigned int first, n, total;
	int used;

	if (sscanf(value, "table=but:%u+%u/%u", &first, &n, &total) != 3)
		snprintf(text, cap, "ethtool -X %s default", k->target);
	else if (first == 0)
		snprintf(text, cap, "ethtool -X %s start %u equal %u", k->target, n, total - n);
	else if (first + n == total)
		snprintf(text, cap, "ethtool -X %s equal %u", k->target, first);
	else {
		used = snprintf(text, cap, "ethtool -X %s weight", k->target);
		for (unsigned int q = 0; q < total && used + 3 < (int)cap; q++)
			used += snprintf(text + used, cap - (size_t)used, " %d",
				q < first || q >= first + n);
	}
}

/* udp4.192.0.2.10.8009, which leads to queue=N, or by an RSS context to rss=FIRST+N. */
static void
command_rule(const struct ps_knob *k, const char *value, char *text, size_t cap)
{
	const char *addr = k->key + strlen("udp4."), *port = strrchr(addr, '.') + 1;
	const int len = (int)(port - addr) - 1;
	const bool any = strncmp(addr, "0.0.0.0", (size_t)len) == 0;

	snprintf(text, cap, "ethtool -N %s flow-type udp4%s%.*s dst-port %s %s", k->target,
		any ? "" : " dst-ip ", any ? 0 : len, addr, port,
		strncmp(value, "queue=", 6) == 0
			? "action"
			: "context ID (which ethtool -X ... context new told)");
	if (strncmp(value, "queue=", 6) == 0)
		snprintf(text + strlen(text), cap - strlen(text), " %s", value + 6);
}

static void
command_context(const struct ps_knob *k, char *text, size_t cap)
{
	unsigned int first = 0, n = 0;

	sscanf(k->key, "context.%u+%u", &first, &n);
	snprintf(text, cap, "ethtool -X %s context new start %u equal %u", k->target, first, n);
}

static void
command_setting(const struct ps_knob *k, const char *value, char *text, size_t cap)
{
	const char *dot = strrchr(k->key, '.');
	char words[96];

	spaced(value, words, sizeof(words));
	if (strcmp(k->key, "channels") == 0)
		snprintf(text, cap, "ethtool -L %s %s", k->target, words);
	else if (strcmp(k->key, "rings") == 0)
		snprintf(text, cap, "ethtool -G %s %s", k->target, words);
	else if (strcmp(k->key, "rss") == 0)
		command_rss(k, value, text, cap);
	else if (strncmp(k->key, "context.", 8) == 0)
		command_context(k, text, cap);
	else if (strncmp(k->key, "udp4.", 5) == 0)
		command_rule(k, value, text, cap);
	else if (strcmp(k->key, "flow-hash-udp4") == 0)
		snprintf(text, cap, "ethtool -N %s rx-flow-hash udp4 %s", k->target, words);
	else if (strncmp(k->key, "feature.", 8) == 0)
		snprintf(text, cap, "ethtool -K %s %s %s", k->target, k->key + 8, words);
	else if (strncmp(k->key, "vf.", 3) == 0)
		snprintf(text, cap, "ip link set %s vf %.*s %s %s", k->target,
			(int)(dot - k->key - 3), k->key + 3, dot + 1, words);
	else
		snprintf(text, cap, "ip link set dev %s %s %s", k->target, k->key, words);
}

/* -- driver -- */

static int
get_driver(const struct ps_knob *k, char *value)
{
	char path[sizeof(k->target) + 64];

	if (!ps_text_existsf("/sys/bus/pci/devices/%s", k->target)) {
		snprintf(value, PS_KNOB_VALUE, PS_KNOB_ABSENT);
		return 0;
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", k->target);
	if (!ps_text_link(path, value, PS_KNOB_VALUE))
		snprintf(value, PS_KNOB_VALUE, "none");
	return 0;
}

/* The last line that the command printed, into line; its exit code, or -errno. */
static int
run_command(char *const argv[], char *line, size_t cap)
{
	posix_spawn_file_actions_t actions;
	char buf[512];
	int fd[2], rc, status = 0;
	ssize_t n;
	pid_t pid;

	line[0] = '\0';
	if (pipe2(fd, O_CLOEXEC) != 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	while (rc == 0 && (n = read(fd[0], buf, sizeof(buf) - 1)) > 0) {
		buf[n] = '\0';
		buf[strcspn(buf, "\n")] = '\0';
		if (buf[0] != '\0')
			snprintf(line, cap, "%.*s", (int)cap - 1, buf);
	}
	close(fd[0]);
	if (rc != 0)
		return -rc;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

static int
set_driver(const struct ps_knob *k, const char *value, struct ps_err *e)
{
	char *bind[] = {"dpdk-devbind.py", "-b", (char *)value, (char *)k->target, NULL};
	char *unbind[] = {"dpdk-devbind.py", "-u", (char *)k->target, NULL};
	const bool none = strcmp(value, "none") == 0;
	char line[256], now[PS_KNOB_VALUE];
	int rc;

	/* dpdk-devbind.py leaves modules to others, and says so in its own terms. */
	if (!none && !ps_text_existsf("/sys/bus/pci/drivers/%s", value))
		return ps_fail(e, ENODEV, "driver %.32s is not loaded; modprobe %.32s, and again",
			value, value);
	rc = run_command(none ? unbind : bind, line, sizeof(line));
	if (rc == -ENOENT)
		return ps_fail(e, ENOENT, "dpdk-devbind.py is missing; apt-get install dpdk");
	if (rc == 0 && get_driver(k, now) == 0 && strcmp(now, value) != 0)
		rc = -EIO;
	if (rc != 0)
		return ps_fail(e, EIO, "dpdk-devbind.py -b %.32s %s: %s", value, k->target,
			line[0] != '\0' ? line : "failed without a word");
	return 0;
}

static void
command_driver(const struct ps_knob *k, const char *value, char *text, size_t cap)
{
	snprintf(text, cap, "dpdk-devbind.py -b %.32s %s", value, k->target);
}

/* -- the table -- */

static const struct kind kinds[] = {
	{"file", get_file, set_file, command_file},
	{"setting", get_setting, set_setting, command_setting},
	{"driver", get_driver, set_driver, command_driver},
};

static const struct kind *
kind_of(const struct ps_knob *k)
{
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, k->kind) == 0)
			return &kinds[i];
	return NULL;
}

struct ps_knob
ps_knob_setting(const char *ifname, const char *key)
{
	struct ps_knob k = {.kind = "setting"};

	snprintf(k.target, sizeof(k.target), "%.15s", ifname);
	snprintf(k.key, sizeof(k.key), "%s", key);
	return k;
}

int
ps_knob_get(const struct ps_knob *k, char value[PS_KNOB_VALUE])
{
	const struct kind *kind = kind_of(k);

	return kind != NULL ? kind->get(k, value) : -EINVAL;
}

int
ps_knob_set(const struct ps_knob *k, const char *value, struct ps_err *e)
{
	const struct kind *kind = kind_of(k);

	if (kind == NULL)
		return ps_fail(e, EINVAL, "settings of the kind '%s' are not known", k->kind);
	if (strcmp(value, PS_KNOB_ABSENT) == 0)
		return 0;
	return kind->set(k, value, e);
}

char *
ps_knob_command(const struct ps_knob *k, const char *value, char *text, size_t cap)
{
	text[0] = '\0';
	if (kind_of(k) != NULL)
		kind_of(k)->command(k, value, text, cap);
	return text;
}
