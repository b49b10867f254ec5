/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A consumer that is there to be killed at any moment, and whose log tells afterwards what it had
 * seen and what it had released. Lines, in this order, each written before the next step is taken:
 *
 *   attach                      after an empty line, or behind a torn line of the consumer before
 *   seen SEQUENCE GENERATION DIGEST   of each record polled; BLAKE2b-128 of its payload
 *   release SEQUENCE            all up to this one are about to be released
 *   released SEQUENCE           ... and were
 *
 * kill -9 loses nothing that write() has taken, so no fsync is needed. What was last announced and
 * not confirmed may or may not have been released; everything else is certain.
 *
 * SIGTERM: ends when nothing has come for half a second. Exit code 0 then, 1 after one line on
 * stderr when the feed or the log fails, 2 usage. */
#include "penstock_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURST        64
#define LINE_BYTES   128
#define DIGEST_BYTES 16
#define POLL_NS      1000000
#define QUIET_POLLS  500
#define STAGES       4 /* between which a burst can be interrupted */

static volatile sig_atomic_t stopping;

struct consumer {
	struct penstock_feed *feed;
	int log;
	uint64_t nap_ns;
	unsigned int nap_stage; /* where the present burst takes its nap */
};

static void
on_signal(int sig)
{
	(void)sig;
	stopping = 1;
}

static void
nap(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000),
			  .tv_nsec = (long)(ns % 1000000000)},
		NULL);
}

/* Naps make up nearly all of the consumer's time, so a kill hits every stage equally often. */
static void
end_stage(const struct consumer *c, unsigned int stage)
{
	if (stage == c->nap_stage)
		nap(c->nap_ns);
}

static bool
append(const struct consumer *c, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(c->log, text, len);

		if (n < 0 && errno != EINTR) {
			fprintf(stderr, "cannot write the log: %s\n", strerror(errno));
			return false;
		}
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static bool
append_number(const struct consumer *c, const char *word, uint64_t number)
{
	char line[LINE_BYTES];
	int len = snprintf(line, sizeof(line), "%s %" PRIu64 "\n", word, number);

	return append(c, line, (size_t)len);
}

static bool
log_seen(const struct consumer *c, const struct penstock_feed_record **rec, unsigned int n)
{
	char text[BURST * LINE_BYTES], hex[2 * DIGEST_BYTES + 1];
	uint8_t digest[DIGEST_BYTES];
	struct penstock_feed_info info;
	size_t len = 0;

	penstock_feed_info(c->feed, &info);
	for (unsigned int i = 0; i < n; i++) {
		crypto_generichash(digest, sizeof(digest), penstock_feed_payload(rec[i]),
			rec[i]->payload_bytes, NULL, 0);
		sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"seen %" PRIu64 " %" PRIu64 " %s\n", rec[i]->sequence, info.generation,
			hex);
	}
	return append(c, text, len);
}

/* last NULL: everything polled, which ends with this sequence number. */
static bool
release(const struct consumer *c, const struct penstock_feed_record *last, uint64_t sequence)
{
	if (!append_number(c, "release", sequence))
		return false;
	end_stage(c, 1);
	penstock_feed_release(c->feed, last);
	end_stage(c, 2);
	return append_number(c, "released", sequence);
}

/* Releases in two steps, by record and by NULL. */
static bool
take_burst(struct consumer *c, const struct penstock_feed_record **rec, unsigned int n)
{
	uint64_t last = rec[n - 1]->sequence;

	c->nap_stage = (c->nap_stage + 1) % STAGES;
	if (!log_seen(c, rec, n))
		return false;
	end_stage(c, 0);
	if (n > 1 && !release(c, rec[n / 2 - 1], rec[n / 2 - 1]->sequence))
		return false;
	if (!release(c, NULL, last))
		return false;
	end_stage(c, 3);
	return true;
}

static bool
consume(struct consumer *c)
{
	const struct penstock_feed_record *rec[BURST];
	unsigned int quiet = 0;

	while (!stopping || quiet < QUIET_POLLS) {
		int n = penstock_feed_poll(c->feed, rec, BURST);

		if (n < 0) {
			fprintf(stderr, "poll: %s\n", strerror(-n));
			return false;
		}
		if (n > 0 && !take_burst(c, rec, (unsigned int)n))
			return false;
		quiet = n > 0 ? 0 : quiet + 1;
		if (n == 0)
			nap(POLL_NS);
	}
	return true;
}

static bool
attach(struct consumer *c, const char *path)
{
	char err[PENSTOCK_FEED_ERR_BYTES] = "";
	int rc;

	while ((rc = penstock_feed_attach(&c->feed, path, NULL, err)) == -ENOENT && !stopping)
		nap(POLL_NS);
	if (rc == 0)
		return append(c, "\nattach\n", strlen("\nattach\n"));
	fprintf(stderr, "%s\n", err);
	return false;
}

int
main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct consumer c = {0};
	bool ok;

	if (argc != 4 || sodium_init() < 0) {
		fputs("usage: feed_log FEED LOG NAP_US\n"
		      "  NAP_US  between bursts of at most 64 records\n",
			stderr);
		return 2;
	}
	c.nap_ns = strtoull(argv[3], NULL, 10) * 1000;
	c.log = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (c.log < 0) {
		fprintf(stderr, "cannot write %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	sigaction(SIGTERM, &sa, NULL);
	ok = attach(&c, argv[1]) && consume(&c);
	if (c.feed != NULL)
		penstock_feed_detach(c.feed);
	close(c.log);
	return ok ? 0 : 1;
}
