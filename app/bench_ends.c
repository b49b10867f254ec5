/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "bench_ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "penstock_feed.h"
#include "ps_be.h"

#define FEED_BYTES       (UINT64_C(64) << 20)
#define STREAM_DATA      16 /* offset of the serial number in a transaction */
#define HANDSHAKES_PER_S 2000
/* Virtual time between connections: a quarter of that rate, at which Retry stays off. */
#define CONNECT_NS (4 * PS_SEC_NS / HANDSHAKES_PER_S)

uint64_t
bench_random(struct bench *b)
{
	b->rng ^= b->rng << 13;
	b->rng ^= b->rng >> 7;
	b->rng ^= b->rng << 17;
	return b->rng;
}

/* -- counting sink of `ingest` -- */

static bool
count_reserve(void *ctx, const struct ps_stream_frame *f, unsigned int n)
{
	(void)ctx;
	(void)f;
	(void)n;
	return true;
}

static enum ps_sink_result
count_data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	struct bench *b = ctx;

	(void)peer;
	if (b->compare && f->offset == 0 && f->len > STREAM_DATA + 8)
		b->wrong += memcmp(f->data, b->txn, STREAM_DATA) != 0 ||
			    memcmp(f->data + STREAM_DATA + 8, b->txn + STREAM_DATA + 8,
				    f->len - STREAM_DATA - 8) != 0;
	/* packets come in order here: the end of a stream comes last */
	f->slot = 0;
	b->delivered += f->fin;
	return f->fin ? PS_SINK_DONE : PS_SINK_MORE;
}

static void
count_abandon(void *ctx, uint32_t slot)
{
	(void)ctx;
	(void)slot;
}

static uint32_t
count_room(void *ctx)
{
	(void)ctx;
	return 1u << 20;
}

struct ps_sink
bench_counting_sink(struct bench *b)
{
	return (struct ps_sink){b, count_reserve, count_data, count_abandon, count_room};
}

static void
on_acked(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	(void)id;
	(void)user;
	((struct bench *)ctx)->acked++;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	(void)id;
	(void)peer;
	((struct bench *)ctx)->connected++;
}

/* -- endpoints -- */

int
bench_feed(struct bench *b, struct ps_sink *sink, struct ps_err *e)
{
	struct ps_tpu_limits limits = {.slots = 1024};
	struct ps_feed_conf conf = {.path = b->path,
		.service = "bench",
		.capacity_bytes = FEED_BYTES,
		.group = (gid_t)-1};
	int rc;

	snprintf(b->path, sizeof(b->path), "/dev/shm/penstock-bench.%d", (int)getpid());
	rc = ps_feed_open(&b->feed, &conf, e);
	if (rc != 0) {
		b->path[0] = '\0';
		return rc;
	}
	rc = penstock_feed_attach(&b->consumer, b->path, NULL, e->text);
	if (rc != 0)
		return rc;
	b->tpu_mem = aligned_alloc(64, (ps_tpu_footprint(&limits) + 63) & ~(size_t)63);
	if (b->tpu_mem == NULL)
		return ps_fail(e, ENOMEM, "no memory for reassembly");
	b->tpu = ps_tpu_create(b->tpu_mem, &limits, &b->feed, &b->server_drops);
	*sink = ps_tpu_sink(b->tpu);
	return 0;
}

/* One end with its TLS context and memory; the caller's pointers are set as each is made. */
static int
make_end(const struct ps_quic_limits *l, struct ps_quic_config *c, struct ps_tls **tls, void **mem,
	struct ps_quic **q, struct ps_err *e)
{
	struct ps_tls_config tc = {
		.server = c->server, .sessions = l->handshakes, .alpn = "solana-tpu"};

	memset(tc.seed, c->server ? 1 : 2, sizeof(tc.seed));
	c->tls = *tls = ps_tls_new(&tc, e);
	if (*tls == NULL)
		return -EIO;
	*mem = aligned_alloc(64, ps_quic_footprint(l));
	if (*mem == NULL)
		return ps_fail(e, ENOMEM, "no memory for %u connections: take fewer", l->conns);
	*q = ps_quic_new(*mem, l, c, e);
	return *q == NULL ? -EINVAL : 0;
}

int
bench_server(struct bench *b, struct ps_sink sink, struct ps_err *e)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;

	ps_quic_defaults(&l, &c);
	l.conns = b->o->conns + 1024;
	l.handshakes = 1024;
	l.streams = 1024;
	c.idle_timeout_ms = 0;
	c.handshakes_per_s = HANDSHAKES_PER_S;
	c.sink = sink;
	c.drops = &b->server_drops;
	return make_end(&l, &c, &b->server_tls, &b->server_mem, &b->server, e);
}

static void
client_defaults(struct bench *b, struct ps_quic_limits *l, struct ps_quic_config *c)
{
	ps_quic_defaults(l, c);
	l->streams = 64;
	c->server = false;
	c->idle_timeout_ms = 0;
	c->datagram_bytes = PS_UDP_PAYLOAD_MAX;
	c->drops = &b->client_drops;
}

int
bench_client(struct bench *b, struct ps_err *e)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;

	client_defaults(b, &l, &c);
	l.conns = b->o->conns + 8;
	l.handshakes = 8;
	l.send_streams = 4096;
	l.sent_packets = b->o->conns > 64 ? 64 : 1024;
	c.events = (struct ps_quic_events){
		.ctx = b, .connected = on_connected, .stream_acked = on_acked};
	return make_end(&l, &c, &b->client_tls, &b->client_mem, &b->client, e);
}

int
bench_flood(struct bench *b, struct ps_err *e)
{
	struct ps_flow4 flow = {.daddr_be = 0x0200000a, .dport_be = 0x491f, .sport_be = 0x3930};
	struct ps_quic_conn_id id;
	struct ps_quic_limits l;
	struct ps_quic_config c;
	struct ps_quic *q = NULL;
	int rc;

	client_defaults(b, &l, &c);
	l.conns = l.handshakes = FLOOD_SOURCES;
	l.key_cache = 64;
	rc = make_end(&l, &c, &b->flood_tls, &b->flood_mem, &q, e);
	b->flood = calloc(FLOOD_SOURCES, sizeof(*b->flood));
	if (rc != 0 || b->flood == NULL)
		return rc != 0 ? rc : ps_fail(e, ENOMEM, "no memory for a flood");
	for (unsigned int i = 0; i < FLOOD_SOURCES; i++) {
		struct packet *p = &b->flood[i];
		struct ps_datagram *out = &p->d;

		p->d = (struct ps_datagram){.data = p->bytes, .len = sizeof(p->bytes)};
		flow.saddr_be = 0x0b + (i << 16);
		if (ps_quic_connect(q, flow, 0, b->now_ns, &id) != 0 ||
			ps_quic_tx_burst(q, &out, 1, b->now_ns) != 1)
			return ps_fail(e, EIO, "Initial %u of the flood could not be made", i);
	}
	return 0;
}

/* -- packets between the two -- */

/* Everything the server has to say, given to the client. */
static unsigned int
server_tx(struct bench *b, struct packet *p, unsigned int n)
{
	struct ps_datagram *out[BURST];

	for (unsigned int i = 0; i < n; i++) {
		p[i].d.data = p[i].bytes;
		p[i].d.len = sizeof(p[i].bytes);
		out[i] = &p[i].d;
	}
	return ps_quic_tx_burst(b->server, out, n, b->now_ns);
}

static void
client_rx(struct bench *b, struct packet *p, unsigned int n)
{
	struct ps_datagram *in[BURST];

	for (unsigned int i = 0; i < n; i++)
		in[i] = &p[i].d;
	ps_quic_rx_burst(b->client, in, n, b->now_ns);
}

/* Takes up to n datagrams from the client into the burst from place i on. */
static unsigned int
client_tx(struct bench *b, unsigned int i, unsigned int n)
{
	struct ps_datagram *out[BURST];

	for (unsigned int k = 0; k < n; k++) {
		struct packet *p = &b->burst[i + k];

		p->d = (struct ps_datagram){.data = p->bytes, .len = sizeof(p->bytes)};
		out[k] = &p->d;
	}
	return ps_quic_tx_burst(b->client, out, n, b->now_ns);
}

unsigned int
bench_make(struct bench *b, unsigned int most)
{
	unsigned int n = 0;

	ps_quic_service(b->client, b->now_ns);
	for (unsigned int tries = 0; n < most && tries < 4 * most; tries++) {
		struct ps_quic_conn_id id = b->conn[bench_random(b) % b->o->conns];

		ps_be64_store(b->txn + STREAM_DATA, b->sent);
		if (ps_quic_send_stream(b->client, id, b->txn, b->o->size, b->sent) == 0)
			b->sent++;
		n += client_tx(b, n, most - n);
	}
	return n;
}

static void
consume(struct bench *b)
{
	const struct penstock_feed_record *r[BURST];
	int n;

	if (b->consumer == NULL)
		return;
	while ((n = penstock_feed_poll(b->consumer, r, BURST)) > 0) {
		for (int i = 0; i < n; i++) {
			const uint8_t *p = penstock_feed_payload(r[i]);

			b->delivered++;
			if (b->compare)
				b->wrong += r[i]->payload_bytes != b->o->size ||
					    memcmp(p, b->txn, STREAM_DATA) != 0 ||
					    memcmp(p + STREAM_DATA + 8, b->txn + STREAM_DATA + 8,
						    b->o->size - STREAM_DATA - 8) != 0;
		}
		penstock_feed_release(b->consumer, NULL);
	}
}

uint64_t
bench_serve(struct bench *b, unsigned int n)
{
	struct packet reply[BURST];
	struct ps_datagram *in[BURST];
	uint64_t start_ns, ns;
	unsigned int m;

	for (unsigned int i = 0; i < n; i++) {
		in[i] = &b->burst[i].d;
		__builtin_prefetch(b->burst[i].bytes);
	}
	start_ns = ps_now_ns();
	if (b->tpu != NULL)
		ps_tpu_tick(b->tpu, b->now_ns, 0, 0);
	ps_quic_rx_burst(b->server, in, n, b->now_ns);
	if (b->tpu != NULL)
		ps_feed_publish(&b->feed);
	ps_quic_service(b->server, b->now_ns);
	m = server_tx(b, reply, BURST);
	ns = ps_now_ns() - start_ns;
	while (m > 0) {
		client_rx(b, reply, m);
		m = server_tx(b, reply, BURST);
	}
	consume(b);
	b->now_ns += b->step_ns;
	return ns;
}

int
bench_connect(struct bench *b, const volatile sig_atomic_t *stop, struct ps_err *e)
{
	struct ps_flow4 flow = {.saddr_be = 0x0100000a, .daddr_be = 0x0200000a, .dport_be = 0x491f};

	for (unsigned int i = 0; i < b->o->conns && !*stop; i++) {
		uint64_t want = b->connected + 1;

		b->now_ns += CONNECT_NS;
		flow.sport_be = (uint16_t)i;
		flow.saddr_be = 0x0100000a + (i >> 16 << 24);
		if (ps_quic_connect(b->client, flow, 0, b->now_ns, &b->conn[i]) != 0)
			return ps_fail(e, ENOBUFS, "connection %u could not be opened", i);
		for (int turn = 0; turn < 16 && b->connected < want; turn++)
			bench_serve(b, client_tx(b, 0, BURST));
		bench_serve(b, client_tx(b, 0, BURST)); /* HANDSHAKE_DONE and stream credit */
		if (b->connected < want)
			return ps_fail(e, EIO, "connection %u did not complete", i);
	}
	return *stop ? ps_fail(e, EINTR, "interrupted") : 0;
}

int
bench_settle(struct bench *b, struct ps_err *e)
{
	for (int i = 0; i < 1000 && b->acked < b->sent; i++) {
		b->now_ns += PS_MS_NS;
		ps_quic_service(b->client, b->now_ns);
		bench_serve(b, client_tx(b, 0, BURST));
	}
	if (b->wrong != 0 || b->delivered != b->sent)
		return ps_fail(e, EIO, "of %llu transactions %llu arrived, %llu of them wrong",
			(unsigned long long)b->sent, (unsigned long long)b->delivered,
			(unsigned long long)b->wrong);
	return 0;
}

void
bench_free(struct bench *b)
{
	static const char *const suffix[] = {"", ".consumer", ".lock"};
	char file[sizeof(b->path) + 16];

	if (b->server_tls != NULL)
		ps_tls_free(b->server_tls);
	if (b->client_tls != NULL)
		ps_tls_free(b->client_tls);
	if (b->flood_tls != NULL)
		ps_tls_free(b->flood_tls);
	free(b->flood_mem);
	free(b->flood);
	free(b->server_mem);
	free(b->client_mem);
	free(b->tpu_mem);
	free(b->conn);
	if (b->path[0] != '\0') {
		if (b->consumer != NULL)
			penstock_feed_detach(b->consumer);
		ps_feed_close(&b->feed);
		for (unsigned int i = 0; i < 3; i++) {
			snprintf(file, sizeof(file), "%s%s", b->path, suffix[i]);
			unlink(file);
		}
	}
	free(b);
}
