/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "bench_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BURSTS       256 /* per repetition */
#define CHECK_BURSTS 64  /* of the pass in which every byte is compared */
#define LOAD         0.7 /* of what one core can take, in `flood` */
#define WARM_BURSTS  256 /* until Retry is on, in `flood` */

static int
run_endpoints(struct bench *b, struct ps_bench_result *r, const volatile sig_atomic_t *stop,
	struct ps_err *e)
{
	int rc = bench_connect(b, stop, e);

	if (rc != 0)
		return rc;
	b->compare = true;
	for (unsigned int i = 0; i < CHECK_BURSTS; i++)
		bench_serve(b, bench_make(b, BURST));
	b->compare = false;
	for (unsigned int rep = 0; rep < b->o->reps; rep++) {
		uint64_t spent_ns = 0, packets = 0;

		for (unsigned int i = 0; i < BURSTS; i++) {
			unsigned int n = bench_make(b, BURST);

			spent_ns += bench_serve(b, n);
			packets += n;
		}
		if (*stop)
			return ps_fail(e, EINTR, "interrupted");
		r->ns[rep] = (double)spent_ns / (double)packets;
	}
	return bench_settle(b, e);
}

/* -- `flood`: established connections beside Initials that never go on -- */

/* Mixes n Initials of the flood into the burst behind the packets that are there. */
static void
add_flood(struct bench *b, unsigned int at, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct packet *from = &b->flood[b->flood_next++ % FLOOD_SOURCES];
		struct packet *to = &b->burst[at + i];

		memcpy(to->bytes, from->bytes, from->d.len);
		to->d = from->d;
		to->d.data = to->bytes;
	}
}

/* The established load and the flood together, in bursts of their proportion; nanoseconds spent,
 * with the packets of both counted. */
static uint64_t
mixed(struct bench *b, unsigned int per_burst, unsigned int bursts, uint64_t *established,
	uint64_t *initials)
{
	uint64_t spent_ns = 0;

	*established = *initials = 0;
	for (unsigned int i = 0; i < bursts; i++) {
		unsigned int n = bench_make(b, BURST - per_burst);

		add_flood(b, n, per_burst);
		spent_ns += bench_serve(b, n + per_burst);
		*established += n;
		*initials += per_burst;
	}
	return spent_ns;
}

static int
run_flood(struct bench *b, struct ps_bench_result *r, const volatile sig_atomic_t *stop,
	struct ps_err *e)
{
	uint64_t established, initials, spent_ns;
	int rc = bench_flood(b, e);

	if (rc == 0)
		rc = bench_connect(b, stop, e);
	for (unsigned int rep = 0; rc == 0 && rep < b->o->reps; rep++) {
		double alone_ns, load_pps, share, needed_s;
		unsigned int per_burst;

		b->step_ns = STEP_NS;
		spent_ns = mixed(b, 0, BURSTS, &established, &initials);
		alone_ns = (double)spent_ns / (double)established;
		load_pps = LOAD * 1e9 / alone_ns;
		share = b->o->flood_pps / (load_pps + b->o->flood_pps);
		per_burst = share * BURST < 1 ? 1 : (unsigned int)(share * BURST + 0.5);
		b->step_ns = (uint64_t)(BURST * 1e9 / (load_pps + b->o->flood_pps));
		mixed(b, per_burst, WARM_BURSTS, &established, &initials);
		spent_ns = mixed(b, per_burst, BURSTS, &established, &initials);
		r->ns[rep] = alone_ns;
		r->flood_ns[rep] =
			((double)spent_ns - (double)established * alone_ns) / (double)initials;
		/* processor seconds that one second of both would need */
		needed_s = LOAD + b->o->flood_pps * r->flood_ns[rep] / 1e9;
		r->kept[rep] = needed_s > 1 ? 1 / needed_s : 1;
		if (*stop)
			rc = ps_fail(e, EINTR, "interrupted");
	}
	return rc == 0 ? bench_settle(b, e) : rc;
}

/* -- `open`: packet protection alone -- */

static int
run_open(struct bench *b, struct ps_bench_result *r, const volatile sig_atomic_t *stop,
	struct ps_err *e)
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
				of[i] = &key[bench_random(b) % b->o->conns];
				sealed[i].bytes[0] = 0x41;
				memset(sealed[i].bytes + 1, 0x55, hdr + text - 1);
				ps_seal(p, of[i], k, sealed[i].bytes, hdr, 2, text);
				hp[i] = of[i];
				sample[i] = sealed[i].bytes + hdr - 2 + 4;
			}
			start_ns = ps_now_ns();
			ps_hp_masks(p, hp, sample, mask, BURST);
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
		r->ns[rep] = (double)spent_ns / (BURSTS * BURST);
	}
out:
	free(key);
	free(sealed);
	return rc;
}

static const struct {
	const char *what;
	int (*run)(struct bench *b, struct ps_bench_result *r, const volatile sig_atomic_t *stop,
		struct ps_err *e);
	bool ends, feed; /* needs server and client; a feed behind the server */
} benches[] = {
	{"open", run_open, false, false},
	{"ingest", run_endpoints, true, false},
	{"feed", run_endpoints, true, true},
	{"flood", run_flood, true, false},
};

#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

bool
ps_bench_known(const char *what)
{
	for (size_t i = 0; i < N_BENCHES; i++)
		if (strcmp(what, benches[i].what) == 0)
			return true;
	return false;
}

int
ps_bench_run(const struct ps_bench_options *o, struct ps_bench_result *r,
	const volatile sig_atomic_t *stop, struct ps_err *e)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct ps_sink sink;
	size_t i = 0;
	int rc = 0;

	if (b == NULL)
		return ps_fail(e, ENOMEM, "no memory");
	while (strcmp(o->what, benches[i].what) != 0)
		i++;
	b->o = o;
	b->rng = 0x9e3779b97f4a7c15u;
	b->now_ns = PS_SEC_NS;
	b->step_ns = STEP_NS;
	memset(b->txn, 0x5a, sizeof(b->txn));
	b->txn[0] = o->size > PS_TPU_MAX_LEGACY_BYTES ? 0x81 : 1; /* version 1, or one signature */
	b->conn = calloc(o->conns, sizeof(*b->conn));
	sink = bench_counting_sink(b);
	if (benches[i].feed)
		rc = bench_feed(b, &sink, e);
	if (rc == 0 && benches[i].ends)
		rc = bench_server(b, sink, e);
	if (rc == 0 && benches[i].ends)
		rc = bench_client(b, e);
	if (rc == 0)
		rc = benches[i].run(b, r, stop, e);
	bench_free(b);
	return rc;
}
