/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cunit_run.h"
#include "ps_b58.h"
#include "ps_be.h"
#include "ps_drops.h"
#include "ps_err.h"
#include "ps_json.h"
#include "ps_spsc.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Base58 back to bytes by big-number arithmetic of its own: the check on what we encode. */
static size_t
b58_decode(uint8_t *out, size_t size, const char *s)
{
	static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
	size_t zeros = 0, used = 0;

	while (s[zeros] == '1')
		zeros++;
	memset(out, 0, size);
	for (s += zeros; *s != '\0'; s++) {
		unsigned int carry = (unsigned int)(strchr(alphabet, *s) - alphabet);

		for (size_t i = 0; i < used || carry != 0; i++) {
			if (i >= used)
				used = i + 1;
			carry += out[i] * 58u;
			out[i] = carry & 0xff;
			carry >>= 8;
		}
	}
	for (size_t i = 0; i < used / 2; i++) {
		uint8_t b = out[i];

		out[i] = out[used - 1 - i];
		out[used - 1 - i] = b;
	}
	memmove(out + zeros, out, used);
	memset(out, 0, zeros);
	return zeros + used;
}

static void
test_b58_known(void)
{
	static const uint8_t hello[] = "Hello World!";
	static const uint8_t led[] = {0x00, 0x00, 0x28, 0x7f, 0xb4, 0xcd};
	static const uint8_t system_program[32];
	/* The SPL token program. */
	static const uint8_t token[32] = {0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9,
		0xcb, 0xe1, 0x46, 0xce, 0xeb, 0x79, 0xac, 0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37,
		0x91, 0x3a, 0x8c, 0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9};
	char out[PS_B58_MAX_CHARS];

	CU_ASSERT_STRING_EQUAL(ps_b58_encode(out, hello, 12), "2NEpo7TZRRrLZSi2U");
	CU_ASSERT_STRING_EQUAL(ps_b58_encode(out, led, sizeof(led)), "11233QC4");
	CU_ASSERT_STRING_EQUAL(
		ps_b58_encode(out, system_program, 32), "11111111111111111111111111111111");
	CU_ASSERT_STRING_EQUAL(
		ps_b58_encode(out, token, 32), "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
	CU_ASSERT_STRING_EQUAL(ps_b58_encode(out, hello, 0), "");
}

static void
test_b58_decodes_back(void)
{
	uint8_t in[64], back[96];
	char out[PS_B58_MAX_CHARS];

	srand(1);
	for (unsigned int round = 0; round < 2000; round++) {
		size_t len = round % 3 == 0 ? 32 : round % 3 == 1 ? 64 : (size_t)rand() % 65;
		size_t zeros = len != 0 ? (size_t)rand() % (len + 1) / 4 : 0;

		for (size_t i = 0; i < len; i++)
			in[i] = i < zeros ? 0 : (uint8_t)rand();
		ps_b58_encode(out, in, len);
		CU_ASSERT(strlen(out) < PS_B58_MAX_CHARS);
		CU_ASSERT_EQUAL_FATAL(b58_decode(back, sizeof(back), out), len);
		CU_ASSERT(memcmp(in, back, len) == 0);
	}
	memset(in, 0xff, sizeof(in));
	CU_ASSERT_EQUAL(strlen(ps_b58_encode(out, in, 64)), 88);
	CU_ASSERT_EQUAL(b58_decode(back, sizeof(back), out), 64);
}

static void
test_json(void)
{
	char *text = NULL;
	size_t len = 0;
	struct ps_json j = {.out = open_memstream(&text, &len)};

	ps_json_open(&j, NULL, '{');
	ps_json_str(&j, "k\"ey", "a\"b\\c\n\x01\x7f/\xc3\xa9");
	ps_json_u64(&j, "max", UINT64_MAX);
	ps_json_open(&j, "list", '[');
	ps_json_bool(&j, NULL, true);
	ps_json_double(&j, NULL, 1.5);
	ps_json_double(&j, NULL, INFINITY);
	ps_json_double(&j, NULL, NAN);
	ps_json_open(&j, NULL, '{');
	ps_json_close(&j, '}');
	ps_json_close(&j, ']');
	ps_json_bool(&j, "no", false);
	ps_json_close(&j, '}');
	fclose(j.out);
	CU_ASSERT_STRING_EQUAL(text, "{\"k\\\"ey\": \"a\\\"b\\\\c\\u000a\\u0001\\u007f/\xc3\xa9\", "
				     "\"max\": 18446744073709551615, \"list\": [true, 1.500, null, "
				     "null, {}], \"no\": false}");
	free(text);
}

static void
test_spsc_bounds(void)
{
	void *slots[8];
	struct ps_spsc r;
	int v[20];

	ps_spsc_init(&r, slots, 8);
	CU_ASSERT_PTR_NULL(ps_spsc_pop(&r));
	for (unsigned int lap = 0; lap < 5; lap++) {
		for (unsigned int i = 0; i < 8; i++)
			CU_ASSERT_TRUE(ps_spsc_push(&r, &v[i]));
		CU_ASSERT_FALSE(ps_spsc_push(&r, &v[8]));
		CU_ASSERT_PTR_EQUAL(ps_spsc_pop(&r), &v[0]);
		CU_ASSERT_TRUE(ps_spsc_push(&r, &v[9]));
		for (unsigned int i = 1; i < 8; i++)
			CU_ASSERT_PTR_EQUAL(ps_spsc_pop(&r), &v[i]);
		CU_ASSERT_PTR_EQUAL(ps_spsc_pop(&r), &v[9]);
		CU_ASSERT_PTR_NULL(ps_spsc_pop(&r));
	}
}

#define SPSC_ITEMS 200000

static void *
push_all(void *arg)
{
	for (uintptr_t i = 1; i <= SPSC_ITEMS; i++)
		while (!ps_spsc_push(arg, (void *)i))
			sched_yield();
	return NULL;
}

static void
test_spsc_threads(void)
{
	static void *slots[64];
	static struct ps_spsc r;
	pthread_t thread;
	bool in_order = true;

	ps_spsc_init(&r, slots, 64);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, push_all, &r), 0);
	for (uintptr_t i = 1; i <= SPSC_ITEMS; i++) {
		void *item;

		while ((item = ps_spsc_pop(&r)) == NULL)
			sched_yield();
		in_order = in_order && item == (void *)i;
	}
	pthread_join(thread, NULL);
	CU_ASSERT_TRUE(in_order);
	CU_ASSERT_PTR_NULL(ps_spsc_pop(&r));
}

static void
test_be(void)
{
	uint8_t b[16] = {0};

	ps_be16_store(b + 1, 0x0102);
	ps_be32_store(b + 3, 0x03040506);
	ps_be64_store(b + 7, UINT64_C(0x0708090a0b0c0d0e));
	for (unsigned int i = 0; i < 15; i++)
		CU_ASSERT_EQUAL(b[i], i);
	CU_ASSERT_EQUAL(ps_be16_load(b + 1), 0x0102);
	CU_ASSERT_EQUAL(ps_be32_load(b + 3), 0x03040506);
	CU_ASSERT_EQUAL(ps_be64_load(b + 7), UINT64_C(0x0708090a0b0c0d0e));
}

static void
test_drops(void)
{
	for (unsigned int i = 0; i < PS_DROP_COUNT; i++) {
		/* 64 bytes hold a telemetry key with its final zero and a prefix. */
		CU_ASSERT(strlen(ps_drop_info[i].key) <= 55);
		CU_ASSERT(strlen(ps_drop_info[i].help) > 0);
		for (unsigned int k = 0; k < i; k++)
			CU_ASSERT_STRING_NOT_EQUAL(ps_drop_info[i].key, ps_drop_info[k].key);
	}
}

static void
test_fail(void)
{
	struct ps_err e;
	char big[2000];

	CU_ASSERT_EQUAL(ps_fail(&e, ENOENT, "no %s", "file"), -ENOENT);
	CU_ASSERT_STRING_EQUAL(e.text, "no file");
	CU_ASSERT_EQUAL(ps_fail(NULL, EIO, "x"), -EIO);
	ps_fail(&e, EIO, "is '%s'", "a\nb\r\033[2J\177\xc3\xa9");
	CU_ASSERT_STRING_EQUAL(e.text, "is 'a?b??[2J?\xc3\xa9'");
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ps_fail(&e, EIO, "%s", big);
	CU_ASSERT_EQUAL(strlen(e.text), sizeof(e.text) - 1);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"base58: known vectors", test_b58_known},
		{"base58: decodes back, leading zeros, 32 and 64 bytes", test_b58_decodes_back},
		{"json: nesting and escapes", test_json},
		{"spsc: full and empty", test_spsc_bounds},
		{"spsc: two threads, order kept", test_spsc_threads},
		{"be: unaligned loads and stores", test_be},
		{"drops: keys unique, help present", test_drops},
		{"err: line filled and cut", test_fail},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{.pName = "base", .pTests = tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
