/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "feed_help.h"

static void
test_generations(void)
{
	const struct penstock_feed_record *r[16];
	struct penstock_feed_info info;
	struct penstock_feed *c, *late;
	struct ps_feed f;
	uint64_t next;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	c = attach(NULL);
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	ps_feed_close(&f);
	for (unsigned int g = 2; g <= 4; g++) {
		CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY << (g % 2 + 1)), 0);
		CU_ASSERT_EQUAL(f.header->generation, g);
		for (unsigned int i = 0; i < 10; i++)
			CU_ASSERT_TRUE(put_next(&f));
		ps_feed_publish(&f);
		ps_feed_sweep(&f); /* nothing drained yet: nothing may go */
		if (g != 4)
			ps_feed_close(&f);
	}
	CU_ASSERT_TRUE(exists(".gen1") && exists(".gen2") && exists(".gen3") && exists(""));
	/* Polled is not released: until then the old generation stays, for the case of a crash. */
	CU_ASSERT_EQUAL(penstock_feed_poll(c, r, 16), 10);
	CU_ASSERT_EQUAL(penstock_feed_poll(c, r, 16), 0);
	penstock_feed_info(c, &info);
	CU_ASSERT_EQUAL(info.generation, 1);
	penstock_feed_detach(c);
	c = attach(NULL);
	next = drain(c, 0);
	CU_ASSERT_EQUAL(next, 40);
	penstock_feed_info(c, &info);
	CU_ASSERT_EQUAL(info.generation, 4);
	CU_ASSERT_FALSE(exists(".gen1") || exists(".gen1.consumer") || exists(".gen2") ||
			exists(".gen3") || exists(".gen3.consumer"));
	ps_feed_close(&f);
	/* One that was not there while the geometry changed twice begins with the oldest. */
	CU_ASSERT_TRUE(open_feed(&f, CAPACITY * 2) == 0);
	CU_ASSERT_EQUAL(f.header->generation, 4);
	CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	ps_feed_close(&f);
	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY * 2), 0);
	CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	late = attach(NULL);
	penstock_feed_info(late, &info);
	CU_ASSERT_EQUAL(info.generation, 4);
	next = drain(late, 40);
	CU_ASSERT_EQUAL(next, 42);
	penstock_feed_detach(late);
	ps_feed_close(&f);
	remove_files();
}

/* The consumer may lack the right to remove files: then the producer sweeps. */
static void
test_sweep(void)
{
	struct penstock_feed_cursor *cursor;
	struct ps_feed f;
	int fd;

	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
	CU_ASSERT_TRUE(put_next(&f));
	ps_feed_publish(&f);
	cursor = map_cursor(&fd);
	ps_feed_close(&f);
	CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY * 2), 0);
	ps_feed_sweep(&f);
	CU_ASSERT_TRUE(exists(".gen1"));
	cursor->released = f.header->mark[0].cursor + ps_feed_record_bytes(size_of(0));
	ps_feed_sweep(&f);
	CU_ASSERT_FALSE(exists(".gen1") || exists(".gen1.consumer"));
	munmap(cursor, sizeof(*cursor));
	close(fd);
	ps_feed_close(&f);
	remove_files();
}

/* Every point between two steps of a geometry change, as a crash leaves it. */
static void
test_interrupted_change(void)
{
	char from[160], to[160];
	struct penstock_feed *c;
	struct ps_feed f;

	for (unsigned int step = 0; step < 4; step++) {
		CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY), 0);
		for (unsigned int i = 0; i < 5; i++)
			CU_ASSERT_TRUE(put_next(&f));
		ps_feed_publish(&f);
		ps_feed_close(&f);
		CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY * 2), 0);
		ps_feed_close(&f);
		/* Undo the last steps. */
		snprintf(from, sizeof(from), "%s", path);
		snprintf(to, sizeof(to), "%s.new", path);
		CU_ASSERT_EQUAL(rename(from, to), 0);
		if (step >= 1) {
			snprintf(from, sizeof(from), "%s.consumer", path);
			snprintf(to, sizeof(to), "%s.new.consumer", path);
			CU_ASSERT_EQUAL(rename(from, to), 0);
		}
		if (step >= 2) {
			snprintf(from, sizeof(from), "%s.gen1", path);
			CU_ASSERT_EQUAL(rename(from, path), 0);
		}
		if (step >= 3) {
			snprintf(from, sizeof(from), "%s.gen1.consumer", path);
			snprintf(to, sizeof(to), "%s.consumer", path);
			CU_ASSERT_EQUAL(rename(from, to), 0);
		}
		CU_ASSERT_EQUAL_FATAL(open_feed(&f, CAPACITY * 2), 0);
		CU_ASSERT_EQUAL(f.header->generation, 2);
		CU_ASSERT_EQUAL(f.capacity, CAPACITY * 2);
		CU_ASSERT_TRUE(put_next(&f));
		ps_feed_publish(&f);
		c = attach(NULL);
		CU_ASSERT_EQUAL(drain(c, 0), 6);
		penstock_feed_detach(c);
		ps_feed_close(&f);
		CU_ASSERT_FALSE(exists(".gen1") || exists(".new") || exists(".new.consumer"));
		remove_files();
	}
}

static int
refusal(const struct ps_feed_conf *conf, const char *contains)
{
	struct ps_feed f;
	struct ps_err e = {""};
	int rc = ps_feed_open(&f, conf, &e);

	CU_ASSERT(rc < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, contains));
	CU_ASSERT_PTR_NULL(strchr(e.text, '\n'));
	return rc;
}

static void
test_refusals(void)
{
	struct ps_feed_conf conf = conf_of(CAPACITY);
	char victim[128];
	struct stat st;
	FILE *file;

	snprintf(victim, sizeof(victim), "%s.victim", path);
	file = fopen(victim, "w");
	fputs("mine", file);
	fclose(file);
	CU_ASSERT_EQUAL(symlink(victim, path), 0);
	refusal(&conf, "symbolic link");
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(link(victim, path), 0);
	refusal(&conf, "not a plain file");
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(rename(victim, path), 0);
	refusal(&conf, "not a feed");
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 4);
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
	refusal(&conf, "not a plain file");
	CU_ASSERT_EQUAL(unlink(path), 0);
	if (geteuid() == 0) {
		file = fopen(path, "w");
		fclose(file);
		CU_ASSERT_EQUAL(chown(path, 65534, 65534), 0);
		refusal(&conf, "belongs to user 65534");
		CU_ASSERT_EQUAL(unlink(path), 0);
	}
	conf.capacity_bytes = CAPACITY + 64;
	refusal(&conf, "power of two");
	conf.capacity_bytes = PS_FEED_MAX_BYTES; /* more than there is */
	refusal(&conf, "no room for");
	CU_ASSERT_FALSE(exists("") || exists(".new") || exists(".new.consumer"));
	conf.capacity_bytes = CAPACITY;
	conf.path = "/nonexistent/feed";
	refusal(&conf, "No such file");
	remove_files();
}

static void
test_attach_refusals(void)
{
	struct penstock_feed *c;
	char err[PENSTOCK_FEED_ERR_BYTES];
	FILE *file;

	CU_ASSERT_EQUAL(penstock_feed_attach(&c, path, NULL, err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, path));
	file = fopen(path, "w");
	CU_ASSERT_EQUAL(ftruncate(fileno(file), 1 << 20), 0);
	fclose(file);
	CU_ASSERT_EQUAL(penstock_feed_attach(&c, path, NULL, err), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "not a Penstock feed"));
	remove_files();
}

/* Children of the kill test; they end by being killed. */
static void
produce_forever(uint64_t capacity)
{
	struct ps_feed f;
	unsigned int burst = 0;

	while (open_feed(&f, capacity) != 0)
		usleep(1000); /* the killed one's lock goes with it, but not at once */
	for (;;) {
		unsigned int n = 1 + burst++ % 7;

		while (n > 0 && put_next(&f))
			n--;
		ps_feed_publish(&f);
		if (n > 0)
			usleep(50);
	}
}

/* Writes down what it is going to release, then releases it. */
struct ledger {
	uint64_t intended, released, bad;
};

static void
consume_forever(struct ledger *l)
{
	const struct penstock_feed_record *r[8];
	struct penstock_feed *c;

	while (penstock_feed_attach(&c, path, NULL, NULL) != 0)
		usleep(1000);
	for (;;) {
		uint64_t next = __atomic_load_n(&l->released, __ATOMIC_RELAXED);
		int n = penstock_feed_poll(c, r, 8);

		if (n < 0)
			__atomic_store_n(&l->bad, 1, __ATOMIC_RELAXED);
		if (n <= 0) {
			usleep(50);
			continue;
		}
		/* Killed between release and the note of it: the intention was carried out. */
		if (r[0]->sequence == l->intended && next != l->intended) {
			next = l->intended;
			__atomic_store_n(&l->released, next, __ATOMIC_RELEASE);
		}
		for (int i = 0; i < n; i++)
			if (!record_good(r[i], next + (uint64_t)i))
				__atomic_store_n(&l->bad, 1 + r[i]->sequence, __ATOMIC_RELAXED);
		__atomic_store_n(&l->intended, next + (uint64_t)n, __ATOMIC_RELEASE);
		penstock_feed_release(c, NULL);
		__atomic_store_n(&l->released, next + (uint64_t)n, __ATOMIC_RELEASE);
	}
}

static pid_t
start_child(bool producer, uint64_t capacity, struct ledger *l)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (producer)
			produce_forever(capacity);
		else
			consume_forever(l);
		_exit(1);
	}
	return pid;
}

static void
kill_child(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
test_kill(void)
{
	struct ledger *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t capacity = CAPACITY;
	pid_t producer, consumer;
	struct penstock_feed *c;
	struct ps_feed f;
	uint64_t next;

	CU_ASSERT_FATAL(l != MAP_FAILED);
	srand(7);
	fflush(NULL);
	producer = start_child(true, capacity, l);
	consumer = start_child(false, 0, l);
	for (unsigned int round = 0; round < 120; round++) {
		usleep((useconds_t)(1000 + rand() % 9000));
		if (round % 3 != 1) {
			kill_child(producer);
			if (round % 20 == 0) /* a generation ends in the middle of it all */
				capacity ^= CAPACITY | CAPACITY * 2;
			producer = start_child(true, capacity, l);
		}
		if (round % 3 != 0) {
			kill_child(consumer);
			consumer = start_child(false, 0, l);
		}
	}
	/* Let the pair show that it still moves. */
	next = __atomic_load_n(&l->released, __ATOMIC_ACQUIRE);
	for (unsigned int i = 0; i < 10000; i++) {
		if (__atomic_load_n(&l->released, __ATOMIC_ACQUIRE) > next)
			break;
		usleep(1000);
	}
	CU_ASSERT(__atomic_load_n(&l->released, __ATOMIC_ACQUIRE) > next);
	kill_child(producer);
	kill_child(consumer);
	CU_ASSERT_EQUAL(l->bad, 0);
	/* The rest, read here: it goes on exactly where the dead consumer stopped. */
	CU_ASSERT_EQUAL_FATAL(open_feed(&f, capacity), 0);
	c = attach(NULL);
	next = l->released;
	if (l->intended != l->released) {
		const struct penstock_feed_record *r;

		if (penstock_feed_poll(c, &r, 1) != 1 || r->sequence == l->intended)
			next = l->intended;
		penstock_feed_detach(c);
		c = attach(NULL);
	}
	CU_ASSERT_EQUAL(drain(c, next), f.sequence);
	printf("%llu records ", (unsigned long long)f.sequence);
	penstock_feed_detach(c);
	ps_feed_close(&f);
	munmap(l, sizeof(*l));
	remove_files();
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"geometry changes: old generations first", test_generations},
		{"drained generations are swept", test_sweep},
		{"a geometry change interrupted at each step", test_interrupted_change},
		{"open refuses what is not ours", test_refusals},
		{"attach refuses what is not a feed", test_attach_refusals},
		{"kill -9 of both sides at random", test_kill},
		CU_TEST_INFO_NULL,
	};

	return run_suite("feed_files", tests);
}
