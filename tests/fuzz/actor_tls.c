/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "actor_tls.h"

#include <string.h>

#include "fuzz.h"
#include "ps_be.h"

#define SESSIONS  32
#define HEAD      10 /* kind, refuse, length, number, length of parameters */
#define SH_BYTES  90
#define EE_BYTES  4000
#define FIN_BYTES 350

enum { CLIENT_HELLO = 1, SERVER_HELLO, PARAMETERS, FINISHED };

static struct session {
	struct ps_tls_io *io; /* NULL: free */
	struct actor_tls *tls;
	uint32_t number;         /* the server's, once known */
	const uint8_t *at[2];    /* start of the message expected at a level */
	uint16_t have[2], whole; /* bytes of it */
	bool refuse, heard, pending;
} sessions[SESSIONS];

bool __wrap_ps_tls_begin(struct ps_tls *t, struct ps_tls_io *io);
enum ps_tls_result __wrap_ps_tls_step(struct ps_tls *t, struct ps_tls_io *io);
struct ps_tls_io *__wrap_ps_tls_completed(struct ps_tls *t);
bool __wrap_ps_tls_end(struct ps_tls *t, struct ps_tls_io *io);
void __wrap_ps_tls_poll(struct ps_tls *t, bool idle);
bool __wrap_ps_tls_waiting(const struct ps_tls *t);

void
actor_tls_start(struct actor_tls *t, bool server, unsigned int sessions_max)
{
	for (unsigned int i = 0; i < SESSIONS; i++)
		if (sessions[i].tls == t)
			sessions[i] = (struct session){0};
	*t = (struct actor_tls){.server = server,
		.sessions_max = sessions_max,
		.hello_bytes = 300,
		.next = t->next};
}

/* -- messages -- */

static const uint8_t *
filling(uint8_t kind)
{
	static uint8_t bytes[4100];

	for (uint32_t i = 0; bytes[1] == 0 && i < sizeof(bytes); i++)
		bytes[sizeof(bytes) - 1 - i] = (uint8_t)(1 + (i * 2654435761u >> 24));
	return bytes + kind;
}

static void
put(struct session *s, enum ps_level level, uint8_t kind, uint16_t len)
{
	struct ps_tls_io *io = s->io;
	uint8_t *p = io->out[level] + io->out_len[level];
	bool tp = kind == CLIENT_HELLO || kind == PARAMETERS;
	uint16_t tp_len = tp ? io->tp_len : 0;

	p[0] = kind;
	p[1] = s->refuse;
	ps_be16_store(p + 2, len);
	ps_be32_store(p + 4, s->number);
	ps_be16_store(p + 8, tp_len);
	memcpy(p + HEAD, io->tp, tp_len);
	memcpy(p + HEAD + tp_len, filling(kind), len - HEAD - tp_len);
	io->out_len[level] += len;
}

/* Whether the message of the level is whole now. What arrives was authenticated: it is what was
 * sent, in the order in which it was. */
static const uint8_t *
take(struct session *s, enum ps_level level, uint8_t kind)
{
	const uint8_t *p = s->at[level];
	uint16_t len, tp_len;

	if (s->have[level] < HEAD)
		return NULL;
	len = ps_be16_load(p + 2);
	tp_len = ps_be16_load(p + 8);
	FUZZ_CHECK(p[0] == kind && s->have[level] <= len);
	if (s->have[level] < len)
		return NULL;
	FUZZ_CHECK(memcmp(p + HEAD + tp_len, filling(kind), len - HEAD - tp_len) == 0);
	if (tp_len > 0) {
		s->io->peer_tp_len = tp_len;
		memcpy(s->io->peer_tp, p + HEAD, tp_len);
	}
	s->have[level] = 0;
	return p;
}

static void
secrets(struct session *s, enum ps_level level)
{
	struct ps_tls_secret *out = &s->io->secret[level];
	bool server = s->tls->server;

	out->ready = true;
	out->suite = s->tls->suite;
	memset(out->rx, (uint8_t)(1 + server + 2 * level), sizeof(out->rx));
	memset(out->tx, (uint8_t)(1 + !server + 2 * level), sizeof(out->tx));
	ps_be32_store(out->rx, s->number);
	ps_be32_store(out->tx, s->number);
}

static void
alert(struct session *s)
{
	s->io->result = PS_TLS_ALERT;
	s->io->alert = 120;
}

static void
server_step(struct session *s)
{
	const uint8_t *m;

	if (!s->heard) {
		m = take(s, PS_LEVEL_INITIAL, CLIENT_HELLO);
		if (m == NULL)
			return;
		s->heard = true;
		s->number = ++s->tls->next;
		if (m[1]) {
			alert(s);
			return;
		}
		put(s, PS_LEVEL_INITIAL, SERVER_HELLO, SH_BYTES);
		put(s, PS_LEVEL_HANDSHAKE, PARAMETERS, EE_BYTES);
		secrets(s, PS_LEVEL_HANDSHAKE);
	} else if (take(s, PS_LEVEL_HANDSHAKE, FINISHED) != NULL) {
		secrets(s, PS_LEVEL_APP);
		s->io->result = PS_TLS_DONE;
	}
}

static void
client_step(struct session *s)
{
	const uint8_t *m;

	if (s->io->out_len[PS_LEVEL_INITIAL] == 0) {
		put(s, PS_LEVEL_INITIAL, CLIENT_HELLO, s->tls->hello_bytes);
	} else if (!s->heard) {
		m = take(s, PS_LEVEL_INITIAL, SERVER_HELLO);
		if (m == NULL)
			return;
		s->heard = true;
		s->number = ps_be32_load(m + 4);
		secrets(s, PS_LEVEL_HANDSHAKE);
	} else {
		m = take(s, PS_LEVEL_HANDSHAKE, PARAMETERS);
		if (m == NULL)
			return;
		FUZZ_CHECK(ps_be32_load(m + 4) == s->number);
		if (m[1]) {
			alert(s);
			return;
		}
		put(s, PS_LEVEL_HANDSHAKE, FINISHED, FIN_BYTES);
		secrets(s, PS_LEVEL_APP);
		s->io->result = PS_TLS_DONE;
	}
}

static void
run(struct session *s)
{
	if (s->io->result == PS_TLS_DONE || s->io->result == PS_TLS_ALERT)
		return;
	s->io->result = PS_TLS_MORE;
	if (s->tls->server)
		server_step(s);
	else
		client_step(s);
}

/* -- tls.h -- */

bool
__wrap_ps_tls_begin(struct ps_tls *tls, struct ps_tls_io *io)
{
	struct actor_tls *t = (struct actor_tls *)tls;
	struct session *s = sessions;

	if (t->sessions == t->sessions_max)
		return false;
	while (s->io != NULL)
		s++;
	FUZZ_CHECK(s < sessions + SESSIONS);
	t->sessions++;
	*s = (struct session){.io = io, .tls = t, .refuse = t->refuse};
	io->result = PS_TLS_MORE;
	io->alert = 0;
	io->ended = io->peer_has_key = false;
	io->peer_tp_len = 0;
	memset(io->out_len, 0, sizeof(io->out_len));
	memset(io->secret, 0, sizeof(io->secret));
	io->session = s;
	return true;
}

enum ps_tls_result
__wrap_ps_tls_step(struct ps_tls *t, struct ps_tls_io *io)
{
	struct session *s = io->session;

	FUZZ_CHECK(s != NULL && s->io == io && s->tls == (struct actor_tls *)t && !s->pending);
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
release(struct session *s)
{
	s->tls->sessions--;
	*s = (struct session){0};
}

struct ps_tls_io *
__wrap_ps_tls_completed(struct ps_tls *t)
{
	for (unsigned int i = 0; !((struct actor_tls *)t)->held && i < SESSIONS; i++) {
		struct session *s = &sessions[i];
		struct ps_tls_io *io = s->io;

		if (s->tls != (struct actor_tls *)t || !s->pending)
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
	struct session *s = io->session;

	FUZZ_CHECK(s != NULL && s->io == io && s->tls == (struct actor_tls *)t && !io->ended);
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
