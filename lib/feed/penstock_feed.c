/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "penstock_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIN_CAPACITY_BYTES (UINT64_C(1) << 16)
#define PATH_BYTES         (PATH_MAX - 64)
#define PEEK_BYTES         (4 * (PENSTOCK_FEED_MAX_PAYLOAD + sizeof(struct penstock_feed_record)))
#define ATTACH_TRIES       20 /* a millisecond apart: Penstock may be renaming files */

/* The two files of one generation, mapped. */
struct generation {
	const struct penstock_feed_header *header;
	struct penstock_feed_cursor *cursor; /* read-only when peeking */
	size_t header_map_bytes, cursor_map_bytes;
	int cursor_fd; /* carries the lock of the only consumer */
	uint64_t number;
	ino_t inode; /* of the header's file */
};

struct penstock_feed {
	struct generation gen;
	const uint8_t *data;
	uint64_t capacity;
	uint64_t read;     /* cursor behind what was polled */
	uint64_t last_end; /* cursor behind the last record given to the caller */
	uint64_t released;
	uint64_t skipped;
	struct penstock_feed_options options;
	char path[PATH_BYTES];
	uint8_t *copies; /* PEEK_BYTES when peeking, else NULL */
};

__attribute__((format(printf, 3, 4))) static int
fail(char *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (err != NULL) {
		va_start(ap, fmt);
		vsnprintf(err, PENSTOCK_FEED_ERR_BYTES, fmt, ap);
		va_end(ap);
	}
	return rc;
}

static void
old_name(char *out, const char *path, uint64_t number, const char *suffix)
{
	snprintf(out, PATH_MAX, "%s.gen%" PRIu64 "%s", path, number, suffix);
}

static bool
old_exists(const char *path, uint64_t number)
{
	char name[PATH_MAX];

	old_name(name, path, number, "");
	return access(name, F_OK) == 0;
}

/* Maps a regular file of at least min bytes; the descriptor stays open in *fd. */
static int
map_file(const char *name, bool writable, size_t min, int *fd, void **map, size_t *bytes, char *err)
{
	struct stat st;
	int flags = writable ? O_RDWR : O_RDONLY;
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;

	*fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0)
		return fail(err, -errno, "cannot open %s: %s", name, strerror(errno));
	if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < min) {
		close(*fd);
		return fail(err, -EBADMSG, "%s is not a file of a feed", name);
	}
	*bytes = (size_t)st.st_size;
	*map = mmap(NULL, *bytes, prot, MAP_SHARED, *fd, 0);
	if (*map != MAP_FAILED)
		return 0;
	close(*fd);
	return fail(
		err, -ENOMEM, "cannot map the %zu bytes of %s: %s", *bytes, name, strerror(errno));
}

static bool
header_valid(const struct penstock_feed_header *h, size_t bytes)
{
	return h->magic == PENSTOCK_FEED_MAGIC && h->version == PENSTOCK_FEED_VERSION &&
	       h->data_offset == PENSTOCK_FEED_DATA_OFFSET &&
	       h->capacity_bytes >= MIN_CAPACITY_BYTES &&
	       (h->capacity_bytes & (h->capacity_bytes - 1)) == 0 &&
	       h->capacity_bytes <= bytes - PENSTOCK_FEED_DATA_OFFSET;
}

static int
open_header(struct generation *g, const char *name, char *err)
{
	struct stat st;
	void *map;
	int fd, rc;

	rc = map_file(name, false, PENSTOCK_FEED_DATA_OFFSET + MIN_CAPACITY_BYTES, &fd, &map,
		&g->header_map_bytes, err);
	if (rc != 0)
		return rc;
	g->inode = fstat(fd, &st) == 0 ? st.st_ino : 0;
	close(fd);
	g->header = map;
	if (header_valid(g->header, g->header_map_bytes)) {
		g->number = g->header->generation;
		return 0;
	}
	munmap(map, g->header_map_bytes);
	return fail(err, -EBADMSG, "%s is not a Penstock feed of version %d", name,
		PENSTOCK_FEED_VERSION);
}

static int
open_cursor(struct generation *g, const char *name, bool peek, char *err)
{
	void *map;
	int rc;

	rc = map_file(
		name, !peek, sizeof(*g->cursor), &g->cursor_fd, &map, &g->cursor_map_bytes, err);
	if (rc != 0)
		return rc;
	g->cursor = map;
	if (g->cursor->magic != PENSTOCK_FEED_CURSOR_MAGIC ||
		g->cursor->version != PENSTOCK_FEED_VERSION)
		rc = fail(err, -EBADMSG, "%s is not the cursor of a feed", name);
	else if (g->cursor->generation != g->number)
		rc = fail(err, -EAGAIN, "%s is being replaced; try again", name);
	else if (!peek && flock(g->cursor_fd, LOCK_EX | LOCK_NB) != 0)
		rc = fail(err, -EBUSY, "another consumer is attached: fuser -v %s", name);
	if (rc != 0) {
		munmap(map, g->cursor_map_bytes);
		close(g->cursor_fd);
	}
	return rc;
}

static void
close_generation(struct generation *g)
{
	munmap((void *)(uintptr_t)g->header, g->header_map_bytes);
	munmap(g->cursor, g->cursor_map_bytes);
	close(g->cursor_fd);
}

/* number 0: the current one. */
static int
open_generation(struct generation *g, const char *path, uint64_t number, bool peek, char *err)
{
	char name[PATH_MAX], cursor_name[PATH_MAX + sizeof(".consumer")];
	struct stat st;
	int rc;

	snprintf(name, sizeof(name), "%s", path);
	if (number != 0)
		old_name(name, path, number, "");
	rc = open_header(g, name, err);
	if (rc != 0)
		return rc;
	snprintf(cursor_name, sizeof(cursor_name), "%s.consumer", name);
	rc = open_cursor(g, cursor_name, peek, err);
	if (rc != 0) {
		munmap((void *)(uintptr_t)g->header, g->header_map_bytes);
		return rc;
	}
	/* Penstock moves the old cursor and header away and the new ones in, in this order: the
	 * two belong together when the header is still there after the cursor was opened. */
	if (stat(name, &st) != 0 || st.st_ino != g->inode) {
		close_generation(g);
		return fail(err, -ENOENT, "%s is being made anew; try again", name);
	}
	return 0;
}

/* The oldest there is; PATH itself must exist, since its number says what to look for. */
static int
open_oldest(struct generation *g, const char *path, bool peek, char *err)
{
	uint64_t number;
	int rc = open_generation(g, path, 0, peek, err);

	if (rc != 0)
		return rc;
	for (number = g->number; number > 1 && old_exists(path, number - 1);)
		number--;
	if (number == g->number)
		return 0;
	close_generation(g);
	return open_generation(g, path, number, peek, err);
}

/* The one after the current; -EAGAIN while Penstock is still making it. */
static int
open_next(struct generation *g, const char *path, uint64_t number, bool peek, char *err)
{
	int rc;

	if (old_exists(path, number + 1))
		return open_generation(g, path, number + 1, peek, err);
	rc = open_generation(g, path, 0, peek, err);
	if (rc == -EBADMSG)
		return -EAGAIN; /* Penstock is making it, or was killed at that and will again */
	if (rc != 0)
		return rc;
	if (g->number > number && !(g->number > number + 1 && old_exists(path, number + 1)))
		return 0;
	close_generation(g);
	return -EAGAIN;
}

static int
start(struct penstock_feed *f, const struct generation *g, char *err)
{
	uint64_t released = __atomic_load_n(&g->cursor->released, __ATOMIC_ACQUIRE);
	uint64_t produced = __atomic_load_n(&g->header->produced, __ATOMIC_ACQUIRE);

	if (released > produced || produced - released > g->header->capacity_bytes ||
		released % PENSTOCK_FEED_ALIGN != 0)
		return fail(err, -EBADMSG,
			"the cursor of %s is damaged; remove %s.consumer and restart Penstock: "
			"unread records are lost",
			f->path, f->path);
	f->gen = *g;
	f->data = (const uint8_t *)g->header + PENSTOCK_FEED_DATA_OFFSET;
	f->capacity = g->header->capacity_bytes;
	f->read = f->last_end = f->released = released;
	return 0;
}

int
penstock_feed_attach(struct penstock_feed **out, const char *path,
	const struct penstock_feed_options *options, char *err)
{
	struct penstock_feed *f;
	struct generation g;
	int rc;

	if (strlen(path) >= PATH_BYTES)
		return fail(err, -ENAMETOOLONG, "path too long: %.64s...", path);
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return fail(err, -ENOMEM, "out of memory");
	snprintf(f->path, sizeof(f->path), "%s", path);
	if (options != NULL)
		f->options = *options;
	if (f->options.peek && (f->copies = aligned_alloc(64, PEEK_BYTES)) == NULL) {
		free(f);
		return fail(err, -ENOMEM, "out of memory");
	}
	for (int i = 0; i < ATTACH_TRIES; i++) {
		rc = open_oldest(&g, path, f->options.peek, err);
		if (rc != -ENOENT && rc != -EAGAIN)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (rc == 0) {
		rc = start(f, &g, err);
		if (rc != 0)
			close_generation(&g);
	}
	if (rc != 0) {
		free(f->copies);
		free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void
penstock_feed_detach(struct penstock_feed *f)
{
	close_generation(&f->gen);
	free(f->copies);
	free(f);
}

static void
release_to(struct penstock_feed *f, uint64_t cursor)
{
	/* What lies between the last record given out and read was skipped: it goes along. */
	f->released = cursor >= f->last_end ? f->read : cursor;
	if (!f->options.peek)
		__atomic_store_n(&f->gen.cursor->released, f->released, __ATOMIC_RELEASE);
}

void
penstock_feed_release(struct penstock_feed *f, const struct penstock_feed_record *last)
{
	uint64_t offset, cursor = f->read;

	if (f->options.peek)
		return;
	if (last != NULL) {
		offset = (uint64_t)((const uint8_t *)last - f->data);
		cursor = f->released + ((offset - f->released) & (f->capacity - 1));
		cursor += last->record_bytes;
	}
	if (cursor <= f->read)
		release_to(f, cursor);
}

/* Everything of this generation was released: go on with the next and remove this one. */
static int
switch_generation(struct penstock_feed *f)
{
	struct generation g, old = f->gen;
	uint64_t number = old.number;
	char name[PATH_MAX];
	int rc = open_next(&g, f->path, number, f->options.peek, NULL);

	/* -EBUSY: Penstock looks at the new cursor; no other consumer can have it before us. */
	if (rc == -ENOENT || rc == -EAGAIN || rc == -EBUSY)
		return 0;
	if (rc != 0)
		return rc;
	rc = start(f, &g, NULL);
	if (rc != 0) {
		/* Its header with the cursor of the one before: Penstock is between the two
		 * renames, or was killed there and will go on. */
		close_generation(&g);
		return rc == -EBADMSG ? 0 : rc;
	}
	close_generation(&old);
	if (!f->options.peek) {
		/* Where the directory does not let us, Penstock removes them. */
		old_name(name, f->path, number, "");
		unlink(name);
		old_name(name, f->path, number, ".consumer");
		unlink(name);
	}
	return 0;
}

/* Bytes of the record at a cursor, 0 when it is not one. It may be changing when peeking, so each
 * field is read once. */
static uint32_t
record_at(const struct penstock_feed *f, uint64_t cursor, uint64_t produced, uint8_t *kind)
{
	uint64_t at = cursor & (f->capacity - 1);
	const struct penstock_feed_record *r = (const void *)(f->data + at);
	uint32_t bytes = __atomic_load_n(&r->record_bytes, __ATOMIC_RELAXED);

	*kind = __atomic_load_n(&r->kind, __ATOMIC_RELAXED);
	if (bytes == 0 || bytes % PENSTOCK_FEED_ALIGN != 0 || bytes > f->capacity - at ||
		bytes > produced - cursor)
		return 0;
	if (*kind == PENSTOCK_FEED_PAD)
		return bytes;
	return bytes >= sizeof(*r) &&
			       bytes <= PENSTOCK_FEED_MAX_PAYLOAD +
						sizeof(struct penstock_feed_record) &&
			       __atomic_load_n(&r->payload_bytes, __ATOMIC_RELAXED) <=
				       bytes - sizeof(*r)
		       ? bytes
		       : 0;
}

/* Copies what is unread. A copy is good if, after it was made, its place had not been released by
 * the real consumer: only then has the producer left it alone. */
static int
poll_copies(struct penstock_feed *f, const struct penstock_feed_record **records, unsigned int max,
	uint64_t produced)
{
	struct penstock_feed_record *copy;
	unsigned int n = 0;
	size_t used = 0;

	while (n < max && f->read < produced) {
		uint8_t kind;
		uint32_t bytes = record_at(f, f->read, produced, &kind);
		uint64_t released;

		if (bytes > PEEK_BYTES - used && kind != PENSTOCK_FEED_PAD)
			break;
		copy = (void *)(f->copies + used);
		if (kind != PENSTOCK_FEED_PAD)
			memcpy(copy, f->data + (f->read & (f->capacity - 1)), bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		released = __atomic_load_n(&f->gen.cursor->released, __ATOMIC_ACQUIRE);
		if (released > f->read && released <= produced &&
			released % PENSTOCK_FEED_ALIGN == 0) {
			f->read = released;
			continue;
		}
		if (bytes == 0)
			return -EBADMSG;
		f->read += bytes;
		if (kind == PENSTOCK_FEED_PAD)
			continue;
		records[n++] = copy;
		used += bytes;
	}
	f->last_end = f->released = f->read;
	return (int)n;
}

static int
poll_ring(struct penstock_feed *f, const struct penstock_feed_record **records, unsigned int max,
	uint64_t produced, uint64_t now_ns)
{
	unsigned int n = 0;

	while (n < max && f->read < produced) {
		const struct penstock_feed_record *r =
			(const void *)(f->data + (f->read & (f->capacity - 1)));
		uint8_t kind;
		uint32_t bytes = record_at(f, f->read, produced, &kind);

		if (bytes == 0)
			return n != 0 ? (int)n : -EBADMSG;
		f->read += bytes;
		if (kind == PENSTOCK_FEED_PAD)
			continue;
		if (f->options.max_age_ns != 0 && now_ns > r->published_ns &&
			now_ns - r->published_ns > f->options.max_age_ns) {
			f->skipped++;
			continue;
		}
		f->last_end = f->read;
		records[n++] = r;
	}
	if (n == 0 && f->released >= f->last_end && f->released != f->read)
		release_to(f, f->read);
	return (int)n;
}

int
penstock_feed_poll(
	struct penstock_feed *f, const struct penstock_feed_record **records, unsigned int max)
{
	uint64_t retired = __atomic_load_n(&f->gen.header->retired, __ATOMIC_ACQUIRE);
	uint64_t produced = __atomic_load_n(&f->gen.header->produced, __ATOMIC_ACQUIRE);
	struct timespec ts;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now_ns = (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
	if (!f->options.peek)
		__atomic_store_n(&f->gen.cursor->heartbeat_ns, now_ns, __ATOMIC_RELAXED);
	if (f->read == produced && f->released == produced && retired != 0) {
		int rc = switch_generation(f);

		if (rc != 0)
			return rc;
		produced = __atomic_load_n(&f->gen.header->produced, __ATOMIC_ACQUIRE);
	}
	if (f->options.peek)
		return poll_copies(f, records, max, produced);
	return poll_ring(f, records, max, produced, now_ns);
}

void
penstock_feed_info(const struct penstock_feed *f, struct penstock_feed_info *info)
{
	const struct penstock_feed_header *h = f->gen.header;
	uint64_t produced = __atomic_load_n(&h->produced, __ATOMIC_ACQUIRE);

	memset(info, 0, sizeof(*info));
	memcpy(info->service, h->service, sizeof(info->service) - 1);
	info->worker = h->worker;
	info->generation = f->gen.number;
	info->capacity_bytes = f->capacity;
	info->unread_bytes = produced - f->read;
	info->unreleased_bytes = produced - f->released;
	info->skipped = f->skipped;
	info->producer_heartbeat_ns = __atomic_load_n(&h->heartbeat_ns, __ATOMIC_RELAXED);
}
