/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

#define MAGIC     "penstock-state 1"
#define DIRECTORY "/var/lib/penstock"
#define FILE_MAX  (32u << 20)

void
ps_state_boot_id(char *text, size_t cap)
{
	if (ps_text_read("/proc/sys/kernel/random/boot_id", text, cap) < 0)
		snprintf(text, cap, "unknown");
}

uint64_t
ps_state_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

bool
ps_state_rebooted(const struct ps_state *s)
{
	char now[sizeof(s->boot)];

	ps_state_boot_id(now, sizeof(now));
	return strcmp(now, s->boot) != 0;
}

/* -- changes -- */

static bool
keepable(const char *text)
{
	for (; *text != '\0'; text++)
		if (iscntrl((unsigned char)*text))
			return false;
	return true;
}

static void
free_change(struct ps_change *c)
{
	free(c->kind);
	free(c->target);
	free(c->key);
	free(c->old);
	free(c->new_value);
}

struct ps_change *
ps_state_find(struct ps_state *s, const char *kind, const char *target, const char *key)
{
	for (unsigned int i = 0; i < s->n; i++) {
		struct ps_change *c = &s->change[i];

		if (strcmp(c->kind, kind) == 0 && strcmp(c->target, target) == 0 &&
			strcmp(c->key, key) == 0)
			return c;
	}
	return NULL;
}

struct ps_change *
ps_state_add(struct ps_state *s, const char *kind, const char *target, const char *key,
	const char *old, const char *new_value)
{
	const char *const text[] = {kind, target, key, old, new_value};
	struct ps_change c = {0};

	for (unsigned int i = 0; i < 5; i++)
		if (!keepable(text[i]))
			return NULL;
	if (s->n == PS_STATE_CHANGES)
		return NULL;
	c.kind = strdup(kind);
	c.target = strdup(target);
	c.key = strdup(key);
	c.old = strdup(old);
	c.new_value = strdup(new_value);
	if (c.kind == NULL || c.target == NULL || c.key == NULL || c.old == NULL ||
		c.new_value == NULL) {
		free_change(&c);
		return NULL;
	}
	s->change[s->n] = c;
	return &s->change[s->n++];
}

void
ps_state_remove(struct ps_state *s, unsigned int index)
{
	free_change(&s->change[index]);
	s->n--;
	memmove(&s->change[index], &s->change[index + 1],
		(s->n - index) * sizeof(s->change[index]));
}

/* -- reading -- */

static bool
parse_number(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* word TAB kind TAB target TAB key TAB old TAB new */
static bool
parse_change(struct ps_state *s, char *line)
{
	char *field[6];
	struct ps_change *c;

	for (int i = 0; i < 6; i++) {
		field[i] = strsep(&line, "\t");
		if (field[i] == NULL)
			return false;
	}
	if (line != NULL || field[1][0] == '\0' || field[2][0] == '\0')
		return false;
	if (strcmp(field[0], "open") != 0 && strcmp(field[0], "done") != 0)
		return false;
	if (ps_state_find(s, field[1], field[2], field[3]) != NULL)
		return false;
	c = ps_state_add(s, field[1], field[2], field[3], field[4], field[5]);
	if (c == NULL)
		return false;
	c->done = field[0][0] == 'd';
	return true;
}

/* 1: the last line, 0: more follow, -1: not a line of ours. */
static int
parse_line(struct ps_state *s, char *line)
{
	uint64_t count;

	if (strncmp(line, "boot ", 5) == 0 && s->boot[0] == '\0') {
		snprintf(s->boot, sizeof(s->boot), "%s", line + 5);
		return s->boot[0] != '\0' ? 0 : -1;
	}
	if (strncmp(line, "undo ", 5) == 0)
		return parse_number(line + 5, &s->undo_ns) ? 0 : -1;
	if (strncmp(line, "end ", 4) == 0)
		return parse_number(line + 4, &count) && count == s->n ? 1 : -1;
	return parse_change(s, line) ? 0 : -1;
}

int
ps_state_parse(struct ps_state *s, char *text, struct ps_err *e)
{
	char *line = strsep(&text, "\n");
	unsigned int number = 1;
	int rc = strcmp(line, MAGIC) == 0 ? 0 : -1;

	while (rc == 0 && text != NULL) {
		line = strsep(&text, "\n");
		number++;
		rc = parse_line(s, line);
	}
	if (rc == 1 && text != NULL && *text == '\0' && s->boot[0] != '\0')
		return 0;
	return ps_fail(e, EINVAL,
		"%s: line %u is damaged or missing, so what init changed is not known for sure; "
		"look into it, restore by hand, then remove it",
		s->path, number);
}

static int
read_file(struct ps_state *s, struct ps_err *e)
{
	char *text;
	int rc;

	rc = ps_text_load(s->path, FILE_MAX, &text);
	if (rc == -ENOENT) {
		ps_state_boot_id(s->boot, sizeof(s->boot));
		return 0;
	}
	if (rc < 0)
		return ps_fail(e, -rc, "cannot read %s: %s; run as root", s->path, strerror(-rc));
	rc = ps_state_parse(s, text, e);
	free(text);
	return rc;
}

/* What a killed writer left. */
static void
remove_temporary(const struct ps_state *s)
{
	char temp[PS_STATE_PATH + 8];

	snprintf(temp, sizeof(temp), "%s.new", s->path);
	unlink(temp);
}

int
ps_state_path(char path[PS_STATE_PATH], const char *name, const char *suffix, struct ps_err *e)
{
	const char *dir = getenv("STATE_DIRECTORY");

	if (dir == NULL || dir[0] == '\0')
		dir = DIRECTORY;
	if (snprintf(path, PS_STATE_PATH, "%s/%s.%s", dir, name, suffix) >= PS_STATE_PATH)
		return ps_fail(e, ENAMETOOLONG, "%s/%s.%s is too long a path; choose a shorter",
			dir, name, suffix);
	if (mkdir(dir, 0755) != 0 && errno != EEXIST)
		return ps_fail(e, errno, "cannot make %s: %s; run as root", dir, strerror(errno));
	return 0;
}

int
ps_state_open(struct ps_state *s, const char *name, struct ps_err *e)
{
	char lock[PS_STATE_PATH + 8];
	int rc;

	memset(s, 0, sizeof(*s));
	s->lock_fd = -1;
	rc = ps_state_path(s->path, name, "state", e);
	if (rc < 0)
		return rc;
	snprintf(lock, sizeof(lock), "%s.lock", s->path);
	s->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return ps_fail(e, errno, "cannot open %s: %s; run as root", lock, strerror(errno));
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		rc = ps_fail(e, errno,
			"%s is held by another penstock init, fini or confirm; wait for its end",
			lock);
		ps_state_close(s);
		return rc;
	}
	remove_temporary(s);
	rc = read_file(s, e);
	if (rc < 0)
		ps_state_close(s);
	return rc;
}

/* -- writing -- */

static int
write_lines(const struct ps_state *s, FILE *f)
{
	fprintf(f, "%s\nboot %s\n", MAGIC, s->boot);
	if (s->undo_ns != 0)
		fprintf(f, "undo %" PRIu64 "\n", s->undo_ns);
	for (unsigned int i = 0; i < s->n; i++) {
		const struct ps_change *c = &s->change[i];

		fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\n", c->done ? "done" : "open", c->kind,
			c->target, c->key, c->old, c->new_value);
	}
	fprintf(f, "end %u\n", s->n);
	return fflush(f) == 0 && fsync(fileno(f)) == 0 ? 0 : -errno;
}

int
ps_state_sync_directory(const char *path)
{
	char dir[PS_STATE_PATH];
	int fd, rc;

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	fd = open(dir[0] != '\0' ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}

static int
replace(const struct ps_state *s)
{
	char temp[PS_STATE_PATH + 8];
	FILE *f;
	int rc;

	snprintf(temp, sizeof(temp), "%s.new", s->path);
	f = fopen(temp, "we");
	if (f == NULL)
		return -errno;
	rc = write_lines(s, f);
	if (fclose(f) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(temp, s->path) != 0)
		rc = -errno;
	if (rc < 0)
		unlink(temp);
	return rc;
}

int
ps_state_write(const struct ps_state *s, struct ps_err *e)
{
	int rc;

	if (s->n > 0 || s->undo_ns != 0)
		rc = replace(s);
	else
		rc = unlink(s->path) == 0 || errno == ENOENT ? 0 : -errno;
	if (rc == 0)
		rc = ps_state_sync_directory(s->path);
	if (rc < 0)
		return ps_fail(e, -rc, "cannot write %s: %s; make room there, or run as root",
			s->path, strerror(-rc));
	return 0;
}

void
ps_state_close(struct ps_state *s)
{
	while (s->n > 0)
		ps_state_remove(s, s->n - 1);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	s->lock_fd = -1;
}
