/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "alloc_seen.h"

#include <errno.h>
#include <stdlib.h>

#include "quic.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAVE_ASAN
#endif

volatile bool in_engine, in_tls;
volatile uint64_t engine_calls, engine_allocations, tls_allocations, nested_allocations;

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

void
alloc_seen_reset(void)
{
	engine_calls = engine_allocations = tls_allocations = nested_allocations = 0;
}
