/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a handshake costs the built-in TLS server: no memory, and how much time. */

#include <errno.h>
#include <stdio.h>

#include "cunit_run.h"
#include "tls_craft.h"

static const struct hello plain;

/* -- allocations of the whole process, counted while counting -- */

static volatile bool counting;
static volatile unsigned int allocations;

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#endif

#ifdef UNDER_ASAN
void __sanitizer_malloc_hook(const volatile void *p, size_t size);

void
__sanitizer_malloc_hook(const volatile void *p, size_t size)
{
	(void)p;
	(void)size;
	allocations += counting;
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *
malloc(size_t size)
{
	allocations += counting;
	return __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	allocations += counting;
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t size)
{
	allocations += counting;
	return __libc_realloc(p, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	allocations += counting;
	return __libc_memalign(align, size);
}

int
posix_memalign(void **p, size_t align, size_t size)
{
	allocations += counting;
	*p = __libc_memalign(align, size);
	return *p == NULL ? ENOMEM : 0;
}
#endif

static void
test_no_allocation(void)
{
	void *volatile p;
	struct craft c;

	craft_open(&c);
	allocations = 0;
	for (int i = 0; i < 3; i++) {
		const struct hello none = {.no_share = i == 1};

		counting = true;
		craft_again(&c);
		craft_hello(&c, &none);
		if (i == 1)
			craft_hello(&c, &plain);
		counting = false;
		craft_keys(&c);
		add_own_certificate(&c); /* through GnuTLS, which allocates */
		add_verify(&c, TLS_SIG_ED25519, 64, (uint8_t)(i == 2));
		add_finished(&c, 32, 0);
		counting = true;
		craft_flight(&c);
		counting = false;
		CU_ASSERT_EQUAL(c.to.result, i == 2 ? PS_TLS_ALERT : PS_TLS_DONE);
	}
	CU_ASSERT_EQUAL(allocations, 0);
	counting = true;
	p = malloc(10);
	counting = false;
	free(p);
	CU_ASSERT_EQUAL(allocations, 1);
	craft_close(&c);
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

#define HANDSHAKES 41

/* Median ns of one handshake. */
static uint64_t
cost_of(enum ps_tls_kind backend, bool prepared)
{
	struct ps_tls_config s;
	struct craft c;
	uint64_t ns[HANDSHAKES], start;

	test_backend = backend;
	s = config(true, false);
	s.budget = prepared ? 100 : 0;
	craft_open_with(&c, &s);
	for (int i = 0; i < HANDSHAKES; i++) {
		ps_tls_poll(c.to.tls, true);
		start = ps_now_ns();
		craft_again(&c); /* frees the last session, which counts */
		ns[i] = ps_now_ns() - start;
		craft_make_hello(&c, &plain);
		start = ps_now_ns();
		end_step(&c.to, PS_LEVEL_INITIAL, c.hello[0], c.hello_len[0]);
		ns[i] += ps_now_ns() - start;
		craft_keys(&c);
		craft_good_flight(&c);
		start = ps_now_ns();
		craft_flight(&c);
		ns[i] += ps_now_ns() - start;
		CU_ASSERT_EQUAL(c.to.result, PS_TLS_DONE);
	}
	craft_close(&c);
	test_backend = PS_TLS_BUILTIN;
	qsort(ns, HANDSHAKES, sizeof(ns[0]), compare);
	return ns[HANDSHAKES / 2];
}

/* Prints what a handshake with a client certificate costs the server: numbers to read, no verdict.
 */
static void
test_cost(void)
{
	static const char *const name[3] = {"built-in", "share made ahead", "GnuTLS"};
	uint64_t ns[3][7];

	for (int i = 0; i < 7; i++) {
		ns[0][i] = cost_of(PS_TLS_BUILTIN, false);
		ns[1][i] = cost_of(PS_TLS_BUILTIN, true);
		ns[2][i] = cost_of(PS_TLS_GNUTLS, false);
	}
	printf("us per handshake:");
	for (int k = 0; k < 3; k++) {
		qsort(ns[k], 7, sizeof(ns[k][0]), compare);
		printf(" %s %.1f", name[k], (double)ns[k][3] / 1e3);
	}
	printf(" ");
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"no allocation", test_no_allocation},
		{"cost", test_cost},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls server, cost", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
