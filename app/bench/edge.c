/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What costs nothing but a look: plain UDP datagrams, Initials answered with Retry, and packets of
 * no connection. `bench classify`, `bench retry`, `bench unknown-cid`. */

#include <errno.h>
#include <string.h>

#include "frames.h"
#include "penstock_feed.h"
#include "runs.h"

/* -- classify -- */

#define PAYLOAD 18 /* of a frame of 64 bytes, its check sequence counted */

static void
make_frames(struct bench_frames *f, uint64_t serial)
{
	uint8_t payload[PAYLOAD] = {0};

	for (unsigned int i = 0; i < BURST; i++) {
		uint64_t n = serial + i;

		memcpy(payload, &n, sizeof(n));
		bench_frame_fill(f, i, payload, sizeof(payload));
	}
}

/* The consumer's side, not measured: every datagram, in order, with its bytes and port. */
static unsigned int
take_records(struct bench *b, uint64_t serial)
{
	const struct penstock_feed_record *r[BURST];
	int n = penstock_feed_poll(b->consumer, r, BURST);
	unsigned int good = 0;

	for (int i = 0; i < n; i++) {
		uint64_t expected = serial + (unsigned int)i;

		good += r[i]->payload_bytes == PAYLOAD &&
			memcmp(penstock_feed_payload(r[i]), &expected, sizeof(expected)) == 0;
	}
	penstock_feed_release(b->consumer, NULL);
	return good;
}

static inline void
classify_turn(struct bench *b, struct bench_frames *f)
{
	ps_net_classify_burst(f->selectors, 0, f->m, BURST, &f->rx, &f->drops);
	for (unsigned int i = 0; i < f->rx.n; i++)
		if (f->rx.service[i] == FRAME_SERVICE &&
			!ps_feed_put_datagram(&b->feed, &f->rx.dg[i], b->now_ns))
			ps_drop(&f->drops, PS_DROP_FEED_FULL);
	ps_feed_publish(&b->feed);
}

/* By themselves, so that callgrind can count the instructions of each. */
__attribute__((noinline)) static void
classify_trusting(struct bench *b, struct bench_frames *f)
{
	classify_turn(b, f);
}

__attribute__((noinline)) static void
classify_computing(struct bench *b, struct bench_frames *f)
{
	classify_turn(b, f);
	__asm__ volatile(""); /* or the compiler makes one function of the two */
}

static int
classify_repetition(
	struct bench *b, struct bench_frames *f, bool by_card, const struct bench_run *run)
{
	uint64_t spent_ns = 0, good = 0;

	for (unsigned int k = 0; k < BURSTS; k++) {
		uint64_t start_ns;

		make_frames(f, b->sent);
		bench_frames_checked(f, by_card);
		start_ns = ps_now_ns();
		if (by_card)
			classify_trusting(b, f);
		else
			classify_computing(b, f);
		spent_ns += ps_now_ns() - start_ns;
		good += take_records(b, b->sent);
		b->sent += BURST;
	}
	if (good != BURSTS * BURST)
		return ps_fail(run->e, EIO, "of %u datagrams %llu arrived as they were sent",
			BURSTS * BURST, (unsigned long long)good);
	bench_add(run->r, "ns", (double)spent_ns / (BURSTS * BURST), "datagram, checksums %s",
		by_card ? "by the card" : "computed");
	return bench_go_on(run);
}

int
bench_run_classify(const struct bench_run *run)
{
	struct bench_frames *f = bench_frames_new(run->e);
	struct bench *b = bench_new(PAYLOAD, 1, run->e);
	int rc = f == NULL || b == NULL ? -ENOMEM : bench_feed(b, run->e);

	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		rc = classify_repetition(b, f, true, run);
		if (rc == 0)
			rc = classify_repetition(b, f, false, run);
	}
	bench_free(b);
	bench_frames_free(f);
	return rc;
}

/* -- retry -- */

static const struct rte_ether_addr mac = {{2, 0, 0, 0, 0, 2}};

static void
take_flood(struct bench *b)
{
	for (unsigned int i = 0; i < BURST; i++) {
		struct packet *p = &b->flood[b->flood_next++ % FLOOD_SOURCES];

		b->in[i] = &p->d;
		__builtin_prefetch(p->bytes);
	}
}

/* How many Retries left, with headers. */
static unsigned int
retry_turn(struct bench *b, struct bench_frames *f)
{
	struct ps_datagram *out[BURST];
	unsigned int n;

	ps_quic_rx_burst(b->server.quic, b->in, BURST, b->now_ns);
	ps_quic_service(b->server.quic, b->now_ns);
	for (unsigned int i = 0; i < BURST; i++)
		out[i] = &f->dg[i];
	n = ps_quic_tx_burst(b->server.quic, out, BURST, b->now_ns);
	for (unsigned int i = 0; i < n; i++)
		ps_net_headers(&f->dg[i], &mac);
	return n;
}

/* A pass in which the clients read their Retries and come back: each must get on. */
static int
check_retries(struct bench *b, struct bench_frames *f, struct ps_err *e)
{
	struct ps_datagram *dg[BURST];
	unsigned int n;

	take_flood(b);
	bench_frames_open(f);
	n = retry_turn(b, f);
	for (unsigned int i = 0; i < n; i++)
		dg[i] = &f->dg[i];
	ps_quic_rx_burst(b->flooder.quic, dg, n, b->now_ns);
	for (unsigned int i = 0; i < BURST; i++) {
		b->burst[i].d = (struct ps_datagram){
			.data = b->burst[i].bytes, .len = sizeof(b->burst[i].bytes)};
		dg[i] = &b->burst[i].d;
	}
	n = ps_quic_tx_burst(b->flooder.quic, dg, BURST, b->now_ns);
	ps_quic_rx_burst(b->server.quic, dg, n, b->now_ns);
	if (ps_quic_stats(b->server.quic)->handshakes_started != BURST)
		return ps_fail(e, EIO, "of %u clients %llu came back with their token", BURST,
			(unsigned long long)ps_quic_stats(b->server.quic)->handshakes_started);
	while (bench_server_tx(b) > 0)
		;
	return 0;
}

int
bench_run_retry(const struct bench_run *run)
{
	const struct bench_server_conf conf = {.retry = PS_RETRY_ALWAYS};
	struct bench_frames *f = bench_frames_new(run->e);
	struct bench *b = bench_new(run->o->size, 1, run->e);
	int rc = f == NULL || b == NULL ? -ENOMEM : bench_server(b, &conf, run->e);

	if (rc == 0)
		rc = bench_flood(b, run->e);
	if (rc == 0)
		rc = check_retries(b, f, run->e);
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		uint64_t spent_ns = 0, sent = 0;

		for (unsigned int k = 0; k < BURSTS; k++) {
			uint64_t start_ns;

			take_flood(b);
			bench_frames_open(f);
			start_ns = ps_now_ns();
			sent += retry_turn(b, f);
			spent_ns += ps_now_ns() - start_ns;
		}
		if (sent != BURSTS * BURST)
			rc = ps_fail(run->e, EIO, "%u Initials made %llu Retries", BURSTS * BURST,
				(unsigned long long)sent);
		bench_add(run->r, "ns", (double)spent_ns / (BURSTS * BURST), "Initial to Retry");
		if (rc == 0)
			rc = bench_go_on(run);
	}
	bench_free(b);
	bench_frames_free(f);
	return rc;
}

/* -- unknown-cid -- */

static void
make_strangers(struct bench *b)
{
	uint16_t len = (uint16_t)(1 + PS_OUR_CID_LEN + 2 + b->size + PS_AEAD_TAG);

	for (unsigned int i = 0; i < BURST; i++) {
		struct packet *p = &b->burst[i];

		for (unsigned int k = 0; k < 32; k += 8)
			memcpy(p->bytes + k, &(uint64_t){bench_random(b)}, 8);
		p->bytes[0] = 0x41;
		p->d = (struct ps_datagram){.data = p->bytes,
			.len = len < PS_UDP_PAYLOAD_MAX ? len : PS_UDP_PAYLOAD_MAX};
		b->in[i] = &p->d;
	}
}

int
bench_run_unknown_cid(const struct bench_run *run)
{
	const struct bench_server_conf conf = {0};
	struct bench *b = bench_new(run->o->size, 1, run->e);
	int rc = b == NULL ? -ENOMEM : bench_server(b, &conf, run->e);

	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		uint64_t before = b->server.drops.n[PS_DROP_QUIC_NO_CONN], spent_ns = 0;

		for (unsigned int k = 0; k < BURSTS; k++) {
			uint64_t start_ns;

			make_strangers(b);
			start_ns = ps_now_ns();
			ps_quic_rx_burst(b->server.quic, b->in, BURST, b->now_ns);
			spent_ns += ps_now_ns() - start_ns;
		}
		if (b->server.drops.n[PS_DROP_QUIC_NO_CONN] - before != BURSTS * BURST)
			rc = ps_fail(
				run->e, EIO, "packets of no connection were not dropped as such");
		bench_add(run->r, "ns", (double)spent_ns / (BURSTS * BURST), "packet");
		if (rc == 0)
			rc = bench_go_on(run);
	}
	bench_free(b);
	return rc;
}
