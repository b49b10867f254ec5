/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "penstock_feed.h"
#include "ps_be.h"

#define FEED_BYTES       (UINT64_C(64) << 20)
#define STREAM_DATA      16 /* offset of the serial number in a transaction */
#define HANDSHAKES_PER_S 2000
/* Virtual time between connections: a quarter of that rate, at which Retry stays off. */
#define CONNECT_NS   (4 * PS_SEC_NS / HANDSHAKES_PER_S)
#define FEW_CONNS    64               /* each of these has many packets under way */
#define CHECK_BURSTS 64               /* of the pass in which every byte is compared */
#define CLOSED_NS    (200 * PS_MS_NS) /* after which a closed connection is forgotten */

void *
bench_alloc(size_t bytes)
{
	const size_t huge = (size_t)2 << 20;
	void *p;

	bytes = (bytes + huge - 1) & ~(huge - 1);
	p = aligned_alloc(huge, bytes);
	if (p != NULL)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

struct bench *
bench_new(unsigned int size, unsigned int conns, struct ps_err *e)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (b != NULL)
		b->conn = calloc(conns, sizeof(*b->conn));
	if (b == NULL || b->conn == NULL) {
		free(b);
		ps_fail(e, ENOMEM, "no memory for %u connections: take fewer", conns);
		return NULL;
	}
	b->size = size;
	b->conns = conns;
	b->per_packet = 1;
	b->group = GROUP;
	b->counter_fd = -1;
	b->rng = 0x9e3779b97f4a7c15u;
	b->now_ns = PS_SEC_NS;
	b->step_ns = STEP_NS;
	memset(b->txn, 0x5a, sizeof(b->txn));
	b->txn[0] = size > PS_TPU_MAX_LEGACY_BYTES ? 0x81 : 1; /* version 1, or one signature */
	return b;
}

uint64_t
bench_random(struct bench *b)
{
	b->rng ^= b->rng << 13;
	b->rng ^= b->rng >> 7;
	b->rng ^= b->rng << 17;
	return b->rng;
}

/* These are the bytes of a transaction from offset on, whatever its serial number. */
static bool
is_sent(const struct bench *b, const uint8_t *p, size_t offset, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != b->txn[offset + i] &&
			(offset + i < STREAM_DATA || offset + i >= STREAM_DATA + 8))
			return false;
	return offset + len <= b->size;
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
	if (b->compare)
		b->wrong += !is_sent(b, f->data, f->offset, f->len);
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
	return INT32_MAX;
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

/* At the server: how many clients proved a key. */
static void
on_accepted(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	(void)id;
	((struct bench *)ctx)->keyed += peer->has_key;
}

/* -- endpoints -- */

static int
make_end(struct bench_end *end, const struct ps_quic_limits *l, struct ps_quic_config *c,
	enum ps_tls_kind backend, uint32_t budget, struct ps_err *e)
{
	struct ps_tls_config tc = {.server = c->server,
		.backend = backend,
		.budget = budget,
		.sessions = l->handshakes,
		.alpn = "solana-tpu"};

	memset(tc.seed, c->server ? 1 : 2, sizeof(tc.seed));
	c->drops = &end->drops;
	c->tls = end->tls = ps_tls_new(&tc, e);
	if (end->tls == NULL)
		return -EIO;
	end->mem = bench_alloc(ps_quic_footprint(l));
	if (end->mem == NULL)
		return ps_fail(e, ENOMEM, "no memory for %u connections: take fewer", l->conns);
	end->quic = ps_quic_new(end->mem, l, c, e);
	return end->quic == NULL ? -EINVAL : 0;
}

static int
make_server(struct bench *b, struct ps_sink sink, const struct bench_server_conf *conf,
	struct ps_err *e)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;

	ps_quic_defaults(&l, &c);
	l.conns = b->conns + 1024;
	while (l.key_cache < l.conns)
		l.key_cache *= 2;
	l.handshakes = 1024;
	l.streams = 1024;
	c.idle_timeout_ms = conf->idle_timeout_ms;
	c.retry = conf->retry;
	c.handshakes_per_s = HANDSHAKES_PER_S;
	c.keys = conf->keys;
	c.sink = sink;
	c.events = (struct ps_quic_events){.ctx = b, .connected = on_accepted};
	return make_end(&b->server, &l, &c, conf->backend, conf->tls_budget, e);
}

int
bench_server(struct bench *b, const struct bench_server_conf *conf, struct ps_err *e)
{
	struct ps_sink sink = {b, count_reserve, count_data, count_abandon, count_room};

	return make_server(b, sink, conf, e);
}

int
bench_feed(struct bench *b, struct ps_err *e)
{
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
	return penstock_feed_attach(&b->consumer, b->path, NULL, e->text);
}

int
bench_feed_server(struct bench *b, const struct bench_server_conf *conf, struct ps_err *e)
{
	struct ps_tpu_limits limits = {.slots = 1024};
	int rc = bench_feed(b, e);

	if (rc != 0)
		return rc;
	b->tpu_mem = bench_alloc(ps_tpu_footprint(&limits));
	if (b->tpu_mem == NULL)
		return ps_fail(e, ENOMEM, "no memory for reassembly");
	b->tpu = ps_tpu_create(b->tpu_mem, &limits, &b->feed, &b->server.drops);
	return make_server(b, ps_tpu_sink(b->tpu), conf, e);
}

static void
client_defaults(struct ps_quic_limits *l, struct ps_quic_config *c)
{
	ps_quic_defaults(l, c);
	l->streams = 64;
	c->server = false;
	c->idle_timeout_ms = 0;
	c->datagram_bytes = PS_UDP_PAYLOAD_MAX;
}

int
bench_client(struct bench *b, struct ps_err *e)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;

	client_defaults(&l, &c);
	l.conns = b->conns + 8;
	l.handshakes = 8;
	/* a server acknowledges a packet of a quiet connection after 25 ms */
	l.send_streams = b->conns > FEW_CONNS ? 65536 : 4096;
	l.sent_packets = b->conns > FEW_CONNS ? 64 : 1024;
	c.events = (struct ps_quic_events){
		.ctx = b, .connected = on_connected, .stream_acked = on_acked};
	return make_end(&b->client, &l, &c, PS_TLS_GNUTLS, 0, e);
}

int
bench_flood(struct bench *b, struct ps_err *e)
{
	struct ps_flow4 flow = {.daddr_be = 0x0200000a, .dport_be = 0x491f, .sport_be = 0x3930};
	struct ps_quic_conn_id id;
	struct ps_quic_limits l;
	struct ps_quic_config c;
	int rc;

	client_defaults(&l, &c);
	l.conns = l.handshakes = FLOOD_SOURCES;
	l.key_cache = 64;
	rc = make_end(&b->flooder, &l, &c, PS_TLS_GNUTLS, 0, e);
	b->flood = calloc(FLOOD_SOURCES, sizeof(*b->flood));
	if (rc != 0 || b->flood == NULL)
		return rc != 0 ? rc : ps_fail(e, ENOMEM, "no memory for a flood");
	for (unsigned int i = 0; i < FLOOD_SOURCES; i++) {
		struct packet *p = &b->flood[i];
		struct ps_datagram *out = &p->d;

		p->d = (struct ps_datagram){.data = p->bytes, .len = sizeof(p->bytes)};
		flow.saddr_be = 0x0b + (i << 16);
		if (ps_quic_connect(b->flooder.quic, flow, 0, b->now_ns, &id) != 0 ||
			ps_quic_tx_burst(b->flooder.quic, &out, 1, b->now_ns) != 1)
			return ps_fail(e, EIO, "Initial %u of the flood could not be made", i);
	}
	return 0;
}

/* -- packets between the two -- */

static void
open_replies(struct bench *b, unsigned int first)
{
	for (unsigned int i = 0; i < BURST; i++) {
		struct packet *p = &b->reply[first + i];

		p->d.data = p->bytes;
		p->d.len = sizeof(p->bytes);
		b->out[i] = &p->d;
	}
}

unsigned int
bench_server_tx(struct bench *b)
{
	open_replies(b, 0);
	return ps_quic_tx_burst(b->server.quic, b->out, BURST, b->now_ns);
}

static void
client_rx(struct bench *b, unsigned int first, unsigned int n)
{
	struct ps_datagram *in[BURST];

	for (unsigned int i = 0; i < n; i++)
		in[i] = &b->reply[first + i].d;
	ps_quic_rx_burst(b->client.quic, in, n, b->now_ns);
}

/* Takes up to n datagrams, but BURST at most, from the client into the burst from place i on. */
static unsigned int
client_tx(struct bench *b, unsigned int i, unsigned int n)
{
	struct ps_datagram *out[BURST];

	if (n > BURST)
		n = BURST;
	for (unsigned int k = 0; k < n; k++) {
		struct packet *p = &b->burst[i + k];

		p->d = (struct ps_datagram){.data = p->bytes, .len = sizeof(p->bytes)};
		out[k] = &p->d;
	}
	return ps_quic_tx_burst(b->client.quic, out, n, b->now_ns);
}

unsigned int
bench_make(struct bench *b, unsigned int most)
{
	unsigned int n = 0;

	ps_quic_service(b->client.quic, b->now_ns);
	for (unsigned int tries = 0; n < most && tries < 4 * most; tries++) {
		struct ps_quic_conn_id id = b->conn[bench_random(b) % b->conns];

		for (unsigned int i = 0; i < b->per_packet; i++) {
			ps_be64_store(b->txn + STREAM_DATA, b->sent);
			if (ps_quic_send_stream(b->client.quic, id, b->txn, b->size, b->sent) == 0)
				b->sent++;
		}
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
			b->delivered++;
			if (b->compare)
				b->wrong += r[i]->payload_bytes != b->size ||
					    !is_sent(b, penstock_feed_payload(r[i]), 0, b->size);
		}
		penstock_feed_release(b->consumer, NULL);
	}
}

/* The two measured parts. Not inlined, so that callgrind can count their instructions alone. */
__attribute__((noinline)) static void
bench_receive(struct bench *b, unsigned int n)
{
	if (b->tpu != NULL)
		ps_tpu_tick(b->tpu, b->now_ns, 0, 0);
	ps_quic_rx_burst(b->server.quic, b->in, n, b->now_ns);
	if (b->tpu != NULL)
		ps_feed_publish(&b->feed);
}

__attribute__((noinline)) static unsigned int
bench_answer(struct bench *b)
{
	ps_quic_service(b->server.quic, b->now_ns);
	return ps_quic_tx_burst(b->server.quic, b->out, BURST, b->now_ns);
}

/* Packets first.. through the server; how many answers it has. */
static unsigned int
serve(struct bench *b, unsigned int first, unsigned int n, struct bench_spent *s)
{
	uint64_t start_ns, between_ns;
	unsigned int m;

	for (unsigned int i = 0; i < n; i++) {
		b->in[i] = &b->burst[first + i].d;
		__builtin_prefetch(b->burst[first + i].bytes);
	}
	open_replies(b, first);
	if (b->counter_fd >= 0)
		ioctl(b->counter_fd, PERF_EVENT_IOC_ENABLE, 0);
	start_ns = ps_now_ns();
	bench_receive(b, n);
	between_ns = ps_now_ns();
	m = bench_answer(b);
	s->answer_ns += ps_now_ns() - between_ns;
	s->receive_ns += between_ns - start_ns;
	s->packets += n;
	if (b->counter_fd >= 0)
		ioctl(b->counter_fd, PERF_EVENT_IOC_DISABLE, 0);
	b->now_ns += b->step_ns;
	return m;
}

/* What the server has to say, given to the client; its first m datagrams are there. */
static void
settle_answers(struct bench *b, unsigned int first, unsigned int m)
{
	client_rx(b, first, m);
	while ((m = bench_server_tx(b)) > 0)
		client_rx(b, 0, m);
	consume(b);
}

uint64_t
bench_serve(struct bench *b, unsigned int n)
{
	struct bench_spent s = {0};

	settle_answers(b, 0, serve(b, 0, n, &s));
	return s.receive_ns + s.answer_ns;
}

struct bench_spent
bench_repetition(struct bench *b)
{
	struct bench_spent s = {0};

	for (unsigned int i = 0; i < BURSTS; i += b->group) {
		unsigned int n = bench_make(b, b->group * BURST), m[GROUP];

		for (unsigned int k = 0; k < b->group; k++) {
			unsigned int first = k * BURST;
			unsigned int left = n > first ? n - first : 0;

			m[k] = serve(b, first, left < BURST ? left : BURST, &s);
		}
		for (unsigned int k = 0; k < b->group; k++)
			client_rx(b, k * BURST, m[k]);
		settle_answers(b, 0, 0);
	}
	return s;
}

/* -- connections -- */

/* Addresses and ports that differ for a million connections. */
static struct ps_flow4
flow_of(unsigned int serial)
{
	return (struct ps_flow4){.saddr_be = 0x0100000a + (serial >> 16 << 24),
		.daddr_be = 0x0200000a,
		.sport_be = (uint16_t)serial,
		.dport_be = 0x491f};
}

/* What the client has to say, through the server. Turns without any are the server's idle time. */
static void
client_turn(struct bench *b, uint64_t *ns)
{
	unsigned int n = client_tx(b, 0, BURST);
	uint64_t spent_ns = bench_serve(b, n);

	if (n > 0)
		*ns += spent_ns;
}

static int
connect_one(struct bench *b, unsigned int serial, struct ps_quic_conn_id *id, uint64_t *ns,
	struct ps_err *e)
{
	uint64_t want = b->connected + 1;

	b->now_ns += CONNECT_NS;
	if (ps_quic_connect(b->client.quic, flow_of(serial), 0, b->now_ns, id) != 0)
		return ps_fail(e, ENOBUFS, "connection %u could not be opened", serial);
	for (int turn = 0; turn < 16 && b->connected < want; turn++)
		client_turn(b, ns);
	client_turn(b, ns); /* HANDSHAKE_DONE and stream credit */
	return b->connected < want ? ps_fail(e, EIO, "connection %u did not complete", serial) : 0;
}

int
bench_handshake(struct bench *b, unsigned int serial, uint64_t *ns, struct ps_err *e)
{
	uint64_t keyed = b->keyed + 1;
	struct ps_quic_conn_id id;
	int rc = connect_one(b, serial, &id, ns, e);

	if (rc == 0 && b->keyed < keyed)
		rc = ps_fail(e, EIO, "handshake %u did not show the client's key", serial);
	if (rc < 0)
		return rc;
	ps_quic_close(b->client.quic, id, 0, "", b->now_ns);
	client_turn(b, ns);
	b->now_ns += CLOSED_NS;
	ps_quic_service(b->client.quic, b->now_ns);
	ps_quic_service(b->server.quic, b->now_ns);
	return 0;
}

int
bench_pair(struct bench *b, bool feed, const struct bench_server_conf *conf,
	const struct bench_run *run)
{
	uint64_t ns = 0;
	int rc = feed ? bench_feed_server(b, conf, run->e) : bench_server(b, conf, run->e);

	if (rc == 0)
		rc = bench_client(b, run->e);
	for (unsigned int i = 0; rc == 0 && i < b->conns; i++) {
		rc = connect_one(b, i, &b->conn[i], &ns, run->e);
		if (rc == 0)
			rc = bench_go_on(run);
	}
	if (rc < 0)
		return rc;
	b->compare = true;
	for (unsigned int i = 0; i < CHECK_BURSTS; i++)
		bench_serve(b, bench_make(b, BURST));
	b->compare = false;
	return 0;
}

int
bench_settle(struct bench *b, struct ps_err *e)
{
	for (int i = 0; i < 1000 && b->acked < b->sent; i++) {
		b->now_ns += PS_MS_NS;
		ps_quic_service(b->client.quic, b->now_ns);
		bench_serve(b, client_tx(b, 0, BURST));
	}
	if (b->wrong != 0 || b->delivered != b->sent)
		return ps_fail(e, EIO, "of %llu transactions %llu arrived, %llu of them wrong",
			(unsigned long long)b->sent, (unsigned long long)b->delivered,
			(unsigned long long)b->wrong);
	return 0;
}

static void
free_end(struct bench_end *end)
{
	if (end->tls != NULL)
		ps_tls_free(end->tls);
	free(end->mem);
}

static void
remove_feed(struct bench *b)
{
	static const char *const suffix[] = {"", ".consumer", ".lock"};
	char file[sizeof(b->path) + 16];

	if (b->consumer != NULL)
		penstock_feed_detach(b->consumer);
	ps_feed_close(&b->feed);
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(file, sizeof(file), "%s%s", b->path, suffix[i]);
		unlink(file);
	}
}

void
bench_free(struct bench *b)
{
	if (b == NULL)
		return;
	free_end(&b->server);
	free_end(&b->client);
	free_end(&b->flooder);
	free(b->flood);
	free(b->tpu_mem);
	free(b->conn);
	if (b->path[0] != '\0')
		remove_feed(b);
	free(b);
}
