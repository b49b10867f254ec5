/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "actor_tls.h"

#include <string.h>

#include "fuzz.h"
#include "ps_be.h"

#define HEAD      10 /* kind, refuse, length, number, length of parameters */
#define SH_BYTES  90
#define EE_BYTES  4000
#define FIN_BYTES 350

enum { CLIENT_HELLO = 1, SERVER_HELLO, PARAMETERS, FINISHED };

static struct actor_tls *
end_of(const struct fake_session *s)
{
	return (struct actor_tls *)s->tls;
}

static const uint8_t *
filling(uint8_t kind)
{
	static uint8_t bytes[4100];

	for (uint32_t i = 0; bytes[1] == 0 && i < sizeof(bytes); i++)
		bytes[sizeof(bytes) - 1 - i] = (uint8_t)(1 + (i * 2654435761u >> 24));
	return bytes + kind;
}

static void
put(struct fake_session *s, enum ps_level level, uint8_t kind, uint16_t len)
{
	struct ps_tls_io *io = s->io;
	uint8_t *p = io->out[level] + io->out_len[level];
	bool tp = kind == CLIENT_HELLO || kind == PARAMETERS;
	uint16_t tp_len = tp ? io->tp_len : 0;

	p[0] = kind;
	p[1] = end_of(s)->refuse;
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
take(struct fake_session *s, enum ps_level level, uint8_t kind)
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
secrets(struct fake_session *s, enum ps_level level)
{
	struct ps_tls_secret *out = &s->io->secret[level];
	bool server = end_of(s)->server;

	out->ready = true;
	out->suite = end_of(s)->suite;
	memset(out->rx, (uint8_t)(1 + server + 2 * level), sizeof(out->rx));
	memset(out->tx, (uint8_t)(1 + !server + 2 * level), sizeof(out->tx));
	ps_be32_store(out->rx, s->number);
	ps_be32_store(out->tx, s->number);
}

static void
alert(struct fake_session *s)
{
	s->io->result = PS_TLS_ALERT;
	s->io->alert = 120;
}

static void
server_step(struct fake_session *s)
{
	const uint8_t *m;

	if (!s->heard) {
		m = take(s, PS_LEVEL_INITIAL, CLIENT_HELLO);
		if (m == NULL)
			return;
		s->heard = true;
		s->number = ++end_of(s)->next;
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
client_step(struct fake_session *s)
{
	const uint8_t *m;

	if (s->io->out_len[PS_LEVEL_INITIAL] == 0) {
		put(s, PS_LEVEL_INITIAL, CLIENT_HELLO, end_of(s)->hello_bytes);
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
run(struct fake_session *s)
{
	if (end_of(s)->server)
		server_step(s);
	else
		client_step(s);
}

void
actor_tls_start(struct actor_tls *t, bool server, unsigned int sessions_max)
{
	*t = (struct actor_tls){.server = server, .hello_bytes = 300, .next = t->next};
	fake_tls_start(&t->fake, sessions_max, run);
}
