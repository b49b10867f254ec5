/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the kernel gets of a service, counted on the loopback interface of a network namespace that
 * this process makes for itself. Exits 77 where that is not permitted. */

#include <CUnit/Basic.h>
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leak.h"

#define ADDR  0x7f000001u /* 127.0.0.1 */
#define OTHER 0x7f000002u

static struct ps_err err;

static void
send_to(uint32_t addr, uint16_t port, unsigned int n, size_t bytes)
{
	static const char payload[4000];
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(addr)};
	/* One socket each: the answer to the first, port unreachable, fails the second send. */
	for (unsigned int i = 0; i < n; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		CU_ASSERT_EQUAL(
			sendto(fd, payload, bytes, 0, (const struct sockaddr *)&to, sizeof(to)),
			(ssize_t)bytes);
		close(fd);
	}
}

static struct ps_rule
rule_to(uint32_t addr, uint16_t port)
{
	return (struct ps_rule){.addr_be = htonl(addr), .dport_be = htons(port)};
}

static uint32_t
leaked(struct ps_leak *l)
{
	uint32_t n = 0;

	CU_ASSERT_EQUAL(ps_leak_read(l, &n, &err), 0);
	return n;
}

static void
test_exact(void)
{
	const struct ps_rule rule[] = {rule_to(ADDR, 8001), rule_to(0, 8002), rule_to(ADDR, 8009)};
	struct ps_leak l;

	CU_ASSERT_EQUAL_FATAL(ps_leak_open(&l, "lo", rule, 3, &err), 0);
	CU_ASSERT_EQUAL(leaked(&l), 0);
	/* Many more than its buffer has room for. */
	send_to(ADDR, 8001, 500, 100);
	send_to(ADDR, 8009, 3, 0);
	CU_ASSERT_EQUAL(leaked(&l), 503);
	CU_ASSERT_EQUAL(leaked(&l), 0);
	send_to(ADDR, 8002, 2, 1);
	send_to(OTHER, 8002, 2, 1);
	CU_ASSERT_EQUAL(leaked(&l), 4);
	/* No service's: another port, address, or both. */
	send_to(ADDR, 8003, 5, 10);
	send_to(OTHER, 8001, 5, 10);
	send_to(OTHER, 8009, 5, 10);
	CU_ASSERT_EQUAL(leaked(&l), 0);
	ps_leak_close(&l);
	CU_ASSERT_EQUAL(l.fd, -1);
}

static int
set_link(short flags, int mtu)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = flags};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), rc = ioctl(fd, SIOCSIFFLAGS, &ifr);

	ifr.ifr_mtu = mtu;
	rc |= ioctl(fd, SIOCSIFMTU, &ifr);
	close(fd);
	return rc;
}

/* No rule takes fragments: the kernel is to get them. */
static void
test_fragments(void)
{
	const struct ps_rule rule[] = {rule_to(ADDR, 8001)};
	struct ps_leak l;

	CU_ASSERT_EQUAL_FATAL(ps_leak_open(&l, "lo", rule, 1, &err), 0);
	CU_ASSERT_EQUAL_FATAL(set_link(IFF_UP, 1500), 0);
	send_to(ADDR, 8001, 3, 4000);
	CU_ASSERT_EQUAL(leaked(&l), 0);
	send_to(ADDR, 8001, 1, 1400);
	CU_ASSERT_EQUAL(leaked(&l), 1);
	ps_leak_close(&l);
}

static void
test_limits(void)
{
	struct ps_rule *rule = calloc(PS_LEAK_RULES + 1, sizeof(*rule));
	struct ps_leak l;

	CU_ASSERT_PTR_NOT_NULL_FATAL(rule);
	for (uint32_t i = 0; i < PS_LEAK_RULES; i++)
		rule[i] = rule_to(OTHER + i, 8001);
	rule[PS_LEAK_RULES - 1] = rule_to(ADDR, 8001);
	CU_ASSERT_EQUAL_FATAL(ps_leak_open(&l, "lo", rule, PS_LEAK_RULES, &err), 0);
	send_to(ADDR, 8001, 2, 10);
	CU_ASSERT_EQUAL(leaked(&l), 2);
	ps_leak_close(&l);
	CU_ASSERT_EQUAL(ps_leak_open(&l, "lo", rule, PS_LEAK_RULES + 1, &err), -E2BIG);
	CU_ASSERT_EQUAL(ps_leak_open(&l, "nosuch", rule, 1, &err), -ENODEV);
	CU_ASSERT_EQUAL(l.fd, -1);
	ps_leak_close(&l);
	free(rule);
}

int
main(void)
{
	static const CU_TestInfo tests[] = {
		{"exactly the services' datagrams", test_exact},
		{"fragments", test_fragments},
		{"limits", test_limits},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "leak", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (unshare(CLONE_NEWNET) < 0) {
		printf("skipped: no right to make a network namespace: %s\n", strerror(errno));
		return 77;
	}
	if (set_link(IFF_UP, 65536) != 0 || CU_initialize_registry() != CUE_SUCCESS ||
		CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures != 0;
}
