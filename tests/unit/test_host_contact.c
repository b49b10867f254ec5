/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "contact.h"

#include <arpa/inet.h>
#include <string.h>

#include <CUnit/Basic.h>

/* As agave-validator 3.1 prints it. */
#define AGAVE                                                                                      \
	"{\"id\":\"Vote111111111111111111111111111111111111111\","                                 \
	"\"gossip\":\"192.0.2.10:8000\",\"tvu\":\"192.0.2.10:8001\","                              \
	"\"tvu_quic\":\"0.0.0.0:0\",\"serve_repair_quic\":\"192.0.2.10:1\","                       \
	"\"tpu\":\"192.0.2.10:8003\",\"tpu_forwards\":\"192.0.2.10:8004\","                        \
	"\"tpu_vote\":\"192.0.2.10:8005\",\"rpc\":\"[2001:db8::1]:8899\","                         \
	"\"rpc_pubsub\":\"0.0.0.0:0\",\"serve_repair\":\"192.0.2.10:8012\","                       \
	"\"last_updated_timestamp\":1732999999999,\"shred_version\":50093}\n"

static struct ps_contact contact;
static struct ps_err err;
static char text[200];

static int
parse(const char *json)
{
	err.text[0] = '\0';
	return ps_contact_parse(&contact, json, strlen(json), &err);
}

static enum ps_contact_verdict
compare(uint32_t kind, const char *addr, uint16_t port)
{
	struct ps_conf_service s = {.name = "s", .kind = kind, .port = port};

	s.any = addr == NULL;
	if (addr != NULL) {
		s.n_addrs = 1;
		s.addr_be[0] = inet_addr(addr);
	}
	return ps_contact_compare(&contact, &s, text, sizeof(text));
}

static void
test_sockets(void)
{
	CU_ASSERT_EQUAL_FATAL(parse(AGAVE), 0);
	CU_ASSERT_STRING_EQUAL(contact.id, "Vote111111111111111111111111111111111111111");
	/* Without placeholders (port 1), what is not announced, and IPv6. */
	CU_ASSERT_EQUAL(contact.n, 6);
	for (unsigned int i = 0; i < contact.n; i++) {
		CU_ASSERT_EQUAL(contact.socket[i].addr_be, inet_addr("192.0.2.10"));
		CU_ASSERT(contact.socket[i].port >= 8000);
	}
}

static void
test_quic(void)
{
	CU_ASSERT_EQUAL_FATAL(parse(AGAVE), 0);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, "192.0.2.10", 8009), PS_CONTACT_SAME);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, NULL, 8009), PS_CONTACT_SAME);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, "192.0.2.11", 8009), PS_CONTACT_OTHER);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, "192.0.2.10", 8003), PS_CONTACT_OTHER);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "192.0.2.10:8009"));
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC_VOTE, NULL, 8011), PS_CONTACT_UNTOLD);
}

/* Where the output has QUIC sockets of their own, they count alone. */
static void
test_quic_named(void)
{
	CU_ASSERT_EQUAL_FATAL(parse("{\"id\":\"x\",\"tpu\":\"192.0.2.10:8003\","
				    "\"tpu_quic\":\"192.0.2.10:9007\","
				    "\"tpu_vote_quic\":\"192.0.2.10:9008\"}"),
		0);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, NULL, 9007), PS_CONTACT_SAME);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, NULL, 8009), PS_CONTACT_OTHER);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC_VOTE, NULL, 9008), PS_CONTACT_SAME);
}

/* Only a placeholder for UDP: nothing can be concluded. */
static void
test_placeholder(void)
{
	CU_ASSERT_EQUAL_FATAL(
		parse("{\"id\":\"x\",\"tpu\":\"192.0.2.10:1\",\"gossip\":\"192.0.2.10:8000\"}"), 0);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_TPU_QUIC, NULL, 7), PS_CONTACT_UNTOLD);
}

static void
test_udp(void)
{
	CU_ASSERT_EQUAL_FATAL(parse(AGAVE), 0);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_UDP, NULL, 8004), PS_CONTACT_SAME);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_UDP, NULL, 7777), PS_CONTACT_UNKNOWN);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_UDP, NULL, 8000), PS_CONTACT_KERNEL);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_UDP, NULL, 8001), PS_CONTACT_KERNEL);
	CU_ASSERT_EQUAL(compare(PS_SERVICE_UDP, "192.0.2.99", 8001), PS_CONTACT_UNKNOWN);
}

static void
test_bad(void)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"null",
		"\"192.0.2.10:8000\"",
		"{}",
		"{\"id\":\"x\"}",
		"{\"id\":\"x\\n\",\"tpu\":\"192.0.2.10:8003\"}", /* it would be printed */
		"{\"id\":\"x\",\"tpu\\u001b[2J\":\"192.0.2.10:8003\"}",
		"{\"id\":7,\"tpu\":\"192.0.2.10:8003\"}",
		"{\"tpu\":\"192.0.2.10:8003\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10:8003\",\"tpu\":\"192.0.2.10:8004\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10:\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10:65536\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10:80x\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10:-1\"}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.300:8003\"}",
		"{\"id\":\"x\",\"tpu\":8003}",
		"{\"id\":\"x\",\"tpu\":{\"addr\":\"192.0.2.10:8003\"}}",
		"{\"id\":\"x\",\"tpu\":\"192.0.2.10:8003\"} {}",
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT(parse(bad[i]) < 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "agave-validator contact-info"));
		CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
	}
}

int
main(void)
{
	unsigned int failures = 1;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("host_contact", NULL, NULL);
	if (s != NULL && CU_add_test(s, "sockets", test_sockets) &&
		CU_add_test(s, "quic, six ports above", test_quic) &&
		CU_add_test(s, "quic, by name", test_quic_named) &&
		CU_add_test(s, "placeholder", test_placeholder) &&
		CU_add_test(s, "udp", test_udp) &&
		CU_add_test(s, "not what it should be", test_bad)) {
		CU_basic_set_mode(CU_BRM_NORMAL);
		CU_basic_run_tests();
		failures = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	return failures != 0;
}
