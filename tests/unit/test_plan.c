/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "family.h"
#include "plan.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const struct ps_family *const hardware[] = {
	&ps_family_mlx5, &ps_family_ice, &ps_family_iavf_ice, &ps_family_i40e, &ps_family_bnxt};
static const struct ps_family *const software[] = {
	&ps_family_iavf_i40e, &ps_family_af_xdp, &ps_family_vdev};

static uint32_t own_addrs[2];
static struct ps_plan_port port = {.name = "p0", .n_workers = 4};
static struct ps_plan plan;
static struct ps_err err;

/* 203.0.113.host, 0: any */
static struct ps_selector
selector(uint32_t id, uint8_t host, uint16_t udp, uint64_t workers)
{
	return (struct ps_selector){
		.name = "tpu",
		.id = id,
		.addr_be = host != 0 ? htonl(0xcb007100u + host) : 0,
		.dport_be = htons(udp),
		.fate = workers != 0 ? PS_FATE_QUEUES : PS_FATE_DROP,
		.workers = workers,
	};
}

static int
make(const struct ps_family *f, const struct ps_selector *s, uint32_t n)
{
	err.text[0] = '\0';
	return ps_plan(&plan, &f->caps, &port, s, n, &err);
}

/* One line that names port, selector, family and a remedy; nothing planned. */
static void
check_refusal(const struct ps_family *f, const struct ps_selector *s, uint32_t n, int rc,
	const char *who, const char *remedy)
{
	int got = make(f, s, n);

	CU_ASSERT_EQUAL(got, rc);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "[port p0]"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, who));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, f->caps.name));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, remedy));
	CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
	CU_ASSERT_EQUAL(plan.n_rules, 0);
	CU_ASSERT_PTR_NULL(plan.rule);
	if (got != rc || strstr(err.text, remedy) == NULL)
		printf("\n%s: %d, %s\n", f->caps.name, got, err.text);
}

static void
test_exact(void)
{
	const struct ps_selector s[] = {
		selector(1, 9, 8009, 1), selector(2, 9, 8010, 1 << 3), selector(3, 10, 8009, 0)};

	for (unsigned int i = 0; i < N(hardware); i++) {
		const struct ps_caps *c = &hardware[i]->caps;

		CU_ASSERT_EQUAL_FATAL(make(hardware[i], s, N(s)), 0);
		CU_ASSERT_EQUAL(plan.n_rules, 3);
		CU_ASSERT_EQUAL(plan.n_soft, 0);
		CU_ASSERT_EQUAL(plan.n_queues, 4 + c->queue_base);
		for (unsigned int k = 0; k < 3; k++) {
			const struct ps_rule *r = &plan.rule[k];

			CU_ASSERT_PTR_EQUAL(r->selector, &s[k]);
			CU_ASSERT_EQUAL(r->addr_be, s[k].addr_be);
			CU_ASSERT_EQUAL(r->dport_be, s[k].dport_be);
			CU_ASSERT_EQUAL(r->queues, s[k].workers << c->queue_base);
			CU_ASSERT_FALSE(r->shared);
		}
		CU_ASSERT_EQUAL(plan.rule[2].fate, PS_FATE_DROP);
		CU_ASSERT_EQUAL(plan.rule[2].mark, 0);
		ps_plan_free(&plan);
	}
}

/* What each family proves with is asked for, and what it refuses is not. */
static void
test_actions(void)
{
	const struct ps_selector s[] = {selector(7, 9, 8009, 1), selector(8, 9, 8010, 0)};
	static const struct {
		const struct ps_family *f;
		uint32_t mark;
		bool count;
	} want[] = {{&ps_family_mlx5, 7, true}, {&ps_family_ice, 7, true},
		{&ps_family_iavf_ice, 7, false}, {&ps_family_i40e, 7, false},
		{&ps_family_bnxt, 0, false}};

	for (unsigned int i = 0; i < N(want); i++) {
		CU_ASSERT_EQUAL_FATAL(make(want[i].f, s, N(s)), 0);
		CU_ASSERT_EQUAL(plan.rule[0].mark, want[i].mark);
		CU_ASSERT_EQUAL(plan.rule[0].count, want[i].count);
		/* COUNT alone must keep a drop rule in ice's flow director. */
		CU_ASSERT_EQUAL(plan.rule[1].count, want[i].count);
		ps_plan_free(&plan);
	}
	CU_ASSERT_EQUAL(ps_family_i40e.caps.actions[0], PS_ACT_FATE);
	CU_ASSERT_EQUAL(ps_family_i40e.caps.actions[1], PS_ACT_MARK);
}

static void
test_subsets(void)
{
	static const struct {
		const struct ps_family *f;
		uint64_t workers;
		int rc;
		bool soft;
	} want[] = {
		{&ps_family_mlx5, 0x5, 0, false},
		{&ps_family_mlx5, 0xf, 0, false},
		{&ps_family_bnxt, 0x7, 0, false},
		{&ps_family_bnxt, 0xf, 0, false},
		{&ps_family_ice, 0x3, 0, false},
		{&ps_family_ice, 0xc, 0, false},
		{&ps_family_ice, 0xf, 0, false},
		{&ps_family_ice, 0x5, -ENOTSUP, false},
		{&ps_family_ice, 0x7, -ENOTSUP, false},
		{&ps_family_iavf_ice, 0x6, 0, false},
		{&ps_family_iavf_ice, 0xe, -ENOTSUP, false},
		{&ps_family_i40e, 0x8, 0, false},
		{&ps_family_i40e, 0x3, -ENOTSUP, false},
		{&ps_family_i40e, 0xf, 0, true},
		{&ps_family_vdev, 0xf, 0, true},
		{&ps_family_vdev, 0x1, -ENOTSUP, false},
		{&ps_family_iavf_i40e, 0xf, 0, true},
		{&ps_family_iavf_i40e, 0x3, -ENOTSUP, false},
		{&ps_family_af_xdp, 0xf, 0, true},
	};

	for (unsigned int i = 0; i < N(want); i++) {
		struct ps_selector s = selector(1, 9, 8009, want[i].workers);

		if (want[i].rc < 0) {
			check_refusal(want[i].f, &s, 1, want[i].rc, "tpu (203.0.113.9 UDP 8009)",
				"workers");
			continue;
		}
		CU_ASSERT_EQUAL_FATAL(make(want[i].f, &s, 1), 0);
		CU_ASSERT_EQUAL(plan.rule[0].soft, want[i].soft);
		CU_ASSERT_EQUAL(plan.n_soft, want[i].soft);
		ps_plan_free(&plan);
	}
}

static void
test_three_of_three(void)
{
	struct ps_selector s = selector(1, 9, 8009, 0x7);

	port.n_workers = 3;
	/* No region of three queues, but the port's own distribution has just these. */
	CU_ASSERT_EQUAL_FATAL(make(&ps_family_ice, &s, 1), 0);
	CU_ASSERT_TRUE(plan.rule[0].soft);
	ps_plan_free(&plan);
	port.n_workers = 4;
}

static void
test_any_address(void)
{
	const struct ps_selector any[] = {selector(1, 0, 8009, 1), selector(2, 0, 8010, 2)};
	const struct ps_selector mix[] = {selector(1, 0, 8009, 1), selector(2, 9, 8010, 2)};

	for (unsigned int i = 0; i < N(hardware); i++) {
		CU_ASSERT_EQUAL_FATAL(make(hardware[i], any, N(any)), 0);
		CU_ASSERT_EQUAL(plan.n_rules, 2);
		CU_ASSERT_EQUAL(plan.rule[0].addr_be, 0);
		ps_plan_free(&plan);
		if (hardware[i]->caps.mixed) {
			CU_ASSERT_EQUAL_FATAL(make(hardware[i], mix, N(mix)), 0);
			CU_ASSERT_EQUAL(plan.rule[0].addr_be, 0);
			CU_ASSERT_EQUAL(plan.rule[1].addr_be, mix[1].addr_be);
			ps_plan_free(&plan);
			continue;
		}
		check_refusal(hardware[i], mix, N(mix), -ENOTSUP, "tpu (any address UDP 8009)",
			"address");
	}
}

/* One set of fields: "any" is spelled out when the addresses are known. */
static void
test_any_spelled_out(void)
{
	const struct ps_selector mix[] = {selector(1, 0, 8009, 1), selector(2, 9, 8010, 2)};

	own_addrs[0] = htonl(0xcb007109u);
	own_addrs[1] = htonl(0xcb00710au);
	port.addr_be = own_addrs;
	for (port.n_addrs = 1; port.n_addrs <= 2; port.n_addrs++) {
		CU_ASSERT_EQUAL_FATAL(make(&ps_family_i40e, mix, N(mix)), 0);
		CU_ASSERT_EQUAL(plan.n_rules, port.n_addrs + 1);
		for (uint32_t i = 0; i < port.n_addrs; i++) {
			CU_ASSERT_EQUAL(plan.rule[i].addr_be, own_addrs[i]);
			CU_ASSERT_EQUAL(plan.rule[i].mark, 1);
			CU_ASSERT_EQUAL(plan.rule[i].shared, port.n_addrs > 1);
		}
		CU_ASSERT_FALSE(plan.rule[port.n_addrs].shared);
		ps_plan_free(&plan);
	}
	port.n_addrs = 0;
	port.addr_be = NULL;
}

/* "any" that RSS and software serve asks for no rule, and so for no addresses. */
static void
test_any_in_software(void)
{
	const struct ps_selector mix[] = {selector(1, 0, 8009, 0xf), selector(2, 9, 8010, 2)};

	CU_ASSERT_EQUAL_FATAL(make(&ps_family_i40e, mix, N(mix)), 0);
	CU_ASSERT_TRUE(plan.rule[0].soft);
	CU_ASSERT_EQUAL(plan.rule[0].addr_be, 0);
	CU_ASSERT_FALSE(plan.rule[1].soft);
	ps_plan_free(&plan);
}

/* A VF with its PF's MAC address: each address needs a drop rule there, also where software
 * steers, and the PF's table is the limit. */
static void
test_drop_in_pf(void)
{
	static const struct ps_family *const vf[] = {
		&ps_family_iavf_ice, &ps_family_iavf_i40e, &ps_family_mlx5};
	const struct ps_selector any[] = {selector(1, 0, 8009, 0xf), selector(2, 0, 8010, 0xf)};

	port.pf = true;
	for (unsigned int f = 0; f < N(vf); f++) {
		check_refusal(
			vf[f], any, N(any), -ENOTSUP, "tpu (any address UDP", "[port] section");
		own_addrs[0] = htonl(0xcb007109u);
		own_addrs[1] = htonl(0xcb00710au);
		port.addr_be = own_addrs;
		port.n_addrs = 2;
		port.pf_rules = 4;
		CU_ASSERT_EQUAL_FATAL(make(vf[f], any, N(any)), 0);
		CU_ASSERT_EQUAL(plan.n_rules, 4);
		for (uint32_t i = 0; i < plan.n_rules; i++)
			CU_ASSERT_EQUAL(plan.rule[i].addr_be, own_addrs[i % 2]);
		CU_ASSERT_EQUAL(plan.n_soft, vf[f]->caps.rules ? 0 : 4);
		ps_plan_free(&plan);
		port.pf_rules = 3;
		check_refusal(
			vf[f], any, N(any), -ENOSPC, "physical function, which holds 3", "vf_mac");
		port.pf_rules = 0;
		port.n_addrs = 0;
	}
	port.pf = false;
	port.addr_be = NULL;
}

static void
check_limit(const struct ps_family *f, uint32_t max, const char *remedy)
{
	struct ps_selector *s = calloc(max + 1, sizeof(*s));

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	for (uint32_t i = 0; i <= max; i++)
		s[i] = selector(i + 1, 0, (uint16_t)(1000 + i), 1);
	CU_ASSERT_EQUAL(make(f, s, max), 0);
	CU_ASSERT_EQUAL(plan.n_rules, max);
	ps_plan_free(&plan);
	check_refusal(f, s, max + 1, -ENOSPC, "tpu (any address UDP", remedy);
	free(s);
}

static void
test_limits(void)
{
	check_limit(&ps_family_iavf_ice, 128, "second VF");
	check_limit(&ps_family_ice, 256, "fewer addresses");
	check_limit(&ps_family_i40e, 8192, "fewer addresses");
}

/* Spelled out, "any" counts as what it became. */
static void
test_limit_of_addresses(void)
{
	static uint32_t addrs[100];
	const struct ps_selector mix[] = {
		selector(1, 0, 8009, 1), selector(2, 0, 8010, 1), selector(3, 9, 8011, 1)};

	for (uint32_t i = 0; i < N(addrs); i++)
		addrs[i] = htonl(0xc6336401u + i);
	port.addr_be = addrs;
	port.n_addrs = N(addrs);
	check_refusal(&ps_family_iavf_ice, mix, N(mix), -ENOSPC, "tpu (any address UDP 8010)",
		"second VF");
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "201 rules are needed, the device holds 128"));
	CU_ASSERT_EQUAL(make(&ps_family_ice, mix, N(mix)), 0);
	CU_ASSERT_EQUAL(plan.n_rules, 201);
	ps_plan_free(&plan);
	/* Those that need not be spelled out do not count. */
	CU_ASSERT_EQUAL(make(&ps_family_iavf_ice, mix, 2), 0);
	CU_ASSERT_EQUAL(plan.n_rules, 2);
	ps_plan_free(&plan);
	port.n_addrs = 0;
	port.addr_be = NULL;
}

/* No rule ever leads to bnxt's queue 0, and nothing is spread over the queues of rules. */
static void
test_bnxt_queue_zero(void)
{
	for (uint64_t w = 1; w < 16; w++) {
		struct ps_selector s = selector(1, 9, 8009, w);

		CU_ASSERT_EQUAL_FATAL(make(&ps_family_bnxt, &s, 1), 0);
		CU_ASSERT_EQUAL(plan.rule[0].queues & 1, 0);
		CU_ASSERT_EQUAL(plan.rule[0].queues & plan.reta_queues, 0);
		CU_ASSERT_EQUAL(plan.reta_queues, 1);
		ps_plan_free(&plan);
	}
	port.n_workers = 64;
	CU_ASSERT_EQUAL(make(&ps_family_bnxt, NULL, 0), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "63"));
	CU_ASSERT_EQUAL(make(&ps_family_mlx5, NULL, 0), 0);
	CU_ASSERT_EQUAL(plan.reta_queues, UINT64_MAX);
	ps_plan_free(&plan);
	port.n_workers = 4;
}

static void
test_refused_everywhere(void)
{
	static const struct {
		struct ps_selector s[2];
		const char *remedy;
	} bad[] = {
		{{{"a", 1, 0x01010101, 0, PS_FATE_QUEUES, 1},
			 {"tpu", 2, 0x01010101, 2, PS_FATE_QUEUES, 1}},
			"port ="},
		{{{"a", 0, 0x01010101, 1, PS_FATE_QUEUES, 1},
			 {"tpu", 2, 0x01010101, 2, PS_FATE_QUEUES, 1}},
			"number"},
		{{{"a", 65536, 0x01010101, 1, PS_FATE_QUEUES, 1},
			 {"tpu", 2, 0x01010101, 2, PS_FATE_QUEUES, 1}},
			"number"},
		{{{"a", 2, 0x01010101, 1, PS_FATE_QUEUES, 1},
			 {"a", 2, 0x01010101, 2, PS_FATE_QUEUES, 1}},
			"number"},
		{{{"a", 1, 0x01010101, 1, PS_FATE_QUEUES, 0},
			 {"tpu", 2, 0x01010101, 2, PS_FATE_QUEUES, 1}},
			"workers = all"},
		{{{"a", 1, 0x01010101, 1, PS_FATE_QUEUES, 16},
			 {"tpu", 2, 0x01010101, 2, PS_FATE_QUEUES, 1}},
			"workers 0 to 3"},
		{{{"b", 1, 0x01010101, 1, PS_FATE_QUEUES, 1},
			 {"a", 2, 0x01010101, 1, PS_FATE_DROP, 0}},
			"another port"},
		/* An address and "any" on one port overlap: no driver agrees on which wins. */
		{{{"b", 1, 0, 1, PS_FATE_QUEUES, 1}, {"a", 2, 0x01010101, 1, PS_FATE_QUEUES, 2}},
			"another port"},
	};

	own_addrs[0] = 0x01010101;
	port.addr_be = own_addrs;
	port.n_addrs = 1;
	for (unsigned int i = 0; i < N(bad); i++)
		for (unsigned int k = 0; k < N(hardware); k++)
			check_refusal(hardware[k], bad[i].s, 2, -EINVAL, "a (", bad[i].remedy);
	port.n_addrs = 0;
}

static void
test_software_families(void)
{
	const struct ps_selector s[] = {
		selector(1, 0, 8009, 0xf), selector(2, 9, 8010, 0xf), selector(3, 9, 8011, 0)};

	for (unsigned int i = 0; i < N(software); i++) {
		CU_ASSERT_EQUAL_FATAL(make(software[i], s, N(s)), 0);
		CU_ASSERT_EQUAL(plan.n_rules, 3);
		CU_ASSERT_EQUAL(plan.n_soft, 3);
		CU_ASSERT_EQUAL(plan.reta_queues, 0xf);
		ps_plan_free(&plan);
	}
}

static void
test_families(void)
{
	static const struct {
		const char *driver, *pf;
		const struct ps_family *f;
	} want[] = {
		{"mlx5_pci", NULL, &ps_family_mlx5},
		{"mlx5_auxiliary", NULL, &ps_family_mlx5},
		{"net_ice", "", &ps_family_ice},
		{"net_iavf", "ice", &ps_family_iavf_ice},
		{"net_iavf", "i40e", &ps_family_iavf_i40e},
		{"net_iavf", "", &ps_family_iavf_ice},
		{"net_iavf", NULL, &ps_family_iavf_ice},
		{"net_i40e", NULL, &ps_family_i40e},
		{"net_bnxt", NULL, &ps_family_bnxt},
		{"net_af_xdp", NULL, &ps_family_af_xdp},
		{"net_ring", NULL, &ps_family_vdev},
		{"net_something_new", NULL, &ps_family_vdev},
	};
	char text[32];

	for (unsigned int i = 0; i < N(want); i++)
		CU_ASSERT_PTR_EQUAL(ps_family_find(want[i].driver, want[i].pf), want[i].f);
	CU_ASSERT_STRING_EQUAL(ps_family_pf_driver("ffff:ff:1f.7", text, sizeof(text)), "");
	for (unsigned int i = 0; i < N(hardware); i++) {
		CU_ASSERT_PTR_NOT_NULL(hardware[i]->caps.unproven);
		CU_ASSERT_PTR_NOT_NULL(hardware[i]->caps.create_remedy);
		CU_ASSERT_NOT_EQUAL(hardware[i]->caps.proof, PS_PROOF_NONE);
	}
}

int
main(void)
{
	static const CU_TestInfo tests[] = {
		{"exact selectors, one rule each", test_exact},
		{"MARK and COUNT where the family proves with them", test_actions},
		{"sets of queues", test_subsets},
		{"a set that only RSS over the port can serve", test_three_of_three},
		{"any address", test_any_address},
		{"any address spelled out beside exact ones", test_any_spelled_out},
		{"any address in software", test_any_in_software},
		{"drop rules in a physical function", test_drop_in_pf},
		{"limits on rules", test_limits},
		{"limits on rules spelled out", test_limit_of_addresses},
		{"bnxt: never queue 0", test_bnxt_queue_zero},
		{"what no family takes", test_refused_everywhere},
		{"families without rules", test_software_families},
		{"families by driver", test_families},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "plan", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
