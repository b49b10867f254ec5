/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Many packets sealed at once are what each is by itself. */

#include <stdlib.h>
#include <string.h>

#include "protect_help.h"

#define ROUNDS   300
#define HDR_MAX  40 /* some beyond what the short code takes, and so of text */
#define TEXT_MAX 60
#define ROOM     (HDR_MAX + TEXT_MAX + PS_AEAD_TAG)

static struct ps_pkt_key key[PS_SMALL_BURST];
static uint8_t alone[PS_SMALL_BURST][ROOM];

static void
random_packet(struct ps_small_packet *s, struct ps_pkt_key *k, uint8_t *copy)
{
	size_t room, n;

	s->key = k;
	s->pn = (uint64_t)rand() << (rand() % 30);
	s->pn_len = (uint8_t)(1 + rand() % 4);
	s->hdr_len = (uint16_t)(s->pn_len + 1 + rand() % (HDR_MAX - 4));
	s->text_len = (uint16_t)(4 - s->pn_len + rand() % (TEXT_MAX - 3));
	n = (size_t)s->hdr_len + s->text_len;
	room = s->text_len + PS_AEAD_TAG > PS_SMALL_ROOM ? n + PS_AEAD_TAG
							 : (size_t)s->hdr_len + PS_SMALL_ROOM;
	s->pkt = malloc(room); /* so that nothing is touched beyond it */
	for (size_t i = 0; i < room; i++)
		s->pkt[i] = (uint8_t)rand();
	memcpy(copy, s->pkt, n);
}

static void
burst(struct ps_protect *p, unsigned int n, int suites)
{
	struct ps_small_packet s[PS_SMALL_BURST] = {0};

	for (unsigned int i = 0; i < n; i++) {
		key[i] = make_suite_key((enum ps_suite)(rand() % suites), (uint8_t)rand());
		random_packet(&s[i], &key[i], alone[i]);
		ps_seal(p, &key[i], s[i].pn, alone[i], s[i].hdr_len, s[i].pn_len, s[i].text_len);
	}
	ps_seal_small(p, s, n);
	for (unsigned int i = 0; i < n; i++) {
		size_t len = (size_t)s[i].hdr_len + s[i].text_len + PS_AEAD_TAG;

		CU_ASSERT_EQUAL(memcmp(s[i].pkt, alone[i], len), 0);
		free(s[i].pkt);
	}
}

static void
test_same_bytes(void)
{
	struct ps_protect *p = make_protect(64);

	srand(1);
	for (int i = 0; i < ROUNDS; i++) {
		burst(p, (unsigned int)rand() % (PS_SMALL_BURST + 1), 1);
		burst(p, (unsigned int)rand() % (PS_SMALL_BURST + 1), PS_SUITES);
	}
	free(p);
}

/* Masks of packets under AES-128 alone and among others come from different code. */
static void
test_masks_agree(void)
{
	const struct ps_pkt_key *pure[4], *mixed[4];
	struct ps_protect *p = make_protect(4);
	struct ps_pkt_key other = make_suite_key(PS_AES_256_GCM_SHA384, 9);
	uint8_t a[4][5], b[4][5], bytes[4][PS_HP_SAMPLE];
	const uint8_t *sample[4];

	srand(2);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 4; i++) {
			key[i] = make_suite_key(PS_AES_128_GCM_SHA256, (uint8_t)rand());
			pure[i] = mixed[i] = &key[i];
			for (int j = 0; j < PS_HP_SAMPLE; j++)
				bytes[i][j] = (uint8_t)rand();
			sample[i] = bytes[i];
		}
		mixed[3] = &other;
		ps_hp_masks(p, pure, sample, a, 4);
		ps_hp_masks(p, mixed, sample, b, 4);
		CU_ASSERT_EQUAL(memcmp(a, b, 3 * 5), 0);
	}
	free(p);
}

/* Acknowledgements must not push the keys out that packets are opened with. */
static void
test_no_expansion(void)
{
	struct ps_protect *p = make_protect(4);
	struct ps_pkt_key k = make_suite_key(PS_AES_128_GCM_SHA256, 3);
	uint8_t pkt[13 + PS_SMALL_ROOM] = {0x41};
	struct ps_small_packet s = {
		.key = &k, .pn = 1, .pkt = pkt, .hdr_len = 13, .text_len = 9, .pn_len = 2};

	ps_seal_small(p, &s, 1);
	CU_ASSERT_EQUAL(ps_protect_expansions(p), 0);
	ps_seal(p, &k, 1, pkt, 13, 2, 9);
	CU_ASSERT_EQUAL(ps_protect_expansions(p), 1);
	free(p);
}

int
main(void)
{
	static const struct protect_test tests[] = {
		{"the same bytes as one by one", test_same_bytes},
		{"masks of one suite and of several", test_masks_agree},
		{"no key is expanded", test_no_expansion},
	};

	return run_protect_tests("small packets", tests, sizeof(tests) / sizeof(tests[0]));
}
