/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <glob.h>
#include <string.h>

#include "bridge.h"
#include "ps_time.h"

#define SCAN_NS PS_SEC_NS

/* -- which -- */

static bool
attached(const struct ps_bridge *b, const char *path)
{
	for (unsigned int i = 0; i < b->n_feeds; i++)
		if (strcmp(b->feed[i].path, path) == 0)
			return true;
	return false;
}

/* SERVICE.WORKER: a pattern also finds the files beside it, such as its lock and old generations.
 */
static bool
names_feed(const char *path)
{
	const char *worker = strrchr(path, '.');

	return worker != NULL && worker[1] != '\0' &&
	       worker[1 + strspn(worker + 1, "0123456789")] == '\0';
}

static int
attach(struct ps_bridge *b, const char *path, bool start, struct ps_err *e)
{
	struct ps_bridge_feed *f = &b->feed[b->n_feeds];
	char err[PENSTOCK_FEED_ERR_BYTES];
	int rc;

	if (strlen(path) >= sizeof(f->path) || !names_feed(path) || attached(b, path))
		return 0;
	if (b->n_feeds == PS_BRIDGE_FEEDS)
		return ps_fail(e, ENOSPC, "[bridge] feeds: more than %d; start a second bridge",
			PS_BRIDGE_FEEDS);
	rc = penstock_feed_attach(&f->feed, path, NULL, err);
	if (rc == 0) {
		strcpy(f->path, path);
		b->n_feeds++;
		ps_log(PS_LOG_INFO, "reads %s", path);
		return 0;
	}
	if (!start || rc == -ENOENT)
		return 0; /* just being made, or looked at again in a second */
	return ps_fail(e, -rc, "%s%s", err,
		rc == -EACCES    ? "; run in the group of [feed] group"
		: rc == -EBUSY   ? "; one consumer a feed: stop it"
		: rc == -EBADMSG ? "; name feeds only in [bridge] feeds"
				 : "");
}

int
ps_bridge_feeds_scan(struct ps_bridge *b, bool start, struct ps_err *e)
{
	char copy[PS_CONF_STRING], *rest = copy, *word;
	glob_t found;
	int rc = 0;

	b->scan_ns = b->now_ns + SCAN_NS;
	strcpy(copy, b->conf.bridge.feeds);
	while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
		word += strspn(word, " \t");
		word[strcspn(word, " \t")] = '\0';
		if (glob(word, 0, NULL, &found) != 0)
			continue;
		for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
			rc = attach(b, found.gl_pathv[i], start, e);
		globfree(&found);
	}
	return rc;
}

/* -- in -- */

static void
take(struct ps_bridge *b, unsigned int feed, const struct penstock_feed_record *r)
{
	const uint64_t hash =
		ps_bridge_seen_hash(&b->seen, penstock_feed_payload(r), r->payload_bytes);
	const bool fresh = ps_bridge_seen_add(&b->seen, hash);
	uint64_t stake = 0;
	uint32_t i;

	if (r->flags & PENSTOCK_FEED_HAS_KEY)
		stake = ps_bridge_stakes_of(&b->stakes, r->peer_key);
	if (stake == 0)
		stake = r->stake;
	b->stats.taken++;
	i = ps_bridge_queue_put(&b->queue, feed, r, stake, hash);
	if (fresh)
		return;
	b->stats.duplicate++;
	ps_bridge_queue_done(&b->queue, i);
}

int
ps_bridge_feeds_take(struct ps_bridge *b, struct ps_err *e)
{
	const struct penstock_feed_record *r[PS_BRIDGE_BURST];
	int taken = 0;

	for (unsigned int k = 0; k < b->n_feeds && b->queue.n_free > 0; k++) {
		const unsigned int f = (b->next_feed + k) % b->n_feeds;
		const unsigned int room =
			b->queue.n_free < PS_BRIDGE_BURST ? b->queue.n_free : PS_BRIDGE_BURST;
		const int n = penstock_feed_poll(b->feed[f].feed, r, room);

		if (n < 0)
			return ps_fail(e, -n, "feed %s: %s", b->feed[f].path,
				n == -EBUSY ? "another consumer took over; stop it"
					    : "damaged; remove it and restart penstock run");
		for (int i = 0; i < n; i++)
			take(b, f, r[i]);
		taken += n;
	}
	b->next_feed = b->n_feeds > 0 ? (b->next_feed + 1) % b->n_feeds : 0;
	return taken;
}

void
ps_bridge_feeds_release(struct ps_bridge *b)
{
	for (unsigned int f = 0; f < b->n_feeds; f++) {
		const struct penstock_feed_record *last = ps_bridge_queue_release(&b->queue, f);

		if (last != NULL)
			penstock_feed_release(b->feed[f].feed, last);
	}
}

void
ps_bridge_feeds_close(struct ps_bridge *b)
{
	ps_bridge_feeds_release(b);
	for (unsigned int f = 0; f < b->n_feeds; f++)
		penstock_feed_detach(b->feed[f].feed);
}
