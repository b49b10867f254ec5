/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A server and clients that talk over a network which the input commands (actor.h). What must hold:
 * every acknowledged stream was delivered once and as it was sent, or given up as late; no address
 * that is not proven gets more than three times its bytes; no timer is left behind; once the
 * network is good every stream ends, and after the end of all connections nothing is held.
 *
 * Input: an option byte, then actions. The low half of the first byte of an action chooses one of
 * the table at the end of this file, the high half is its argument; some take bytes more. A missing
 * byte is 0. Packets are counted from the oldest on the way. */

#include "actor.h"

#define INPUT_MAX 1500 /* bytes; more says nothing new */

static const uint8_t *in, *in_end;

static uint8_t
byte(void)
{
	return in < in_end ? *in++ : 0;
}

/* A packet on the way and its place, or NULL. */
static struct actor_packet *
packet(unsigned int *at)
{
	if (actor.n_packets == 0)
		return NULL;
	*at = byte() % actor.n_packets;
	return actor.packet[*at];
}

static void
act_send(unsigned int arg)
{
	unsigned int len = 8 + byte() * 12;

	for (unsigned int n = arg & 8 ? 6 : 1; n > 0; n--)
		actor_send(arg & 7, len < ACTOR_STREAM_MAX ? len : ACTOR_STREAM_MAX);
}

/* Everything on the way, in so many rounds. */
static void
act_deliver_all(unsigned int arg)
{
	for (unsigned int i = 0; i <= arg; i++) {
		actor_deliver(0, actor.n_packets, false);
		actor.now_ns += PS_MS_NS;
		actor_turn();
	}
}

/* One, which may stay on the way, and may come from another address. */
static void
act_deliver(unsigned int arg)
{
	unsigned int at;
	struct actor_packet *p = packet(&at);

	if (p == NULL)
		return;
	if (arg & 2 && p->to_server) {
		p->address = ACTOR_CLIENTS * ACTOR_EPOCHS + (arg >> 2);
		actor.relayed[arg >> 2] = p->client;
	}
	actor_deliver(at, 1, arg & 1);
}

static void
act_drop(unsigned int arg)
{
	unsigned int at;
	struct actor_packet *p = packet(&at);

	if (arg & 1)
		actor_drop(0, actor.n_packets);
	else if (p != NULL)
		actor_drop(at, 1);
}

static void
act_corrupt(unsigned int arg)
{
	unsigned int at;
	struct actor_packet *p = packet(&at);

	if (p == NULL || p->len == 0)
		return;
	p->bytes[(byte() | arg << 8) % p->len] ^= 1 + byte() % 255;
}

static void
act_truncate(unsigned int arg)
{
	unsigned int at;
	struct actor_packet *p = packet(&at);
	unsigned int cut = byte() | (arg & 7) << 8;

	if (p == NULL || cut > p->len)
		return;
	p->len = (uint16_t)(arg & 8 ? cut : p->len - cut);
}

static void
act_rebind(unsigned int arg)
{
	struct actor_client *c = &actor.conn[arg & 7];

	c->epoch = (c->epoch + 1) % ACTOR_EPOCHS;
}

/* So many ms, from timer to timer or in one leap. */
static void
act_time(unsigned int arg)
{
	static const unsigned int unit[] = {1, 8, 64, 512};
	uint64_t ns = byte() * PS_MS_NS * unit[arg & 3];

	if (arg & 4)
		actor.now_ns += ns;
	else
		actor_pass(ns);
}

static void
act_next_timer(unsigned int arg)
{
	for (unsigned int i = 0; i <= arg; i++) {
		uint64_t next = actor_turn();

		if (next == PS_NEVER)
			return;
		actor.now_ns = next;
	}
}

static struct conn *
live(struct ps_quic *q, unsigned int i)
{
	struct conn *c = &q->conns[i % q->limits.conns];

	return c->state == CONN_ESTABLISHED || c->state == CONN_HANDSHAKE ? c : NULL;
}

static struct ps_quic *
end_of(unsigned int arg)
{
	return arg & 8 ? actor.server.q : actor.client.q;
}

static void
act_close(unsigned int arg)
{
	struct conn *c = live(end_of(arg), arg & 7);

	if (c != NULL)
		ps_quic_close(end_of(arg), conn_name(c), byte(), "act", actor.now_ns);
}

/* So many packet numbers are left out that the key has to be changed. */
static void
act_key_update(unsigned int arg)
{
	struct conn *c = live(end_of(arg), arg & 7);

	if (c != NULL && c->state == CONN_ESTABLISHED)
		c->app.tx_next = max_u64(c->app.tx_next, c->phase_tx_pn + (UINT64_C(1) << 22));
}

static void
act_connect(unsigned int arg)
{
	actor.client.tls.refuse = (arg & 1) != 0;
	actor.server.tls.refuse = (arg & 2) != 0;
	actor_connect();
	actor.client.tls.refuse = false;
}

/* Bytes of nobody, or the beginning of a packet on the way with other bytes behind. */
static void
act_inject(unsigned int arg)
{
	unsigned int at;
	const struct actor_packet *p = arg & 2 ? packet(&at) : NULL;
	unsigned int relay = arg >> 2, len = byte(), n = byte();
	uint8_t bytes[PS_UDP_PAYLOAD_MIN] = {0};
	bool to_server = (arg & 1) == 0;

	if (p != NULL) {
		to_server = p->to_server;
		memcpy(bytes, p->bytes, p->len < len ? p->len : len);
	} else {
		len = 0;
	}
	for (unsigned int i = 0; i < n % 64; i++)
		bytes[len + i] = byte();
	actor_put(to_server, ACTOR_CLIENTS * ACTOR_EPOCHS + relay, p == NULL ? 0 : p->client, bytes,
		n & 128 ? sizeof(bytes) : len + n % 64);
	actor.packet[actor.n_packets - 1]->foreign = p == NULL;
}

static void
act_ends(unsigned int arg)
{
	actor.no_room = (arg & 1) != 0;
	actor.no_credit = (arg & 2) != 0;
	actor.server.tls.fake.held = (arg & 4) != 0;
}

static void
act_mark(unsigned int arg)
{
	for (unsigned int i = 0; i < actor.n_packets; i++)
		actor.packet[i]->ecn = arg & 3;
}

static void
act_restart(unsigned int arg)
{
	if (arg == 9) /* seldom: it ends everything */
		actor_restart_server();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const act[16])(unsigned int) = {act_send, act_deliver_all, act_deliver,
		act_drop, act_corrupt, act_truncate, act_rebind, act_time, act_next_timer,
		act_close, act_key_update, act_connect, act_inject, act_ends, act_mark,
		act_restart};
	struct actor_options o;

	if (size == 0)
		return 0;
	o = (struct actor_options){.retry = data[0] % 4 < 3 ? data[0] % 4 : PS_RETRY_OFF,
		.suite = (data[0] >> 2 & 3) % PS_SUITES,
		.slow_tls = data[0] >> 4 & 1,
		.long_hello = data[0] >> 5 & 1,
		.limit_sources = data[0] >> 6 & 1,
		.small_window = data[0] >> 7};
	in = data + 1;
	in_end = data + (size < INPUT_MAX ? size : INPUT_MAX);
	actor_start(&o);
	actor_connect();
	actor_turn();
	while (in < in_end) {
		uint8_t op = byte();

		act[op & 15](op >> 4);
		actor_turn();
	}
	actor_finish();
	return 0;
}
