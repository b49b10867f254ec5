/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The endpoint allocates nothing after creation. */

#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "../sim/world.h"
#include "alloc_seen.h"
#include "raw_peer.h"

static struct raw_server s;

/* That the counting counts at all. */
static void
test_counting(void)
{
	void *volatile p;

	alloc_seen_reset();
	in_engine = true;
	p = malloc(10);
	free(p);
	in_engine = false;
	CU_ASSERT_TRUE(engine_allocations > 0);
}

static void
test_server_under_everything(void)
{
	static const char *const bad[] = {"\x21", "\x0b\x02", "\x1e", "\x1c"};
	uint8_t junk[1400] = {0xc3};
	struct raw_peer *p;

	raw_server_defaults(&s);
	s.config.retry = PS_RETRY_ALWAYS;
	raw_server_start(&s);
	alloc_seen_reset();
	for (int i = 0; i < 8; i++) {
		p = raw_established(&s);
		raw_send_stream(p, 2, 0, 1000, true);
		raw_send_stream(p, 6, 1000, 500, false);
		raw_send_stream(p, 6, 0, 1000, false);
		raw_send_stream(p, 10, 0, 100, false);
		p->next_pn[PS_LEVEL_APP] += 9;
		raw_send(p, PS_LEVEL_APP, "\x01", 1);
		raw_send(p, PS_LEVEL_APP, bad[i % 4], 1 + (i % 4 == 1));
		raw_run(&s, 5 * PS_SEC_NS);
	}
	for (unsigned int i = 0; i < 2000; i++) {
		junk[0] = (uint8_t)(i * 37);
		junk[4] = i & 1;
		junk[5] = (uint8_t)(i % 22);
		raw_send_bytes(p, junk, i % 1400);
		raw_pump(&s);
	}
	ps_quic_close_all(s.q, 1, "", s.now_ns);
	raw_run(&s, 60 * PS_SEC_NS);
	CU_ASSERT_EQUAL(s.delivered, 8);
	CU_ASSERT_TRUE(engine_calls > 4000);
	CU_ASSERT_TRUE(tls_allocations > 100); /* the client's GnuTLS */
	CU_ASSERT_EQUAL(engine_allocations, 0);
	CU_ASSERT_EQUAL(nested_allocations, 0); /* the built-in TLS server makes none either */
	raw_server_stop(&s);
}

static void
test_both_roles_over_a_bad_link(void)
{
	struct world_options o = {.seed = 7,
		.link = {.loss = 0.1,
			.duplicate = 0.05,
			.corrupt = 0.02,
			.delay_ns = 20 * PS_MS_NS,
			.jitter_ns = 10 * PS_MS_NS},
		.retry = PS_RETRY_ALWAYS,
		.conns = 3,
		.streams = 100,
		.min_bytes = 100,
		.max_bytes = 4096,
		.refuse = 0.02,
		.stream_window = 16};
	struct world *w = world_new(&o);

	alloc_seen_reset();
	CU_ASSERT_TRUE(world_run(w, 1200 * PS_SEC_NS));
	CU_ASSERT_TRUE(engine_calls > 1000);
	CU_ASSERT_TRUE(nested_allocations > 100); /* the client role's GnuTLS */
	CU_ASSERT_EQUAL(engine_allocations, 0);
	world_free(w);
}

static CU_TestInfo tests[] = {
	{"allocations are counted", test_counting},
	{"server under everything", test_server_under_everything},
	{"both roles over a bad link", test_both_roles_over_a_bad_link},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {{"quic_alloc", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
