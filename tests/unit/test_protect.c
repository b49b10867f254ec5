/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Packet protection against the vectors of RFC 9001 Appendix A, every suite against nettle, and
 * what neither says: corruption, random bytes, comparison. */

#include <nettle/aes.h>
#include <nettle/chacha-poly1305.h>
#include <nettle/chacha.h>
#include <nettle/gcm.h>

#include "hkdf.h"
#include "protect_help.h"
#include "rfc9001_vectors.h"

static void
initial_keys(struct ps_pkt_key *client, struct ps_pkt_key *server)
{
	uint8_t dcid[8];

	from_hex(dcid, "8394c8f03e515708");
	ps_initial_keys(client, server, dcid, sizeof(dcid));
}

static void
test_a1_keys(void)
{
	struct ps_pkt_key client, server;
	uint8_t salt[20], dcid[8], initial[32], secret[32];

	from_hex(salt, "38762cf7f55934b34d179ae6a4c80cadccbb7f0a");
	from_hex(dcid, "8394c8f03e515708");
	ps_hkdf_extract(32, initial, salt, sizeof(salt), dcid, sizeof(dcid));
	CU_ASSERT(equals_hex(
		initial, 32, "7db5df06e7a69e432496adedb00851923595221596ae2ae9fb8115c1e9ed0a44"));
	ps_hkdf_expand_label(32, secret, 32, initial, "client in");
	CU_ASSERT(equals_hex(
		secret, 32, "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
	ps_hkdf_expand_label(32, secret, 32, initial, "server in");
	CU_ASSERT(equals_hex(
		secret, 32, "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b"));

	initial_keys(&client, &server);
	CU_ASSERT(equals_hex(client.key, 16, "1f369613dd76d5467730efcbe3b1a22d"));
	CU_ASSERT(equals_hex(client.iv, 12, "fa044b2f42a3fd3b46fb255c"));
	CU_ASSERT(equals_hex(client.hp, 16, "9f50449e04a0e810283a1e9933adedd2"));
	CU_ASSERT(equals_hex(server.key, 16, "cf3a5331653c364c88f0f379b6067e37"));
	CU_ASSERT(equals_hex(server.iv, 12, "0ac1493ca1905853b0bba03e"));
	CU_ASSERT(equals_hex(server.hp, 16, "c206b8d9b9f0f37644430b490eeaa314"));
}

static void
test_a2_client_initial(void)
{
	struct ps_pkt_key client, server;
	const struct ps_pkt_key *const keys[1] = {&client};
	uint8_t pkt[1200] = {0}, clear[1200], mask[1][5];
	size_t hdr_len = from_hex(pkt, rfc9001_a2_header);
	const uint8_t *const samples[1] = {pkt + 22};

	initial_keys(&client, &server);
	from_hex(pkt + hdr_len, rfc9001_a2_crypto); /* PADDING up to 1162 bytes of text */
	memcpy(clear, pkt, sizeof(pkt));
	ps_seal(protect, &client, 2, pkt, hdr_len, 4, 1162);
	CU_ASSERT(equals_hex(pkt, sizeof(pkt), rfc9001_a2_packet));
	CU_ASSERT(equals_hex(pkt + 22, 16, "d1b1c98dd7689fb8ec11d242b123dc9b"));
	ps_hp_masks(protect, keys, samples, mask, 1);
	CU_ASSERT(equals_hex(mask[0], 5, "437b9aec36"));

	CU_ASSERT_EQUAL(unmask(&client, pkt, 18), 4);
	CU_ASSERT(ps_open(protect, &client, 2, pkt, hdr_len, 1162));
	CU_ASSERT(memcmp(pkt, clear, hdr_len + 1162) == 0);
}

static void
test_a3_server_initial(void)
{
	struct ps_pkt_key client, server;
	uint8_t pkt[200];
	size_t hdr_len = from_hex(pkt, "c1000000010008f067a5502a4262b50040750001");
	size_t len = from_hex(pkt + hdr_len,
		"02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739"
		"88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94"
		"0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00"
		"020304");

	initial_keys(&client, &server);
	ps_seal(protect, &server, 1, pkt, hdr_len, 2, len);
	CU_ASSERT(equals_hex(pkt, hdr_len + len + 16,
		"cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a"
		"5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3"
		"dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84"
		"022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4"
		"2158407dd074ee"));
	CU_ASSERT_EQUAL(unmask(&server, pkt, hdr_len - 2), 2);
	CU_ASSERT(ps_open(protect, &server, 1, pkt, hdr_len, len));
}

static void
test_a5_chacha(void)
{
	const enum ps_suite suite = PS_CHACHA20_POLY1305_SHA256;
	const uint64_t pn = 654360564;
	struct ps_pkt_key k;
	const struct ps_pkt_key *const keys[1] = {&k};
	uint8_t secret[32], pkt[21], mask[1][5];
	const uint8_t *const samples[1] = {pkt + 5};
	size_t len = from_hex(pkt, "4200bff401");

	from_hex(secret, "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
	ps_pkt_key_derive(&k, suite, secret);
	CU_ASSERT(equals_hex(
		k.key, 32, "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8"));
	CU_ASSERT(equals_hex(k.iv, 12, "e0459b3474bdd0e44a41c144"));
	CU_ASSERT(equals_hex(
		k.hp, 32, "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4"));
	ps_seal(protect, &k, pn, pkt, 4, 3, len - 4);
	CU_ASSERT(equals_hex(pkt, sizeof(pkt), "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"));
	ps_hp_masks(protect, keys, samples, mask, 1);
	CU_ASSERT(equals_hex(mask[0], 5, "aefefe7d03"));
	CU_ASSERT_EQUAL(unmask(&k, pkt, 1), 3);
	CU_ASSERT(ps_open(protect, &k, pn, pkt, 4, 1));
	CU_ASSERT(equals_hex(pkt, 5, "4200bff401"));
	ps_secret_update(suite, secret);
	CU_ASSERT(equals_hex(
		secret, 32, "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
}

/* What nettle makes of text under k: ciphertext, then the tag. */
static void
nettle_seal(const struct ps_pkt_key *k, const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
	const uint8_t *text, size_t len, uint8_t *out)
{
	struct chacha_poly1305_ctx chacha;
	struct gcm_aes256_ctx aes256;
	struct gcm_aes128_ctx aes128;

	if (k->suite == PS_CHACHA20_POLY1305_SHA256) {
		chacha_poly1305_set_key(&chacha, k->key);
		chacha_poly1305_set_nonce(&chacha, nonce);
		chacha_poly1305_update(&chacha, aad_len, aad);
		chacha_poly1305_encrypt(&chacha, len, out, text);
		chacha_poly1305_digest(&chacha, 16, out + len);
	} else if (k->suite == PS_AES_256_GCM_SHA384) {
		gcm_aes256_set_key(&aes256, k->key);
		gcm_aes256_set_iv(&aes256, 12, nonce);
		gcm_aes256_update(&aes256, aad_len, aad);
		gcm_aes256_encrypt(&aes256, len, out, text);
		gcm_aes256_digest(&aes256, 16, out + len);
	} else {
		gcm_aes128_set_key(&aes128, k->key);
		gcm_aes128_set_iv(&aes128, 12, nonce);
		gcm_aes128_update(&aes128, aad_len, aad);
		gcm_aes128_encrypt(&aes128, len, out, text);
		gcm_aes128_digest(&aes128, 16, out + len);
	}
}

static void
nettle_mask(const struct ps_pkt_key *k, const uint8_t sample[16], uint8_t mask[5])
{
	uint8_t block[16] = {0};
	struct chacha_ctx chacha;
	struct aes256_ctx aes256;
	struct aes128_ctx aes128;

	if (k->suite == PS_CHACHA20_POLY1305_SHA256) {
		chacha_set_key(&chacha, k->hp);
		chacha_set_nonce96(&chacha, sample + 4); /* sets the counter, too */
		chacha_set_counter32(&chacha, sample);
		chacha_crypt32(&chacha, 16, block, block);
	} else if (k->suite == PS_AES_256_GCM_SHA384) {
		aes256_set_encrypt_key(&aes256, k->hp);
		aes256_encrypt(&aes256, 16, block, sample);
	} else {
		aes128_set_encrypt_key(&aes128, k->hp);
		aes128_encrypt(&aes128, 16, block, sample);
	}
	memcpy(mask, block, 5);
}

/* Each text length against another implementation, by turns of the suites, so that one's state
 * would spoil the next. */
static void
test_other_implementation(void)
{
	uint8_t pkt[PS_UDP_PAYLOAD_MAX], want[PS_UDP_PAYLOAD_MAX], nonce[12], mask[5];
	unsigned int bad = 0;

	for (unsigned int i = 0; i < 3 * 1400; i++) {
		struct ps_pkt_key k = make_suite_key(i % 3, i);
		size_t hdr_len = 3 + i / 3 % 29, len = 2 + i / 3;
		uint64_t pn = (uint64_t)i * 0x123456789abcdef >> 2;

		fill(pkt, hdr_len + len, i);
		pkt[0] = 0x41;
		memcpy(nonce, k.iv, sizeof(nonce));
		for (unsigned int b = 0; b < 8; b++)
			nonce[11 - b] ^= (uint8_t)(pn >> 8 * b);
		memcpy(want, pkt, hdr_len);
		nettle_seal(&k, nonce, pkt, hdr_len, pkt + hdr_len, len, want + hdr_len);
		nettle_mask(&k, want + hdr_len + 2, mask);
		want[0] ^= mask[0] & 0x1f;
		want[hdr_len - 2] ^= mask[1];
		want[hdr_len - 1] ^= mask[2];
		ps_seal(protect, &k, pn, pkt, hdr_len, 2, len);
		bad += memcmp(pkt, want, hdr_len + len + 16) != 0;
		bad += unmask(&k, pkt, hdr_len - 2) != 2;
		bad += !ps_open(protect, &k, pn, pkt, hdr_len, len);
	}
	CU_ASSERT_EQUAL(bad, 0);
}

/* HKDF with SHA-384; computed with Python's hmac and hashlib. */
static void
test_sha384(void)
{
	static const char want_update[] =
		"d21f524277390ba96b86484d9c687f850f1e4d1f997033bba06051129179a762"
		"a94067d065f3f715e83d65a7bf8c79b9";
	uint8_t secret[48];
	struct ps_pkt_key k;

	for (unsigned int i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)i;
	ps_pkt_key_derive(&k, PS_AES_256_GCM_SHA384, secret);
	CU_ASSERT(equals_hex(
		k.key, 32, "95c517eea81b6469ff8f27a065fd04c1a27b3023591b93e273a9df5f921d1f68"));
	CU_ASSERT(equals_hex(k.iv, 12, "a8d8316bf5bb0bbfa74cbf17"));
	CU_ASSERT(equals_hex(
		k.hp, 32, "307135de335efef95873468a03d3dfa1e38050df7cc6ab7f22fd7aced73b66e5"));
	ps_secret_update(PS_AES_256_GCM_SHA384, secret);
	CU_ASSERT(equals_hex(secret, sizeof(secret), want_update));
}

static void
test_a4_retry(void)
{
	struct ps_cid odcid = {.len = 8};
	uint8_t retry[64], tag[16];
	size_t len = from_hex(retry, "ff000000010008f067a5502a4262b5746f6b656e");

	from_hex(odcid.id, "8394c8f03e515708");
	ps_retry_tag(protect, &odcid, retry, len, tag);
	CU_ASSERT(equals_hex(tag, 16, "04a265ba2eff4d829058fb3f0f2496ba"));
	odcid.id[0] ^= 1;
	ps_retry_tag(protect, &odcid, retry, len, tag);
	CU_ASSERT(!equals_hex(tag, 16, "04a265ba2eff4d829058fb3f0f2496ba"));
}

/* Every text length up to a full packet, every packet number length, both header forms, packet
 * numbers that reach all bytes of the nonce. */
static void
test_round_trip(void)
{
	static const uint64_t pns[] = {0, 1, 0xff, 0x12345678, 0x3fffffffffffffff};
	uint8_t pkt[PS_UDP_PAYLOAD_MAX], clear[PS_UDP_PAYLOAD_MAX];
	unsigned int bad = 0;

	for (size_t len = 0; len <= 1400; len++) {
		struct ps_pkt_key tx = make_suite_key(len % 3, 1), rx = make_suite_key(len % 3, 1);

		for (unsigned int pn_len = 1; pn_len <= 4; pn_len++) {
			bool is_long = (len & 1) != 0;
			size_t pn_at = is_long ? 30 : 17, hdr_len = pn_at + pn_len;
			uint64_t pn = pns[(len + pn_len) % 5];

			if (pn_len + len < 4)
				continue;
			fill(clear, hdr_len + len, (unsigned int)len);
			clear[0] = (uint8_t)((is_long ? 0xe0 : 0x40) | (pn_len - 1));
			memcpy(pkt, clear, hdr_len + len);
			pkt[hdr_len + len + 16] = 0xa5;
			ps_seal(protect, &tx, pn, pkt, hdr_len, pn_len, len);
			bad += pkt[hdr_len + len + 16] != 0xa5;
			bad += len >= 16 && memcmp(pkt + hdr_len, clear + hdr_len, len) == 0;
			bad += (pkt[0] & (is_long ? 0xf0 : 0xe0)) != (is_long ? 0xe0 : 0x40);
			bad += unmask(&rx, pkt, pn_at) != pn_len;
			bad += !ps_open(protect, &rx, pn, pkt, hdr_len, len);
			bad += memcmp(pkt, clear, hdr_len + len) != 0;
		}
	}
	CU_ASSERT_EQUAL(bad, 0);
}

#define CORRUPT_HDR  20
#define CORRUPT_TEXT 100

/* Opens a copy. */
static bool
try_open(struct ps_pkt_key *k, uint64_t pn, const uint8_t *sealed, size_t aad_len)
{
	uint8_t pkt[CORRUPT_HDR + CORRUPT_TEXT + 16];

	memcpy(pkt, sealed, sizeof(pkt));
	return ps_open(protect, k, pn, pkt, aad_len, sizeof(pkt) - 16 - aad_len);
}

/* One flipped bit anywhere, another packet number, another key: refused. */
static void
corrupt(enum ps_suite suite)
{
	struct ps_pkt_key k = make_suite_key(suite, 2), other = make_suite_key(suite, 3);
	uint8_t pkt[CORRUPT_HDR + CORRUPT_TEXT + 16];
	unsigned int opened = 0;

	fill(pkt, CORRUPT_HDR + CORRUPT_TEXT, 7);
	pkt[0] = 0x41;
	ps_seal(protect, &k, 9, pkt, CORRUPT_HDR, 2, CORRUPT_TEXT);
	unmask(&k, pkt, CORRUPT_HDR - 2);
	for (size_t bit = 0; bit < 8 * sizeof(pkt); bit++) {
		pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
		opened += try_open(&k, 9, pkt, CORRUPT_HDR);
		pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CU_ASSERT_EQUAL(opened, 0);
	CU_ASSERT(!try_open(&k, 10, pkt, CORRUPT_HDR));
	CU_ASSERT(!try_open(&k, 9 + (UINT64_C(1) << 61), pkt, CORRUPT_HDR));
	CU_ASSERT(!try_open(&other, 9, pkt, CORRUPT_HDR));
	CU_ASSERT(!try_open(&k, 9, pkt, CORRUPT_HDR - 1));
	CU_ASSERT(try_open(&k, 9, pkt, CORRUPT_HDR));
}

static void
test_corruption(void)
{
	for (enum ps_suite s = 0; s < PS_SUITES; s++)
		corrupt(s);
}

/* Every count, so that every remainder of the interleaving is seen, with different keys, of one
 * suite and mixed; of more and more keys the expanded form is cached. */
static void
test_masks(void)
{
	enum { N = 11, MIXES = PS_SUITES + 8 };
	struct ps_protect *p = make_protect(16);
	struct ps_pkt_key key[N];
	const struct ps_pkt_key *keys[N];
	const uint8_t *samples[N];
	uint8_t sample[N][16], one[N][5], many[N + 1][5], pkt[64] = {0x41};

	for (unsigned int mix = 0; mix < MIXES; mix++) {
		for (unsigned int i = 0; i < N; i++) {
			enum ps_suite suite = mix < PS_SUITES ? mix : (i * (mix + 1) + i / 3) % 3;

			key[i] = make_suite_key(suite, 100 + i);
			fill(sample[i], 16, 200 + i);
			keys[i] = &key[i];
			samples[i] = sample[i];
			nettle_mask(&key[i], sample[i], one[i]);
		}
		for (unsigned int n = 0; n <= N; n++) {
			memset(many, 0xee, sizeof(many));
			ps_hp_masks(p, keys, samples, many, n);
			CU_ASSERT(memcmp(many, one, n * 5) == 0);
			CU_ASSERT(many[n][0] == 0xee && many[n][4] == 0xee);
			if (n < N)
				ps_seal(p, &key[n], 1, pkt, 10, 2, 30);
			ps_hp_masks(p, keys, samples, many, n);
			CU_ASSERT(memcmp(many, one, n * 5) == 0);
		}
	}
	ps_protect_wipe(p);
	free(p);
}

static void
test_random_and_equal(void)
{
	struct ps_protect *other = make_protect(1);
	uint8_t a[40] = {0}, b[40] = {0}, c[40] = {0};

	ps_random(a, 33);
	CU_ASSERT(!ps_equal(a, b, 33));
	CU_ASSERT(ps_equal(a + 33, b + 33, 7)); /* not a byte more than asked for */
	ps_protect_random(protect, a, 33);
	ps_protect_random(protect, b, 33);
	ps_protect_random(other, c, 33);
	CU_ASSERT(!ps_equal(a, b, 16) && !ps_equal(a, a + 16, 16));
	CU_ASSERT(!ps_equal(a, c, 16) && !ps_equal(b, c, 16));
	CU_ASSERT(a[33] == 0 && b[33] == 0);
	CU_ASSERT(ps_equal(a, a, 33) && ps_equal(a, b, 0));
	memcpy(b, a, 33);
	b[32] ^= 0x80;
	CU_ASSERT(!ps_equal(a, b, 33) && ps_equal(a, b, 32));
	ps_wipe(a, 33);
	for (unsigned int i = 0; i < 33; i++)
		CU_ASSERT_EQUAL(a[i], 0);
	free(other);
}

int
main(void)
{
	static const struct protect_test tests[] = {
		{"RFC 9001 A.1 keys", test_a1_keys},
		{"RFC 9001 A.2 client Initial", test_a2_client_initial},
		{"RFC 9001 A.3 server Initial", test_a3_server_initial},
		{"RFC 9001 A.4 Retry", test_a4_retry},
		{"RFC 9001 A.5 ChaCha20", test_a5_chacha},
		{"keys from SHA-384", test_sha384},
		{"another implementation, every suite", test_other_implementation},
		{"seal and open, all sizes", test_round_trip},
		{"corrupted packets are refused", test_corruption},
		{"header protection masks", test_masks},
		{"random bytes, comparison", test_random_and_equal},
	};

	return run_protect_tests("protect", tests, sizeof(tests) / sizeof(tests[0]));
}
