/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The endpoint allocates nothing after creation. Every allocation of the process is seen here, by
 * interposition (under AddressSanitizer by its hooks), and counted while one of the endpoint's
 * calls runs; those that happen inside tls.h are counted apart: they are the TLS library's, of
 * which a server with the built-in TLS has none. The linker's --wrap marks where the calls begin
 * and end. */

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/world.h"
#include "raw_peer.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAVE_ASAN
#endif

/* volatile: the compiler knows that malloc() neither reads nor writes them */
static volatile bool in_engine, in_tls;
static volatile uint64_t engine_calls, engine_allocations, tls_allocations, nested_allocations;

static void
seen(void)
{
	if (in_tls)
		tls_allocations++;
	if (in_tls && in_engine)
		nested_allocations++;
	if (!in_tls && in_engine)
		engine_allocations++;
}

#ifdef HAVE_ASAN
void __sanitizer_malloc_hook(const volatile void *p, size_t size);
void __sanitizer_free_hook(const volatile void *p);

void
__sanitizer_malloc_hook(const volatile void *p, size_t size)
{
	(void)p;
	(void)size;
	seen();
}

void
__sanitizer_free_hook(const volatile void *p)
{
	(void)p;
	seen();
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

void *
malloc(size_t size)
{
	seen();
	return __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	seen();
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t size)
{
	seen();
	return __libc_realloc(p, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	seen();
	return __libc_memalign(align, size);
}

int
posix_memalign(void **p, size_t align, size_t size)
{
	seen();
	*p = __libc_memalign(align, size);
	return *p == NULL ? ENOMEM : 0;
}

void
free(void *p)
{
	seen();
	__libc_free(p);
}
#endif

/* A call that is marked with a flag while it runs. */
#define MARKED(flag, type, name, params, args)                                                     \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		bool outer = flag;                                                                 \
		type r;                                                                            \
                                                                                                   \
		flag = true;                                                                       \
		engine_calls++;                                                                    \
		r = __real_##name args;                                                            \
		flag = outer;                                                                      \
		return r;                                                                          \
	}

#define MARKED_VOID(flag, name, params, args)                                                      \
	void __real_##name params;                                                                 \
	void __wrap_##name params;                                                                 \
	void __wrap_##name params                                                                  \
	{                                                                                          \
		bool outer = flag;                                                                 \
                                                                                                   \
		flag = true;                                                                       \
		engine_calls++;                                                                    \
		__real_##name args;                                                                \
		flag = outer;                                                                      \
	}

MARKED_VOID(in_engine, ps_quic_rx_burst,
	(struct ps_quic * q, struct ps_datagram *const dg[], unsigned int n, uint64_t now_ns),
	(q, dg, n, now_ns))
MARKED(in_engine, uint64_t, ps_quic_service, (struct ps_quic * q, uint64_t now_ns), (q, now_ns))
MARKED(in_engine, unsigned int, ps_quic_tx_burst,
	(struct ps_quic * q, struct ps_datagram *const out[], unsigned int n, uint64_t now_ns),
	(q, out, n, now_ns))
MARKED(in_engine, int, ps_quic_connect,
	(struct ps_quic * q, struct ps_flow4 flow, uint64_t link, uint64_t now_ns,
		struct ps_quic_conn_id *id),
	(q, flow, link, now_ns, id))
MARKED(in_engine, int, ps_quic_send_stream,
	(struct ps_quic * q, struct ps_quic_conn_id id, const void *data, size_t len,
		uint64_t user),
	(q, id, data, len, user))
MARKED_VOID(in_engine, ps_quic_close_all,
	(struct ps_quic * q, uint64_t code, const char *reason, uint64_t now_ns),
	(q, code, reason, now_ns))
MARKED(in_tls, bool, ps_tls_begin, (struct ps_tls * t, struct ps_tls_io *io), (t, io))
MARKED(in_tls, enum ps_tls_result, ps_tls_step, (struct ps_tls * t, struct ps_tls_io *io), (t, io))
MARKED(in_tls, struct ps_tls_io *, ps_tls_completed, (struct ps_tls * t), (t))
MARKED(in_tls, bool, ps_tls_end, (struct ps_tls * t, struct ps_tls_io *io), (t, io))

static struct raw_server s;

static void
reset(void)
{
	engine_calls = engine_allocations = tls_allocations = nested_allocations = 0;
}

/* That the counting counts at all. */
static void
test_counting(void)
{
	void *volatile p;

	reset();
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
	reset();
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

	reset();
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
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures != 0;
}
