/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Sessions of a TLS context: how many, and their end at any time. */

#include "cunit_run.h"
#include "tls_raw.h"

static void
test_bad_config(void)
{
	struct ps_tls_config c = config(true, false);
	struct ps_err e = {""};

	c.sessions = 0;
	CU_ASSERT_PTR_NULL(ps_tls_new(&c, &e));
	CU_ASSERT_TRUE(e.text[0] != '\0');
	c = config(true, false);
	c.alpn = "";
	CU_ASSERT_PTR_NULL(ps_tls_new(&c, NULL));
	c = config(false, true);
	c.priority = "NO SUCH CIPHER";
	CU_ASSERT_PTR_NULL(ps_tls_new(&c, &e));
	ps_tls_free(NULL);
}

static void
test_session_limit(void)
{
	static struct ps_tls_io io[3];

	for (int threaded = 0; threaded < 2; threaded++) {
		struct ps_tls_config c = config(true, threaded);
		uint64_t end = ps_now_ns() + TIMEOUT_NS;
		struct ps_tls *t;
		bool again;

		c.sessions = 2;
		t = ps_tls_new(&c, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(t);
		CU_ASSERT_TRUE(ps_tls_begin(t, &io[0]));
		CU_ASSERT_TRUE(ps_tls_begin(t, &io[1]));
		CU_ASSERT_FALSE(ps_tls_begin(t, &io[2]));
		CU_ASSERT_TRUE(ps_tls_end(t, &io[0]));
		CU_ASSERT_TRUE(ps_tls_end(t, &io[0]));
		/* A threaded context has it back once the helper let go of it. */
		while (!(again = ps_tls_begin(t, &io[2])) && ps_now_ns() < end)
			CU_ASSERT_PTR_NULL(ps_tls_completed(t));
		CU_ASSERT_TRUE(again);
		ps_tls_free(t);
	}
}

static void
test_end_while_pending(void)
{
	struct ps_tls_config c = config(false, true);
	struct end client;

	end_open(&client, &c);
	CU_ASSERT_EQUAL(ps_tls_step(client.tls, &client.io), PS_TLS_PENDING);
	CU_ASSERT_FALSE(ps_tls_end(client.tls, &client.io));
	CU_ASSERT_PTR_EQUAL_FATAL(wait_completed(client.tls), &client.io);
	CU_ASSERT_TRUE(client.io.ended);
	CU_ASSERT_PTR_NULL(client.io.session);
	CU_ASSERT_PTR_NULL(ps_tls_completed(client.tls));
	CU_ASSERT_TRUE(ps_tls_begin(client.tls, &client.io));
	CU_ASSERT_FALSE(client.io.ended);
	end_close(&client);
}

static void
test_free_while_pending(void)
{
	struct ps_tls_config c = config(false, true);

	for (int i = 0; i < 20; i++) {
		struct ps_tls_io io[4];
		struct ps_tls *t = ps_tls_new(&c, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(t);
		for (int k = 0; k < 4; k++) {
			io[k] = (struct ps_tls_io){.tp_len = 1};
			CU_ASSERT_TRUE_FATAL(ps_tls_begin(t, &io[k]));
			CU_ASSERT_EQUAL(ps_tls_step(t, &io[k]), PS_TLS_PENDING);
		}
		ps_tls_free(t);
	}
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"bad configuration", test_bad_config},
		{"session limit", test_session_limit},
		{"end while pending", test_end_while_pending},
		{"free while pending", test_free_while_pending},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls sessions, built-in server", use_builtin, NULL, NULL, NULL, tests},
		{"tls sessions, GnuTLS", use_gnutls, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
