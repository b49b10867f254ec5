/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "script.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "fake_protect.h"
#include "fuzz.h"
#include "ps_time.h"

/* All but what nobody reads before it was written. */
static void
copy(uint8_t *to, const uint8_t *from, size_t size)
{
	const size_t scratch = offsetof(struct ps_quic, frames), rest = sizeof(struct ps_quic);

	memcpy(to, from, scratch);
	memcpy(to + rest, from + rest, size - rest);
}

/* Creation takes far longer than a run: the memory of a ready endpoint is kept and copied. */
struct ps_quic *
script_start(struct script *s, const struct ps_quic_limits *l, const struct ps_quic_config *c)
{
	static void *mem, *fresh;
	static struct ps_quic *q;
	const size_t size = ps_quic_footprint(l);
	struct ps_quic_config config = *c;
	struct ps_err e;

	config.tls = (struct ps_tls *)&s->tls;
	config.drops = &s->drops;
	s->now_ns = 1000 * PS_SEC_NS;
	if (mem == NULL) {
		mem = aligned_alloc(64, size);
		fresh = malloc(size);
		FUZZ_CHECK(mem != NULL && fresh != NULL);
		memset(mem, 0xa5, size);
		q = ps_quic_new(mem, l, &config, &e);
		FUZZ_CHECK(q != NULL);
		memcpy(fresh, mem, size);
	}
	copy(mem, fresh, size);
	memset(&fake_protect, 0, sizeof(fake_protect)); /* creation took random bytes */
	q->cfg = config;
	s->stats = ps_quic_stats(q);
	return s->q = q;
}

static void
flush(struct script *s)
{
	struct ps_datagram *burst[SCRIPT_BURST];

	for (unsigned int i = 0; i < s->held; i++)
		burst[i] = &s->datagram[i];
	ps_quic_rx_burst(s->q, burst, s->held, s->now_ns);
	while (s->held > 0)
		free(s->datagram[--s->held].data);
}

static void
pass(struct script *s, uint64_t ns)
{
	uint64_t end_ns = s->now_ns + ns;

	while (s->now_ns < end_ns) {
		uint64_t next = ps_quic_service(s->q, s->now_ns);

		s->drain();
		FUZZ_CHECK(next > s->now_ns);
		s->now_ns = next < end_ns ? next : end_ns;
	}
}

/* A datagram's step; where the next one begins. */
static const uint8_t *
receive(struct script *s, uint8_t op, const uint8_t *p, const uint8_t *end)
{
	size_t len = end - p < 2 ? 0 : (size_t)(p[0] | p[1] << 8) % 1500;

	p += end - p < 2 ? end - p : 2;
	len = len < (size_t)(end - p) ? len : (size_t)(end - p);
	s->datagram[s->held++] = s->make(op, p, len);
	if (!(op & 32) || s->held == SCRIPT_BURST)
		flush(s);
	return p + len;
}

void
script_run(struct script *s, const uint8_t *p, const uint8_t *end)
{
	while (end - p >= 2) {
		uint8_t op = *p++;

		if ((op & 3) < 2) {
			p = receive(s, op, p, end);
			if (s->held > 0)
				continue;
		} else if ((op & 3) == 2) {
			flush(s);
			pass(s, *p++ * PS_MS_NS * (op & 4 ? 64 : 1));
		} else {
			s->other(op);
		}
		ps_quic_service(s->q, s->now_ns);
		s->drain();
	}
	flush(s);
}

void
script_end(struct script *s, void (*judge)(void))
{
	ps_quic_close_all(s->q, 1, "end", s->now_ns);
	s->drain();
	FUZZ_CHECK(s->stats->conns_open == 0 && s->stats->half_open == 0);
	judge();
	pass(s, 60 * PS_SEC_NS);
	FUZZ_CHECK(ps_quic_service(s->q, s->now_ns) == PS_NEVER);
	FUZZ_CHECK(s->tls.sessions == 0);
	for (unsigned int i = 0; i < sizeof(*s->stats) / sizeof(uint64_t); i++)
		fuzz_note(((const uint64_t *)s->stats)[i]);
	ps_quic_stop(s->q);
}
