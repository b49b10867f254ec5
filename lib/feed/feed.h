/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The producing side of a feed (layout and consumer side: penstock_feed.h).
 *
 * ps_feed_open(), ps_feed_close() and ps_feed_sweep() make system calls and belong to start, stop
 * and the control thread. Everything else is the packet path of the one worker that owns the feed:
 * no system call, no allocation, no lock.
 *
 * A worker puts records and publishes them together, once per packet or burst:
 *
 *	r = ps_feed_put(f, len);                      NULL when the feed is full
 *	fill in *r and its payload
 *	ps_feed_publish(f);                           now the consumer sees it
 *
 * Unread records are never overwritten. A feed opened again after a crash goes on behind the last
 * published record; what was put and not published is gone.
 */
#ifndef PS_FEED_H
#define PS_FEED_H

#include "penstock_feed.h"
#include "ps_datagram.h"
#include "ps_err.h"

#include <limits.h>
#include <sys/types.h>

#define PS_FEED_MIN_BYTES (UINT64_C(1) << 16)
#define PS_FEED_MAX_BYTES (UINT64_C(1) << 40)
#define PS_FEED_PATH_MAX  (PATH_MAX - 64) /* room for the suffixes */

struct ps_feed_conf {
	const char *path;        /* on tmpfs (/dev/shm) or hugetlbfs */
	const char *service;     /* at most 63 bytes */
	uint64_t capacity_bytes; /* power of two, PS_FEED_MIN_BYTES..PS_FEED_MAX_BYTES */
	uint32_t worker;
	gid_t group; /* may read the feed and write its cursor; (gid_t)-1: the process's own */
};

/* Counted by the worker, read by the control thread without order. */
struct ps_feed_stats {
	uint64_t records, bytes; /* published; payload bytes */
	uint64_t full;           /* puts refused for want of room */
	uint64_t bad_cursor;     /* consumer cursors that were not believed */
};

/* Owned by the caller, who does not look inside; worker: rw, except stats. */
struct ps_feed {
	uint8_t *data;
	uint64_t capacity;
	uint64_t write;     /* cursor behind the last record put */
	uint64_t published; /* cursor behind the last record published */
	uint64_t seen;      /* consumer's cursor, as last believed */
	uint64_t sequence;  /* of the next record */
	unsigned int mark;  /* the header's mark that belongs to published */
	struct penstock_feed_header *header;
	const struct penstock_feed_cursor *cursor;
	struct ps_feed_stats stats;
	size_t header_map_bytes, cursor_map_bytes;
	int lock_fd;
	char path[PS_FEED_PATH_MAX];
};

/* Makes the feed, or takes up an existing one of the same geometry where it stopped; one of another
 * geometry is retired first, to be drained by its consumer. Memory is allocated here, on the NUMA
 * node the calling thread prefers, so that the worker never faults. 0 or -errno with e filled.
 * f is undefined after a failure. */
int ps_feed_open(struct ps_feed *f, const struct ps_feed_conf *conf, struct ps_err *e);

/* Publishes nothing. The files stay, for the consumer to drain and for the next start. */
void ps_feed_close(struct ps_feed *f);

/* Removes older generations that are drained. Control thread, about once a second. */
void ps_feed_sweep(const struct ps_feed *f);

/* Bytes a record of this payload takes in the ring. */
static inline uint64_t
ps_feed_record_bytes(uint64_t payload_bytes)
{
	return (sizeof(struct penstock_feed_record) + payload_bytes + PENSTOCK_FEED_ALIGN - 1) &
	       ~(uint64_t)(PENSTOCK_FEED_ALIGN - 1);
}

/* Bytes that could be put now, if no filling at the end of the ring were needed. */
uint64_t ps_feed_free_bytes(struct ps_feed *f);

/* True when records of these sizes can be put in any order: their bytes together, and the bytes of
 * the largest among them once more for the filling at the end of the ring. */
bool ps_feed_fits(struct ps_feed *f, uint64_t total_bytes, uint64_t largest_bytes);

/* The next record, with sequence and sizes set and all other header fields zero; NULL when there is
 * no room or payload_bytes is above PENSTOCK_FEED_MAX_PAYLOAD. */
struct penstock_feed_record *ps_feed_put(struct ps_feed *f, uint32_t payload_bytes);

static inline uint8_t *
ps_feed_payload(struct penstock_feed_record *r)
{
	return (uint8_t *)(r + 1);
}

/* Puts a UDP datagram, received at now_ns (CLOCK_MONOTONIC). False: full, the caller counts
 * PS_DROP_FEED_FULL. */
bool ps_feed_put_datagram(struct ps_feed *f, const struct ps_datagram *d, uint64_t now_ns);

/* Everything put so far becomes visible to the consumer. */
void ps_feed_publish(struct ps_feed *f);

/* Shows the consumer that the worker runs. */
void ps_feed_heartbeat(struct ps_feed *f, uint64_t now_ns);

/* When the consumer last polled, CLOCK_MONOTONIC; 0: never. Its own word: may be anything. Any
 * thread. */
uint64_t ps_feed_consumer_heartbeat_ns(const struct ps_feed *f);

/* Published and not released by the consumer, as last believed. Any thread, without order. */
static inline uint64_t
ps_feed_unread_bytes(const struct ps_feed *f)
{
	return f->published - f->seen;
}

#endif
