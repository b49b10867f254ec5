/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "protect.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>

#include "aes.h"
#include "chacha.h"
#include "gcm.h"
#include "hkdf.h"
#include "protect_internal.h"
#include "ps_be.h"

#define CACHE_LINE 64

_Static_assert(sizeof(struct gcm_key_data) % CACHE_LINE == 0, "compile with -DLINUX");
_Static_assert(PS_CHACHA_LANES == PS_AES_LANES, "masks are made in the same groups");
_Static_assert(
	sizeof(struct ps_pkt_key) == 80 && offsetof(struct ps_pkt_key, hp) + 16 <= CACHE_LINE,
	"the key of a packet takes few cache lines");

struct ps_protect {
	/* The library's code for this processor, of GCM by suite. These functions keep nothing in
	 * the manager, so that it is given back once they are known. */
	aes_gcm_pre_t pre[2];
	aes_gcm_enc_dec_t seal[2], open[2];
	chacha_poly_init_t chacha_init;
	chacha_poly_enc_dec_update_t chacha_seal, chacha_open;
	chacha_poly_finalize_t chacha_finalize;
	bool wide;             /* the processor has AES in registers of 512 bits */
	uint32_t mask;         /* of the cache: lines - 1 */
	uint32_t next;         /* line that the next key takes: the oldest */
	uint64_t expansions;   /* keys expanded so far */
	uint64_t random_count; /* blocks drawn */
	struct gcm_context_data ctx;
	struct chacha20_poly1305_context_data chacha;
	struct ps_aes_key cid_make, cid_read, reset, random;
	struct gcm_key_data retry, token;
	struct gcm_key_data line[];
};

static bool
take_functions(struct ps_protect *p)
{
	IMB_MGR *mgr = alloc_mb_mgr(0);
	bool ok;

	if (mgr == NULL)
		return false;
	init_mb_mgr_auto(mgr, NULL);
	ok = imb_get_errno(mgr) == 0;
	p->pre[PS_AES_128_GCM_SHA256] = mgr->gcm128_pre;
	p->seal[PS_AES_128_GCM_SHA256] = mgr->gcm128_enc;
	p->open[PS_AES_128_GCM_SHA256] = mgr->gcm128_dec;
	p->pre[PS_AES_256_GCM_SHA384] = mgr->gcm256_pre;
	p->seal[PS_AES_256_GCM_SHA384] = mgr->gcm256_enc;
	p->open[PS_AES_256_GCM_SHA384] = mgr->gcm256_dec;
	p->chacha_init = mgr->chacha20_poly1305_init;
	p->chacha_seal = mgr->chacha20_poly1305_enc_update;
	p->chacha_open = mgr->chacha20_poly1305_dec_update;
	p->chacha_finalize = mgr->chacha20_poly1305_finalize;
	free_mb_mgr(mgr);
	return ok;
}

size_t
ps_protect_footprint(uint32_t cache_keys)
{
	return sizeof(struct ps_protect) + (size_t)cache_keys * sizeof(struct gcm_key_data);
}

struct ps_protect *
ps_protect_new(void *mem, uint32_t cache_keys)
{
	/* RFC 9001 section 5.8 */
	static const uint8_t retry_key[16] = {0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d,
		0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e};
	struct ps_protect *p = mem;
	uint8_t key[16];

	assert((uintptr_t)mem % CACHE_LINE == 0);
	assert(cache_keys != 0 && (cache_keys & (cache_keys - 1)) == 0);
	if (!__builtin_cpu_supports("aes") || !__builtin_cpu_supports("pclmul") ||
		!__builtin_cpu_supports("ssse3"))
		return NULL;
	memset(p, 0, ps_protect_footprint(cache_keys));
	if (!take_functions(p))
		return NULL;
	p->wide = ps_aes_wide();
	p->mask = cache_keys - 1;
	p->pre[PS_AES_128_GCM_SHA256](retry_key, &p->retry);
	ps_random(key, sizeof(key));
	ps_aes_expand(&p->random, key);
	ps_wipe(key, sizeof(key));
	return p;
}

uint64_t
ps_protect_expansions(const struct ps_protect *p)
{
	return p->expansions;
}

void
ps_protect_wipe(struct ps_protect *p)
{
	ps_wipe(p, ps_protect_footprint(p->mask + 1));
}

void
ps_pkt_key_derive(struct ps_pkt_key *k, enum ps_suite suite, const uint8_t *secret)
{
	size_t hash = ps_suite_hash_bytes(suite), len = ps_suite_key_bytes(suite);

	*k = (struct ps_pkt_key){.suite = suite};
	ps_hkdf_expand_label(hash, k->key, len, secret, "quic key");
	ps_hkdf_expand_label(hash, k->hp, len, secret, "quic hp");
	ps_hkdf_expand_label(hash, k->iv, sizeof(k->iv), secret, "quic iv");
}

void
ps_secret_update(enum ps_suite suite, uint8_t *secret)
{
	size_t hash = ps_suite_hash_bytes(suite);

	ps_hkdf_expand_label(hash, secret, hash, secret, "quic ku");
}

void
ps_initial_keys(
	struct ps_pkt_key *client, struct ps_pkt_key *server, const uint8_t *dcid, size_t dcid_len)
{
	static const uint8_t salt[20] = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
		0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
	uint8_t initial[32], secret[32];

	/* Anyone can compute these: nothing to wipe. */
	ps_hkdf_extract(sizeof(initial), initial, salt, sizeof(salt), dcid, dcid_len);
	ps_hkdf_expand_label(sizeof(initial), secret, sizeof(secret), initial, "client in");
	ps_pkt_key_derive(client, PS_AES_128_GCM_SHA256, secret);
	ps_hkdf_expand_label(sizeof(initial), secret, sizeof(secret), initial, "server in");
	ps_pkt_key_derive(server, PS_AES_128_GCM_SHA256, secret);
}

void
ps_pkt_key_wipe(struct ps_pkt_key *k)
{
	ps_wipe(k, sizeof(*k));
}

static inline bool
same_block(__m128i a, __m128i b)
{
	return _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xffff;
}

/* The first round keys of AES are the raw key itself, so an expanded key tells whose it is and
 * needs no tag beside it: a hint gone stale, or made by another ps_protect, cannot match. The round
 * key after keeps an all-zero key from matching a line never used. A key of one size does not begin
 * like one of the other, because a hash made them all. */
static inline bool
holds(const struct gcm_key_data *line, const struct ps_pkt_key *k)
{
	const __m128i *round = (const __m128i *)line->expanded_keys;
	const __m128i *key = (const void *)k->key;

	if (!same_block(_mm_load_si128(&round[0]), _mm_loadu_si128(&key[0])))
		return false;
	if (k->suite == PS_AES_128_GCM_SHA256)
		return !same_block(_mm_load_si128(&round[1]), _mm_setzero_si128());
	return same_block(_mm_load_si128(&round[1]), _mm_loadu_si128(&key[1])) &&
	       !same_block(_mm_load_si128(&round[2]), _mm_setzero_si128());
}

static inline const struct gcm_key_data *
expanded(struct ps_protect *p, struct ps_pkt_key *k)
{
	struct gcm_key_data *line = &p->line[k->cached & p->mask];

	if (__builtin_expect(holds(line, k), 1))
		return line;
	k->cached = p->next++ & p->mask;
	line = &p->line[k->cached];
	p->pre[k->suite](k->key, line);
	p->expansions++;
	return line;
}

static inline void
fetch(const void *p, size_t from, size_t end)
{
	for (size_t i = from & ~(size_t)(CACHE_LINE - 1); i < end; i += CACHE_LINE)
		__builtin_prefetch((const char *)p + i);
}

/* Behind the round keys stand powers of the hash key. Code of 512 bits has 48, the lowest last, and
 * takes as many as there are blocks, and one for the lengths; other code has 8 and as many sums. */
void
ps_key_prefetch(const struct ps_protect *p, const struct ps_pkt_key *k, size_t text_len)
{
	const struct gcm_key_data *line = &p->line[k->cached & p->mask];
	const size_t powers = offsetof(struct gcm_key_data, ghash_keys);
	size_t end = powers + sizeof(line->ghash_keys.sse_avx), from = powers;

	if (p->wide) {
		size_t need = 16 * (text_len / 16 + 2);

		end = powers + sizeof(line->ghash_keys.vaes_avx512);
		from = need < end - powers ? end - need : powers;
	}
	fetch(line, 0, k->suite == PS_AES_128_GCM_SHA256 ? 16 * (PS_AES_ROUNDS + 1) : powers);
	fetch(line, from, end);
}

/* Section 5.3: the IV xor the packet number. */
static inline void
make_nonce(uint8_t nonce[12], const uint8_t iv[12], uint64_t pn)
{
	memcpy(nonce, iv, 4);
	ps_be64_store(nonce + 4, ps_be64_load(iv + 4) ^ pn);
}

static inline bool
tag_equal(const uint8_t a[PS_AEAD_TAG], const uint8_t b[PS_AEAD_TAG])
{
	return same_block(_mm_loadu_si128((const void *)a), _mm_loadu_si128((const void *)b));
}

/* Masks of up to four packets under AES-128. */
static inline void
wide_masks(const struct ps_pkt_key *const keys[], const uint8_t *const samples[],
	uint8_t masks[][5], unsigned int n)
{
	const uint8_t *key[PS_AES_LANES], *sample[PS_AES_LANES];
	__m128i block[PS_AES_LANES];

	for (unsigned int j = 0; j < PS_AES_LANES; j++) {
		key[j] = keys[j < n ? j : n - 1]->hp;
		sample[j] = samples[j < n ? j : n - 1];
	}
	ps_aes_encrypt_wide(key, sample, block);
	for (unsigned int j = 0; j < n; j++)
		memcpy(masks[j], &block[j], 5);
}

/* Masks of up to four packets from raw keys of any suites. Each suite among them does all lanes, of
 * which those of its own are taken; lanes beyond the last packet repeat it. */
__attribute__((noinline)) static void
raw_masks(const struct ps_pkt_key *const keys[], const uint8_t *const samples[], uint8_t masks[][5],
	unsigned int n)
{
	__m128i block[PS_SUITES][PS_AES_LANES];
	const uint8_t *key[PS_AES_LANES];
	unsigned int suites = 0; /* bit of each that occurs */

	for (unsigned int j = 0; j < PS_AES_LANES; j++) {
		unsigned int at = j < n ? j : n - 1;

		key[j] = keys[at]->hp;
		for (unsigned int s = 0; s < PS_SUITES; s++)
			block[s][j] = _mm_loadu_si128((const void *)samples[at]);
		suites |= 1u << keys[at]->suite;
	}
	if ((suites >> PS_AES_128_GCM_SHA256 & 1) != 0)
		ps_aes_encrypt_lanes(key, block[PS_AES_128_GCM_SHA256]);
	if ((suites >> PS_AES_256_GCM_SHA384 & 1) != 0)
		ps_aes256_encrypt_lanes(key, block[PS_AES_256_GCM_SHA384]);
	if ((suites >> PS_CHACHA20_POLY1305_SHA256 & 1) != 0)
		ps_chacha_lanes(key, block[PS_CHACHA20_POLY1305_SHA256]);
	for (unsigned int j = 0; j < n; j++)
		memcpy(masks[j], &block[keys[j]->suite][j], 5);
}

void
ps_hp_masks(const struct ps_protect *p, const struct ps_pkt_key *const keys[],
	const uint8_t *const samples[], uint8_t masks[][5], unsigned int n)
{
	for (unsigned int i = 0; i < n; i += PS_AES_LANES) {
		unsigned int lanes = n - i < PS_AES_LANES ? n - i : PS_AES_LANES, other = 0;

		for (unsigned int j = 0; j < lanes; j++)
			other |= keys[i + j]->suite; /* not 0: one that is not AES-128 */
		if (__builtin_expect(other == PS_AES_128_GCM_SHA256, 1) && p->wide)
			wide_masks(keys + i, samples + i, masks + i, lanes);
		else
			raw_masks(keys + i, samples + i, masks + i, lanes);
	}
}

bool
ps_open(struct ps_protect *p, struct ps_pkt_key *k, uint64_t pn, uint8_t *pkt, size_t aad_len,
	size_t clear_len)
{
	uint8_t *text = pkt + aad_len;
	uint8_t nonce[12], tag[PS_AEAD_TAG];

	make_nonce(nonce, k->iv, pn);
	if (__builtin_expect(k->suite == PS_CHACHA20_POLY1305_SHA256, 0)) {
		p->chacha_init(k->key, &p->chacha, nonce, pkt, aad_len);
		p->chacha_open(k->key, &p->chacha, text, text, clear_len);
		p->chacha_finalize(&p->chacha, tag, sizeof(tag));
	} else {
		p->open[k->suite](expanded(p, k), &p->ctx, text, text, clear_len, nonce, pkt,
			aad_len, tag, sizeof(tag));
	}
	return tag_equal(tag, text + clear_len);
}

static inline void
protect_header(uint8_t *pkt, uint8_t *pn_at, unsigned int pn_len, const uint8_t mask[5])
{
	pkt[0] ^= mask[0] & (pkt[0] & 0x80 ? 0x0f : 0x1f);
	for (unsigned int i = 0; i < pn_len; i++)
		pn_at[i] ^= mask[1 + i];
}

void
ps_seal(struct ps_protect *p, struct ps_pkt_key *k, uint64_t pn, uint8_t *pkt, size_t hdr_len,
	unsigned int pn_len, size_t text_len)
{
	uint8_t *text = pkt + hdr_len, *pn_at = text - pn_len;
	const struct ps_pkt_key *const keys[1] = {k};
	const uint8_t *const samples[1] = {pn_at + 4};
	uint8_t nonce[12], mask[1][5];

	assert(pn_len >= 1 && pn_len <= 4 && pn_len + text_len >= 4);
	make_nonce(nonce, k->iv, pn);
	if (__builtin_expect(k->suite == PS_CHACHA20_POLY1305_SHA256, 0)) {
		p->chacha_init(k->key, &p->chacha, nonce, pkt, hdr_len);
		p->chacha_seal(k->key, &p->chacha, text, text, text_len);
		p->chacha_finalize(&p->chacha, text + text_len, PS_AEAD_TAG);
	} else {
		p->seal[k->suite](expanded(p, k), &p->ctx, text, text, text_len, nonce, pkt,
			hdr_len, text + text_len, PS_AEAD_TAG);
	}
	ps_hp_masks(p, keys, samples, mask, 1);
	protect_header(pkt, pn_at, pn_len, mask[0]);
}

/* The IV xor the packet number, in a register. */
static inline __m128i
small_nonce(const struct ps_pkt_key *k, uint64_t pn)
{
	__m128i iv = _mm_loadu_si128((const void *)&k->iv); /* and the word behind it */
	__m128i count = _mm_cvtsi64_si128((long long)__builtin_bswap64(pn));

	iv = _mm_and_si128(iv, _mm_set_epi32(0, -1, -1, -1));
	return _mm_xor_si128(iv, _mm_slli_si128(count, 4));
}

void
ps_seal_small(struct ps_protect *p, const struct ps_small_packet s[], unsigned int n)
{
	const struct ps_small_packet *of[PS_SMALL_BURST];
	const struct ps_pkt_key *keys[PS_SMALL_BURST];
	const uint8_t *samples[PS_SMALL_BURST];
	uint8_t masks[PS_SMALL_BURST][5];
	unsigned int m = 0;

	assert(n <= PS_SMALL_BURST);
	for (unsigned int i = 0; i < n; i++) {
		struct ps_pkt_key *k = s[i].key;

		if (k->suite != PS_AES_128_GCM_SHA256 || s[i].hdr_len > PS_GCM_SMALL ||
			s[i].text_len > PS_GCM_SMALL) {
			ps_seal(p, k, s[i].pn, s[i].pkt, s[i].hdr_len, s[i].pn_len, s[i].text_len);
			continue;
		}
		ps_gcm_seal_small(
			k->key, small_nonce(k, s[i].pn), s[i].pkt, s[i].hdr_len, s[i].text_len);
		keys[m] = k;
		samples[m] = s[i].pkt + s[i].hdr_len - s[i].pn_len + 4;
		of[m++] = &s[i];
	}
	if (m > 0)
		ps_hp_masks(p, keys, samples, masks, m);
	for (unsigned int i = 0; i < m; i++)
		protect_header(of[i]->pkt, of[i]->pkt + of[i]->hdr_len - of[i]->pn_len,
			of[i]->pn_len, masks[i]);
}

void
ps_retry_tag(struct ps_protect *p, const struct ps_cid *odcid, const uint8_t *retry, size_t len,
	uint8_t tag[PS_AEAD_TAG])
{
	static const uint8_t nonce[12] = {
		0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb};
	uint8_t pseudo[1 + PS_CID_MAX + PS_UDP_PAYLOAD_MAX];

	assert(odcid->len <= PS_CID_MAX && len <= PS_UDP_PAYLOAD_MAX);
	pseudo[0] = odcid->len;
	memcpy(pseudo + 1, odcid->id, odcid->len);
	memcpy(pseudo + 1 + odcid->len, retry, len);
	p->seal[PS_AES_128_GCM_SHA256](&p->retry, &p->ctx, pseudo, pseudo, 0, nonce, pseudo,
		1 + odcid->len + len, tag, PS_AEAD_TAG);
}

void
ps_protect_static_keys(struct ps_protect *p, const struct ps_static_keys *keys)
{
	ps_aes_expand(&p->cid_make, keys->cid_key);
	ps_aes_invert(&p->cid_read, &p->cid_make);
	p->pre[PS_AES_128_GCM_SHA256](keys->token_key, &p->token);
	ps_aes_expand(&p->reset, keys->reset_key);
}

/* Only processes of this machine read our ids: words in its own byte order. */
void
ps_cid_make(
	const struct ps_protect *p, const struct ps_cid_parts *parts, uint8_t cid[PS_OUR_CID_LEN])
{
	__m128i block = _mm_set_epi32(0, (int)parts->nonce, (int)parts->generation,
		(int)((uint32_t)parts->worker << 24 | parts->slot));

	assert(parts->slot < 1u << 24);
	_mm_storeu_si128((void *)cid, ps_aes_encrypt(&p->cid_make, block));
}

bool
ps_cid_read(
	const struct ps_protect *p, const uint8_t cid[PS_OUR_CID_LEN], struct ps_cid_parts *parts)
{
	uint32_t word[4];

	_mm_storeu_si128(
		(void *)word, ps_aes_decrypt(&p->cid_read, _mm_loadu_si128((const void *)cid)));
	if (word[3] != 0)
		return false;
	parts->worker = (uint8_t)(word[0] >> 24);
	parts->slot = word[0] & 0xffffff;
	parts->generation = word[1];
	parts->nonce = word[2];
	return true;
}

/* A block cipher of an id that nobody chooses but us: as good as a keyed hash. */
void
ps_reset_token(const struct ps_protect *p, const uint8_t cid[PS_OUR_CID_LEN], uint8_t token[16])
{
	_mm_storeu_si128(
		(void *)token, ps_aes_encrypt(&p->reset, _mm_loadu_si128((const void *)cid)));
}

void
ps_token_seal(struct ps_protect *p, const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
	uint8_t *text, size_t len, uint8_t tag[PS_AEAD_TAG])
{
	p->seal[PS_AES_128_GCM_SHA256](
		&p->token, &p->ctx, text, text, len, nonce, aad, aad_len, tag, PS_AEAD_TAG);
}

bool
ps_token_open(struct ps_protect *p, const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
	uint8_t *text, size_t len, const uint8_t tag[PS_AEAD_TAG])
{
	uint8_t computed[PS_AEAD_TAG];

	p->open[PS_AES_128_GCM_SHA256](
		&p->token, &p->ctx, text, text, len, nonce, aad, aad_len, computed, PS_AEAD_TAG);
	return tag_equal(computed, tag);
}

void
ps_random(void *p, size_t len)
{
	uint8_t *at = p;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		/* Keys that can be guessed are worse than no program. */
		if (n < 0 && errno != EINTR)
			abort();
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
}

static inline __m128i
random_block(struct ps_protect *p)
{
	return ps_aes_encrypt(&p->random, _mm_set_epi64x(0, (long long)p->random_count++));
}

void
ps_protect_random(struct ps_protect *p, void *out, size_t len)
{
	uint8_t *at = out;

	for (; len >= sizeof(__m128i); at += sizeof(__m128i), len -= sizeof(__m128i))
		_mm_storeu_si128((void *)at, random_block(p));
	if (len > 0) {
		__m128i block = random_block(p);

		memcpy(at, &block, len);
	}
}

bool
ps_equal(const void *a, const void *b, size_t len)
{
	const volatile uint8_t *x = a, *y = b;
	uint8_t diff = 0;

	for (size_t i = 0; i < len; i++)
		diff |= x[i] ^ y[i];
	return diff == 0;
}

void
ps_wipe(void *p, size_t len)
{
	explicit_bzero(p, len);
}
