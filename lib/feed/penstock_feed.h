/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The Penstock feed, as its consumer sees it. This is the only Penstock header a consumer includes;
 * it is plain C11 and valid C++. Link with libpenstock_feed, or write a reader in another language
 * from the layout below, which is fixed by the assertions at its end.
 *
 * A feed carries what one Penstock worker received for one service: transactions that arrived over
 * TPU QUIC, or UDP datagrams. It is a ring of variable-length records between exactly one producer
 * (the worker) and exactly one consumer, in two files:
 *
 *   PATH           struct penstock_feed_header, then the ring. The producer writes, the consumer
 *                  maps it read-only.
 *   PATH.consumer  struct penstock_feed_cursor. The consumer writes, the producer checks what it
 *                  reads there: a wrong cursor stops this feed and harms nothing else.
 *
 * Cursors count bytes since the feed was made and never wrap; the byte at cursor c lies at
 * data_offset + (c modulo capacity_bytes). Every record starts at a multiple of 64 and never
 * crosses the end of the ring: a record of kind PENSTOCK_FEED_PAD fills the rest and is skipped.
 * Records between released and produced are whole and stay unchanged until released.
 * Read order: load produced (acquire), read records, store released (release).
 *
 * All integers are in host byte order, except the fields named _be, which are as on the wire.
 * Times are nanoseconds; which clock is named beside them. Sizes are bytes.
 *
 * Generations: when the ring's geometry changes, Penstock renames the files to PATH.gen<number> and
 * PATH.gen<number>.consumer, sets retired in the old header and makes new ones at PATH. A consumer
 * drains the oldest generation that exists first, then goes on with the next; the library does this
 * inside penstock_feed_poll() and removes what is drained.
 *
 * Threads: a struct penstock_feed belongs to one thread at a time. Different feeds are independent.
 * The library takes no lock, starts no thread and allocates only in penstock_feed_attach().
 */
#ifndef PENSTOCK_FEED_H
#define PENSTOCK_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PENSTOCK_FEED_MAGIC        UINT64_C(0x44454546504e4550) /* "PENPFEED" in memory */
#define PENSTOCK_FEED_CURSOR_MAGIC UINT64_C(0x53525543504e4550) /* "PENPCURS" */
#define PENSTOCK_FEED_VERSION      1
#define PENSTOCK_FEED_ALIGN        64
#define PENSTOCK_FEED_DATA_OFFSET  4096
#define PENSTOCK_FEED_MAX_PAYLOAD  16288 /* the largest record is 16,384 bytes */

/* The start of PATH. Each group of fields has a cache line of its own. */
struct penstock_feed_header {
	/* Fixed when the file is made; retired is set once. */
	uint64_t magic;
	uint32_t version;
	uint32_t worker;         /* number of the producing worker */
	uint64_t capacity_bytes; /* of the ring: a power of two, at least 65,536 */
	uint64_t data_offset;    /* of the ring in the file */
	uint64_t generation;     /* from 1 */
	uint64_t retired;        /* 0, or the generation that follows: nothing more comes here */
	uint8_t reserved0[16];
	char service[64]; /* name in Penstock's configuration, zero-terminated */
	/* One store per burst. */
	uint64_t produced; /* cursor behind the last whole record */
	uint8_t reserved1[56];
	uint64_t heartbeat_ns; /* CLOCK_MONOTONIC, stored about every millisecond while it runs */
	uint8_t reserved2[56];
	/* The producer's own: how it finds the next sequence number after a crash. */
	struct {
		uint64_t cursor, sequence;
	} mark[2];
	uint8_t reserved3[32];
};

/* The start of PATH.consumer. */
struct penstock_feed_cursor {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved0;
	uint64_t generation; /* of the header this belongs to */
	uint8_t reserved1[40];
	uint64_t released; /* everything before this cursor may be overwritten */
	uint8_t reserved2[56];
	uint64_t heartbeat_ns; /* CLOCK_MONOTONIC, stored by each poll */
	uint8_t reserved3[56];
};

enum penstock_feed_kind {
	PENSTOCK_FEED_PAD = 0,         /* only record_bytes means anything; no sequence number */
	PENSTOCK_FEED_TRANSACTION = 1, /* a serialized transaction, from one QUIC stream */
	PENSTOCK_FEED_DATAGRAM = 2,    /* the payload of one UDP datagram */
};

enum penstock_feed_clock {
	PENSTOCK_FEED_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC, ns */
	PENSTOCK_FEED_CLOCK_WALL = 1,      /* CLOCK_REALTIME, ns */
	PENSTOCK_FEED_CLOCK_NIC = 2,       /* the network card's clock, ns */
	PENSTOCK_FEED_CLOCK_TSC = 3,       /* cycles of the processor's time stamp counter */
};

#define PENSTOCK_FEED_HAS_KEY 0x01 /* flag: peer_key was proven in the TLS handshake */

struct penstock_feed_record {
	uint64_t sequence;     /* from 0 without a gap, over restarts of Penstock as well; a new
				  generation goes on with the number after the old one's last */
	uint32_t record_bytes; /* to the next record: header, payload and filling, multiple of 64 */
	uint32_t payload_bytes;
	uint8_t kind;  /* enum penstock_feed_kind */
	uint8_t clock; /* of received: enum penstock_feed_clock */
	uint8_t flags; /* PENSTOCK_FEED_HAS_KEY; ignore others */
	uint8_t reserved0;
	uint32_t saddr_be; /* IPv4, the sender */
	uint32_t daddr_be; /* IPv4, where it came in; 0 when not known */
	uint16_t sport_be;
	uint16_t dport_be;
	uint64_t received;     /* when the datagram that completed it was received, by clock */
	uint64_t published_ns; /* CLOCK_MONOTONIC at the start of the worker's burst */
	uint64_t stake;        /* lamports of the peer, 0 when unknown */
	uint8_t peer_key[32];  /* Ed25519, zero without PENSTOCK_FEED_HAS_KEY */
	uint8_t reserved1[8];
	/* payload_bytes follow */
};

static inline const uint8_t *
penstock_feed_payload(const struct penstock_feed_record *r)
{
	return (const uint8_t *)(r + 1);
}

/* A consumer's handle. */
struct penstock_feed;

struct penstock_feed_options {
	uint64_t max_age_ns; /* skip records published longer ago than this; 0: never skip */
	bool peek;           /* only look: nothing is released, no heartbeat, no lock. Records are
				copies; those another consumer releases meanwhile are not seen. */
};

#define PENSTOCK_FEED_ERR_BYTES 256

/* Attaches to the feed at path, at the record after the last one released, which may be in an older
 * generation. options may be NULL. 0, or -errno with one line in err (PENSTOCK_FEED_ERR_BYTES, or
 * NULL):
 *   -ENOENT   no feed there (yet)
 *   -EBUSY    another consumer is attached
 *   -EBADMSG  the file is not a feed of this version, or the cursor in PATH.consumer is not one
 * The handle is freed with penstock_feed_detach(). After a crash simply attach again. */
int penstock_feed_attach(struct penstock_feed **out, const char *path,
	const struct penstock_feed_options *options, char *err);
void penstock_feed_detach(struct penstock_feed *f);

/* Up to max next records, oldest first, without waiting. They stay valid until released (when
 * peeking: until the next poll). Returns how many, 0 when there is none, or -EBADMSG when the ring
 * holds something that is not a record. One clock read; system calls only when a generation ends.
 */
int penstock_feed_poll(
	struct penstock_feed *f, const struct penstock_feed_record **records, unsigned int max);

/* Releases all records up to and including last, or everything polled when last is NULL. What was
 * released is never seen again; what was not is polled again after a crash. */
void penstock_feed_release(struct penstock_feed *f, const struct penstock_feed_record *last);

struct penstock_feed_info {
	char service[64];
	uint32_t worker;
	uint64_t generation;
	uint64_t capacity_bytes;
	uint64_t unread_bytes;          /* produced and not yet polled */
	uint64_t unreleased_bytes;      /* produced and not yet released */
	uint64_t skipped;               /* records passed over for their age since attaching */
	uint64_t producer_heartbeat_ns; /* CLOCK_MONOTONIC; stale: Penstock stopped or hangs */
};

void penstock_feed_info(const struct penstock_feed *f, struct penstock_feed_info *info);

#ifdef __cplusplus
}
#define PENSTOCK_FEED_ASSERT static_assert
#else
#define PENSTOCK_FEED_ASSERT _Static_assert
#endif

#define PENSTOCK_FEED_AT(type, field, offset)                                                      \
	PENSTOCK_FEED_ASSERT(offsetof(struct type, field) == (offset), "layout of " #type)

PENSTOCK_FEED_AT(penstock_feed_header, magic, 0);
PENSTOCK_FEED_AT(penstock_feed_header, version, 8);
PENSTOCK_FEED_AT(penstock_feed_header, worker, 12);
PENSTOCK_FEED_AT(penstock_feed_header, capacity_bytes, 16);
PENSTOCK_FEED_AT(penstock_feed_header, data_offset, 24);
PENSTOCK_FEED_AT(penstock_feed_header, generation, 32);
PENSTOCK_FEED_AT(penstock_feed_header, retired, 40);
PENSTOCK_FEED_AT(penstock_feed_header, service, 64);
PENSTOCK_FEED_AT(penstock_feed_header, produced, 128);
PENSTOCK_FEED_AT(penstock_feed_header, heartbeat_ns, 192);
PENSTOCK_FEED_AT(penstock_feed_header, mark, 256);
PENSTOCK_FEED_ASSERT(sizeof(struct penstock_feed_header) == 320, "layout of the header");
PENSTOCK_FEED_AT(penstock_feed_cursor, magic, 0);
PENSTOCK_FEED_AT(penstock_feed_cursor, version, 8);
PENSTOCK_FEED_AT(penstock_feed_cursor, generation, 16);
PENSTOCK_FEED_AT(penstock_feed_cursor, released, 64);
PENSTOCK_FEED_AT(penstock_feed_cursor, heartbeat_ns, 128);
PENSTOCK_FEED_ASSERT(sizeof(struct penstock_feed_cursor) == 192, "layout of the cursor");
PENSTOCK_FEED_AT(penstock_feed_record, sequence, 0);
PENSTOCK_FEED_AT(penstock_feed_record, record_bytes, 8);
PENSTOCK_FEED_AT(penstock_feed_record, payload_bytes, 12);
PENSTOCK_FEED_AT(penstock_feed_record, kind, 16);
PENSTOCK_FEED_AT(penstock_feed_record, clock, 17);
PENSTOCK_FEED_AT(penstock_feed_record, flags, 18);
PENSTOCK_FEED_AT(penstock_feed_record, saddr_be, 20);
PENSTOCK_FEED_AT(penstock_feed_record, daddr_be, 24);
PENSTOCK_FEED_AT(penstock_feed_record, sport_be, 28);
PENSTOCK_FEED_AT(penstock_feed_record, dport_be, 30);
PENSTOCK_FEED_AT(penstock_feed_record, received, 32);
PENSTOCK_FEED_AT(penstock_feed_record, published_ns, 40);
PENSTOCK_FEED_AT(penstock_feed_record, stake, 48);
PENSTOCK_FEED_AT(penstock_feed_record, peer_key, 56);
PENSTOCK_FEED_ASSERT(sizeof(struct penstock_feed_record) == 96, "layout of a record");

#undef PENSTOCK_FEED_AT
#undef PENSTOCK_FEED_ASSERT

#endif
