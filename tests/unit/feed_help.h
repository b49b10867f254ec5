/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the feed tests share: a feed in a directory of its own, records whose size and bytes follow
 * from their sequence number, and the check of both. */
#ifndef PS_TEST_FEED_HELP_H
#define PS_TEST_FEED_HELP_H

#include "feed.h"
#include "ps_time.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY UINT64_C(65536)

static char dir[64], path[96];

static inline struct ps_feed_conf
conf_of(uint64_t capacity)
{
	return (struct ps_feed_conf){path, "tpu", capacity, 3, (gid_t)-1};
}

static inline int
open_feed(struct ps_feed *f, uint64_t capacity)
{
	struct ps_feed_conf conf = conf_of(capacity);
	struct ps_err e = {""};
	int rc = ps_feed_open(f, &conf, &e);

	if (rc != 0)
		printf("\n    %s\n", e.text);
	return rc;
}

static inline struct penstock_feed *
attach(const struct penstock_feed_options *o)
{
	struct penstock_feed *c = NULL;
	char err[PENSTOCK_FEED_ERR_BYTES];

	if (penstock_feed_attach(&c, path, o, err) != 0)
		printf("\n    %s\n", err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	return c;
}

static inline bool
exists(const char *suffix)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return access(name, F_OK) == 0;
}

static inline void
remove_files(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -f %s.* %s", path, path);
	if (system(command) != 0)
		printf("cannot remove %s\n", path);
}

/* Sizes and bytes follow from the sequence number, so that a reader can check both. */
static inline uint32_t
size_of(uint64_t sequence)
{
	uint64_t x = sequence * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 29;
	return (uint32_t)(x % 11 == 0 ? x % 4097 : x % 1233);
}

static inline uint8_t
byte_of(uint64_t sequence, uint32_t i)
{
	return (uint8_t)(sequence * 7 + i * 13 + (i >> 8));
}

static inline bool
put_next(struct ps_feed *f)
{
	uint64_t sequence = f->sequence;
	struct penstock_feed_record *r = ps_feed_put(f, size_of(sequence));

	if (r == NULL)
		return false;
	r->kind = PENSTOCK_FEED_TRANSACTION;
	for (uint32_t i = 0; i < r->payload_bytes; i++)
		ps_feed_payload(r)[i] = byte_of(sequence, i);
	return true;
}

static inline bool
record_good(const struct penstock_feed_record *r, uint64_t sequence)
{
	if (r->sequence != sequence || r->payload_bytes != size_of(sequence) ||
		r->kind != PENSTOCK_FEED_TRANSACTION)
		return false;
	for (uint32_t i = 0; i < r->payload_bytes; i++)
		if (penstock_feed_payload(r)[i] != byte_of(sequence, i))
			return false;
	return true;
}

/* Polls and releases all there is; returns the sequence number expected next. */
static inline uint64_t
drain(struct penstock_feed *c, uint64_t sequence)
{
	const struct penstock_feed_record *r[16];
	unsigned int idle = 0;
	int n;

	while (idle < 2) { /* the first empty poll may have changed generation */
		n = penstock_feed_poll(c, r, 16);
		CU_ASSERT_FATAL(n >= 0);
		idle = n == 0 ? idle + 1 : 0;
		for (int i = 0; i < n; i++) {
			CU_ASSERT_TRUE_FATAL(record_good(r[i], sequence));
			sequence++;
		}
		penstock_feed_release(c, NULL);
	}
	return sequence;
}

static inline struct penstock_feed_cursor *
map_cursor(int *fd)
{
	char name[128];
	void *m;

	snprintf(name, sizeof(name), "%s.consumer", path);
	*fd = open(name, O_RDWR);
	CU_ASSERT_FATAL(*fd >= 0);
	m = mmap(NULL, sizeof(struct penstock_feed_cursor), PROT_READ | PROT_WRITE, MAP_SHARED, *fd,
		0);
	CU_ASSERT_FATAL(m != MAP_FAILED);
	return m;
}

/* Makes a directory of its own for the files, runs the suite, removes the directory. */
static inline int
run_suite(const char *name, CU_TestInfo *tests)
{
	CU_SuiteInfo suites[] = {{.pName = name, .pTests = tests}, CU_SUITE_INFO_NULL};
	int failed;

	snprintf(dir, sizeof(dir), "/dev/shm/penstock-test-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/feed", dir);
	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() != 0;
	CU_cleanup_registry();
	remove_files(); /* what a failed test left */
	if (rmdir(dir) != 0)
		printf("%s is not empty\n", dir);
	return failed;
}

#endif
