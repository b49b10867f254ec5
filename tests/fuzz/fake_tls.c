/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "fake_tls.h"

#include <string.h>

#include "fuzz.h"

#define SESSIONS 32

static struct fake_session sessions[SESSIONS];

__typeof__(ps_tls_begin) __wrap_ps_tls_begin;
__typeof__(ps_tls_step) __wrap_ps_tls_step;
__typeof__(ps_tls_completed) __wrap_ps_tls_completed;
__typeof__(ps_tls_end) __wrap_ps_tls_end;
__typeof__(ps_tls_poll) __wrap_ps_tls_poll;
__typeof__(ps_tls_waiting) __wrap_ps_tls_waiting;

void
fake_tls_start(struct fake_tls *t, unsigned int sessions_max, void (*run)(struct fake_session *s))
{
	for (unsigned int i = 0; i < SESSIONS; i++)
		if (sessions[i].tls == t)
			sessions[i] = (struct fake_session){0};
	*t = (struct fake_tls){.sessions_max = sessions_max, .run = run};
}

bool
__wrap_ps_tls_begin(struct ps_tls *tls, struct ps_tls_io *io)
{
	struct fake_tls *t = (struct fake_tls *)tls;
	struct fake_session *s = sessions;

	if (t->sessions == t->sessions_max)
		return false;
	while (s->io != NULL)
		s++;
	FUZZ_CHECK(s < sessions + SESSIONS);
	t->sessions++;
	*s = (struct fake_session){.io = io, .tls = t};
	io->result = PS_TLS_MORE;
	io->alert = 0;
	io->ended = io->peer_has_key = false;
	io->peer_tp_len = 0;
	memset(io->out_len, 0, sizeof(io->out_len));
	memset(io->secret, 0, sizeof(io->secret));
	io->session = s;
	return true;
}

static void
run(struct fake_session *s)
{
	if (s->io->result == PS_TLS_DONE || s->io->result == PS_TLS_ALERT)
		return;
	s->io->result = PS_TLS_MORE;
	s->tls->run(s);
}

enum ps_tls_result
__wrap_ps_tls_step(struct ps_tls *t, struct ps_tls_io *io)
{
	struct fake_session *s = io->session;

	FUZZ_CHECK(s != NULL && s->io == io && s->tls == (struct fake_tls *)t && !s->pending);
	FUZZ_CHECK(io->in_level == PS_LEVEL_INITIAL || io->in_level == PS_LEVEL_HANDSHAKE);
	if (s->have[io->in_level] == 0)
		s->at[io->in_level] = io->in;
	FUZZ_CHECK(s->at[io->in_level] + s->have[io->in_level] == io->in);
	s->have[io->in_level] += io->in_len;
	if (s->tls->slow) {
		s->pending = true;
		return PS_TLS_PENDING;
	}
	run(s);
	return io->result;
}

static void
release(struct fake_session *s)
{
	s->tls->sessions--;
	*s = (struct fake_session){0};
}

struct ps_tls_io *
__wrap_ps_tls_completed(struct ps_tls *tls)
{
	struct fake_tls *t = (struct fake_tls *)tls;

	for (unsigned int i = 0; t->slow && !t->held && i < SESSIONS; i++) {
		struct fake_session *s = &sessions[i];
		struct ps_tls_io *io = s->io;

		if (s->tls != t || !s->pending)
			continue;
		s->pending = false;
		run(s);
		if (io->ended)
			release(s);
		return io;
	}
	return NULL;
}

bool
__wrap_ps_tls_end(struct ps_tls *t, struct ps_tls_io *io)
{
	struct fake_session *s = io->session;

	FUZZ_CHECK(s != NULL && s->io == io && s->tls == (struct fake_tls *)t && !io->ended);
	if (s->pending) {
		io->ended = true;
		return false;
	}
	io->session = NULL;
	release(s);
	return true;
}

void
__wrap_ps_tls_poll(struct ps_tls *t, bool idle)
{
	(void)t;
	(void)idle;
}

bool
__wrap_ps_tls_waiting(const struct ps_tls *t)
{
	(void)t;
	return false;
}
