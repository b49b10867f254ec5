/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed_files.h"
#include "feed_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int
check_conf(const struct ps_feed_conf *c, struct ps_err *e)
{
	if (strlen(c->path) >= PS_FEED_PATH_MAX)
		return ps_fail(e, ENAMETOOLONG, "feed path %.64s... is longer than %d bytes",
			c->path, PS_FEED_PATH_MAX - 1);
	if (strlen(c->service) >= sizeof(((struct penstock_feed_header *)0)->service))
		return ps_fail(e, EINVAL, "service name %s is longer than 63 bytes", c->service);
	if (c->capacity_bytes < PS_FEED_MIN_BYTES || c->capacity_bytes > PS_FEED_MAX_BYTES ||
		(c->capacity_bytes & (c->capacity_bytes - 1)) != 0)
		return ps_fail(e, EINVAL,
			"feed size %" PRIu64
			" is not a power of two of at least 65536; set for example 67108864",
			c->capacity_bytes);
	return 0;
}

/* Takes up an existing header: the mark that belongs to produced names the next sequence number. */
static int
take_header(struct ps_feed *f, struct ps_err *e)
{
	struct feed_map m;
	int rc = ps_feed_map_header(f->path, &m, e);

	if (rc != 0)
		return rc;
	f->header = m.at;
	f->header_map_bytes = m.bytes;
	f->data = (uint8_t *)m.at + PENSTOCK_FEED_DATA_OFFSET;
	f->capacity = f->header->capacity_bytes;
	f->published = f->write = f->header->produced;
	f->mark = f->header->mark[0].cursor == f->published ? 0 : 1;
	if (f->header->mark[f->mark].cursor == f->published) {
		f->sequence = f->header->mark[f->mark].sequence;
		return 0;
	}
	munmap(m.at, m.bytes);
	return ps_fail(e, EBADMSG, "feed %s is damaged; remove it: rm %s %s.consumer", f->path,
		f->path, f->path);
}

/* A cursor file that is lost or damaged says nothing about what was read: go on with new records.
 */
static int
take_cursor(struct ps_feed *f, const struct ps_feed_conf *conf, struct ps_err *e)
{
	uint64_t generation = f->header->generation;
	uint64_t oldest = f->published > f->capacity ? f->published - f->capacity : 0;
	uint64_t released;
	struct feed_map m;
	int rc = ps_feed_map_cursor(f->path, generation, &m, e);

	if (rc == -ENOENT || rc == -EBADMSG) {
		rc = ps_feed_make_cursor(conf, generation, f->published, e);
		if (rc == 0)
			rc = ps_feed_map_cursor(f->path, generation, &m, e);
		if (rc == 0)
			ps_log(PS_LOG_WARN,
				"feed %s had no valid cursor: its unread records are dropped",
				f->path);
	}
	if (rc != 0)
		return rc;
	f->cursor = m.at;
	f->cursor_map_bytes = m.bytes;
	released = __atomic_load_n(&f->cursor->released, __ATOMIC_ACQUIRE);
	f->seen = oldest;
	if (released - oldest <= f->published - oldest && released % PENSTOCK_FEED_ALIGN == 0)
		f->seen = released;
	else
		f->stats.bad_cursor++;
	return 0;
}

static void
drop_maps(struct ps_feed *f)
{
	if (f->cursor != NULL) {
		ps_feed_unguard(f->cursor);
		munmap((void *)(uintptr_t)f->cursor, f->cursor_map_bytes);
	}
	if (f->header != NULL)
		munmap(f->header, f->header_map_bytes);
	f->cursor = NULL;
	f->header = NULL;
}

/* Ends the generation that is taken up and makes the next one. Every step may be the last before a
 * crash: ps_feed_open() then finds PATH retired, or PATH missing and PATH.new complete. */
static int
replace_generation(struct ps_feed *f, const struct ps_feed_conf *conf, struct ps_err *e)
{
	uint64_t old = f->header->generation;
	char from[PATH_MAX], to[PATH_MAX];
	int rc = ps_feed_make(conf, old + 1, f->sequence, e);

	if (rc != 0)
		return rc;
	__atomic_store_n(&f->header->retired, old + 1, __ATOMIC_RELEASE);
	snprintf(from, sizeof(from), "%s.consumer", f->path);
	snprintf(to, sizeof(to), "%s.gen%" PRIu64 ".consumer", f->path, old);
	if (rename(from, to) != 0 && errno != ENOENT)
		return ps_fail(e, errno, "cannot rename %s: %s", from, strerror(errno));
	snprintf(to, sizeof(to), "%s.gen%" PRIu64, f->path, old);
	if (rename(f->path, to) != 0)
		return ps_fail(e, errno, "cannot rename %s: %s", f->path, strerror(errno));
	drop_maps(f);
	rc = ps_feed_adopt(f->path, e);
	if (rc == 0)
		rc = take_header(f, e);
	return rc;
}

static bool
same_geometry(const struct ps_feed *f, const struct ps_feed_conf *conf)
{
	return f->capacity == conf->capacity_bytes && f->header->worker == conf->worker &&
	       strncmp(f->header->service, conf->service, sizeof(f->header->service)) == 0;
}

/* Takes up PATH, after finishing what a crash interrupted, or makes the first generation. */
static int
take_or_make_header(struct ps_feed *f, const struct ps_feed_conf *conf, struct ps_err *e)
{
	char name[PATH_MAX];
	struct feed_map m;
	int rc = take_header(f, e);

	if (rc != -ENOENT)
		return rc;
	snprintf(name, sizeof(name), "%s.new", f->path);
	rc = ps_feed_map_header(name, &m, NULL);
	if (rc == 0)
		munmap(m.at, m.bytes);
	else
		rc = ps_feed_make(conf, 1, 0, e);
	if (rc == 0)
		rc = ps_feed_adopt(f->path, e);
	if (rc == 0)
		rc = take_header(f, e);
	return rc;
}

int
ps_feed_open(struct ps_feed *f, const struct ps_feed_conf *conf, struct ps_err *e)
{
	int rc = check_conf(conf, e);

	memset(f, 0, sizeof(*f));
	f->lock_fd = -1;
	if (rc != 0)
		return rc;
	snprintf(f->path, sizeof(f->path), "%s", conf->path);
	rc = ps_feed_lock(f->path, &f->lock_fd, e);
	if (rc != 0)
		return rc;
	rc = take_or_make_header(f, conf, e);
	/* When already retired, the cursor file may have moved away before the crash. */
	if (rc == 0 && f->header->retired == 0)
		rc = take_cursor(f, conf, e);
	if (rc == 0 && (f->header->retired != 0 || !same_geometry(f, conf))) {
		rc = replace_generation(f, conf, e);
		if (rc == 0)
			rc = take_cursor(f, conf, e);
	}
	if (rc != 0) {
		drop_maps(f);
		close(f->lock_fd);
	}
	return rc;
}

void
ps_feed_close(struct ps_feed *f)
{
	drop_maps(f);
	close(f->lock_fd);
}

/* pread and not mmap: the consumer may truncate its file at any time. */
static bool
read_head(const char *name, void *out, size_t bytes)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool ok = fd >= 0 && pread(fd, out, bytes, 0) == (ssize_t)bytes;

	if (fd >= 0)
		close(fd);
	return ok;
}

void
ps_feed_sweep(const struct ps_feed *f)
{
	struct penstock_feed_header h;
	struct penstock_feed_cursor c;
	char name[PATH_MAX], cursor_name[PATH_MAX];
	uint64_t g = f->header->generation;

	/* Consumers look for an unbroken row of older generations: remove the oldest first. */
	for (; g > 1; g--) {
		snprintf(name, sizeof(name), "%s.gen%" PRIu64, f->path, g - 1);
		if (access(name, F_OK) != 0)
			break;
	}
	for (; g < f->header->generation; g++) {
		snprintf(name, sizeof(name), "%s.gen%" PRIu64, f->path, g);
		snprintf(
			cursor_name, sizeof(cursor_name), "%s.gen%" PRIu64 ".consumer", f->path, g);
		if (!read_head(name, &h, sizeof(h)) || !read_head(cursor_name, &c, sizeof(c)) ||
			h.magic != PENSTOCK_FEED_MAGIC || c.generation != h.generation ||
			c.released != h.produced)
			break;
		unlink(name);
		unlink(cursor_name);
	}
}
