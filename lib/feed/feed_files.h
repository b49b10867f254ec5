/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The files of a feed: making, checking and mapping them. Inside lib/feed, producing side only.
 *
 *   PATH, PATH.consumer                   the current generation
 *   PATH.new, PATH.new.consumer           the next one while it is made, complete once the magic
 *                                         number of PATH.new is there
 *   PATH.gen<number>[.consumer]           older ones, not yet drained
 *   PATH.lock                             one producer at a time
 */
#ifndef PS_FEED_FILES_H
#define PS_FEED_FILES_H

#include "feed.h"

struct feed_map {
	void *at;
	size_t bytes;
};

/* Takes PATH.lock, which is released when *fd is closed or the process ends. */
int ps_feed_lock(const char *path, int *fd, struct ps_err *e);

/* Makes PATH.new and PATH.new.consumer, replacing what a crash left of them. */
int ps_feed_make(
	const struct ps_feed_conf *conf, uint64_t generation, uint64_t sequence, struct ps_err *e);

/* Gives what ps_feed_make() made its final name. */
int ps_feed_adopt(const char *path, struct ps_err *e);

/* Makes PATH.consumer alone, everything before released being read. */
int ps_feed_make_cursor(
	const struct ps_feed_conf *conf, uint64_t generation, uint64_t released, struct ps_err *e);

/* Maps a file that is complete and ours, after checking it. -ENOENT when there is none; otherwise
 * -EBADMSG with e filled when it is not what it should be. */
int ps_feed_map_header(const char *path, struct feed_map *m, struct ps_err *e);
int ps_feed_map_cursor(const char *path, uint64_t generation, struct feed_map *m, struct ps_err *e);

#endif
