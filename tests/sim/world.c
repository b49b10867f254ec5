/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ps_be.h"
#include "ps_time.h"

static const struct ps_flow4 to_server_flow = {
	.saddr_be = 0x0100000a, .daddr_be = 0x0200000a, .sport_be = 0x3930, .dport_be = 0x491f};

static uint64_t
mix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t
world_random(struct world *w)
{
	return mix(&w->rng);
}

static bool
chance(struct world *w, double p)
{
	return (double)(world_random(w) >> 11) * 0x1p-53 < p;
}

/* What stream s of connection c consists of: its name, then noise that follows from it. */
static size_t
content(const struct world *w, unsigned int c, unsigned int s, uint8_t *out)
{
	uint64_t state = w->o.seed * 1000003 + c * 4099 + s;
	size_t span = w->o.max_bytes - w->o.min_bytes + 1,
	       len = w->o.min_bytes + mix(&state) % span;

	ps_be32_store(out, c);
	ps_be32_store(out + 4, s);
	for (size_t i = 8; i < len; i++)
		out[i] = (uint8_t)mix(&state);
	return len;
}

/* -- the server's sink: a plain reassembly, refusing at random -- */

static bool
sink_reserve(void *ctx, const struct ps_stream_frame *f, unsigned int n)
{
	struct world *w = ctx;

	(void)f;
	(void)n;
	return !chance(w, w->o.refuse);
}

static void
delivered(struct world *w, const uint8_t *data, size_t len)
{
	uint8_t want[4096];
	uint32_t c, s;

	c = len < 8 ? WORLD_CONNS : ps_be32_load(data);
	s = len < 8 ? 0 : ps_be32_load(data + 4);
	if (c >= w->o.conns || s >= w->o.streams) {
		w->unknown++;
		return;
	}
	if (content(w, c, s, want) != len || memcmp(want, data, len) != 0)
		w->bad_bytes++;
	else
		w->conn[c].stream[s].delivered++;
}

static enum ps_sink_result
sink_data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	struct world *w = ctx;
	struct world_slot *s;

	(void)peer;
	if (f->slot == PS_SLOT_NONE && f->offset == 0 && f->fin) {
		delivered(w, f->data, f->len);
		return PS_SINK_DONE;
	}
	if (f->slot == PS_SLOT_NONE) {
		for (f->slot = 0; w->slot[f->slot].used; f->slot++)
			;
		s = &w->slot[f->slot];
		memset(s, 0, sizeof(*s));
		s->used = true;
		s->final = UINT32_MAX;
	}
	s = &w->slot[f->slot];
	for (uint32_t i = 0; i < f->len; i++) {
		s->len += !s->have[f->offset + i];
		s->have[f->offset + i] = true;
		s->data[f->offset + i] = f->data[i];
	}
	if (f->fin)
		s->final = f->offset + f->len;
	if (s->len != s->final)
		return PS_SINK_MORE;
	delivered(w, s->data, s->len);
	s->used = false;
	return PS_SINK_DONE;
}

static void
sink_abandon(void *ctx, uint32_t slot)
{
	((struct world *)ctx)->slot[slot].used = false;
}

static uint32_t
sink_room(void *ctx)
{
	(void)ctx;
	return 64;
}

/* -- the client's events -- */

static struct world_conn *
conn_of(struct world *w, struct ps_quic_conn_id id)
{
	for (unsigned int i = 0; i < w->o.conns; i++)
		if (w->conn[i].id.slot == id.slot && w->conn[i].id.generation == id.generation)
			return &w->conn[i];
	return NULL;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	(void)peer;
	conn_of(ctx, id)->connected = true;
}

static void
on_acked(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	conn_of(ctx, id)->stream[user].acked = true;
}

static void
on_lost(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	conn_of(ctx, id)->stream[user].lost = true;
}

static void
on_closed(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why)
{
	struct world_conn *c = conn_of(ctx, id);

	if (c == NULL)
		return;
	c->closed = true;
	c->why = *why;
}

/* -- creation -- */

static void
end_new(struct world *w, struct world_end *e, bool server)
{
	struct ps_tls_config tc = {.server = server,
		.sessions = 32,
		.alpn = "solana-tpu",
		.priority = server ? NULL : w->o.priority};
	struct ps_quic_limits l;
	struct ps_quic_config c;
	struct ps_err err;

	memset(tc.seed, server ? 1 : 2, sizeof(tc.seed));
	ps_quic_defaults(&l, &c);
	l.conns = 32;
	l.handshakes = 16;
	l.streams = WORLD_CONNS * WORLD_STREAMS;
	l.send_streams = server ? 0 : WORLD_CONNS * WORLD_STREAMS;
	l.sent_packets = server ? 64 : 1024;
	l.key_cache = 16;
	c.server = server;
	c.retry = w->o.retry;
	c.handshake_timeout_ms = 1000000;
	c.idle_timeout_ms = 600000;
	c.stream_deadline_ms = 600000;
	c.stream_window = w->o.stream_window;
	c.drops = &e->drops;
	e->tls = c.tls = ps_tls_new(&tc, &err);
	if (server)
		c.sink = (struct ps_sink){w, sink_reserve, sink_data, sink_abandon, sink_room};
	else
		c.events = (struct ps_quic_events){w, on_connected, on_acked, on_lost, on_closed};
	e->mem = aligned_alloc(64, ps_quic_footprint(&l));
	e->q = e->tls == NULL || e->mem == NULL ? NULL : ps_quic_new(e->mem, &l, &c, &err);
	if (e->q == NULL) {
		fprintf(stderr, "world: %s\n", err.text);
		exit(1);
	}
}

struct world *
world_new(const struct world_options *o)
{
	struct world *w = calloc(1, sizeof(*w));

	w->o = *o;
	w->rng = o->seed;
	w->now_ns = 1000 * PS_SEC_NS;
	end_new(w, &w->server, true);
	end_new(w, &w->client, false);
	for (unsigned int i = 0; i < o->conns; i++) {
		struct ps_flow4 f = to_server_flow;

		f.sport_be += (uint16_t)(i << 8);
		if (ps_quic_connect(w->client.q, f, i, w->now_ns, &w->conn[i].id) != 0)
			w->conn[i].closed = true;
	}
	return w;
}

static void
end_free(struct world_end *e)
{
	ps_tls_free(e->tls);
	ps_quic_stop(e->q);
	free(e->mem);
}

void
world_free(struct world *w)
{
	end_free(&w->server);
	end_free(&w->client);
	free(w);
}

/* -- the link -- */

static bool
server_done(const struct world *w)
{
	uint64_t done = ps_quic_stats(w->server.q)->handshakes_done;

	for (unsigned int i = 0; i < w->o.conns; i++)
		done += w->conn[i].closed;
	return done >= w->o.conns;
}

/* The bits by which the NAT changes every client port now. It keeps its ports until the server has
 * completed the handshakes, and changes them before a client can know. */
static uint16_t
nat_bits(struct world *w)
{
	if (w->o.link.rebind_ns == 0)
		return 0;
	if (w->rebind_from_ns == 0 && server_done(w))
		w->rebind_from_ns = w->now_ns - w->o.link.rebind_ns;
	if (w->rebind_from_ns == 0)
		return 0;
	return (uint16_t)(((w->now_ns - w->rebind_from_ns) / w->o.link.rebind_ns & 0x1f) * 4);
}

static void
link_put(struct world *w, bool to_server, const struct ps_datagram *d)
{
	struct world_packet *p;

	if (w->n_packets == WORLD_PACKETS)
		return;
	p = &w->packet[w->n_packets++];
	p->due_ns = w->now_ns + w->o.link.delay_ns;
	if (w->o.link.jitter_ns != 0)
		p->due_ns += world_random(w) % w->o.link.jitter_ns;
	p->to_server = to_server;
	p->len = d->len;
	p->flow = d->flow;
	if (to_server)
		p->flow.sport_be ^= nat_bits(w);
	memcpy(p->bytes, d->data, d->len);
	if (chance(w, w->o.link.corrupt))
		p->bytes[world_random(w) % p->len] ^= (uint8_t)(1 + world_random(w) % 255);
}

static void
count_burst(struct world *w, const struct ps_datagram *d)
{
	if (d->len < 1000 || (d->data[0] & 0x80) != 0)
		return;
	if (w->now_ns != w->burst_ns)
		w->burst = 0;
	w->burst_ns = w->now_ns;
	if (++w->burst > w->burst_max)
		w->burst_max = w->burst;
}

static void
transmit(struct world *w, struct world_end *e)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;

	for (;;) {
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(e->q, &out, 1, w->now_ns) == 0)
			return;
		if (e == &w->client) {
			w->to_server_bytes += d.len;
			count_burst(w, &d);
		} else {
			w->to_client_bytes += d.len;
		}
		if (chance(w, w->o.link.loss))
			continue;
		link_put(w, e == &w->client, &d);
		if (chance(w, w->o.link.duplicate))
			link_put(w, e == &w->client, &d);
	}
}

/* Hands over every datagram that is due, in bursts as a port would. */
static void
deliver(struct world *w, struct world_end *e, bool server)
{
	struct ps_datagram d[PS_QUIC_BURST], *burst[PS_QUIC_BURST];
	static uint8_t buf[PS_QUIC_BURST][PS_UDP_PAYLOAD_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->n_packets && n < PS_QUIC_BURST;) {
		struct world_packet *p = &w->packet[i];

		if (p->to_server != server || p->due_ns > w->now_ns) {
			i++;
			continue;
		}
		/* what is on its way to a port that the NAT gave up is lost */
		if (!server &&
			((p->flow.dport_be ^ to_server_flow.sport_be) & 0xff) != nat_bits(w)) {
			*p = w->packet[--w->n_packets];
			continue;
		}
		if (!server)
			p->flow.dport_be ^= nat_bits(w);
		memcpy(buf[n], p->bytes, p->len);
		d[n] = (struct ps_datagram){.data = buf[n], .len = p->len, .flow = p->flow};
		burst[n] = &d[n];
		n++;
		*p = w->packet[--w->n_packets];
	}
	if (n > 0)
		ps_quic_rx_burst(e->q, burst, n, w->now_ns);
}

static void
send_streams(struct world *w)
{
	uint8_t data[4096];

	for (unsigned int i = 0; i < w->o.conns; i++) {
		struct world_conn *c = &w->conn[i];

		while (c->connected && !c->closed && c->sent < w->o.streams) {
			size_t len = content(w, i, c->sent, data);

			if (ps_quic_send_stream(w->client.q, c->id, data, len, c->sent) != 0)
				break;
			c->sent++;
		}
	}
}

static bool
settled(const struct world *w, bool *all_acked)
{
	*all_acked = true;
	for (unsigned int i = 0; i < w->o.conns; i++) {
		const struct world_conn *c = &w->conn[i];

		for (unsigned int s = 0; s < w->o.streams; s++) {
			*all_acked &= c->stream[s].acked;
			if (!c->stream[s].acked && !c->stream[s].lost && !c->closed)
				return false;
		}
	}
	return true;
}

static uint64_t
next_event(const struct world *w)
{
	uint64_t t = w->server.next_ns < w->client.next_ns ? w->server.next_ns : w->client.next_ns;

	for (unsigned int i = 0; i < w->n_packets; i++)
		if (w->packet[i].due_ns < t)
			t = w->packet[i].due_ns;
	return t > w->now_ns ? t : w->now_ns + 1;
}

bool
world_run(struct world *w, uint64_t until_ns)
{
	uint64_t end_ns = w->now_ns + until_ns;
	bool all_acked = false;

	while (w->now_ns < end_ns) {
		deliver(w, &w->server, true);
		deliver(w, &w->client, false);
		send_streams(w);
		w->server.next_ns = ps_quic_service(w->server.q, w->now_ns);
		w->client.next_ns = ps_quic_service(w->client.q, w->now_ns);
		transmit(w, &w->server);
		transmit(w, &w->client);
		/* what sending armed counts too */
		w->server.next_ns = ps_quic_service(w->server.q, w->now_ns);
		w->client.next_ns = ps_quic_service(w->client.q, w->now_ns);
		if (settled(w, &all_acked))
			break;
		w->now_ns = next_event(w);
	}
	return all_acked;
}
