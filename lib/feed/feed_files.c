/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed_files.h"
#include "feed_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file that must be regular, our own and under one name only: in a directory like /dev/shm
 * anybody could have put something else there. */
static int
open_own(const char *path, int flags, struct stat *st, struct ps_err *e)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	int rc;

	if (fd < 0 && errno == ELOOP)
		return ps_fail(e, EBADMSG,
			"%s is a symbolic link; choose another path or remove it: rm %s", path,
			path);
	if (fd < 0)
		return ps_fail(e, errno, "cannot open %s: %s; choose a path you may write", path,
			strerror(errno));
	if (fstat(fd, st) != 0)
		rc = ps_fail(e, errno, "cannot examine %s: %s", path, strerror(errno));
	else if (!S_ISREG(st->st_mode) || st->st_nlink != 1)
		rc = ps_fail(e, EBADMSG,
			"%s is not a plain file; choose another path or remove it: rm %s", path,
			path);
	else if (st->st_uid != geteuid())
		rc = ps_fail(e, EBADMSG,
			"%s belongs to user %u; run as that user or remove it: rm %s", path,
			(unsigned int)st->st_uid, path);
	else
		return fd;
	close(fd);
	return rc;
}

int
ps_feed_lock(const char *path, int *fd, struct ps_err *e)
{
	char name[PATH_MAX];
	struct stat st;

	snprintf(name, sizeof(name), "%s.lock", path);
	*fd = open_own(name, O_RDWR | O_CREAT, &st, e);
	if (*fd < 0)
		return *fd;
	if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	close(*fd);
	*fd = -1;
	return ps_fail(e, EBUSY, "another process writes to feed %s; stop it first: fuser -v %s",
		path, name);
}

/* Allocates every page now, so that a full file system is an error here and not SIGBUS later. */
static int
make_file(const struct ps_feed_conf *conf, const char *name, uint64_t bytes, mode_t mode,
	struct feed_map *m, struct ps_err *e)
{
	struct stat st;
	int fd, rc;

	if (unlink(name) != 0 && errno != ENOENT)
		return ps_fail(e, errno, "cannot remove the old %s: %s; remove it: rm %s", name,
			strerror(errno), name);
	fd = open_own(name, O_RDWR | O_CREAT | O_EXCL, &st, e);
	if (fd < 0)
		return fd;
	/* hugetlbfs: whole huge pages, of the size it reports as block size. */
	m->bytes =
		(bytes + (size_t)st.st_blksize - 1) / (size_t)st.st_blksize * (size_t)st.st_blksize;
	rc = posix_fallocate(fd, 0, (off_t)m->bytes);
	if (rc != 0) {
		const char *slash = strrchr(conf->path, '/');

		rc = ps_fail(e, rc,
			"no room for the %zu bytes of feed %s: %s; set a smaller feed size or free "
			"space there: df -h %.*s",
			m->bytes, conf->path, strerror(rc),
			slash != NULL ? (int)(slash - conf->path) + 1 : 1,
			slash != NULL ? conf->path : ".");
		goto close_fd;
	}
	if (fchown(fd, (uid_t)-1, conf->group) != 0 || fchmod(fd, mode) != 0) {
		rc = ps_fail(e, errno, "cannot give %s to group %u: %s; set a group you belong to",
			name, (unsigned int)conf->group, strerror(errno));
		goto close_fd;
	}
	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m->at == MAP_FAILED)
		rc = ps_fail(e, errno, "cannot map %s: %s; set a smaller feed size", name,
			strerror(errno));
close_fd:
	close(fd);
	if (rc != 0)
		unlink(name);
	return rc;
}

static int
make_cursor(const struct ps_feed_conf *conf, const char *name, uint64_t generation,
	uint64_t released, struct ps_err *e)
{
	struct penstock_feed_cursor *c;
	struct feed_map m;
	int rc = make_file(conf, name, sizeof(*c), 0660, &m, e);

	if (rc != 0)
		return rc;
	c = m.at;
	c->version = PENSTOCK_FEED_VERSION;
	c->generation = generation;
	c->released = released;
	__atomic_store_n(&c->magic, PENSTOCK_FEED_CURSOR_MAGIC, __ATOMIC_RELEASE);
	munmap(m.at, m.bytes);
	return 0;
}

int
ps_feed_make_cursor(
	const struct ps_feed_conf *conf, uint64_t generation, uint64_t released, struct ps_err *e)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s.consumer", conf->path);
	return make_cursor(conf, name, generation, released, e);
}

int
ps_feed_make(
	const struct ps_feed_conf *conf, uint64_t generation, uint64_t sequence, struct ps_err *e)
{
	char name[PATH_MAX], cursor_name[PATH_MAX];
	struct penstock_feed_header *h;
	struct feed_map m;
	int rc;

	snprintf(name, sizeof(name), "%s.new", conf->path);
	snprintf(cursor_name, sizeof(cursor_name), "%s.new.consumer", conf->path);
	/* An old PATH.new must not pass as complete with the cursor made now. */
	unlink(name);
	rc = make_cursor(conf, cursor_name, generation, 0, e);
	if (rc != 0)
		return rc;
	rc = make_file(conf, name, PENSTOCK_FEED_DATA_OFFSET + conf->capacity_bytes, 0640, &m, e);
	if (rc != 0) {
		unlink(cursor_name);
		return rc;
	}
	h = m.at;
	h->version = PENSTOCK_FEED_VERSION;
	h->worker = conf->worker;
	h->capacity_bytes = conf->capacity_bytes;
	h->data_offset = PENSTOCK_FEED_DATA_OFFSET;
	h->generation = generation;
	h->mark[0].sequence = sequence;
	h->mark[1].cursor = UINT64_MAX;
	snprintf(h->service, sizeof(h->service), "%s", conf->service);
	__atomic_store_n(&h->magic, PENSTOCK_FEED_MAGIC, __ATOMIC_RELEASE);
	munmap(m.at, m.bytes);
	return 0;
}

int
ps_feed_adopt(const char *path, struct ps_err *e)
{
	char from[PATH_MAX], to[PATH_MAX];

	snprintf(from, sizeof(from), "%s.new.consumer", path);
	snprintf(to, sizeof(to), "%s.consumer", path);
	if (rename(from, to) != 0 && errno != ENOENT) /* a crash may have come after this one */
		return ps_fail(e, errno, "cannot rename %s: %s", from, strerror(errno));
	snprintf(from, sizeof(from), "%s.new", path);
	if (rename(from, path) != 0)
		return ps_fail(e, errno, "cannot rename %s: %s", from, strerror(errno));
	return 0;
}

static int
map_own(const char *name, int prot, struct feed_map *m, struct ps_err *e)
{
	struct stat st;
	int fd = open_own(name, prot & PROT_WRITE ? O_RDWR : O_RDONLY, &st, e);

	if (fd < 0)
		return fd;
	m->bytes = (size_t)st.st_size;
	m->at = m->bytes == 0 ? MAP_FAILED
			      : mmap(NULL, m->bytes, prot, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	if (m->at == MAP_FAILED)
		return ps_fail(e, EBADMSG, "cannot map %s (%zu bytes); remove it: rm %s", name,
			m->bytes, name);
	return 0;
}

static bool
header_valid(const struct penstock_feed_header *h, size_t bytes)
{
	return bytes >= PENSTOCK_FEED_DATA_OFFSET + PS_FEED_MIN_BYTES &&
	       h->magic == PENSTOCK_FEED_MAGIC && h->version == PENSTOCK_FEED_VERSION &&
	       h->data_offset == PENSTOCK_FEED_DATA_OFFSET && h->generation != 0 &&
	       h->capacity_bytes >= PS_FEED_MIN_BYTES && h->capacity_bytes <= PS_FEED_MAX_BYTES &&
	       (h->capacity_bytes & (h->capacity_bytes - 1)) == 0 &&
	       h->capacity_bytes <= bytes - PENSTOCK_FEED_DATA_OFFSET &&
	       h->produced % PENSTOCK_FEED_ALIGN == 0;
}

int
ps_feed_map_header(const char *path, struct feed_map *m, struct ps_err *e)
{
	int rc = map_own(path, PROT_READ | PROT_WRITE, m, e);

	if (rc != 0 || header_valid(m->at, m->bytes))
		return rc;
	munmap(m->at, m->bytes);
	return ps_fail(e, EBADMSG, "%s is not a feed of this version; remove it: rm %s %s.consumer",
		path, path, path);
}

int
ps_feed_map_cursor(const char *path, uint64_t generation, struct feed_map *m, struct ps_err *e)
{
	const struct penstock_feed_cursor *c;
	char name[PATH_MAX];
	int rc;

	snprintf(name, sizeof(name), "%s.consumer", path);
	rc = map_own(name, PROT_READ, m, e);
	if (rc != 0)
		return rc;
	c = m->at;
	rc = ps_feed_guard(m->at, m->bytes);
	if (rc != 0) {
		munmap(m->at, m->bytes);
		return ps_fail(e, -rc, "more than %d feeds; configure fewer", PS_FEED_GUARDS);
	}
	if (m->bytes >= sizeof(*c) && c->magic == PENSTOCK_FEED_CURSOR_MAGIC &&
		c->version == PENSTOCK_FEED_VERSION && c->generation == generation)
		return 0;
	ps_feed_unguard(m->at);
	munmap(m->at, m->bytes);
	return ps_fail(e, EBADMSG, "%s is not the cursor of %s", name, path);
}
