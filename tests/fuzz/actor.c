/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "actor.h"

#include "ps_be.h"

#define HANDSHAKES 3
#define TX_MAX     512   /* datagrams of one turn: far more than anything allows */
#define EVENTS_MAX 20000 /* until every stream ended on a good network, likewise */
#define BURST      8
#define SERVER_IP  0x09000000u
#define PORT       1000

struct actor_world actor;
static struct actor_packet packets[ACTOR_PACKETS];

__typeof__(ps_protect_random) __wrap_ps_protect_random;

void
__wrap_ps_protect_random(struct ps_protect *p, void *out, size_t len)
{
	uint8_t *to = out;

	(void)p;
	while (len-- > 0) {
		actor.random = actor.random * 6364136223846793005u + 1442695040888963407u;
		*to++ = (uint8_t)(actor.random >> 56);
	}
}

/* The bytes of a stream after its name. */
static const uint8_t *
content(uint32_t client, uint32_t stream)
{
	static uint8_t noise[ACTOR_STREAM_MAX + 1024];

	for (uint32_t i = 0; noise[0] == 0 && i < sizeof(noise); i++)
		noise[sizeof(noise) - 1 - i] = (uint8_t)(1 + (i * 2654435761u >> 24));
	return noise + (client * 31 + stream * 7) % 1024;
}

/* -- the server's sink -- */

static bool
sink_reserve(void *ctx, const struct ps_stream_frame *f, unsigned int n)
{
	unsigned int spare = 0, need = 0;

	(void)ctx;
	for (unsigned int i = 0; i < ACTOR_SLOTS; i++)
		spare += !actor.slot[i].used;
	for (unsigned int i = 0; i < n; i++) {
		FUZZ_CHECK(f[i].offset + f[i].len <= ACTOR_STREAM_MAX);
		FUZZ_CHECK(f[i].slot == PS_SLOT_NONE || actor.slot[f[i].slot].used);
		need += f[i].slot == PS_SLOT_NONE && !(f[i].offset == 0 && f[i].fin);
	}
	actor.promised = actor.no_room || need > spare ? 0 : n;
	return actor.promised == n;
}

/* A stream is whole: its first bytes say whose it is. */
static void
delivered(const uint8_t *data, uint32_t len)
{
	uint32_t c, n;
	struct actor_stream *s;

	FUZZ_CHECK(len >= 8);
	c = ps_be32_load(data);
	n = ps_be32_load(data + 4);
	FUZZ_CHECK(c < actor.n_clients && n < actor.conn[c].n_streams);
	s = &actor.conn[c].stream[n];
	FUZZ_CHECK(s->len == len && s->delivered++ == 0 && !s->acked);
	FUZZ_CHECK(memcmp(data + 8, content(c, n), len - 8) == 0);
}

static enum ps_sink_result
sink_data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	struct actor_slot *s;

	(void)ctx;
	(void)peer;
	FUZZ_CHECK(actor.promised-- > 0);
	FUZZ_CHECK(f->offset + f->len <= ACTOR_STREAM_MAX && (f->len > 0 || f->fin));
	if (f->slot == PS_SLOT_NONE && f->offset == 0 && f->fin) {
		delivered(f->data, f->len);
		return PS_SINK_DONE;
	}
	if (f->slot == PS_SLOT_NONE) {
		for (f->slot = 0; actor.slot[f->slot].used; f->slot++)
			FUZZ_CHECK(f->slot + 1 < ACTOR_SLOTS);
		s = &actor.slot[f->slot];
		s->used = true;
		s->final = 0;
		memset(s->have, 0, sizeof(s->have));
	}
	FUZZ_CHECK(f->slot < ACTOR_SLOTS && actor.slot[f->slot].used);
	s = &actor.slot[f->slot];
	memset(s->have + f->offset, 1, f->len);
	memcpy(s->data + f->offset, f->data, f->len);
	if (f->fin)
		s->final = f->offset + f->len;
	if (s->final == 0 || memchr(s->have, 0, s->final) != NULL)
		return PS_SINK_MORE;
	delivered(s->data, s->final);
	s->used = false;
	return PS_SINK_DONE;
}

static void
sink_abandon(void *ctx, uint32_t slot)
{
	(void)ctx;
	FUZZ_CHECK(slot < ACTOR_SLOTS && actor.slot[slot].used);
	actor.slot[slot].used = false;
}

static uint32_t
sink_room(void *ctx)
{
	(void)ctx;
	return actor.no_credit ? 0 : ACTOR_SLOTS;
}

/* -- the client's events -- */

static struct actor_client *
client_of(struct ps_quic_conn_id id)
{
	for (unsigned int i = 0; i < actor.n_clients; i++)
		if (actor.conn[i].id.slot == id.slot &&
			actor.conn[i].id.generation == id.generation)
			return &actor.conn[i];
	FUZZ_CHECK(false);
	return NULL;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	struct actor_client *c = client_of(id);

	(void)ctx;
	(void)peer;
	FUZZ_CHECK(!c->connected && !c->closed);
	c->connected = true;
}

static void
on_acked(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	struct actor_stream *s = &client_of(id)->stream[user];

	(void)ctx;
	FUZZ_CHECK(!s->acked && !s->lost);
	s->acked = true;
	/* The rest of a stream that the server gave up is acknowledged, too. */
	actor.undelivered += s->delivered == 0;
	FUZZ_CHECK(actor.undelivered <= actor.server.drops.n[PS_DROP_QUIC_STREAM_LATE]);
}

static void
on_lost(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	struct actor_stream *s = &client_of(id)->stream[user];

	(void)ctx;
	FUZZ_CHECK(!s->acked && !s->lost);
	s->lost = true;
}

static void
on_stopped(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	on_lost(ctx, id, user);
	client_of(id)->stream[user].stopped = true;
}

static void
on_closed(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why)
{
	struct actor_client *c = client_of(id);
	bool heard = actor.client.q->conns[id.slot].app.rx_next > c->live_from;

	(void)ctx;
	FUZZ_CHECK(!c->closed);
	c->closed = true;
	for (unsigned int i = 0; i < c->n_streams; i++) {
		const struct actor_stream *s = &c->stream[i];

		FUZZ_CHECK(s->acked || s->lost);
		/* nobody may fall asleep over a stream; one that the server stopped is over before
		 */
		FUZZ_CHECK(!s->lost || s->stopped || !heard || strcmp(why->reason, "idle") != 0);
	}
}

/* -- ends -- */

static void
end_start(struct actor_end *e, bool server)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;
	struct ps_err err;

	ps_quic_defaults(&l, &c);
	l = (struct ps_quic_limits){.conns = server ? ACTOR_CONNS : ACTOR_CLIENTS,
		.handshakes = server ? HANDSHAKES : 6,
		.streams = server ? 10 : 1,
		.send_streams = server ? 0 : 24,
		.sent_packets = server ? 16 : 64,
		.key_cache = 4};
	c.server = server;
	c.retry = actor.o.retry;
	c.source_per_min = actor.o.limit_sources ? 2 : 0;
	c.handshake_timeout_ms = 10000;
	c.stream_bytes = ACTOR_STREAM_MAX;
	c.conn_bytes = 8000;
	c.stream_window = actor.o.small_window ? 2 : 16;
	c.drops = &e->drops;
	c.tls = (struct ps_tls *)&e->tls;
	actor_tls_start(&e->tls, server, server ? HANDSHAKES : 6);
	e->tls.suite = actor.o.suite;
	e->tls.fake.slow = server && actor.o.slow_tls;
	e->tls.hello_bytes = actor.o.long_hello ? 1900 : 300;
	if (server)
		c.sink = (struct ps_sink){NULL, sink_reserve, sink_data, sink_abandon, sink_room};
	else
		c.events = (struct ps_quic_events){
			NULL, on_connected, on_acked, on_lost, on_closed, on_stopped};
	if (e->mem == NULL) {
		size_t size = ps_quic_footprint(&l);

		e->mem = aligned_alloc(64, size);
		e->fresh = malloc(size);
		FUZZ_CHECK(e->mem != NULL && e->fresh != NULL);
		memset(e->mem, 0xa5, size);
		e->q = ps_quic_new(e->mem, &l, &c, &err);
		FUZZ_CHECK(e->q != NULL);
		memcpy(e->fresh, e->mem, size);
	}
	/* what a new endpoint is, without the time it takes to make one */
	memcpy(e->mem, e->fresh, ps_quic_footprint(&l));
	e->q->cfg = c;
	e->stats = ps_quic_stats(e->q);
}

void
actor_start(const struct actor_options *o)
{
	struct actor_end server = actor.server, client = actor.client;

	memset(&actor, 0, offsetof(struct actor_world, slot));
	for (unsigned int i = 0; i < ACTOR_SLOTS; i++)
		actor.slot[i].used = false;
	for (unsigned int i = 0; i < ACTOR_PACKETS; i++)
		actor.packet[i] = &packets[i];
	actor.o = *o;
	actor.now_ns = 1000 * PS_SEC_NS;
	actor.server = server;
	actor.client = client;
	actor.server.tls.next = actor.client.tls.next = 0;
	memset(&actor.server.drops, 0, sizeof(actor.server.drops));
	end_start(&actor.server, true);
	end_start(&actor.client, false);
	actor.random = 0; /* creation took some */
}

void
actor_restart_server(void)
{
	ps_quic_stop(actor.server.q);
	for (unsigned int i = 0; i < ACTOR_SLOTS; i++)
		actor.slot[i].used = false;
	end_start(&actor.server, true);
}

unsigned int
actor_address(unsigned int client)
{
	return client * ACTOR_EPOCHS + actor.conn[client].epoch;
}

/* The flow of a datagram to the server: the port tells one address from another. */
static struct ps_flow4
flow_of(unsigned int address)
{
	return (struct ps_flow4){.saddr_be = 0x0a000000u + address % 3,
		.daddr_be = SERVER_IP,
		.sport_be = (uint16_t)(PORT + address),
		.dport_be = 9};
}

void
actor_connect(void)
{
	struct actor_client *c = &actor.conn[actor.n_clients];

	if (actor.n_clients == ACTOR_CLIENTS)
		return;
	c->live_from = PS_NEVER;
	if (ps_quic_connect(actor.client.q, flow_of(actor.n_clients * ACTOR_EPOCHS), 0,
		    actor.now_ns, &c->id) == 0)
		actor.n_clients++;
}

void
actor_send(unsigned int client, unsigned int len)
{
	struct actor_client *c = &actor.conn[client];
	uint8_t data[ACTOR_STREAM_MAX];
	uint32_t n = c->n_streams;

	if (client >= actor.n_clients || n == ACTOR_STREAMS)
		return;
	ps_be32_store(data, client);
	ps_be32_store(data + 4, n);
	memcpy(data + 8, content(client, n), len - 8);
	if (ps_quic_send_stream(actor.client.q, c->id, data, len, n) != 0)
		return;
	FUZZ_CHECK(c->connected && !c->closed);
	c->stream[n].len = (uint16_t)len;
	c->n_streams++;
}

/* -- the way between them -- */

void
actor_put(bool to_server, unsigned int address, unsigned int client, const uint8_t *p, size_t len)
{
	struct actor_packet *to;

	if (actor.n_packets == ACTOR_PACKETS)
		actor_drop(0, 1);
	to = actor.packet[actor.n_packets++];
	fuzz_note(actor.now_ns ^ len);
	to->to_server = to_server;
	to->foreign = false;
	to->ecn = 0;
	to->address = address;
	to->client = client;
	to->len = (uint16_t)len;
	memcpy(to->bytes, p, len);
}

void
actor_drop(unsigned int at, unsigned int n)
{
	struct actor_packet *gone[ACTOR_PACKETS];

	memcpy(gone, &actor.packet[at], n * sizeof(gone[0]));
	memmove(&actor.packet[at], &actor.packet[at + n],
		(actor.n_packets - at - n) * sizeof(gone[0]));
	actor.n_packets -= n;
	memcpy(&actor.packet[actor.n_packets], gone, n * sizeof(gone[0]));
}

/* An address is proven by a token or a Handshake packet that came from it. One that was changed on
 * its way proves nothing, but what shares its datagram may, so all are taken for good here. */
static void
arrived(const struct actor_packet *p)
{
	struct ps_pkt_hdr h;

	actor.address[p->address].rx += p->len;
	for (uint16_t at = 0; !p->foreign && at < p->len; at += h.size) {
		if (ps_pkt_hdr_parse(&h, p->bytes + at, p->len - at, PS_OUR_CID_LEN) !=
			PS_DROP_COUNT)
			return;
		if (h.type == PS_PKT_HANDSHAKE || (h.type == PS_PKT_INITIAL && h.token_len > 0))
			actor.address[p->address].proven = true;
	}
}

static void
burst(struct actor_packet *const p[], unsigned int n)
{
	struct ps_datagram d[BURST], *list[BURST];
	uint8_t *bytes[BURST];
	struct actor_end *e = p[0]->to_server ? &actor.server : &actor.client;
	uint64_t moved = e->stats->paths_moved;

	for (unsigned int i = 0; i < n; i++) {
		/* of the size it has, so that a sanitizer sees a read beyond it */
		bytes[i] = malloc(p[i]->len > 0 ? p[i]->len : 1);
		memcpy(bytes[i], p[i]->bytes, p[i]->len);
		d[i] = (struct ps_datagram){.data = bytes[i], .len = p[i]->len, .ecn = p[i]->ecn};
		if (p[i]->to_server) {
			arrived(p[i]);
			d[i].flow = flow_of(p[i]->address);
		} else {
			d[i].flow = ps_flow4_reverse(flow_of(p[i]->client * ACTOR_EPOCHS));
		}
		list[i] = &d[i];
	}
	ps_quic_rx_burst(e->q, list, n, actor.now_ns);
	for (unsigned int i = 0; i < n; i++)
		free(bytes[i]);
	/* An answer to a challenge proves where the challenge went, wherever the answer came from:
	 * RFC 9000 section 8.2.3. */
	for (unsigned int i = 0; i < ACTOR_CONNS && e->stats->paths_moved != moved; i++)
		if (p[0]->to_server && e->q->conns[i].state == CONN_ESTABLISHED)
			actor.address[e->q->conns[i].flow.dport_be - PORT].proven = true;
}

void
actor_deliver(unsigned int at, unsigned int n, bool keep)
{
	for (unsigned int end = at + n, i = at; i < end;) {
		unsigned int k = 1;

		while (k < BURST && i + k < end &&
			actor.packet[i + k]->to_server == actor.packet[i]->to_server)
			k++;
		burst(&actor.packet[i], k);
		i += k;
	}
	if (!keep)
		actor_drop(at, n);
}

static void
server_sent(const struct ps_datagram *d)
{
	unsigned int address = d->flow.dport_be - PORT, client = address / ACTOR_EPOCHS;

	FUZZ_CHECK(d->flow.dport_be >= PORT && address < ACTOR_ADDRESSES);
	FUZZ_CHECK(d->flow.daddr_be == flow_of(address).saddr_be);
	actor.address[address].tx += d->len;
	FUZZ_CHECK(actor.address[address].proven ||
		   actor.address[address].tx <= 3 * actor.address[address].rx);
	if (client >= ACTOR_CLIENTS)
		client = actor.relayed[address - ACTOR_CLIENTS * ACTOR_EPOCHS];
	else if (address != actor_address(client))
		return; /* the NAT has given up that address */
	if (client < actor.n_clients)
		actor_put(false, address, client, d->data, d->len);
}

static void
transmit(struct actor_end *e)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;

	for (unsigned int n = 0;; n++) {
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(e->q, &out, 1, actor.now_ns) == 0)
			break;
		FUZZ_CHECK(d.len > 0 && d.len <= PS_UDP_PAYLOAD_MAX && n < TX_MAX);
		if (e == &actor.server) {
			server_sent(&d);
		} else {
			unsigned int client = (d.flow.sport_be - PORT) / ACTOR_EPOCHS;

			FUZZ_CHECK(client < ACTOR_CLIENTS);
			actor_put(true, actor_address(client), client, d.data, d.len);
		}
	}
}

static void
check_gauges(void)
{
	const struct ps_quic_stats *s = actor.server.stats, *c = actor.client.stats;

	FUZZ_CHECK(s->conns_open + s->half_open <= ACTOR_CONNS && s->half_open <= HANDSHAKES);
	FUZZ_CHECK(s->streams_open <= 10 && actor.server.tls.fake.sessions <= HANDSHAKES);
	FUZZ_CHECK(c->conns_open + c->half_open <= ACTOR_CLIENTS && c->streams_open == 0);
}

uint64_t
actor_turn(void)
{
	uint64_t server, client;

	ps_quic_service(actor.server.q, actor.now_ns);
	ps_quic_service(actor.client.q, actor.now_ns);
	transmit(&actor.server);
	transmit(&actor.client);
	server = ps_quic_service(actor.server.q, actor.now_ns);
	client = ps_quic_service(actor.client.q, actor.now_ns);
	FUZZ_CHECK(server > actor.now_ns && client > actor.now_ns);
	check_gauges();
	return min_u64(server, client);
}

void
actor_pass(uint64_t ns)
{
	uint64_t end_ns = actor.now_ns + ns;

	while (actor.now_ns < end_ns)
		actor.now_ns = min_u64(actor_turn(), end_ns);
}

/* -- the end -- */

static bool
settled(void)
{
	for (unsigned int i = 0; i < actor.n_clients; i++) {
		const struct actor_client *c = &actor.conn[i];

		for (unsigned int s = 0; s < c->n_streams; s++)
			if (!c->stream[s].acked && !c->stream[s].lost)
				return false;
	}
	return true;
}

/* The connections that have no reason to idle out any more: the server has them, the client sends
 * again soon, and all that was under way has arrived. */
static void
find_live(void)
{
	for (unsigned int i = 0; i < ACTOR_CONNS; i++) {
		const struct conn *s = &actor.server.q->conns[i], *c;
		unsigned int client = (s->flow.dport_be - PORT) / ACTOR_EPOCHS;

		if (s->state != CONN_ESTABLISHED || client >= actor.n_clients)
			continue;
		c = &actor.client.q->conns[actor.conn[client].id.slot];
		if (!actor.conn[client].closed && c->confirmed &&
			pto_ns(c, PS_LEVEL_APP) << min_u64(c->pto_count, 16) < 5 * PS_SEC_NS)
			actor.conn[client].live_from = c->app.rx_next;
	}
}

void
actor_finish(void)
{
	actor.no_room = actor.no_credit = actor.server.tls.fake.held = false;
	actor_turn();
	actor_deliver(0, actor.n_packets, false);
	find_live();
	for (unsigned int n = 0;; n++) {
		uint64_t next = actor_turn();

		if (settled())
			break;
		FUZZ_CHECK(n < EVENTS_MAX && next != PS_NEVER);
		if (actor.n_packets > 0) {
			next = actor.now_ns + PS_MS_NS;
			actor_deliver(0, actor.n_packets, false);
		}
		actor.now_ns = next;
	}
	ps_quic_close_all(actor.server.q, 1, "end", actor.now_ns);
	ps_quic_close_all(actor.client.q, 1, "end", actor.now_ns);
	actor_turn();
	FUZZ_CHECK(actor.server.stats->conns_open == 0 && actor.server.stats->half_open == 0);
	FUZZ_CHECK(actor.client.stats->conns_open == 0 && actor.client.stats->half_open == 0);
	FUZZ_CHECK(actor.server.stats->streams_open == 0);
	for (unsigned int i = 0; i < ACTOR_SLOTS; i++)
		FUZZ_CHECK(!actor.slot[i].used);
	actor_pass(60 * PS_SEC_NS);
	FUZZ_CHECK(actor_turn() == PS_NEVER);
	FUZZ_CHECK(actor.server.tls.fake.sessions == 0 && actor.client.tls.fake.sessions == 0);
	ps_quic_stop(actor.server.q);
	ps_quic_stop(actor.client.q);
}
