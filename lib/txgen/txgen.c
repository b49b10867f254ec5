/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "txgen.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define GAMMA     0x9e3779b97f4a7c15ull
#define PAYERS    16
#define MEMO_HEAD 64

static const uint8_t system_program[32];
/* MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr */
static const uint8_t memo_program[32] = {0x05, 0x4a, 0x53, 0x5a, 0x99, 0x29, 0x21, 0x06, 0x4d, 0x24,
	0xe8, 0x71, 0x60, 0xda, 0x38, 0x7c, 0x7c, 0x35, 0xb5, 0xdd, 0xbc, 0x92, 0xbb, 0x81, 0xe4,
	0x1f, 0xa8, 0x40, 0x41, 0x05, 0x44, 0x8d};

/* What one index draws. */
struct draw {
	uint64_t state;
	uint64_t size;
	uint8_t blockhash[32], recipient[32];
	uint8_t payer[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
};

static uint64_t
mix(uint64_t z)
{
	z += GAMMA;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t
next(uint64_t *state)
{
	uint64_t r = mix(*state);

	*state += GAMMA;
	return r;
}

static uint8_t *
put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

static uint8_t *
put(uint8_t *p, const void *src, size_t len)
{
	memcpy(p, src, len);
	return p + len;
}

/* The length encoding of legacy and v0 messages; ours stay below 2^14. */
static uint8_t *
put_compact(uint8_t *p, unsigned v)
{
	if (v < 128) {
		*p++ = (uint8_t)v;
		return p;
	}
	*p++ = (uint8_t)(v & 0x7f) | 0x80;
	*p++ = (uint8_t)(v >> 7);
	return p;
}

static void
draw32(uint64_t *state, uint8_t *out)
{
	for (int i = 0; i < 4; i++)
		out = put_le(out, next(state), 8);
}

static void
draw(const struct ps_txgen *g, uint64_t index, struct draw *d)
{
	uint64_t payer_state = mix(mix(g->seed) + (1ull << 63) + index % PAYERS);
	uint8_t key_seed[crypto_sign_SEEDBYTES];

	draw32(&payer_state, key_seed);
	crypto_sign_seed_keypair(d->payer, d->secret, key_seed);
	d->state = mix(mix(g->seed) + index);
	d->size = g->min + next(&d->state) % (g->max - g->min + 1);
	if (index == 0)
		d->size = g->min;
	else if (index <= 2)
		d->size = g->max;
	draw32(&d->state, d->blockhash);
	draw32(&d->state, d->recipient);
}

static uint8_t *
put_memo_text(uint8_t *p, const struct ps_txgen *g, uint64_t index, struct draw *d, unsigned len)
{
	char head[MEMO_HEAD];
	unsigned n = (unsigned)snprintf(head, sizeof(head), "penstock %016llx %llu ",
		(unsigned long long)g->seed, (unsigned long long)index);

	if (n > len)
		n = len;
	p = put(p, head, n);
	for (; n < len; n++)
		*p++ = (uint8_t)('a' + next(&d->state) % 26);
	return p;
}

static uint8_t *
put_transfer(uint8_t *p, uint64_t index, const struct draw *d)
{
	p = put_compact(p, 3);
	p = put(p, d->payer, 32);
	p = put(p, d->recipient, 32);
	p = put(p, system_program, 32);
	p = put(p, d->blockhash, 32);
	p = put(p, (const uint8_t[]){1, 2, 2, 0, 1, 12}, 6);
	p = put_le(p, 2, 4);
	return put_le(p, 1000000 + index, 8);
}

/* room is what the text, its length (one byte up to 127) and a signer's index take together. */
static uint8_t *
put_memo(uint8_t *p, const struct ps_txgen *g, uint64_t index, struct draw *d, unsigned room)
{
	unsigned len = room - 1;
	bool signer = len == 128;

	if (len > 127)
		len--;
	p = put_compact(p, 2);
	p = put(p, d->payer, 32);
	p = put(p, memo_program, 32);
	p = put(p, d->blockhash, 32);
	*p++ = 1;
	*p++ = 1;
	*p++ = signer;
	if (signer)
		*p++ = 0;
	p = put_compact(p, len);
	return put_memo_text(p, g, index, d, len);
}

static uint8_t *
put_bare(uint8_t *p, const struct draw *d)
{
	p = put_compact(p, 1);
	p = put(p, d->payer, 32);
	p = put(p, d->blockhash, 32);
	*p++ = 0;
	return p;
}

static size_t
make_large(const struct ps_txgen *g, uint64_t index, struct draw *d, uint8_t *out)
{
	unsigned len = (unsigned)d->size - (PS_TXGEN_LARGE_SIZE_MIN - 1);
	uint8_t *p = out;

	p = put(p, (const uint8_t[]){0x81, 1, 0, 1, 0, 0, 0, 0}, 8);
	p = put(p, d->blockhash, 32);
	p = put(p, (const uint8_t[]){1, 2}, 2);
	p = put(p, d->payer, 32);
	p = put(p, memo_program, 32);
	p = put(p, (const uint8_t[]){1, 0}, 2);
	p = put_le(p, len, 2);
	p = put_memo_text(p, g, index, d, len);
	crypto_sign_detached(p, NULL, out, (unsigned long long)(p - out), d->secret);
	return (size_t)(p - out) + crypto_sign_BYTES;
}

size_t
ps_txgen_make(const struct ps_txgen *g, uint64_t index, uint8_t *out)
{
	bool v0 = (index & 1) && g->max >= PS_TXGEN_SIZE_MIN + 2;
	unsigned extra = v0 ? 2 : 0, bare_size = PS_TXGEN_SIZE_MIN + extra;
	bool transfer = index && index % 3 == 0 && g->min <= 215 && g->max >= 217;
	uint8_t *message = out + 1 + crypto_sign_BYTES, *p = message;
	struct draw d;

	draw(g, index, &d);
	if (g->large)
		return make_large(g, index, &d, out);
	bool bare = !transfer && d.size < 170 + extra && bare_size >= g->min && bare_size <= g->max;
	if (d.size < 170 + extra)
		d.size = 170 + extra;
	if (v0)
		*p++ = 0x80;
	p = put(p, (const uint8_t[]){1, 0, !bare}, 3);
	if (bare)
		p = put_bare(p, &d);
	else if (transfer)
		p = put_transfer(p, index, &d);
	else
		p = put_memo(p, g, index, &d, (unsigned)d.size - 168 - extra);
	if (v0)
		*p++ = 0;
	*out = 1;
	crypto_sign_detached(out + 1, NULL, message, (unsigned long long)(p - message), d.secret);
	return (size_t)(p - out);
}

bool
ps_txgen_valid(const struct ps_txgen *g)
{
	if (g->max > PS_TXGEN_LARGE_SIZE_MAX || g->min > g->max)
		return false;
	if (g->large)
		return g->min >= PS_TXGEN_LARGE_SIZE_MIN;
	return (g->min <= PS_TXGEN_SIZE_MIN && g->max >= PS_TXGEN_SIZE_MIN) || g->max >= 172;
}

bool
ps_txgen_parse_sizes(struct ps_txgen *g, const char *arg)
{
	int end = 0;

	if (sscanf(arg, "%u-%u%n", &g->min, &g->max, &end) == 2 && !arg[end])
		return true;
	if (sscanf(arg, "%u%n", &g->min, &end) != 1 || arg[end])
		return false;
	g->max = g->min;
	return true;
}

void
ps_txgen_default_sizes(struct ps_txgen *g)
{
	if (g->max > 0)
		return;
	g->min = g->large ? PS_TXGEN_SIZE_MAX + 1 : PS_TXGEN_SIZE_MIN;
	g->max = g->large ? PS_TXGEN_LARGE_SIZE_MAX : PS_TXGEN_SIZE_MAX;
}
