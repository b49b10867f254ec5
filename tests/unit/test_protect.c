/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Packet protection against the vectors of RFC 9001 Appendix A (A.5 needs ChaCha20, which is not
 * offered yet), and what no vector says: corruption, the cache of expanded keys, ids, tokens. */
#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "hkdf.h"
#include "protect.h"

#define LINES 8 /* of the cache under test */

static struct ps_protect *protect;

static struct ps_protect *make_protect(uint32_t cache_keys)
{
	static const struct ps_static_keys keys = {{1, 2, 3}, {4, 5, 6}};
	size_t bytes = (ps_protect_footprint(cache_keys) + 63) & ~(size_t)63;
	void *mem = aligned_alloc(64, bytes);
	struct ps_protect *p;

	if (mem == NULL)
		return NULL;
	memset(mem, 0x5a, bytes);
	p = ps_protect_new(mem, cache_keys);
	if (p != NULL)
		ps_protect_static_keys(p, &keys);
	else
		free(mem);
	return p;
}

/* Bytes written. */
static size_t from_hex(uint8_t *out, const char *hex)
{
	size_t n = 0;

	for (; hex[0] != '\0'; hex += 2) {
		char pair[3] = {hex[0], hex[1], '\0'};
		out[n++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return n;
}

static bool equals_hex(const uint8_t *bytes, size_t len, const char *hex)
{
	uint8_t want[1500];

	return strlen(hex) == 2 * len && from_hex(want, hex) == len &&
	       memcmp(bytes, want, len) == 0;
}

static void fill(uint8_t *p, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed = seed * 1103515245u + 12345u, seed >> 16);
}

static struct ps_pkt_key make_key(unsigned int seed)
{
	struct ps_pkt_key k = {0};
	uint8_t secret[PS_SECRET_BYTES];

	fill(secret, sizeof(secret), seed);
	ps_pkt_key_derive(&k, secret);
	return k;
}

/* Removes header protection as a receiver does; the packet number's length comes out. */
static unsigned int unmask(const struct ps_pkt_key *k, uint8_t *pkt, size_t pn_at)
{
	const struct ps_pkt_key *const keys[1] = {k};
	const uint8_t *const samples[1] = {pkt + pn_at + 4};
	uint8_t mask[1][5];
	unsigned int pn_len;

	ps_hp_masks(keys, samples, mask, 1);
	pkt[0] ^= mask[0][0] & (pkt[0] & 0x80 ? 0x0f : 0x1f);
	pn_len = (pkt[0] & 3) + 1;
	for (unsigned int i = 0; i < pn_len; i++)
		pkt[pn_at + i] ^= mask[0][1 + i];
	return pn_len;
}

static void initial_keys(struct ps_pkt_key *client, struct ps_pkt_key *server)
{
	uint8_t dcid[8];

	from_hex(dcid, "8394c8f03e515708");
	ps_initial_keys(client, server, dcid, sizeof(dcid));
}

static void test_a1_keys(void)
{
	struct ps_pkt_key client, server;
	uint8_t salt[20], dcid[8], initial[32], secret[32];

	from_hex(salt, "38762cf7f55934b34d179ae6a4c80cadccbb7f0a");
	from_hex(dcid, "8394c8f03e515708");
	ps_hkdf_extract(initial, salt, sizeof(salt), dcid, sizeof(dcid));
	CU_ASSERT(equals_hex(
		initial, 32, "7db5df06e7a69e432496adedb00851923595221596ae2ae9fb8115c1e9ed0a44"));
	ps_hkdf_expand_label(secret, 32, initial, "client in");
	CU_ASSERT(equals_hex(
		secret, 32, "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
	ps_hkdf_expand_label(secret, 32, initial, "server in");
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

/* The key update of A.5 depends on the hash alone, not on the cipher. */
static void test_key_update(void)
{
	uint8_t secret[PS_SECRET_BYTES];

	from_hex(secret, "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
	ps_secret_update(secret);
	CU_ASSERT(equals_hex(
		secret, 32, "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
}

static const char a2_header[] = "c300000001088394c8f03e5157080000449e00000002";
static const char a2_crypto[] = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868"
				"04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578"
				"616d706c652e636f6dff01000100000a00080006001d00170018001000070005"
				"04616c706e000500050100000000003300260024001d00209370b2c9caa47fba"
				"baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400"
				"0d0010000e0403050306030203080408050806002d00020101001c0002400100"
				"3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000"
				"75300901100f088394c8f03e51570806048000ffff";
static const char a2_packet[] = "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11"
				"d242b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd449f63300099f399"
				"1c260ec4c60d17b31f8429157bb35a1282a643a8d2262cad67500cadb8e7378c"
				"8eb7539ec4d4905fed1bee1fc8aafba17c750e2c7ace01e6005f80fcb7df6212"
				"30c83711b39343fa028cea7f7fb5ff89eac2308249a02252155e2347b63d58c5"
				"457afd84d05dfffdb20392844ae812154682e9cf012f9021a6f0be17ddd0c208"
				"4dce25ff9b06cde535d0f920a2db1bf362c23e596d11a4f5a6cf3948838a3aec"
				"4e15daf8500a6ef69ec4e3feb6b1d98e610ac8b7ec3faf6ad760b7bad1db4ba3"
				"485e8a94dc250ae3fdb41ed15fb6a8e5eba0fc3dd60bc8e30c5c4287e53805db"
				"059ae0648db2f64264ed5e39be2e20d82df566da8dd5998ccabdae053060ae6c"
				"7b4378e846d29f37ed7b4ea9ec5d82e7961b7f25a9323851f681d582363aa5f8"
				"9937f5a67258bf63ad6f1a0b1d96dbd4faddfcefc5266ba6611722395c906556"
				"be52afe3f565636ad1b17d508b73d8743eeb524be22b3dcbc2c7468d54119c74"
				"68449a13d8e3b95811a198f3491de3e7fe942b330407abf82a4ed7c1b311663a"
				"c69890f4157015853d91e923037c227a33cdd5ec281ca3f79c44546b9d90ca00"
				"f064c99e3dd97911d39fe9c5d0b23a229a234cb36186c4819e8b9c5927726632"
				"291d6a418211cc2962e20fe47feb3edf330f2c603a9d48c0fcb5699dbfe58964"
				"25c5bac4aee82e57a85aaf4e2513e4f05796b07ba2ee47d80506f8d2c25e50fd"
				"14de71e6c418559302f939b0e1abd576f279c4b2e0feb85c1f28ff18f58891ff"
				"ef132eef2fa09346aee33c28eb130ff28f5b766953334113211996d20011a198"
				"e3fc433f9f2541010ae17c1bf202580f6047472fb36857fe843b19f5984009dd"
				"c324044e847a4f4a0ab34f719595de37252d6235365e9b84392b061085349d73"
				"203a4a13e96f5432ec0fd4a1ee65accdd5e3904df54c1da510b0ff20dcc0c77f"
				"cb2c0e0eb605cb0504db87632cf3d8b4dae6e705769d1de354270123cb11450e"
				"fc60ac47683d7b8d0f811365565fd98c4c8eb936bcab8d069fc33bd801b03ade"
				"a2e1fbc5aa463d08ca19896d2bf59a071b851e6c239052172f296bfb5e724047"
				"90a2181014f3b94a4e97d117b438130368cc39dbb2d198065ae3986547926cd2"
				"162f40a29f0c3c8745c0f50fba3852e566d44575c29d39a03f0cda721984b6f4"
				"40591f355e12d439ff150aab7613499dbd49adabc8676eef023b15b65bfc5ca0"
				"6948109f23f350db82123535eb8a7433bdabcb909271a6ecbcb58b936a88cd4e"
				"8f2e6ff5800175f113253d8fa9ca8885c2f552e657dc603f252e1a8e308f76f0"
				"be79e2fb8f5d5fbbe2e30ecadd220723c8c0aea8078cdfcb3868263ff8f09400"
				"54da48781893a7e49ad5aff4af300cd804a6b6279ab3ff3afb64491c85194aab"
				"760d58a606654f9f4400e8b38591356fbf6425aca26dc85244259ff2b19c41b9"
				"f96f3ca9ec1dde434da7d2d392b905ddf3d1f9af93d1af5950bd493f5aa731b4"
				"056df31bd267b6b90a079831aaf579be0a39013137aac6d404f518cfd4684064"
				"7e78bfe706ca4cf5e9c5453e9f7cfd2b8b4c8d169a44e55c88d4a9a7f9474241"
				"e221af44860018ab0856972e194cd934";

static void test_a2_client_initial(void)
{
	struct ps_pkt_key client, server;
	const struct ps_pkt_key *const keys[1] = {&client};
	uint8_t pkt[1200] = {0}, clear[1200], mask[1][5];
	size_t hdr_len = from_hex(pkt, a2_header);
	const uint8_t *const samples[1] = {pkt + 22};

	initial_keys(&client, &server);
	from_hex(pkt + hdr_len, a2_crypto); /* PADDING up to 1162 bytes of text */
	memcpy(clear, pkt, sizeof(pkt));
	ps_seal(protect, &client, 2, pkt, hdr_len, 4, 1162);
	CU_ASSERT(equals_hex(pkt, sizeof(pkt), a2_packet));
	CU_ASSERT(equals_hex(pkt + 22, 16, "d1b1c98dd7689fb8ec11d242b123dc9b"));
	ps_hp_masks(keys, samples, mask, 1);
	CU_ASSERT(equals_hex(mask[0], 5, "437b9aec36"));

	CU_ASSERT_EQUAL(unmask(&client, pkt, 18), 4);
	CU_ASSERT(ps_open(protect, &client, 2, pkt, hdr_len, 1162));
	CU_ASSERT(memcmp(pkt, clear, hdr_len + 1162) == 0);
}

static void test_a3_server_initial(void)
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

static void test_a4_retry(void)
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
static void test_round_trip(void)
{
	static const uint64_t pns[] = {0, 1, 0xff, 0x12345678, 0x3fffffffffffffff};
	struct ps_pkt_key tx = make_key(1), rx = make_key(1);
	uint8_t pkt[PS_UDP_PAYLOAD_MAX], clear[PS_UDP_PAYLOAD_MAX];
	unsigned int bad = 0;

	for (size_t len = 0; len <= 1400; len++) {
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

/* One flipped bit anywhere, another packet number, another key: refused. */
static void test_corruption(void)
{
	struct ps_pkt_key k = make_key(2), other = make_key(3);
	uint8_t sealed[20 + 100 + 16], pkt[sizeof(sealed)];
	unsigned int opened = 0;

	fill(sealed, 120, 7);
	sealed[0] = 0x41;
	ps_seal(protect, &k, 9, sealed, 20, 2, 100);
	unmask(&k, sealed, 18);
	for (size_t bit = 0; bit < 8 * sizeof(sealed); bit++) {
		memcpy(pkt, sealed, sizeof(pkt));
		pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
		opened += ps_open(protect, &k, 9, pkt, 20, 100);
	}
	CU_ASSERT_EQUAL(opened, 0);
	memcpy(pkt, sealed, sizeof(pkt));
	CU_ASSERT(!ps_open(protect, &k, 10, pkt, 20, 100));
	memcpy(pkt, sealed, sizeof(pkt));
	CU_ASSERT(!ps_open(protect, &other, 9, pkt, 20, 100));
	memcpy(pkt, sealed, sizeof(pkt));
	CU_ASSERT(!ps_open(protect, &k, 9, pkt, 19, 101));
	memcpy(pkt, sealed, sizeof(pkt));
	CU_ASSERT(ps_open(protect, &k, 9, pkt, 20, 100));
}

/* Every count, so that every remainder of the interleaving is seen, with different keys. */
static void test_masks(void)
{
	enum { N = 11 };
	struct ps_pkt_key key[N];
	const struct ps_pkt_key *keys[N];
	const uint8_t *samples[N];
	uint8_t sample[N][16], one[N][5], many[N + 1][5];

	for (unsigned int i = 0; i < N; i++) {
		key[i] = make_key(100 + i);
		fill(sample[i], 16, 200 + i);
		keys[i] = &key[i];
		samples[i] = sample[i];
		ps_hp_masks(&keys[i], &samples[i], &one[i], 1);
	}
	for (unsigned int n = 0; n <= N; n++) {
		memset(many, 0xee, sizeof(many));
		ps_hp_masks(keys, samples, many, n);
		CU_ASSERT(memcmp(many, one, n * 5) == 0);
		CU_ASSERT(many[n][0] == 0xee && many[n][4] == 0xee);
	}
}

/* A packet sealed by a ps_protect of its own, so that no shared cache can hide a wrong key. */
static bool opens(struct ps_protect *p, struct ps_pkt_key *k, unsigned int seed)
{
	struct ps_protect *sender = make_protect(1);
	struct ps_pkt_key tx = make_key(seed);
	uint8_t pkt[64];
	bool ok;

	memset(pkt, 0, sizeof(pkt));
	pkt[0] = 0x41; /* two bytes of packet number */
	ps_seal(sender, &tx, seed, pkt, 10, 2, 30);
	free(sender);
	unmask(k, pkt, 8);
	ps_key_prefetch(p, k);
	ok = ps_open(p, k, seed, pkt, 10, 30);
	for (unsigned int i = 0; i < 30; i++)
		ok = ok && pkt[10 + i] == 0;
	return ok;
}

/* Four times as many keys as lines, in an order that evicts all the time, and hints of every kind
 * of wrongness: stale, out of range, another key's line. */
static void test_cache(void)
{
	struct ps_protect *p = make_protect(LINES), *tiny = make_protect(1);
	struct ps_pkt_key key[4 * LINES];
	unsigned int bad = 0, at = 1;

	for (unsigned int i = 0; i < 4 * LINES; i++)
		key[i] = make_key(i);
	for (unsigned int i = 0; i < 300; i++) {
		at = (at * 5 + 3) % (4 * LINES);
		bad += !opens(p, &key[at], at);
		bad += !opens(p, &key[at], at);
		bad += !opens(tiny, &key[at], at);
	}
	for (unsigned int i = 0; i < 4 * LINES; i++) {
		key[i].cached = key[(i + 1) % (4 * LINES)].cached;
		bad += !opens(p, &key[i], i);
		key[i].cached = UINT32_MAX - i;
		bad += !opens(p, &key[i], i);
	}
	CU_ASSERT_EQUAL(bad, 0);
	ps_protect_wipe(p);
	ps_protect_wipe(tiny);
	free(p);
	free(tiny);
}

/* A key of zeroes must not take a cache line never used for its own expanded form. The GCM
 * specification's test case 2. */
static void test_zero_key(void)
{
	struct ps_protect *p = make_protect(LINES);
	struct ps_pkt_key k = {0};
	uint8_t pkt[1 + 16 + 16] = {0};

	ps_seal(p, &k, 0, pkt, 1, 1, 16);
	CU_ASSERT(equals_hex(pkt + 1, 16, "0388dace60b6a392f328c2b971b2fe78"));
	free(p);
}

static void test_wipe(void)
{
	static const struct ps_pkt_key zero;
	struct ps_protect *p = make_protect(LINES);
	size_t bytes = ps_protect_footprint(LINES);
	struct ps_pkt_key k = make_key(5);
	unsigned int left = 0;

	CU_ASSERT(opens(p, &k, 5));
	ps_protect_wipe(p);
	for (size_t i = 0; i < bytes; i++)
		left += ((const uint8_t *)p)[i] != 0;
	CU_ASSERT_EQUAL(left, 0);
	free(p);
	ps_pkt_key_wipe(&k);
	CU_ASSERT(memcmp(&k, &zero, sizeof(k)) == 0);
}

static void test_cid(void)
{
	static const struct ps_cid_parts all[] = {{0, 0, 0, 0},
		{255, 0xffffff, UINT32_MAX, UINT32_MAX}, {3, 0x123456, 77, 0xdeadbeef}};
	struct ps_protect *same = make_protect(1);
	uint8_t cid[PS_OUR_CID_LEN], forged[PS_OUR_CID_LEN];
	struct ps_cid_parts got;
	unsigned int accepted = 0;

	for (unsigned int i = 0; i < 3; i++) {
		ps_cid_make(protect, &all[i], cid);
		CU_ASSERT(ps_cid_read(same, cid, &got)); /* the keys are shared, not the object */
		CU_ASSERT(got.worker == all[i].worker && got.slot == all[i].slot);
		CU_ASSERT(got.generation == all[i].generation && got.nonce == all[i].nonce);
		for (unsigned int bit = 0; bit < 128; bit++) {
			memcpy(forged, cid, sizeof(cid));
			forged[bit / 8] ^= (uint8_t)(1u << bit % 8);
			accepted += ps_cid_read(protect, forged, &got);
		}
	}
	for (unsigned int i = 0; i < 10000; i++) {
		fill(forged, sizeof(forged), i);
		accepted += ps_cid_read(protect, forged, &got);
	}
	CU_ASSERT_EQUAL(accepted, 0);
	free(same);
}

/* AES-128 of the zero block under the zero key (GCM specification, test case 1: the hash key). */
static void test_cid_cipher(void)
{
	struct ps_protect *p = make_protect(1);
	struct ps_static_keys keys = {0};
	const struct ps_cid_parts zero = {0};
	uint8_t cid[PS_OUR_CID_LEN];

	ps_protect_static_keys(p, &keys);
	ps_cid_make(p, &zero, cid);
	CU_ASSERT(equals_hex(cid, 16, "66e94bd4ef8a2c3b884cfa59ca342b2e"));
	free(p);
}

#define NOW UINT64_C(1000000000000)

static const struct ps_flow4 flow = {0x0100000a, 0x0200000a, 0x1234, 0x5678};
static const struct ps_cid scid = {8, {1, 2, 3, 4, 5, 6, 7, 8}};

static void make_token(uint8_t token[PS_TOKEN_BYTES], const struct ps_cid *odcid)
{
	uint8_t nonce[12];

	ps_protect_random(protect, nonce, sizeof(nonce));
	ps_token_make(protect, token, nonce, &flow, odcid, &scid, NOW);
}

static void test_token_valid(void)
{
	struct ps_protect *same = make_protect(1);
	uint8_t token[PS_TOKEN_BYTES];
	struct ps_cid odcid = {.len = 0}, got;

	for (uint8_t len = 0; len <= PS_CID_MAX; len++) {
		odcid.len = len;
		fill(odcid.id, len, 40);
		make_token(token, &odcid);
		memset(&got, 0xff, sizeof(got));
		CU_ASSERT(ps_token_check(protect, token, PS_TOKEN_BYTES, &flow, &scid, NOW, &got));
		CU_ASSERT(ps_cid_equal(&got, &odcid));
		CU_ASSERT(ps_token_check(same, token, PS_TOKEN_BYTES, &flow, &scid,
			NOW + PS_TOKEN_LIFE_NS - 1, &got));
	}
	free(same);
}

static bool token_ok(
	const uint8_t *token, size_t len, struct ps_flow4 f, struct ps_cid s, uint64_t now_ns)
{
	struct ps_cid got;

	return ps_token_check(protect, token, len, &f, &s, now_ns, &got);
}

static void test_token_refused(void)
{
	const struct ps_cid odcid = {5, {9, 8, 7, 6, 5}};
	uint8_t token[PS_TOKEN_BYTES + 1] = {0};
	struct ps_flow4 f = flow;
	struct ps_cid s = scid;
	unsigned int accepted = 0;

	make_token(token, &odcid);
	CU_ASSERT(token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW));
	f.saddr_be ^= 1;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, f, scid, NOW));
	f = flow;
	f.sport_be ^= 0x100;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, f, scid, NOW));
	f = flow;
	f.dport_be ^= 0x100;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, f, scid, NOW));
	s.id[7] ^= 1;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, s, NOW));
	s = scid;
	s.len = 7;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, s, NOW));
	s.len = 255;
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, s, NOW));
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW + PS_TOKEN_LIFE_NS));
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, scid, UINT64_MAX));
	CU_ASSERT(!token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW - 1));
	for (size_t len = 0; len < PS_TOKEN_BYTES; len++)
		accepted += token_ok(token, len, flow, scid, NOW);
	accepted += token_ok(token, PS_TOKEN_BYTES + 1, flow, scid, NOW);
	for (size_t bit = 0; bit < 8 * PS_TOKEN_BYTES; bit++) {
		token[bit / 8] ^= (uint8_t)(1u << bit % 8);
		accepted += token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW);
		token[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CU_ASSERT_EQUAL(accepted, 0);
	CU_ASSERT(token_ok(token, PS_TOKEN_BYTES, flow, scid, NOW));
}

static void test_random_and_equal(void)
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

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{"RFC 9001 A.1 keys", test_a1_keys},
		{"key update", test_key_update},
		{"RFC 9001 A.2 client Initial", test_a2_client_initial},
		{"RFC 9001 A.3 server Initial", test_a3_server_initial},
		{"RFC 9001 A.4 Retry", test_a4_retry},
		{"seal and open, all sizes", test_round_trip},
		{"corrupted packets are refused", test_corruption},
		{"header protection masks", test_masks},
		{"more keys than cache lines", test_cache},
		{"all-zero key", test_zero_key},
		{"wiping", test_wipe},
		{"connection ids", test_cid},
		{"connection id cipher", test_cid_cipher},
		{"valid tokens", test_token_valid},
		{"tokens refused", test_token_refused},
		{"random bytes, comparison", test_random_and_equal},
	};
	CU_pSuite suite;
	unsigned int failures;

	protect = make_protect(LINES);
	if (protect == NULL || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite("protect", NULL, NULL);
	if (suite == NULL)
		return 1;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (CU_add_test(suite, tests[i].name, tests[i].run) == NULL)
			return 1;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	free(protect);
	return failures != 0;
}
