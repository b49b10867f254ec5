/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The life of rules against a driver made of a few variables. What real drivers do is played by
 * the personas of tests/glue. */

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "cunit_run.h"
#include "flow.h"
#include "ps_time.h"

#define RULES 4
#define PORT  7
#define N(a)  (sizeof(a) / sizeof((a)[0]))

struct rte_flow {
	uint64_t hits;
	bool there, gone;
};

/* The driver: what was called, and what it shall do. */
static struct {
	struct rte_flow flow[256];
	unsigned int created, destroyed, flushed, paused, since_pause, most_unpaced;
	unsigned int fail_at; /* this create and no other fails; 0: none */
	int fail_errno;
	unsigned int reset_at; /* an event comes during this create */
	int isolate_rc;
	bool isolated, no_hits_set, dump_empty, destroy_fails, wrong_order, stale;
	uint64_t xstat;
} nic;

static struct ps_flow flow;
static struct ps_plan plan;
static struct ps_selector sel[RULES];
static struct ps_steer_count counts[RULES + 1];
static struct ps_flow_report report;
static struct ps_err err;
static uint64_t now;

static struct rte_flow *
fake_create(uint16_t port, const struct rte_flow_attr *attr, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions, struct rte_flow_error *error)
{
	struct rte_flow *f = &nic.flow[nic.created++];

	CU_ASSERT_EQUAL(port, PORT);
	CU_ASSERT_EQUAL(attr->ingress, 1);
	CU_ASSERT_EQUAL(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
	CU_ASSERT_NOT_EQUAL(actions[0].type, RTE_FLOW_ACTION_TYPE_END);
	if (++nic.since_pause > nic.most_unpaced)
		nic.most_unpaced = nic.since_pause;
	if (nic.created == nic.reset_at)
		ps_flow_invalidate(&flow);
	if (nic.created == nic.fail_at) {
		error->message = "no room for rules";
		error->type = RTE_FLOW_ERROR_TYPE_HANDLE;
		if (nic.fail_errno == 0)
			error->type = RTE_FLOW_ERROR_TYPE_NONE;
		rte_errno = nic.fail_errno;
		return NULL;
	}
	f->there = true;
	return f;
}

static int
fake_destroy(uint16_t port, struct rte_flow *f, struct rte_flow_error *error)
{
	(void)port, (void)error;
	nic.stale |= f->gone || !f->there;
	if (nic.destroy_fails)
		return -EIO;
	/* Newest first. */
	for (struct rte_flow *later = f + 1; later < nic.flow + nic.created; later++)
		nic.wrong_order |= later->there;
	f->there = false;
	f->gone = true;
	nic.destroyed++;
	return 0;
}

static int
fake_flush(uint16_t port, struct rte_flow_error *error)
{
	(void)port, (void)error;
	nic.flushed++;
	for (unsigned int i = 0; i < nic.created; i++) {
		nic.flow[i].there = false;
		nic.flow[i].gone = true;
	}
	return 0;
}

static int
fake_isolate(uint16_t port, int set, struct rte_flow_error *error)
{
	(void)port, (void)error;
	nic.isolated = set && nic.isolate_rc == 0;
	return nic.isolate_rc;
}

static int
fake_query(uint16_t port, struct rte_flow *f, const struct rte_flow_action *action, void *data,
	struct rte_flow_error *error)
{
	struct rte_flow_query_count *c = data;

	(void)port, (void)error;
	CU_ASSERT_EQUAL(action->type, RTE_FLOW_ACTION_TYPE_COUNT);
	nic.stale |= f->gone;
	if (!f->there)
		return -ENOENT;
	c->hits_set = !nic.no_hits_set;
	c->hits = f->hits;
	return 0;
}

static int
fake_dump(uint16_t port, struct rte_flow *f, struct rte_flow_error *error)
{
	(void)port, (void)error;
	nic.stale |= f->gone;
	return nic.dump_empty ? -ENOENT : 0;
}

static int
fake_xstat(uint16_t port, const char *name, uint64_t *value)
{
	(void)port;
	CU_ASSERT_STRING_EQUAL(name, "rx_flow_director_sb_match_packets");
	*value = nic.xstat;
	return 0;
}

static void
fake_pause(unsigned int us)
{
	CU_ASSERT_TRUE(us >= 1000);
	nic.paused++;
	nic.since_pause = 0;
}

static const struct ps_flow_ops fake = {fake_create, fake_destroy, fake_flush, fake_isolate,
	fake_query, fake_dump, fake_xstat, fake_pause};

static void
begin(const struct ps_family *family)
{
	const struct ps_plan_port port = {.name = "p0", .n_workers = 4};

	memset(&nic, 0, sizeof(nic));
	memset(counts, 0, sizeof(counts));
	now = 1000 * PS_SEC_NS;
	for (uint32_t i = 0; i < RULES; i++)
		sel[i] = (struct ps_selector){
			"tpu", i + 1, htonl(0xcb007109u), htons((uint16_t)(8000 + i)), 0, 1u << i};
	CU_ASSERT_EQUAL_FATAL(ps_plan(&plan, &family->caps, &port, sel, RULES, &err), 0);
	CU_ASSERT_EQUAL_FATAL(ps_flow_prepare(&flow, PORT, family, &plan, &fake, &err), 0);
}

static void
end(void)
{
	ps_flow_close(&flow);
	ps_plan_free(&plan);
	CU_ASSERT_FALSE(nic.stale);
	CU_ASSERT_FALSE(nic.wrong_order);
	for (unsigned int i = 0; i < nic.created; i++)
		CU_ASSERT_FALSE(nic.flow[i].there);
}

static void
round_of_proof(void)
{
	CU_ASSERT_EQUAL(ps_flow_verify(&flow, counts, N(counts), now, &report, &err), 0);
	now += PS_SEC_NS;
}

/* Installed, and the rings empty of older packets. */
static void
install(void)
{
	CU_ASSERT_EQUAL_FATAL(ps_flow_install(&flow, &err), 0);
	round_of_proof();
	round_of_proof();
}

static void
packets(uint32_t id, unsigned int n, bool right, bool marked)
{
	while (n-- > 0)
		ps_steer_count_packet(&counts[id], right, marked);
}

static void
test_transaction(void)
{
	for (unsigned int at = 1; at <= RULES; at++) {
		begin(&ps_family_iavf_ice);
		nic.fail_at = at;
		nic.fail_errno = ENOSPC;
		CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), -ENOSPC);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "[port p0] iavf on ice"));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "tpu (203.0.113.9 UDP 800"));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no room for rules"));
		CU_ASSERT_EQUAL(nic.created, at);
		CU_ASSERT_EQUAL(nic.destroyed, at - 1);
		for (unsigned int i = 0; i < RULES; i++)
			CU_ASSERT_EQUAL(flow.rule[i].state, PS_RULE_PLANNED);
		/* It can be tried again. */
		CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), 0);
		CU_ASSERT_EQUAL(nic.created, at + RULES);
		end();
	}
}

/* What the driver will not destroy, its flush takes. */
static void
test_destroy_fails(void)
{
	begin(&ps_family_iavf_ice);
	nic.destroy_fails = true;
	nic.fail_at = 3;
	nic.fail_errno = EPERM;
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), -EPERM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no room for rules"));
	CU_ASSERT_EQUAL(nic.flushed, 2);
	end();
}

static void
test_null_without_error(void)
{
	begin(&ps_family_bnxt);
	nic.fail_at = 3;
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), -EEXIST);
	CU_ASSERT_EQUAL(nic.destroyed, 2);
	end();
}

static void
test_reset_while_installing(void)
{
	begin(&ps_family_iavf_ice);
	nic.reset_at = 3;
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), -ECANCELED);
	/* All three handles are of the generation that died. */
	CU_ASSERT_EQUAL(nic.destroyed, 0);
	CU_ASSERT_EQUAL(nic.flushed, 1);
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), 0);
	end();
}

static void
test_generations(void)
{
	begin(&ps_family_mlx5);
	CU_ASSERT_TRUE(nic.isolated);
	install();
	CU_ASSERT_EQUAL(report.proven, RULES);
	/* The driver has freed them; whoever is asked about them again would crash. */
	for (unsigned int i = 0; i < nic.created; i++)
		nic.flow[i] = (struct rte_flow){.gone = true};
	ps_flow_invalidate(&flow);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, RULES);
	CU_ASSERT_PTR_NOT_NULL(report.bad);
	install();
	CU_ASSERT_EQUAL(report.proven, RULES);
	CU_ASSERT_EQUAL(nic.destroyed, 0);
	ps_flow_uninstall(&flow);
	CU_ASSERT_EQUAL(nic.destroyed, RULES);
	/* Twice is once. */
	ps_flow_uninstall(&flow);
	CU_ASSERT_EQUAL(nic.destroyed, RULES);
	end();
}

static void
test_uninstall_after_reset(void)
{
	begin(&ps_family_iavf_ice);
	install();
	for (unsigned int i = 0; i < nic.created; i++)
		nic.flow[i] = (struct rte_flow){.gone = true};
	ps_flow_invalidate(&flow);
	ps_flow_uninstall(&flow);
	CU_ASSERT_EQUAL(nic.destroyed, 0);
	end();
}

static void *
from_another_thread(void *arg)
{
	(void)arg;
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), -EPERM);
	CU_ASSERT_EQUAL(ps_flow_verify(&flow, NULL, 0, now, &report, &err), -EPERM);
	return NULL;
}

static void
test_one_thread(void)
{
	pthread_t t;

	begin(&ps_family_ice);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, from_another_thread, NULL), 0);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(nic.created, 0);
	end();
}

static void
test_isolation(void)
{
	const struct ps_plan_port port = {.name = "p0", .n_workers = 4};

	memset(&nic, 0, sizeof(nic));
	nic.isolate_rc = -EBUSY;
	CU_ASSERT_EQUAL_FATAL(ps_plan(&plan, &ps_family_mlx5.caps, &port, sel, 1, &err), 0);
	CU_ASSERT_EQUAL(ps_flow_prepare(&flow, PORT, &ps_family_mlx5, &plan, &fake, &err), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "isolation"));
	end();
	/* Where isolation is not to be had it is not asked for. */
	begin(&ps_family_ice);
	CU_ASSERT_FALSE(flow.isolated);
	end();
}

static void
test_counter_proof(void)
{
	begin(&ps_family_ice);
	install();
	CU_ASSERT_EQUAL(report.proven, RULES);
	packets(2, 10, true, true);
	nic.flow[1].hits = 10;
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, RULES);
	CU_ASSERT_EQUAL(report.right, 10);
	/* Packets come, the rule counts none. */
	packets(2, 1, true, true);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, 1);
	CU_ASSERT_PTR_EQUAL(report.bad->rule->selector, &sel[1]);
	end();

	begin(&ps_family_ice);
	nic.no_hits_set = true;
	install();
	CU_ASSERT_EQUAL(report.proven, 0);
	CU_ASSERT_EQUAL(report.lost, RULES);
	end();
}

static void
test_counter_lag(void)
{
	begin(&ps_family_mlx5);
	install();
	packets(1, 5, true, true);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, 0);
	nic.flow[0].hits = 5;
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, RULES);
	/* Standing still beyond its patience is no lag. */
	for (int i = 0; i < 3; i++) {
		packets(1, 5, true, true);
		round_of_proof();
	}
	CU_ASSERT_EQUAL(report.lost, 1);
	end();

	begin(&ps_family_mlx5);
	nic.dump_empty = true;
	install();
	CU_ASSERT_EQUAL(report.proven, 0);
	end();
}

static void
test_mark_proof(void)
{
	begin(&ps_family_iavf_ice);
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), 0);
	/* Still in the rings from before: neither proof nor loss. */
	packets(1, 3, true, false);
	round_of_proof();
	packets(1, 3, true, false);
	round_of_proof();
	CU_ASSERT_EQUAL(report.created, RULES);
	packets(1, 1, true, true);
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, 1);
	CU_ASSERT_EQUAL(report.created, RULES - 1);
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, 1);
	packets(1, 1, true, false);
	packets(3, 1, false, true);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, 2);
	CU_ASSERT_EQUAL(report.wrong, 1);
	end();
}

/* A mark that two rules share tells that one of them is there, not which. */
static void
test_shared_mark(void)
{
	const uint32_t addr[] = {htonl(0xcb007109u), htonl(0xcb00710au)};
	const struct ps_plan_port port = {
		.name = "p0", .n_workers = 4, .n_addrs = 2, .addr_be = addr};

	memset(&nic, 0, sizeof(nic));
	memset(counts, 0, sizeof(counts));
	sel[0] = (struct ps_selector){"tpu", 1, 0, htons(8000), 0, 1};
	sel[1] = (struct ps_selector){"vote", 2, addr[0], htons(8001), 0, 1};
	CU_ASSERT_EQUAL_FATAL(ps_plan(&plan, &ps_family_iavf_ice.caps, &port, sel, 2, &err), 0);
	CU_ASSERT_EQUAL(ps_flow_prepare(&flow, PORT, &ps_family_iavf_ice, &plan, &fake, &err), 0);
	install();
	packets(1, 1, true, true);
	packets(2, 1, true, true);
	round_of_proof();
	CU_ASSERT_EQUAL(report.created, 2);
	CU_ASSERT_EQUAL(report.proven, 1);
	CU_ASSERT_EQUAL(report.right, 2);
	packets(1, 1, true, false);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, 2);
	end();
}

static void
test_statistic(void)
{
	begin(&ps_family_i40e);
	install();
	packets(1, 4, true, true);
	nic.xstat += 4;
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, 1);
	/* A mark that the hardware's own count contradicts is not believed. */
	packets(2, 4, true, true);
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, 1);
	CU_ASSERT_EQUAL(report.lost, 1);
	end();
}

static void
test_queue_proof(void)
{
	begin(&ps_family_bnxt);
	install();
	CU_ASSERT_EQUAL(report.created, RULES);
	packets(4, 1, true, false);
	round_of_proof();
	CU_ASSERT_EQUAL(report.proven, 1);
	packets(4, 1, false, false);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, 1);
	end();
}

static void
test_pacing(void)
{
	static struct ps_selector many[200];
	const struct ps_plan_port port = {.name = "p0", .n_workers = 1};

	memset(&nic, 0, sizeof(nic));
	for (uint32_t i = 0; i < N(many); i++)
		many[i] = (struct ps_selector){"tpu", i + 1, 0, htons((uint16_t)(8000 + i)), 0, 1};
	CU_ASSERT_EQUAL_FATAL(ps_plan(&plan, &ps_family_i40e.caps, &port, many, N(many), &err), 0);
	CU_ASSERT_EQUAL(ps_flow_prepare(&flow, PORT, &ps_family_i40e, &plan, &fake, &err), 0);
	CU_ASSERT_EQUAL(ps_flow_install(&flow, &err), 0);
	CU_ASSERT_EQUAL(nic.created, N(many));
	CU_ASSERT_EQUAL(nic.most_unpaced, 64);
	end();
}

static void
test_software(void)
{
	const struct ps_plan_port port = {.name = "p0", .n_workers = 1};

	memset(&nic, 0, sizeof(nic));
	CU_ASSERT_EQUAL_FATAL(ps_plan(&plan, &ps_family_vdev.caps, &port, sel, 1, &err), 0);
	CU_ASSERT_EQUAL(ps_flow_prepare(&flow, PORT, &ps_family_vdev, &plan, &fake, &err), 0);
	install();
	CU_ASSERT_EQUAL(report.soft, 1);
	ps_flow_invalidate(&flow);
	round_of_proof();
	CU_ASSERT_EQUAL(report.lost, 0);
	end();
	CU_ASSERT_EQUAL(nic.created + nic.flushed, 0);
}

int
main(void)
{
	static const CU_TestInfo tests[] = {
		{"all rules or none", test_transaction},
		{"rules that are not destroyed are flushed", test_destroy_fails},
		{"NULL without an error is a failure", test_null_without_error},
		{"a reset in the middle of an installation", test_reset_while_installing},
		{"no handle outlives its generation", test_generations},
		{"uninstall after a reset touches nothing", test_uninstall_after_reset},
		{"one thread", test_one_thread},
		{"isolation or nothing", test_isolation},
		{"proof by counter", test_counter_proof},
		{"a counter may lag, for so long", test_counter_lag},
		{"proof by mark", test_mark_proof},
		{"a mark that two rules share", test_shared_mark},
		{"a statistic that contradicts", test_statistic},
		{"proof by queue", test_queue_proof},
		{"creates are paced", test_pacing},
		{"families without rules", test_software},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "flow", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
