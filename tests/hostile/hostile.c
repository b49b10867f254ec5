/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "hostile.h"

#include <stdio.h>
#include <time.h>

#include "alloc_seen.h"

#define ROWS_MAX     64
#define QUIET_NS     (120 * PS_SEC_NS)
#define SERVICES_MAX 2000             /* in QUIET_NS, over all connections of a test */
#define CPU_MAX_NS   (60 * PS_SEC_NS) /* of a row, sanitizers and slow machines included */

struct raw_server s;

static const struct hostile_row *rows;
static unsigned int n_rows, next;
static bool passed[ROWS_MAX];
static uint64_t cpu_from_ns;

void
hostile_defaults(void)
{
	raw_server_defaults(&s);
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * PS_SEC_NS + (uint64_t)t.tv_nsec;
}

void
hostile_start(void)
{
	cpu_from_ns = cpu_ns();
	raw_server_start(&s);
	alloc_seen_reset();
}

/* Everything runs out; no timer is left. */
static void
quiet(void)
{
	for (unsigned int i = 0; i < s.n_peers; i++)
		raw_peer_clear(s.peer[i]);
	s.services = 0;
	raw_run(&s, QUIET_NS);
	CU_ASSERT_TRUE(s.services < SERVICES_MAX);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
	CU_ASSERT_EQUAL(s.stats->conns_open, 0);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	for (unsigned int i = 0; i < s.n_streams; i++)
		CU_ASSERT_FALSE(s.stream[i].used);
}

/* A peer at an address of its own, with ids that no other peer had. */
static struct raw_peer *
newcomer(unsigned int n)
{
	struct raw_peer *p = raw_peer_new(&s, NULL);

	p->flow.saddr_be = __builtin_bswap32(0x0b800000u + n);
	memset(p->odcid.id, 0xe0, p->odcid.len);
	p->odcid.id[0] = (uint8_t)n;
	p->dcid = p->odcid;
	return p;
}

static void
free_peers(void)
{
	while (s.n_peers > 0)
		raw_peer_free(s.peer[--s.n_peers]);
}

/* As many streams with bytes missing as there are places, and not one more. */
static void
fill_streams(unsigned int conns)
{
	uint32_t window = s.config.stream_window, streams = 0;

	for (unsigned int i = 0; i < conns && i < s.n_peers; i++)
		for (uint32_t n = 0; n < window && n < 16 && streams < s.limits.streams; n++)
			if (s.peer[i]->tls_result == PS_TLS_DONE) {
				raw_send_stream(s.peer[i], n << 2 | 2, 1, 1, false);
				streams++;
			}
	CU_ASSERT_EQUAL(s.stats->streams_open, streams);
}

/* The pools are whole: half-open connections until those are full, then connections. */
static void
fill_pools(void)
{
	uint64_t refused, taken = 0;

	s.n_streams = 0; /* the sink's own record starts again */
	for (unsigned int i = 0; i < s.limits.handshakes; i++)
		hostile_hello(newcomer(i));
	if (s.stats->retry_on == 0 && s.config.retry == PS_RETRY_OFF) {
		CU_ASSERT_EQUAL(s.stats->half_open, s.limits.handshakes);
		refused = s.stats->refused;
		hostile_hello(newcomer(s.limits.handshakes));
		CU_ASSERT_EQUAL(s.stats->refused, refused + 1);
	}
	quiet();
	free_peers();
	for (unsigned int i = 0; i < s.limits.conns && i < RAW_PEERS - 1; i++)
		taken += raw_handshake(newcomer(0x1000 + i));
	CU_ASSERT_EQUAL(taken, s.limits.conns < RAW_PEERS ? s.limits.conns : RAW_PEERS - 1);
	CU_ASSERT_EQUAL(s.stats->conns_open, taken);
	fill_streams((unsigned int)taken);
	quiet();
	free_peers();
}

void
hostile_settle(void)
{
	uint64_t got = s.stats->datagrams_rx, sent = s.stats->datagrams_tx;

	/* a first Initial may be answered by a flight of a few */
	CU_ASSERT_TRUE(sent <= got + 4 * s.stats->handshakes_started + 16);
	quiet();
	free_peers();
	fill_pools();
	CU_ASSERT_TRUE(engine_calls > 0);
	CU_ASSERT_EQUAL(engine_allocations, 0);
	CU_ASSERT_EQUAL(nested_allocations, 0);
	CU_ASSERT_TRUE(cpu_ns() - cpu_from_ns < CPU_MAX_NS);
	raw_server_stop(&s);
}

struct raw_peer *
hostile_peer(void)
{
	hostile_defaults();
	hostile_start();
	return raw_established(&s);
}

void
hostile_hello(struct raw_peer *p)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];
	size_t n;

	if (p->io.out_len[PS_LEVEL_INITIAL] == 0)
		raw_hello(p);
	n = ps_frame_crypto_put(frame, sizeof(frame), 0, p->io.out[PS_LEVEL_INITIAL],
		p->io.out_len[PS_LEVEL_INITIAL]);
	raw_send(p, PS_LEVEL_INITIAL, frame, n);
	p->crypto_sent[PS_LEVEL_INITIAL] = p->io.out_len[PS_LEVEL_INITIAL];
}

unsigned int
hostile_flood(struct raw_peer *p, const void *frames, size_t len, unsigned int most)
{
	unsigned int n = 0, before = s.closed;

	for (; n < most && s.closed == before; n++) {
		raw_peer_clear(p);
		raw_send(p, PS_LEVEL_APP, frames, len);
	}
	return n;
}

/* CUnit runs the tests in the order of the table. */
static void
run_next(void)
{
	unsigned int i = next++, before = CU_get_number_of_failures();

	while (rows[i].test == NULL)
		i = next++;
	rows[i].test();
	passed[i] = CU_get_number_of_failures() == before;
}

static void
print_table(void)
{
	printf("\n%-5s %-60s %s\n", "row", "test", "verdict");
	for (unsigned int i = 0; i < n_rows; i++)
		printf("%-5s %-60s %s\n", rows[i].row, rows[i].name,
			rows[i].test == NULL ? rows[i].elsewhere
			: passed[i]          ? "ok"
					     : "FAIL");
}

int
hostile_main(const char *suite, const struct hostile_row *r, unsigned int n)
{
	unsigned int failures;
	CU_pSuite cu;

	rows = r;
	n_rows = n;
	if (n > ROWS_MAX || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	cu = CU_add_suite(suite, NULL, NULL);
	for (unsigned int i = 0; i < n; i++)
		if (r[i].test != NULL &&
			(cu == NULL || CU_add_test(cu, r[i].name, run_next) == NULL))
			return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	print_table();
	return failures != 0;
}
