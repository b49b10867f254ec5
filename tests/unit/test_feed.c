/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed_help.h"

static void
test_one_record(void)
{
	const struct penstock_feed_record *r[4];
	struct penstock_feed_info info;
	struct penstock_feed *c;
	uint8_t payload[] = "ping";
	struct ps_datagram d = {payload, 4, 0, {1, 2, 3, 4}, 0, NULL};
	struct ps_feed f;
	struct stat st;
	char name[128];

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	c = attach(NULL);
	CU_ASSERT_EQUAL(penstock_feed_poll(c, r, 4), 0);
	CU_ASSERT_TRUE(ps_feed_put_datagram(&f, &d, 77));
	CU_ASSERT_EQUAL(penstock_feed_poll(c, r, 4), 0); /* not published yet */
	ps_feed_publish(&f);
	ps_feed_heartbeat(&f, 99);
	CU_ASSERT_EQUAL_FATAL(penstock_feed_poll(c, r, 4), 1);
	CU_ASSERT_EQUAL(r[0]->kind, PENSTOCK_FEED_DATAGRAM);
	CU_ASSERT_EQUAL(r[0]->clock, PENSTOCK_FEED_CLOCK_MONOTONIC);
	CU_ASSERT_EQUAL(r[0]->saddr_be, 1);
	CU_ASSERT_EQUAL(r[0]->daddr_be, 2);
	CU_ASSERT_EQUAL(r[0]->sport_be, 3);
	CU_ASSERT_EQUAL(r[0]->dport_be, 4);
	CU_ASSERT_EQUAL(r[0]->received, 77);
	CU_ASSERT_EQUAL(r[0]->flags, 0);
	CU_ASSERT_EQUAL(r[0]->payload_bytes, 4);
	CU_ASSERT(memcmp(penstock_feed_payload(r[0]), "ping", 4) == 0);
	penstock_feed_info(c, &info);
	CU_ASSERT_STRING_EQUAL(info.service, "tpu");
	CU_ASSERT_EQUAL(info.worker, 3);
	CU_ASSERT_EQUAL(info.generation, 1);
	CU_ASSERT_EQUAL(info.producer_heartbeat_ns, 99);
	CU_ASSERT_EQUAL(info.unread_bytes, 0);
	CU_ASSERT_EQUAL(info.unreleased_bytes, 128);
	CU_ASSERT_EQUAL(ps_feed_unread_bytes(&f), 128);
	penstock_feed_release(c, r[0]);
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), CAPACITY);
	CU_ASSERT(ps_feed_consumer_heartbeat_ns(&f) != 0);
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0640);
	snprintf(name, sizeof(name), "%s.consumer", path);
	CU_ASSERT_EQUAL(stat(name, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0660);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

static void
test_many_laps(void)
{
	struct ps_feed f;
	struct penstock_feed *c;
	uint64_t next = 0;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	c = attach(NULL);
	for (unsigned int round = 0; round < 400; round++) {
		for (unsigned int i = 0; i < round % 90; i++) {
			if (!put_next(&f))
				break;
			if (i % 3 == 0)
				ps_feed_publish(&f);
		}
		ps_feed_publish(&f);
		next = drain(c, next);
		CU_ASSERT_EQUAL_FATAL(next, f.sequence);
		CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), CAPACITY);
	}
	CU_ASSERT(f.published > 50 * CAPACITY);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

static void
test_full(void)
{
	struct ps_feed f;
	struct penstock_feed *c;
	uint64_t records, next;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	while (put_next(&f))
		;
	ps_feed_publish(&f);
	records = f.sequence;
	CU_ASSERT_EQUAL(f.stats.full, 1);
	CU_ASSERT_EQUAL(f.stats.records, records);
	CU_ASSERT_FALSE(ps_feed_fits(&f, 4096, 4096));
	CU_ASSERT_PTR_NULL(ps_feed_put(&f, PENSTOCK_FEED_MAX_PAYLOAD));
	CU_ASSERT_EQUAL(f.sequence, records);
	c = attach(NULL);
	next = drain(c, 0);
	CU_ASSERT_EQUAL(next, records);
	CU_ASSERT_TRUE(ps_feed_fits(&f, 4096, 4096));
	CU_ASSERT_PTR_NULL(ps_feed_put(&f, PENSTOCK_FEED_MAX_PAYLOAD + 1));
	CU_ASSERT_PTR_NOT_NULL(ps_feed_put(&f, PENSTOCK_FEED_MAX_PAYLOAD));
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

/* What fits() promises must hold wherever in the ring the records begin. */
static void
test_fits_is_enough(void)
{
	struct ps_feed f;
	struct penstock_feed *c;
	const struct penstock_feed_record *r[64];

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	c = attach(NULL);
	srand(3);
	for (unsigned int round = 0; round < 4000; round++) {
		uint32_t size[8];
		uint64_t total = 0, largest = 0;

		for (unsigned int i = 0; i < 8; i++) {
			size[i] = (uint32_t)rand() % 4097;
			total += ps_feed_record_bytes(size[i]);
			if (ps_feed_record_bytes(size[i]) > largest)
				largest = ps_feed_record_bytes(size[i]);
		}
		if (ps_feed_fits(&f, total, largest))
			for (unsigned int i = 0; i < 8; i++)
				CU_ASSERT_PTR_NOT_NULL_FATAL(ps_feed_put(&f, size[i]));
		ps_feed_publish(&f);
		CU_ASSERT_FATAL(penstock_feed_poll(c, r, (unsigned int)rand() % 16) >= 0);
		penstock_feed_release(c, NULL);
	}
	CU_ASSERT(f.published > 10 * CAPACITY);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

static void
test_release_part(void)
{
	const struct penstock_feed_record *r[8];
	struct penstock_feed *c, *other;
	struct ps_feed f;
	char err[PENSTOCK_FEED_ERR_BYTES];

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	c = attach(NULL);
	CU_ASSERT_EQUAL(penstock_feed_attach(&other, path, NULL, err), -EBUSY);
	CU_ASSERT_EQUAL_FATAL(penstock_feed_poll(c, r, 8), 5);
	penstock_feed_release(c, r[1]);
	penstock_feed_detach(c); /* a crash is the same to the files */
	c = attach(NULL);
	CU_ASSERT_EQUAL_FATAL(penstock_feed_poll(c, r, 8), 3);
	CU_ASSERT_TRUE(record_good(r[0], 2));
	penstock_feed_release(c, r[2]);
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), CAPACITY);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

static void
test_age(void)
{
	struct penstock_feed_options o = {.max_age_ns = ps_now_ns() / 2};
	const struct penstock_feed_record *r[8];
	struct penstock_feed_info info;
	uint64_t now_ns = ps_now_ns();
	struct ps_datagram d = {(uint8_t *)"x", 1, 0, {0}, 0, NULL};
	struct penstock_feed *c;
	struct ps_feed f;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_TRUE(ps_feed_put_datagram(&f, &d, i == 2 ? now_ns : 1));
	ps_feed_publish(&f);
	c = attach(&o);
	CU_ASSERT_EQUAL_FATAL(penstock_feed_poll(c, r, 8), 1);
	CU_ASSERT_EQUAL(r[0]->sequence, 2);
	penstock_feed_release(c, r[0]); /* the skipped one behind it goes along */
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), CAPACITY);
	CU_ASSERT_TRUE(ps_feed_put_datagram(&f, &d, 1));
	ps_feed_publish(&f);
	CU_ASSERT_EQUAL(penstock_feed_poll(c, r, 8), 0);
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), CAPACITY);
	penstock_feed_info(c, &info);
	CU_ASSERT_EQUAL(info.skipped, 4);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

static void
test_peek(void)
{
	struct penstock_feed_options o = {.peek = true};
	const struct penstock_feed_record *r[64];
	struct penstock_feed *c, *p;
	struct ps_feed f;
	int n;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	p = attach(&o);
	CU_ASSERT_EQUAL(penstock_feed_poll(p, r, 3), 3);
	CU_ASSERT_TRUE(record_good(r[2], 2));
	penstock_feed_release(p, NULL);
	c = attach(NULL); /* not disturbed by the peeking one */
	CU_ASSERT_EQUAL_FATAL(penstock_feed_poll(c, r, 10), 10);
	CU_ASSERT_TRUE(record_good(r[0], 0));
	penstock_feed_release(c, NULL);
	n = penstock_feed_poll(p, r, 64);
	CU_ASSERT_EQUAL_FATAL(n, 10);
	CU_ASSERT_TRUE(record_good(r[0], 10));
	CU_ASSERT_TRUE(record_good(r[9], 19));
	penstock_feed_detach(p);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	remove_files();
}

static void
test_hostile_cursor(void)
{
	static const uint64_t lies[] = {
		1, 63, CAPACITY, CAPACITY * 2, UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 63, 0};
	struct penstock_feed_cursor *hostile;
	struct penstock_feed *c;
	struct ps_feed f;
	uint64_t seen, free_bytes, bad;
	int fd;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	c = attach(NULL);
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	drain(c, 0);
	CU_ASSERT_TRUE(put_next(&f));
	CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	CU_ASSERT_TRUE(put_next(&f)); /* put and not published: not to be released either */
	free_bytes = ps_feed_free_bytes(&f);
	seen = f.seen;
	hostile = map_cursor(&fd);
	for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		hostile->released = lies[i];
		bad = f.stats.bad_cursor;
		CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), free_bytes);
		CU_ASSERT_EQUAL(f.stats.bad_cursor, bad + 1);
	}
	hostile->released = f.write;
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), free_bytes);
	while (put_next(&f))
		;
	CU_ASSERT(f.write - seen <= CAPACITY);
	penstock_feed_detach(c);
	/* A restart meets the lie as well: the whole ring counts as unread, which is safe. */
	hostile->released = UINT64_MAX - 63;
	ps_feed_close(&f);
	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	CU_ASSERT_EQUAL(f.seen, 0);
	CU_ASSERT_EQUAL(penstock_feed_attach(&c, path, NULL, NULL), -EBADMSG);
	hostile->released = seen;
	CU_ASSERT(ps_feed_free_bytes(&f) > 0);
	CU_ASSERT_EQUAL(f.seen, seen);
	/* Truncation would be SIGBUS for an unguarded reader. */
	CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
	bad = f.stats.bad_cursor;
	free_bytes = CAPACITY - (f.write - f.seen);
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), free_bytes);
	CU_ASSERT_EQUAL(f.stats.bad_cursor, bad + 1);
	while (put_next(&f))
		;
	munmap(hostile, sizeof(*hostile));
	close(fd);
	/* And the next start makes a new cursor file. */
	ps_feed_close(&f);
	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	CU_ASSERT_EQUAL(ps_feed_free_bytes(&f), CAPACITY);
	ps_feed_close(&f);
	remove_files();
}

static void
test_producer_returns(void)
{
	struct penstock_feed *c;
	struct ps_feed f, second;
	struct ps_feed_conf conf = conf_of(CAPACITY);
	struct ps_err e;
	uint64_t next = 0;

	for (unsigned int round = 0; round < 50; round++) {
		CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
		if (round == 0)
			c = attach(NULL);
		CU_ASSERT_EQUAL(ps_feed_open(&second, &conf, &e), -EBUSY);
		for (unsigned int i = 0; i < 1 + round % 17; i++)
			CU_ASSERT_TRUE_FATAL(put_next(&f));
		ps_feed_publish(&f);
		CU_ASSERT_TRUE_FATAL(put_next(&f)); /* never published: as if it had not been */
		if (round % 3 != 0)
			next = drain(c, next);
		if (round % 3 == 2)
			CU_ASSERT_EQUAL_FATAL(next, f.sequence - 1);
		ps_feed_close(&f);
	}
	next = drain(c, next);
	CU_ASSERT_EQUAL(next, f.sequence - 1);
	penstock_feed_detach(c);
	remove_files();
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"one record, every field", test_one_record},
		{"many laps, sizes vary, byte by byte", test_many_laps},
		{"full: nothing unread is overwritten", test_full},
		{"room that is promised is there", test_fits_is_enough},
		{"release in part, crash, return; one consumer only", test_release_part},
		{"records above an age are skipped", test_age},
		{"peeking disturbs nobody", test_peek},
		{"hostile cursor: lies and truncation", test_hostile_cursor},
		{"producer returns in the middle of the ring", test_producer_returns},
		CU_TEST_INFO_NULL,
	};

	return run_suite("feed", tests);
}
