/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The fastest consumer there can be: takes records, looks at nothing, and says at SIGTERM how many
 * there were. usage: feed_sink FEED */
#include "penstock_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BURST 64

static volatile sig_atomic_t stop;

static void
on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

int
main(int argc, char **argv)
{
	static const struct timespec nap = {.tv_nsec = 100000};
	const struct penstock_feed_record *r[BURST];
	struct sigaction sa = {.sa_handler = on_signal};
	char err[PENSTOCK_FEED_ERR_BYTES];
	struct penstock_feed *f = NULL;
	uint64_t records = 0, bytes = 0;
	int n = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: feed_sink FEED\n");
		return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	while (!stop && (n = penstock_feed_attach(&f, argv[1], NULL, err)) == -ENOENT)
		nanosleep(&nap, NULL);
	while (!stop && n >= 0) {
		n = penstock_feed_poll(f, r, BURST);
		for (int i = 0; i < n; i++)
			bytes += r[i]->payload_bytes;
		if (n > 0) {
			records += (unsigned int)n;
			penstock_feed_release(f, NULL);
		} else {
			nanosleep(&nap, NULL);
		}
	}
	if (n < 0) {
		fprintf(stderr, "feed_sink: %s: %s\n", argv[1], strerror(-n));
		return 1;
	}
	printf("{\"records\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n", records, bytes);
	if (f != NULL)
		penstock_feed_detach(f);
	return 0;
}
