/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A consumer of Penstock feeds that knows what the interop clients sent: every transaction must be
 * there exactly once and byte-identical. Exit code 0 when so and nothing else was there, 1 when
 * not, 2 for usage. */
#include "penstock_feed.h"
#include "txgen.h"

#include <errno.h>
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FEEDS_MAX 64
#define COUNT_MAX 4000000
#define BURST     64
#define SECOND_NS 1000000000ull
#define QUIET_NS  (SECOND_NS / 2) /* after the last one: time for a wrong record to show */

struct expected {
	uint64_t hash;
	size_t at; /* in arena */
	uint32_t len;
	uint32_t seen;
	bool required;
};

struct check {
	struct ps_txgen gen;
	uint64_t count, timeout_ns;
	const char *acked;
	FILE *log;
	const char *path[FEEDS_MAX];
	struct penstock_feed *feed[FEEDS_MAX];
	unsigned n_feeds;

	struct expected *tx; /* by index */
	uint8_t *arena;
	uint32_t *table; /* index + 1 by hash, open addressing */
	uint64_t mask;
	uint64_t expected, matched, optional, duplicates, foreign, keys;
};

static const char usage[] =
	"usage: feed_check [options] --count N FEED...\n"
	"  --sizes MIN-MAX, --seed S, --large  as for the client\n"
	"  --acked FILE   only the transactions listed there must be present; others may be\n"
	"  --log FILE     append \"SEQUENCE INDEX\" of each record before it is released\n"
	"  --timeout S    give up after S seconds (60)\n";

static uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* FNV-1a. */
static uint64_t
hash_bytes(const uint8_t *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static bool
make_expected(struct check *ck)
{
	uint64_t slots = 16;
	size_t end = 0;

	while (slots < 2 * ck->count)
		slots *= 2;
	ck->mask = slots - 1;
	ck->tx = calloc(ck->count + 1, sizeof(*ck->tx));
	ck->table = calloc(slots, sizeof(*ck->table));
	ck->arena = malloc(ck->count * ck->gen.max + PS_TXGEN_LARGE_SIZE_MAX);
	if (!ck->tx || !ck->table || !ck->arena)
		return false;
	for (uint64_t i = 0; i < ck->count; i++) {
		struct expected *e = &ck->tx[i];
		uint64_t slot;

		e->at = end;
		e->len = (uint32_t)ps_txgen_make(&ck->gen, i, ck->arena + end);
		e->hash = hash_bytes(ck->arena + end, e->len);
		e->required = !ck->acked;
		end += e->len;
		for (slot = e->hash & ck->mask; ck->table[slot]; slot = (slot + 1) & ck->mask)
			;
		ck->table[slot] = (uint32_t)i + 1;
	}
	ck->expected = ck->acked ? 0 : ck->count;
	return true;
}

static bool
read_acked(struct check *ck)
{
	FILE *f = fopen(ck->acked, "r");
	unsigned long long i;

	if (!f)
		return false;
	while (fscanf(f, "%llu", &i) == 1) {
		if (i < ck->count && !ck->tx[i].required) {
			ck->tx[i].required = true;
			ck->expected++;
		}
	}
	fclose(f);
	return true;
}

static struct expected *
find(const struct check *ck, const uint8_t *bytes, uint32_t len)
{
	uint64_t hash = hash_bytes(bytes, len);

	for (uint64_t slot = hash & ck->mask; ck->table[slot]; slot = (slot + 1) & ck->mask) {
		struct expected *e = &ck->tx[ck->table[slot] - 1];

		if (e->hash == hash && e->len == len && !memcmp(ck->arena + e->at, bytes, len))
			return e;
	}
	return NULL;
}

static void
check_record(struct check *ck, const struct penstock_feed_record *r)
{
	struct expected *e = NULL;

	if (r->kind == PENSTOCK_FEED_TRANSACTION)
		e = find(ck, penstock_feed_payload(r), r->payload_bytes);
	if (!e) {
		fprintf(stderr, "foreign record %llu: kind %u, %u bytes\n",
			(unsigned long long)r->sequence, r->kind, r->payload_bytes);
		ck->foreign++;
		return;
	}
	if (r->flags & PENSTOCK_FEED_HAS_KEY)
		ck->keys++;
	if (ck->log)
		fprintf(ck->log, "%llu %llu\n", (unsigned long long)r->sequence,
			(unsigned long long)(e - ck->tx));
	if (e->seen++)
		ck->duplicates++;
	else if (e->required)
		ck->matched++;
	else
		ck->optional++;
}

/* Attaches as soon as the feed is there. Returns how many records were read, or a negative error
 * after its line on stderr. */
static int
read_feed(struct check *ck, unsigned i)
{
	const struct penstock_feed_record *rec[BURST];
	char err[PENSTOCK_FEED_ERR_BYTES];
	int n;

	if (!ck->feed[i]) {
		n = penstock_feed_attach(&ck->feed[i], ck->path[i], NULL, err);
		if (n == -ENOENT)
			return 0;
		if (n < 0) {
			fprintf(stderr, "%s\n", err);
			return n;
		}
	}
	n = penstock_feed_poll(ck->feed[i], rec, BURST);
	if (n < 0)
		fprintf(stderr, "%s: %s\n", ck->path[i], strerror(-n));
	if (n <= 0)
		return n;
	for (int r = 0; r < n; r++)
		check_record(ck, rec[r]);
	if (ck->log)
		fflush(ck->log);
	penstock_feed_release(ck->feed[i], NULL);
	return n;
}

static bool
run(struct check *ck)
{
	static const struct timespec nap = {.tv_nsec = 100000};
	uint64_t now = clock_ns(), deadline = now + ck->timeout_ns, last = now;

	while (now < deadline && !(ck->matched == ck->expected && now - last > QUIET_NS)) {
		int sum = 0;

		for (unsigned i = 0; i < ck->n_feeds; i++) {
			int n = read_feed(ck, i);

			if (n < 0)
				return false;
			sum += n;
		}
		now = clock_ns();
		if (sum > 0)
			last = now;
		else
			nanosleep(&nap, NULL);
	}
	return ck->matched == ck->expected && ck->duplicates == 0 && ck->foreign == 0;
}

static bool
parse_number(const char *arg, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(arg, &end, 0);
	return *arg && *arg != '-' && !*end && !errno && *out <= max;
}

static bool
apply_option(struct check *ck, int opt, const char *arg)
{
	switch (opt) {
	case 'c':
		return parse_number(arg, COUNT_MAX, &ck->count);
	case 's':
		return parse_number(arg, UINT64_MAX, &ck->gen.seed);
	case 'z':
		return ps_txgen_parse_sizes(&ck->gen, arg);
	case 'L':
		ck->gen.large = true;
		return true;
	case 'a':
		ck->acked = arg;
		return true;
	case 'l':
		ck->log = fopen(arg, "a");
		return ck->log != NULL;
	case 't':
		if (!parse_number(arg, 86400, &ck->timeout_ns))
			return false;
		ck->timeout_ns *= SECOND_NS;
		return true;
	default:
		return false;
	}
}

static bool
parse(struct check *ck, int argc, char **argv)
{
	static const struct option options[] = {{"count", 1, NULL, 'c'}, {"seed", 1, NULL, 's'},
		{"sizes", 1, NULL, 'z'}, {"large", 0, NULL, 'L'}, {"acked", 1, NULL, 'a'},
		{"log", 1, NULL, 'l'}, {"timeout", 1, NULL, 't'}, {NULL, 0, NULL, 0}};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!apply_option(ck, opt, optarg))
			return false;
	}
	while (optind < argc && ck->n_feeds < FEEDS_MAX)
		ck->path[ck->n_feeds++] = argv[optind++];
	ps_txgen_default_sizes(&ck->gen);
	return optind == argc && ck->n_feeds > 0 && ck->count != UINT64_MAX &&
	       ps_txgen_valid(&ck->gen);
}

int
main(int argc, char **argv)
{
	static struct check ck = {.gen.seed = 1, .count = UINT64_MAX, .timeout_ns = 60 * SECOND_NS};
	bool ok;

	if (sodium_init() < 0)
		return 1;
	if (!parse(&ck, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (!make_expected(&ck)) {
		fprintf(stderr, "out of memory: expect fewer transactions\n");
		return 1;
	}
	if (ck.acked && !read_acked(&ck)) {
		fprintf(stderr, "cannot read %s: %s\n", ck.acked, strerror(errno));
		return 1;
	}
	ok = run(&ck);
	printf("{\"expected\":%llu,\"matched\":%llu,\"optional\":%llu,\"duplicates\":%llu,"
	       "\"foreign\":%llu,\"keys\":%llu}\n",
		(unsigned long long)ck.expected, (unsigned long long)ck.matched,
		(unsigned long long)ck.optional, (unsigned long long)ck.duplicates,
		(unsigned long long)ck.foreign, (unsigned long long)ck.keys);
	for (unsigned i = 0; i < ck.n_feeds; i++) {
		if (ck.feed[i])
			penstock_feed_detach(ck.feed[i]);
	}
	if (ck.log)
		fclose(ck.log);
	free(ck.tx);
	free(ck.table);
	free(ck.arena);
	return ok ? 0 : 1;
}
