/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "hostile.h"

#include <stdio.h>

#include "alloc_seen.h"

#define ROWS_MAX     64
#define QUIET_NS     (120 * PS_SEC_NS)
#define SERVICES_MAX 2000 /* in QUIET_NS, over all connections of a test */

struct raw_server s;

static const struct hostile_row *rows;
static unsigned int n_rows, next;
static bool passed[ROWS_MAX];

void
hostile_defaults(void)
{
	raw_server_defaults(&s);
}

void
hostile_start(void)
{
	raw_server_start(&s);
	alloc_seen_reset();
}

void
hostile_settle(void)
{
	uint64_t got = s.stats->datagrams_rx, sent = s.stats->datagrams_tx;

	/* a first Initial may be answered by a flight of a few */
	CU_ASSERT_TRUE(sent <= got + 4 * s.stats->handshakes_started + 16);
	for (unsigned int i = 0; i < s.n_peers; i++)
		raw_peer_clear(s.peer[i]);
	s.services = 0;
	raw_run(&s, QUIET_NS);
	CU_ASSERT_TRUE(s.services < SERVICES_MAX);
	CU_ASSERT_EQUAL(s.next_ns, PS_NEVER);
	CU_ASSERT_EQUAL(s.stats->conns_open, 0);
	CU_ASSERT_EQUAL(s.stats->half_open, 0);
	CU_ASSERT_EQUAL(s.stats->streams_open, 0);
	CU_ASSERT_TRUE(engine_calls > 0);
	CU_ASSERT_EQUAL(engine_allocations, 0);
	CU_ASSERT_EQUAL(nested_allocations, 0);
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
