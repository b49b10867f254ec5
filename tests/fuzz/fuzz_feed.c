/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The consumer of a feed whose files hold anything: it gives whole records inside of the ring only
 * and releases no more than it was given, or says -EBADMSG.
 *
 * Two generations of a good feed lie there; the input is an option byte (1: peek; 2: an age limit;
 * 4: the older generation is there), then steps of three bytes, position and length, and what they
 * take. A length below 0xf0: so many bytes of the input go to that position: in the ring of
 * the current generation from 0x4000 on, in its last quarter from 0x8000 on; in its header below
 * 0x1000, in its cursor below 0x2000, in those of the older one below 0x4000. Above: a poll of at
 * most the position's low byte, which releases as its high byte says. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "penstock_feed.h"

#define CAPACITY   65536
#define FILE_BYTES (PENSTOCK_FEED_DATA_OFFSET + CAPACITY)
#define POLL_MAX   8
#define RECORD     448 /* bytes of each that is there from the start */
#define RECORDS    12
#define MAPS       64

enum { HEADER, CURSOR, OLD_HEADER, OLD_CURSOR, FILES };

static struct {
	uint8_t *bytes;
	char name[112], kept[112]; /* kept: a link that the consumer does not remove */
} file[FILES];

static char dir[64], path[80];
static const uint8_t *map[MAPS]; /* what the consumer maps in this run */
static unsigned int maps;

__typeof__(nanosleep) __wrap_nanosleep;
__typeof__(mmap) __wrap_mmap64, __real_mmap64;

/* Attaching tries again a millisecond later. */
int
__wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)t;
	(void)left;
	return 0;
}

void *
__wrap_mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	void *p = __real_mmap64(at, bytes, prot, flags, fd, offset);

	if (bytes == FILE_BYTES && prot == PROT_READ)
		map[maps++ % MAPS] = p;
	return p;
}

static void
make_file(unsigned int i, const char *suffix, size_t bytes)
{
	int fd;

	snprintf(file[i].name, sizeof(file[i].name), "%s%s", path, suffix);
	snprintf(file[i].kept, sizeof(file[i].kept), "%s%s.kept", path, suffix);
	fd = open(file[i].kept, O_RDWR | O_CREAT | O_EXCL, 0600);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	file[i].bytes = __real_mmap64(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	FUZZ_CHECK(file[i].bytes != MAP_FAILED);
	close(fd);
}

static void
remove_files(void)
{
	for (unsigned int i = 0; i < FILES; i++) {
		unlink(file[i].name);
		unlink(file[i].kept);
	}
	rmdir(dir);
}

static void
set_up(void)
{
	snprintf(dir, sizeof(dir), "/dev/shm/penstock-fuzz-XXXXXX");
	FUZZ_CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/feed", dir);
	make_file(HEADER, "", FILE_BYTES);
	make_file(CURSOR, ".consumer", 4096);
	make_file(OLD_HEADER, ".gen1", FILE_BYTES);
	make_file(OLD_CURSOR, ".gen1.consumer", 4096);
	atexit(remove_files);
}

/* A good generation: its last record lies behind a pad at the end of the ring. */
static void
make_good(uint8_t *header, uint8_t *cursor, uint64_t generation)
{
	uint64_t first = CAPACITY - (RECORDS - 2) * RECORD - 64, at = first;
	struct penstock_feed_header h = {.magic = PENSTOCK_FEED_MAGIC,
		.version = PENSTOCK_FEED_VERSION,
		.capacity_bytes = CAPACITY,
		.data_offset = PENSTOCK_FEED_DATA_OFFSET,
		.generation = generation,
		.retired = generation == 1 ? 2 : 0,
		.service = "tpu"};
	struct penstock_feed_cursor c = {.magic = PENSTOCK_FEED_CURSOR_MAGIC,
		.version = PENSTOCK_FEED_VERSION,
		.generation = generation,
		.released = first};
	uint8_t *ring = header + PENSTOCK_FEED_DATA_OFFSET;

	for (unsigned int i = 0; i < RECORDS; i++) {
		struct penstock_feed_record r = {.sequence = i,
			.record_bytes = CAPACITY - at % CAPACITY < RECORD ? 64 : RECORD,
			.kind = PENSTOCK_FEED_TRANSACTION,
			.published_ns = i % 3 == 0 ? 1 : UINT64_MAX};

		r.payload_bytes = RECORD - sizeof(r) - i;
		if (r.record_bytes != RECORD)
			r.kind = PENSTOCK_FEED_PAD;
		memcpy(ring + at % CAPACITY, &r, r.record_bytes < sizeof(r) ? 64 : sizeof(r));
		at += r.record_bytes;
	}
	h.produced = at;
	memcpy(header, &h, sizeof(h));
	memcpy(cursor, &c, sizeof(c));
}

static void
start(uint8_t options)
{
	/* The files are sparse: what was written goes with its pages. */
	for (unsigned int i = 0; i < FILES; i++) {
		bool there = i < OLD_HEADER || options & 4;

		if (there)
			FUZZ_CHECK(link(file[i].kept, file[i].name) == 0 || errno == EEXIST);
		else
			unlink(file[i].name);
		memset(file[i].bytes, 0, i % 2 == 0 ? FILE_BYTES : 4096);
	}
	make_good(file[HEADER].bytes, file[CURSOR].bytes, 2);
	make_good(file[OLD_HEADER].bytes, file[OLD_CURSOR].bytes, 1);
	maps = 0;
}

static void
patch(unsigned int at, const uint8_t *p, size_t len)
{
	if (at >= 0x4000) {
		for (size_t i = 0; i < len; i++) {
			uint32_t to = at & 0x8000 ? (at & 0x7fff) + CAPACITY - 0x2000 : at - 0x4000;

			file[HEADER].bytes[PENSTOCK_FEED_DATA_OFFSET + (to + i) % CAPACITY] = p[i];
		}
		return;
	}
	for (size_t i = 0; i < len; i++)
		file[at >> 12].bytes[(at + i) % 512] = p[i];
}

static void
check_record(const struct penstock_feed_record *r, bool peek)
{
	bool inside = peek;
	uint32_t sum = 0;

	FUZZ_CHECK(r->record_bytes % PENSTOCK_FEED_ALIGN == 0);
	FUZZ_CHECK(r->record_bytes <= PENSTOCK_FEED_MAX_PAYLOAD + sizeof(*r));
	FUZZ_CHECK(sizeof(*r) + r->payload_bytes <= r->record_bytes);
	for (unsigned int i = 0; i < maps && i < MAPS && !inside; i++)
		inside = (const uint8_t *)r >= map[i] + PENSTOCK_FEED_DATA_OFFSET &&
			 (const uint8_t *)r + r->record_bytes <= map[i] + FILE_BYTES;
	FUZZ_CHECK(inside && r->kind != PENSTOCK_FEED_PAD);
	for (uint32_t i = 0; i < r->payload_bytes; i++)
		sum += penstock_feed_payload(r)[i];
	FUZZ_CHECK(sum <= 255 * r->payload_bytes);
}

static void
poll(struct penstock_feed *f, unsigned int at, bool peek)
{
	const struct penstock_feed_record *r[POLL_MAX];
	struct penstock_feed_info info;
	unsigned int max = at % (POLL_MAX + 1), pick = at >> 8;
	int n = penstock_feed_poll(f, r, max);

	FUZZ_CHECK(n == -EBADMSG || (n >= 0 && (unsigned int)n <= max));
	fuzz_note((uint64_t)n);
	for (int i = 0; i < n; i++)
		check_record(r[i], peek);
	penstock_feed_info(f, &info);
	FUZZ_CHECK(memchr(info.service, '\0', sizeof(info.service)) != NULL);
	FUZZ_CHECK(info.capacity_bytes == CAPACITY);
	if (pick & 1)
		penstock_feed_release(
			f, n > 0 && pick & 2 ? r[(pick >> 2) % (unsigned int)n] : NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p = data + 1, *end = data + size;
	struct penstock_feed_options o = {0};
	struct penstock_feed *f = NULL;
	char err[PENSTOCK_FEED_ERR_BYTES] = "";
	int rc = 0;

	if (size == 0)
		return 0;
	if (file[0].bytes == NULL)
		set_up();
	start(data[0]);
	o.peek = data[0] & 1;
	o.max_age_ns = data[0] & 2 ? 1 : 0;
	while (end - p >= 3 && rc == 0) {
		unsigned int at = (unsigned int)(p[0] | p[1] << 8);
		size_t len = p[2];

		p += 3;
		if (len < 0xf0) {
			len = len < (size_t)(end - p) ? len : (size_t)(end - p);
			patch(at, p, len);
			p += len;
			continue;
		}
		if (f == NULL)
			rc = penstock_feed_attach(&f, path, &o, err);
		FUZZ_CHECK((rc == 0) == (err[0] == '\0') || rc == 0);
		if (rc == 0)
			poll(f, at, o.peek);
	}
	if (f != NULL)
		penstock_feed_detach(f);
	return 0;
}
