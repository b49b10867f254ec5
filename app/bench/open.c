/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"

#define KEY_CACHE      8192 /* as an endpoint's default */
#define FRAME_BYTES    6    /* of a STREAM frame beside its data */
#define PREFETCH_AHEAD 6

static uint64_t
random_of(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

struct bench_open *
bench_open_new(unsigned int size, unsigned int conns, struct ps_err *e)
{
	const size_t most = PS_UDP_PAYLOAD_MAX - OPEN_HDR - PS_AEAD_TAG;
	struct bench_open *o = calloc(1, sizeof(*o));
	uint8_t secret[PS_HASH_MAX];

	if (o == NULL)
		goto no_memory;
	o->conns = conns;
	/* a longer transaction takes several packets */
	o->text = size + FRAME_BYTES < most ? size + FRAME_BYTES : most;
	o->rng = 0x9e3779b97f4a7c15u;
	o->key = calloc(conns, sizeof(*o->key));
	o->packet = calloc(BURST, sizeof(*o->packet));
	o->mem = bench_alloc(ps_protect_footprint(KEY_CACHE));
	if (o->key == NULL || o->packet == NULL || o->mem == NULL)
		goto no_memory;
	o->protect = ps_protect_new(o->mem, KEY_CACHE);
	if (o->protect == NULL) {
		ps_fail(e, ENOTSUP, "this processor lacks AES-NI or PCLMULQDQ");
		goto fail;
	}
	for (unsigned int i = 0; i < conns; i++) {
		ps_random(secret, sizeof(secret));
		ps_pkt_key_derive(&o->key[i], PS_AES_128_GCM_SHA256, secret);
	}
	o->limit = bench_limit_new(o->key, conns);
	if (o->limit != NULL)
		return o;
no_memory:
	ps_fail(e, ENOMEM, "no memory for %u keys: take fewer", conns);
fail:
	bench_open_free(o);
	return NULL;
}

void
bench_open_free(struct bench_open *o)
{
	if (o == NULL)
		return;
	bench_limit_free(o->limit);
	free(o->mem);
	free(o->packet);
	free(o->key);
	free(o);
}

/* A burst of random connections, all of packet number pn. */
static void
seal_burst(struct bench_open *o, uint64_t pn)
{
	for (unsigned int i = 0; i < BURST; i++) {
		uint8_t *pkt = o->packet[i].bytes;

		o->of[i] = (uint32_t)(random_of(&o->rng) % o->conns);
		pkt[0] = 0x40 | (OPEN_PN_LEN - 1);
		memset(pkt + 1, 0x55, OPEN_HDR + o->text - 1);
		ps_seal(o->protect, &o->key[o->of[i]], pn, pkt, OPEN_HDR, OPEN_PN_LEN, o->text);
	}
}

static void
make_masks(struct bench_open *o, uint8_t mask[BURST][5])
{
	const struct ps_pkt_key *hp[BURST];
	const uint8_t *sample[BURST];

	for (unsigned int i = 0; i < BURST; i++) {
		hp[i] = &o->key[o->of[i]];
		sample[i] = o->packet[i].bytes + OPEN_HDR - OPEN_PN_LEN + 4;
		__builtin_prefetch(hp[i]->hp);
	}
	ps_hp_masks(o->protect, hp, sample, mask, BURST);
}

/* How many did not verify. */
static unsigned int
open_burst(struct bench_open *o, uint64_t pn)
{
	uint8_t mask[BURST][5];
	unsigned int bad = 0;

	make_masks(o, mask);
	for (unsigned int i = 0; i < BURST; i++) {
		uint8_t *pkt = o->packet[i].bytes;

		if (i + PREFETCH_AHEAD < BURST)
			ps_key_prefetch(o->protect, &o->key[o->of[i + PREFETCH_AHEAD]], o->text);
		pkt[0] ^= mask[i][0] & 0x1f;
		pkt[OPEN_HDR - 2] ^= mask[i][1];
		pkt[OPEN_HDR - 1] ^= mask[i][2];
		bad += !ps_open(o->protect, &o->key[o->of[i]], pn, pkt, OPEN_HDR, o->text);
	}
	return bad;
}

static unsigned int
limit_burst(struct bench_open *o, uint64_t pn)
{
	return bench_limit_burst(o->limit, o->packet, o->of, pn, o->text);
}

static unsigned int
masks_burst(struct bench_open *o, uint64_t pn)
{
	uint8_t mask[BURST][5];

	(void)pn;
	make_masks(o, mask);
	/* the compiler must not see that nobody reads them */
	__asm__ volatile("" : : "r"(mask) : "memory");
	return 0;
}

/* Nanoseconds a packet; below 0: one did not verify. burst answers how many. */
static double
repetition(struct bench_open *o, unsigned int (*burst)(struct bench_open *o, uint64_t pn))
{
	uint64_t spent_ns = 0;
	unsigned int bad = 0;

	for (unsigned int k = 0; k < BURSTS; k++) {
		uint64_t start_ns;

		seal_burst(o, k);
		start_ns = ps_now_ns();
		bad += burst(o, k);
		spent_ns += ps_now_ns() - start_ns;
	}
	return bad != 0 ? -1 : (double)spent_ns / (BURSTS * BURST);
}

double
bench_open_repetition(struct bench_open *o)
{
	return repetition(o, open_burst);
}

double
bench_open_limit_repetition(struct bench_open *o)
{
	return repetition(o, limit_burst);
}

double
bench_open_masks_repetition(struct bench_open *o)
{
	return repetition(o, masks_burst);
}

int
bench_run_open(const struct bench_run *run)
{
	struct bench_open *o = bench_open_new(run->o->size, run->o->conns, run->e);
	int rc = o == NULL ? -ENOMEM : 0;

	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		double ns = bench_open_repetition(o), limit_ns = bench_open_limit_repetition(o);

		if (ns < 0 || limit_ns < 0)
			rc = ps_fail(run->e, EIO, "a packet did not verify");
		bench_add(run->r, "ns", ns, "packet");
		bench_add(run->r, "ns", limit_ns, "limit");
		bench_add(run->r, "x", ns / limit_ns, "packet / limit");
		if (rc == 0)
			rc = bench_go_on(run);
	}
	bench_open_free(o);
	return rc;
}
