/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "penstock_feed.h"
#include "ps_be.h"
#include "ps_time.h"
#include "quic.h"
#include "tpu.h"

#define BURST        PS_QUIC_BURST
#define BURSTS       256             /* per repetition */
#define CHECK_BURSTS 64              /* of the pass in which every byte is compared */
#define STEP_NS      (50 * PS_US_NS) /* virtual time between bursts: 1.28 million packets a second */
#define FEED_BYTES   (UINT64_C(64) << 20)
#define STREAM_DATA  16 /* offset of the serial number in a transaction */

struct packet {
	uint8_t bytes[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d;
};

struct bench {
	const struct ps_bench_options *o;
	struct ps_tls *server_tls, *client_tls;
	void *server_mem, *client_mem, *tpu_mem;
	struct ps_quic *server, *client;
	struct ps_drops server_drops, client_drops;
	struct ps_quic_conn_id *conn;
	struct packet burst[BURST];
	uint8_t txn[PS_BENCH_MAX_SIZE];
	uint64_t rng, now_ns;
	uint64_t sent, delivered, wrong, acked, connected;
	bool compare;
	/* feed */
	struct ps_feed feed;
	struct ps_tpu *tpu;
	struct penstock_feed *consumer;
	char path[64];
};

static uint64_t
random_u64(struct bench *b)
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

static int
feed_new(struct bench *b, struct ps_sink *sink, struct ps_err *e)
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

static int
end_new(struct bench *b, bool server, struct ps_sink sink, struct ps_err *e)
{
	struct ps_tls_config tc = {.server = server, .sessions = 16, .alpn = "solana-tpu"};
	struct ps_quic_limits l;
	struct ps_quic_config c;
	void *mem;

	memset(tc.seed, server ? 1 : 2, sizeof(tc.seed));
	ps_quic_defaults(&l, &c);
	l.conns = b->o->conns + 8;
	l.handshakes = 8;
	l.streams = server ? 1024 : 64;
	l.send_streams = server ? 0 : 4096;
	l.sent_packets = server || b->o->conns > 64 ? 64 : 1024;
	c.server = server;
	c.idle_timeout_ms = 0;
	c.datagram_bytes = PS_UDP_PAYLOAD_MAX;
	c.sink = sink;
	c.drops = server ? &b->server_drops : &b->client_drops;
	if (!server)
		c.events = (struct ps_quic_events){
			.ctx = b, .connected = on_connected, .stream_acked = on_acked};
	c.tls = ps_tls_new(&tc, e);
	*(server ? &b->server_tls : &b->client_tls) = c.tls;
	if (c.tls == NULL)
		return -EIO;
	mem = aligned_alloc(64, ps_quic_footprint(&l));
	*(server ? &b->server_mem : &b->client_mem) = mem;
	if (mem == NULL)
		return ps_fail(e, ENOMEM, "no memory for %u connections: take fewer", b->o->conns);
	*(server ? &b->server : &b->client) = ps_quic_new(mem, &l, &c, e);
	return (server ? b->server : b->client) == NULL ? -EINVAL : 0;
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

static unsigned int
make_burst(struct bench *b)
{
	unsigned int n = 0;

	ps_quic_service(b->client, b->now_ns);
	for (unsigned int tries = 0; n < BURST && tries < 4 * BURST; tries++) {
		struct ps_quic_conn_id id = b->conn[random_u64(b) % b->o->conns];

		ps_be64_store(b->txn + STREAM_DATA, b->sent);
		if (ps_quic_send_stream(b->client, id, b->txn, b->o->size, b->sent) == 0)
			b->sent++;
		n += client_tx(b, n, BURST - n);
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

/* One burst through the server: the measured part. Returns nanoseconds. */
static uint64_t
serve_burst(struct bench *b, unsigned int n)
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
	b->now_ns += STEP_NS;
	return ns;
}

static int
connect_all(struct bench *b, const volatile sig_atomic_t *stop, struct ps_err *e)
{
	struct ps_flow4 flow = {.saddr_be = 0x0100000a, .daddr_be = 0x0200000a, .dport_be = 0x491f};

	for (unsigned int i = 0; i < b->o->conns && !*stop; i++) {
		uint64_t want = b->connected + 1;

		flow.sport_be = (uint16_t)i;
		flow.saddr_be = 0x0100000a + (i >> 16 << 24);
		if (ps_quic_connect(b->client, flow, 0, b->now_ns, &b->conn[i]) != 0)
			return ps_fail(e, ENOBUFS, "connection %u could not be opened", i);
		for (int turn = 0; turn < 16 && b->connected < want; turn++)
			serve_burst(b, client_tx(b, 0, BURST));
		serve_burst(b, client_tx(b, 0, BURST)); /* HANDSHAKE_DONE and stream credit */
		if (b->connected < want)
			return ps_fail(e, EIO, "connection %u did not complete", i);
	}
	return *stop ? ps_fail(e, EINTR, "interrupted") : 0;
}

static int
run_endpoints(struct bench *b, double *ns, const volatile sig_atomic_t *stop, struct ps_err *e)
{
	int rc = connect_all(b, stop, e);

	if (rc != 0)
		return rc;
	b->compare = true;
	for (unsigned int i = 0; i < CHECK_BURSTS; i++)
		serve_burst(b, make_burst(b));
	b->compare = false;
	for (unsigned int rep = 0; rep < b->o->reps; rep++) {
		uint64_t spent_ns = 0, packets = 0;

		for (unsigned int i = 0; i < BURSTS; i++) {
			unsigned int n = make_burst(b);

			spent_ns += serve_burst(b, n);
			packets += n;
		}
		if (*stop)
			return ps_fail(e, EINTR, "interrupted");
		ns[rep] = (double)spent_ns / (double)packets;
	}
	for (int i = 0; i < 1000 && b->acked < b->sent; i++) {
		b->now_ns += PS_MS_NS;
		ps_quic_service(b->client, b->now_ns);
		serve_burst(b, client_tx(b, 0, BURST));
	}
	if (b->wrong != 0 || b->delivered != b->sent)
		return ps_fail(e, EIO, "of %llu transactions %llu arrived, %llu of them wrong",
			(unsigned long long)b->sent, (unsigned long long)b->delivered,
			(unsigned long long)b->wrong);
	return 0;
}

/* -- `open`: packet protection alone -- */

static int
run_open(struct bench *b, double *ns, const volatile sig_atomic_t *stop, struct ps_err *e)
{
	const size_t hdr = 1 + PS_OUR_CID_LEN + 2, frame = 6;
	size_t text = b->o->size + frame;
	uint32_t lines = 4096;
	struct ps_pkt_key *key = calloc(b->o->conns, sizeof(*key)), *of[BURST];
	const struct ps_pkt_key *hp[BURST];
	struct packet *sealed = calloc(BURST, sizeof(*sealed));
	const uint8_t *sample[BURST];
	uint8_t mask[BURST][5], secret[PS_HASH_MAX];
	struct ps_protect *p;
	int rc = 0;

	if (text > PS_UDP_PAYLOAD_MAX - hdr - PS_AEAD_TAG)
		text = PS_UDP_PAYLOAD_MAX - hdr -
		       PS_AEAD_TAG; /* a transaction in several packets */
	b->server_mem = aligned_alloc(64, ps_protect_footprint(lines));
	if (key == NULL || sealed == NULL || b->server_mem == NULL) {
		rc = ps_fail(e, ENOMEM, "no memory for %u keys: take fewer", b->o->conns);
		goto out;
	}
	p = ps_protect_new(b->server_mem, lines);
	if (p == NULL) {
		rc = ps_fail(e, ENOTSUP, "this processor lacks AES-NI or PCLMULQDQ");
		goto out;
	}
	for (unsigned int i = 0; i < b->o->conns; i++) {
		ps_random(secret, sizeof(secret));
		ps_pkt_key_derive(&key[i], PS_AES_128_GCM_SHA256, secret);
	}
	for (unsigned int rep = 0; rep < b->o->reps; rep++) {
		uint64_t spent_ns = 0, start_ns, bad = 0;

		for (unsigned int k = 0; k < BURSTS && !*stop; k++) {
			for (unsigned int i = 0; i < BURST; i++) {
				of[i] = &key[random_u64(b) % b->o->conns];
				sealed[i].bytes[0] = 0x41;
				memset(sealed[i].bytes + 1, 0x55, hdr + text - 1);
				ps_seal(p, of[i], k, sealed[i].bytes, hdr, 2, text);
				hp[i] = of[i];
				sample[i] = sealed[i].bytes + hdr - 2 + 4;
			}
			start_ns = ps_now_ns();
			ps_hp_masks(hp, sample, mask, BURST);
			for (unsigned int i = 0; i < BURST; i++) {
				uint8_t *pkt = sealed[i].bytes;

				if (i + 6 < BURST)
					ps_key_prefetch(p, of[i + 6]);
				pkt[0] ^= mask[i][0] & 0x1f;
				pkt[hdr - 2] ^= mask[i][1];
				pkt[hdr - 1] ^= mask[i][2];
				bad += !ps_open(p, of[i], k, pkt, hdr, text);
			}
			spent_ns += ps_now_ns() - start_ns;
		}
		if (*stop || bad != 0) {
			rc = ps_fail(e, *stop ? EINTR : EIO,
				*stop ? "interrupted" : "a packet did not verify");
			goto out;
		}
		ns[rep] = (double)spent_ns / (BURSTS * BURST);
	}
out:
	free(key);
	free(sealed);
	return rc;
}

static void
bench_free(struct bench *b)
{
	static const char *const suffix[] = {"", ".consumer", ".lock"};
	char file[sizeof(b->path) + 16];

	if (b->server_tls != NULL)
		ps_tls_free(b->server_tls);
	if (b->client_tls != NULL)
		ps_tls_free(b->client_tls);
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

bool
ps_bench_known(const char *what)
{
	return strcmp(what, "open") == 0 || strcmp(what, "ingest") == 0 ||
	       strcmp(what, "feed") == 0;
}

int
ps_bench_run(const struct ps_bench_options *o, double *ns, const volatile sig_atomic_t *stop,
	struct ps_err *e)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct ps_sink sink = {b, count_reserve, count_data, count_abandon, count_room};
	int rc;

	if (b == NULL)
		return ps_fail(e, ENOMEM, "no memory");
	b->o = o;
	b->rng = 0x9e3779b97f4a7c15u;
	b->now_ns = PS_SEC_NS;
	memset(b->txn, 0x5a, sizeof(b->txn));
	b->txn[0] = o->size > PS_TPU_MAX_LEGACY_BYTES ? 0x81 : 1; /* version 1, or one signature */
	b->conn = calloc(o->conns, sizeof(*b->conn));
	if (strcmp(o->what, "open") == 0) {
		rc = run_open(b, ns, stop, e);
	} else {
		rc = strcmp(o->what, "feed") == 0 ? feed_new(b, &sink, e) : 0;
		if (rc == 0)
			rc = end_new(b, true, sink, e);
		if (rc == 0)
			rc = end_new(b, false, (struct ps_sink){0}, e);
		if (rc == 0)
			rc = run_endpoints(b, ns, stop, e);
	}
	bench_free(b);
	return rc;
}
