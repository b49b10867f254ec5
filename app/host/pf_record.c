/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "pf_record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"
#include "text.h"

#define MAGIC    "penstock-rules "
#define FILE_MAX (32u << 20)

struct entry {
	char ifname[IF_NAMESIZE];
	struct ps_ntuple_rule rule;
};

struct list {
	unsigned int n;
	struct entry *entry; /* free() */
};

static struct {
	int fd;
	char path[PS_STATE_PATH];
} mine = {.fd = -1};

/* -- reading -- */

static bool
parse_entry(const char *line, struct entry *r)
{
	char addr[INET_ADDRSTRLEN], location[16], end;
	struct in_addr in;
	unsigned int port;

	memset(r, 0, sizeof(*r));
	if (sscanf(line, "drop %15s %15s %5u %15s %c", r->ifname, addr, &port, location, &end) != 4)
		return false;
	if (inet_pton(AF_INET, addr, &in) != 1 || port == 0 || port > UINT16_MAX)
		return false;
	r->rule = (struct ps_ntuple_rule){
		.daddr_be = in.s_addr,
		.dport_be = htons((uint16_t)port),
		.drop = true,
		.location = RX_CLS_LOC_ANY,
	};
	return strcmp(location, "any") == 0 ||
	       sscanf(location, "%u%c", &r->rule.location, &end) == 1;
}

static struct entry *
find_entry(const struct list *l, const struct entry *r)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (strcmp(l->entry[i].ifname, r->ifname) == 0 &&
			l->entry[i].rule.daddr_be == r->rule.daddr_be &&
			l->entry[i].rule.dport_be == r->rule.dport_be)
			return &l->entry[i];
	return NULL;
}

static int
add_entry(struct list *l, const struct entry *r)
{
	struct entry *there = find_entry(l, r), *larger;

	if (there != NULL) {
		*there = *r;
		return 0;
	}
	larger = realloc(l->entry, (l->n + 1) * sizeof(*l->entry));
	if (larger == NULL)
		return -ENOMEM;
	l->entry = larger;
	l->entry[l->n++] = *r;
	return 0;
}

/* What is not a whole line, or none of text, was being written when the machine or the process
 * ended: its rule was not in the driver yet. */
static int
load(const char *path, struct list *l)
{
	char *text, *rest, *line, boot[64];
	struct entry r;
	int rc = ps_text_load(path, FILE_MAX, &text);

	*l = (struct list){0};
	if (rc < 0)
		return rc == -ENOENT || rc == -EINVAL ? 0 : rc;
	ps_state_boot_id(boot, sizeof(boot));
	rest = text;
	line = strchr(text, '\n') != NULL ? strsep(&rest, "\n") : NULL;
	if (line == NULL || strncmp(line, MAGIC, strlen(MAGIC)) != 0 ||
		strcmp(line + strlen(MAGIC), boot) != 0)
		rest = text + strlen(text);
	while (rc == 0 && strchr(rest, '\n') != NULL) {
		line = strsep(&rest, "\n");
		if (parse_entry(line, &r))
			rc = add_entry(l, &r);
		else if (line[0] != '\0')
			ps_log(PS_LOG_WARN, "%s: a line is damaged and left out", path);
	}
	free(text);
	return rc;
}

/* -- removing -- */

/* 1: removed, 0: was not there any more, or another rule stands in its place. */
static int
remove_rule(struct entry *r, struct ps_err *e)
{
	enum ps_ntuple_verdict v;
	int rc = 0;

	if (if_nametoindex(r->ifname) == 0)
		return ps_fail(e, ENODEV, "%s is not there", r->ifname);
	if (r->rule.location == RX_CLS_LOC_ANY)
		rc = ps_ntuple_find(r->ifname, &r->rule, &r->rule.location, &v, e);
	if (rc == 0)
		rc = ps_ntuple_delete(r->ifname, &r->rule, e);
	/* -EOPNOTSUPP: turned off, and the rules with it. */
	if (rc == -ENOENT || rc == -ESTALE || rc == -EOPNOTSUPP)
		return 0;
	return rc < 0 ? rc : 1;
}

static int
remove_all(const char *path, unsigned int *gone, struct ps_err *e)
{
	int removed = 0, failed = 0, rc;
	struct ps_err cause;
	struct list l;

	*gone = 0;
	rc = load(path, &l);
	if (rc < 0)
		failed = ps_fail(e, -rc, "cannot read %s: %s; run as root", path, strerror(-rc));
	for (unsigned int i = 0; i < l.n; i++) {
		rc = remove_rule(&l.entry[i], &cause);
		removed += rc > 0;
		*gone += rc == -ENODEV;
		if (rc < 0 && rc != -ENODEV && failed == 0)
			failed = ps_fail(e, -rc, "%s", cause.text);
	}
	free(l.entry);
	return failed < 0 ? failed : removed;
}

/* -- the file -- */

static void
forget(int fd, const char *path)
{
	/* A user without rights in the directory any more leaves an empty file, which says the
	 * same. */
	if (ftruncate(fd, 0) != 0 || (unlink(path) != 0 && errno != EACCES && errno != EPERM))
		ps_log(PS_LOG_WARN, "cannot remove %s: %s", path, strerror(errno));
}

/* The lock is this file's as long as the name still leads to it: another may have forgotten it. */
static bool
is_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static int
open_locked(const char *path, int flags)
{
	for (;;) {
		int fd = open(path, flags | O_RDWR | O_APPEND | O_CLOEXEC, 0644), rc;

		if (fd < 0)
			return -errno;
		rc = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
		if (rc == 0 && is_named(fd, path))
			return fd;
		close(fd);
		if (rc < 0)
			return rc;
	}
}

static int
append(const char *line)
{
	const ssize_t len = (ssize_t)strlen(line);

	if (write(mine.fd, line, (size_t)len) != len)
		return errno != 0 ? -errno : -EIO;
	return fdatasync(mine.fd) == 0 ? 0 : -errno;
}

/* A line of this run must not hang on the rest of one that was cut off. */
static int
begin(bool anew)
{
	char line[96], boot[64];
	int rc;

	if (!anew)
		return append("\n");
	if (ftruncate(mine.fd, 0) != 0)
		return -errno;
	ps_state_boot_id(boot, sizeof(boot));
	snprintf(line, sizeof(line), MAGIC "%s\n", boot);
	rc = append(line);
	return rc < 0 ? rc : ps_state_sync_directory(mine.path);
}

int
ps_pf_record_open(const char *name, struct ps_err *e)
{
	unsigned int gone;
	int rc = ps_state_path(mine.path, name, "rules", e);

	if (rc < 0)
		return rc;
	mine.fd = open_locked(mine.path, O_CREAT);
	if (mine.fd == -EWOULDBLOCK)
		return ps_fail(
			e, EBUSY, "%s is held by another penstock; stop it first", mine.path);
	if (mine.fd < 0)
		return ps_fail(e, -mine.fd,
			"cannot open %s: %s; run as root, or set STATE_DIRECTORY", mine.path,
			strerror(-mine.fd));
	rc = remove_all(mine.path, &gone, e);
	if (rc > 0)
		ps_log(PS_LOG_INFO, "%d drop rules of an earlier run removed", rc);
	if (rc >= 0) {
		rc = begin(gone == 0);
		if (rc < 0)
			ps_fail(e, -rc, "cannot write %s: %s; make room there", mine.path,
				strerror(-rc));
	}
	if (rc < 0) {
		close(mine.fd);
		mine.fd = -1;
	}
	return rc;
}

int
ps_pf_record_note(const char *ifname, const struct ps_ntuple_rule *rule, struct ps_err *e)
{
	char line[96], addr[INET_ADDRSTRLEN], location[16] = "any";
	int rc;

	if (mine.fd < 0)
		return 0;
	inet_ntop(AF_INET, &rule->daddr_be, addr, sizeof(addr));
	if (rule->location != RX_CLS_LOC_ANY)
		snprintf(location, sizeof(location), "%u", rule->location);
	snprintf(line, sizeof(line), "drop %.15s %s %u %s\n", ifname, addr, ntohs(rule->dport_be),
		location);
	rc = append(line);
	if (rc < 0)
		return ps_fail(
			e, -rc, "cannot write %s: %s; make room there", mine.path, strerror(-rc));
	return 0;
}

void
ps_pf_record_close(void)
{
	unsigned int gone;
	struct ps_err e;

	if (mine.fd < 0)
		return;
	if (remove_all(mine.path, &gone, &e) < 0)
		ps_log(PS_LOG_WARN, "%s", e.text);
	else if (gone == 0)
		forget(mine.fd, mine.path);
	close(mine.fd);
	mine.fd = -1;
}

int
ps_pf_record_remove(const char *name, bool owned_too, unsigned int *gone, struct ps_err *e)
{
	char path[PS_STATE_PATH];
	int rc = ps_state_path(path, name, "rules", e), fd;

	*gone = 0;
	if (rc < 0)
		return rc;
	fd = open_locked(path, 0);
	if (fd == -ENOENT || (fd == -EWOULDBLOCK && !owned_too))
		return 0;
	rc = remove_all(path, gone, e);
	if (fd >= 0) {
		if (rc >= 0 && *gone == 0)
			forget(fd, path);
		close(fd);
	}
	return rc;
}

void
ps_pf_record_forget(const char *name)
{
	char path[PS_STATE_PATH];
	struct ps_err e;
	int fd;

	if (ps_state_path(path, name, "rules", &e) < 0)
		return;
	fd = open_locked(path, 0);
	if (fd < 0)
		return;
	forget(fd, path);
	close(fd);
}
