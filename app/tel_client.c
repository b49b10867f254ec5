/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tel_client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_MAX 16384
#define TIMEOUT_S   2

int
ps_tel_open(const char *path)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char greeting[1024];
	int fd, rc;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	errno = 0;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		read(fd, greeting, sizeof(greeting)) <= 0) {
		rc = errno != 0 ? -errno : -EIO;
		close(fd);
		return rc;
	}
	return fd;
}

int
ps_tel_connect(const char *prefix, struct ps_err *e)
{
	const char *user = getenv("XDG_RUNTIME_DIR"), *unit = getenv("RUNTIME_DIRECTORY");
	const char *const dirs[] = {unit, "/var/run", user, "/tmp", "/run/penstock-bridge"};
	char path[PATH_MAX];
	int rc = -ENOENT;

	for (unsigned int i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int fd;

		if (dirs[i] == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/dpdk/%s/dpdk_telemetry.v2", dirs[i], prefix);
		fd = ps_tel_open(path);
		if (fd >= 0)
			return fd;
		if (fd != -ENOENT)
			rc = fd;
	}
	if (rc == -EACCES)
		return ps_fail(e, EACCES,
			"telemetry of %s: permission denied; run as the user that runs penstock",
			prefix);
	return ps_fail(e, -rc,
		"no penstock runs under the file prefix %s (%s); start it, or give its --name",
		prefix, strerror(-rc));
}

/* A JSON string at *p, cut to cap; *p moves behind it. */
static bool
parse_string(const char **p, char *out, size_t cap)
{
	size_t n = 0;

	if (*(*p)++ != '"')
		return false;
	for (; **p != '"'; (*p)++) {
		if (**p == '\\')
			(*p)++;
		if (**p == '\0')
			return false;
		if (n + 1 < cap)
			out[n++] = **p;
	}
	(*p)++;
	out[n] = '\0';
	return true;
}

static void
skip_space(const char **p)
{
	*p += strspn(*p, " \t\r\n");
}

static bool
parse_entry(const char **p, struct ps_tel_entry *entry)
{
	char *end;

	if (!parse_string(p, entry->key, sizeof(entry->key)))
		return false;
	skip_space(p);
	if (*(*p)++ != ':')
		return false;
	skip_space(p);
	entry->is_text = **p == '"';
	if (entry->is_text)
		return parse_string(p, entry->text, sizeof(entry->text));
	entry->number = strtoull(*p, &end, 10);
	if (end == *p)
		return false;
	*p = end;
	return true;
}

/* {"/command": {"key": 1, "key": "text", ...}} */
static bool
parse(const char *p, struct ps_tel_dict *d)
{
	char command[PS_TEL_TEXT];

	d->n = 0;
	skip_space(&p);
	if (*p++ != '{')
		return false;
	skip_space(&p);
	if (!parse_string(&p, command, sizeof(command)))
		return false;
	skip_space(&p);
	if (*p++ != ':')
		return false;
	skip_space(&p);
	if (*p++ != '{')
		return false;
	skip_space(&p);
	while (*p != '}') {
		if (d->n == PS_TEL_ENTRIES || !parse_entry(&p, &d->entry[d->n]))
			return false;
		d->n++;
		skip_space(&p);
		if (*p == ',')
			p++;
		skip_space(&p);
	}
	return true;
}

int
ps_tel_query(int fd, const char *command, struct ps_tel_dict *d, struct ps_err *e)
{
	static char message[MESSAGE_MAX + 1];
	ssize_t n;

	if (write(fd, command, strlen(command)) < 0)
		return ps_fail(e, errno, "telemetry: %s; penstock has stopped", strerror(errno));
	n = read(fd, message, MESSAGE_MAX);
	if (n <= 0)
		return ps_fail(e, n < 0 ? errno : EPIPE, "telemetry: %s; penstock has stopped",
			n < 0 ? strerror(errno) : "closed");
	message[n] = '\0';
	if (!parse(message, d))
		return ps_fail(e, ENOENT,
			"telemetry has no %s; is this another DPDK program's prefix?", command);
	return 0;
}

const struct ps_tel_entry *
ps_tel_find(const struct ps_tel_dict *d, const char *key)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (strcmp(d->entry[i].key, key) == 0)
			return &d->entry[i];
	return NULL;
}

uint64_t
ps_tel_number(const struct ps_tel_dict *d, const char *key)
{
	const struct ps_tel_entry *entry = ps_tel_find(d, key);

	return entry != NULL ? entry->number : 0;
}

const char *
ps_tel_text(const struct ps_tel_dict *d, const char *key)
{
	const struct ps_tel_entry *entry = ps_tel_find(d, key);

	return entry != NULL && entry->is_text ? entry->text : "";
}

void
ps_tel_put(struct ps_json *j, const struct ps_tel_dict *d)
{
	for (unsigned int i = 0; i < d->n; i++) {
		if (d->entry[i].is_text)
			ps_json_str(j, d->entry[i].key, d->entry[i].text);
		else
			ps_json_u64(j, d->entry[i].key, d->entry[i].number);
	}
}
