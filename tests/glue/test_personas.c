/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Planner, transaction, proof and watch against the personas, through ethdev and rte_flow as on a
 * real port. The test plays workers and clock. */

#include <CUnit/Basic.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "events.h"
#include "family.h"
#include "flow.h"
#include "persona_pmd.h"
#include "plan.h"
#include "ps_time.h"
#include "watch.h"

#define N(a)      (sizeof(a) / sizeof((a)[0]))
#define SELECTORS 256
#define ADDR      htonl(0xcb007109u) /* 203.0.113.9 */
#define PERIOD    (2 * PS_SEC_NS)

static struct rte_mempool *pool;

/* One port under test. */
static struct {
	uint16_t id;
	struct persona *nic;
	const struct ps_family *family;
	struct ps_selector sel[SELECTORS];
	uint32_t n_sel;
	struct ps_plan plan;
	struct ps_flow flow;
	struct ps_watch watch;
	struct ps_events events;
	struct ps_steer_count counts[SELECTORS + 1];
	struct ps_flow_report report;
	struct ps_err err;
	uint64_t kernel; /* packets of ours that went to the kernel */
	uint64_t now;
	bool attached;
} t;

static void
pause_and_drain(unsigned int us)
{
	(void)us;
	persona_drain(t.nic);
}

static void
no_pause(unsigned int us)
{
	(void)us;
}

static struct ps_flow_ops ops;

static void
select_queues(uint32_t addr_be, uint16_t port, uint64_t workers)
{
	t.sel[t.n_sel] = (struct ps_selector){.name = "tpu",
		.id = t.n_sel + 1,
		.addr_be = addr_be,
		.dport_be = htons(port),
		.fate = workers != 0 ? PS_FATE_QUEUES : PS_FATE_DROP,
		.workers = workers};
	t.n_sel++;
}

static void
begin(const char *name, const char *pf_driver)
{
	struct rte_eth_dev_info info;

	memset(&t, 0, sizeof(t));
	ops = ps_flow_ops_rte;
	ops.pause_us = pause_and_drain;
	t.now = 1000 * PS_SEC_NS;
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name(name, &t.id), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_info_get(t.id, &info), 0);
	t.nic = persona_of(t.id);
	t.family = ps_family_find(info.driver_name, pf_driver);
	t.nic->violations = t.nic->creates = 0;
	persona_drain(t.nic);
}

static int
plan(void)
{
	const struct ps_plan_port port = {.name = "p0", .n_workers = 4};

	return ps_plan(&t.plan, &t.family->caps, &port, t.sel, t.n_sel, &t.err);
}

/* Port bring-up from configure to start. */
static int
start(void)
{
	const struct rte_eth_conf conf = {0};
	uint16_t n = t.plan.n_queues;
	int rc = 0;

	if (t.flow.rule == NULL)
		rc = ps_flow_prepare(&t.flow, t.id, t.family, &t.plan, &ops, &t.err);
	if (rc < 0)
		return rc;
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_configure(t.id, n, n, &conf), 0);
	for (uint16_t q = 0; q < n; q++) {
		CU_ASSERT_EQUAL_FATAL(rte_eth_rx_queue_setup(t.id, q, 64, 0, NULL, pool), 0);
		CU_ASSERT_EQUAL_FATAL(rte_eth_tx_queue_setup(t.id, q, 64, 0, NULL), 0);
	}
	t.nic->reta = t.plan.reta_queues;
	if (!t.attached) {
		ps_watch_init(
			&t.watch, PERIOD, t.family->caps.patience_ms, PS_LOSS_REINSTALL, t.now);
		CU_ASSERT_EQUAL_FATAL(
			ps_events_attach(&t.events, t.id, &t.watch, &t.flow, &t.err), 0);
		t.attached = true;
	}
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_start(t.id), 0);
	return 0;
}

static void
round_of_proof(void)
{
	persona_refresh(t.nic);
	CU_ASSERT_EQUAL(
		ps_flow_verify(&t.flow, t.counts, N(t.counts), t.now, &t.report, &t.err), 0);
	t.now += PERIOD;
}

static void
install(void)
{
	CU_ASSERT_EQUAL(ps_flow_install(&t.flow, &t.err), 0);
	round_of_proof();
	round_of_proof();
}

static void
end(void)
{
	ps_flow_uninstall(&t.flow);
	CU_ASSERT_EQUAL(persona_rules(t.nic), 0);
	CU_ASSERT_EQUAL(t.nic->n_flows, 0);
	if (t.attached)
		ps_events_detach(&t.events);
	if (t.nic->started)
		CU_ASSERT_EQUAL(rte_eth_dev_stop(t.id), 0);
	ps_flow_close(&t.flow);
	ps_plan_free(&t.plan);
	CU_ASSERT_EQUAL(t.nic->violations, 0);
}

/* A UDP packet of this selector, from the NIC to the worker that counts it. */
static struct persona_fate
packet(uint32_t i)
{
	const struct ps_selector *s = &t.sel[i];
	struct persona_fate f = persona_packet(
		t.nic, IPPROTO_UDP, s->addr_be != 0 ? s->addr_be : ADDR, s->dport_be);
	uint64_t own = s->fate == PS_FATE_QUEUES ? s->workers << t.family->caps.queue_base : 0;

	t.kernel += f.kernel;
	if (!f.kernel && !f.dropped)
		ps_steer_count_packet(
			&t.counts[s->id], (own >> f.queue & 1) != 0, f.marked && f.mark == s->id);
	return f;
}

static void
packets(void)
{
	for (uint32_t i = 0; i < t.n_sel; i++)
		packet(i);
}

static const char *const hardware[] = {
	"net_i40e0", "net_iavf0", "net_ice0", "net_bnxt0", "mlx5_pci0"};

static void
begin_installed(const char *name)
{
	begin(name, NULL);
	select_queues(ADDR, 8009, 1 << 1);
	select_queues(ADDR, 8010, 1 << 3);
	select_queues(ADDR, 8011, 1 << 2);
	CU_ASSERT_EQUAL_FATAL(plan(), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	install();
}

static void
test_every_family(void)
{
	for (unsigned int i = 0; i < N(hardware); i++) {
		bool counts;

		begin(hardware[i], "ice");
		counts = t.family->caps.proof == PS_PROOF_COUNT;
		select_queues(ADDR, 8009, 1);
		select_queues(ADDR, 8010, 1 << 3);
		select_queues(ADDR, 8011, 0);
		CU_ASSERT_EQUAL_FATAL(plan(), 0);
		CU_ASSERT_EQUAL_FATAL(start(), 0);
		install();
		CU_ASSERT_EQUAL(persona_rules(t.nic), 3);
		/* A handle is no proof, except where the driver answers for the rule. */
		CU_ASSERT_EQUAL(t.report.proven, counts ? 3 : 0);
		CU_ASSERT_EQUAL(packet(0).queue, 0 + t.family->caps.queue_base);
		CU_ASSERT_EQUAL(packet(1).queue, 3 + t.family->caps.queue_base);
		CU_ASSERT_TRUE(packet(2).dropped);
		round_of_proof();
		CU_ASSERT_EQUAL(t.report.proven, counts ? 3 : 2);
		CU_ASSERT_EQUAL(t.report.lost, 0);
		CU_ASSERT_EQUAL(t.report.wrong, 0);
		CU_ASSERT_EQUAL(persona_rules(t.nic), 3);
		end();
	}
}

/* TCP to the same port, UDP to another port or address: no rule may take them. */
static void
test_nothing_else(void)
{
	for (unsigned int i = 0; i < N(hardware); i++) {
		uint64_t before;

		begin_installed(hardware[i]);
		before = t.nic->sb_match;
		persona_packet(t.nic, IPPROTO_TCP, ADDR, htons(8009));
		persona_packet(t.nic, IPPROTO_UDP, ADDR, htons(8008));
		persona_packet(t.nic, IPPROTO_UDP, htonl(0xcb00710au), htons(8009));
		CU_ASSERT_EQUAL(t.nic->sb_match, before);
		CU_ASSERT_EQUAL(persona_packet(t.nic, IPPROTO_TCP, ADDR, htons(8009)).kernel,
			t.family->caps.rest == PS_REST_KERNEL);
		end();
	}
}

/* Rules vanish from the NIC without a word; the watch finds out within two periods. */
static void
test_silent_loss(void)
{
	for (unsigned int i = 0; i < N(hardware); i++) {
		struct ps_watch_verdict v = {0};

		begin_installed(hardware[i]);
		packets();
		round_of_proof();
		CU_ASSERT_EQUAL(t.report.proven, 3);
		persona_lose(t.id, false, -1);
		for (int k = 0; k < 2 && v.action == PS_WATCH_NOTHING; k++) {
			packets();
			round_of_proof();
			v = ps_watch_observe(&t.watch,
				&(struct ps_watch_sample){
					.rules = 3, .lost = t.report.lost, .elsewhere = t.kernel},
				t.now);
		}
		CU_ASSERT_EQUAL(v.action, PS_WATCH_REINSTALL);
		CU_ASSERT_TRUE(v.alarm);
		install();
		ps_watch_done(&t.watch, v.action, 0, t.now);
		packets();
		round_of_proof();
		CU_ASSERT_EQUAL(t.report.proven, 3);
		v = ps_watch_observe(&t.watch, &(struct ps_watch_sample){.rules = 3}, t.now);
		CU_ASSERT_FALSE(v.alarm);
		end();
	}
}

static int
raw(bool create, uint32_t addr_mask, uint16_t port, uint16_t port_mask,
	const struct rte_flow_action *actions)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = ADDR & addr_mask},
					ip_mask = {.hdr.dst_addr = addr_mask};
	const struct rte_flow_item_udp udp = {.hdr.dst_port = htons(port)},
				       udp_mask = {.hdr.dst_port = port_mask};
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	struct rte_flow_error error;

	if (create)
		return rte_flow_create(t.id, &attr, pattern, actions, &error) != NULL ? 0 : -1;
	return rte_flow_validate(t.id, &attr, pattern, actions, &error);
}

static const struct rte_flow_action_queue to_queue = {.index = 1};
static const struct rte_flow_action plain[] = {
	{RTE_FLOW_ACTION_TYPE_QUEUE, &to_queue}, {.type = RTE_FLOW_ACTION_TYPE_END}};

/* What the planner keeps from i40e: masks that widen, fields that conflict, and a validate that
 * finds both in order. */
static void
test_i40e_widening(void)
{
	uint32_t creates;

	begin_installed("net_i40e0");
	CU_ASSERT_EQUAL(raw(false, 0, 8009, UINT16_MAX, plain), 0);
	CU_ASSERT_NOT_EQUAL(raw(true, 0, 8009, UINT16_MAX, plain), 0);
	ps_flow_uninstall(&t.flow);
	CU_ASSERT_EQUAL(raw(false, 0, 8009, htons(0xfff0), plain), 0);
	CU_ASSERT_EQUAL(raw(true, 0, 8009, htons(0xfff0), plain), 0);
	CU_ASSERT_EQUAL(persona_packet(t.nic, IPPROTO_UDP, ADDR, htons(53)).queue, 1);
	CU_ASSERT_EQUAL(rte_flow_flush(t.id, NULL), 0);
	ps_plan_free(&t.plan);

	creates = t.nic->creates;
	select_queues(0, 8012, 1);
	CU_ASSERT_EQUAL(plan(), -ENOTSUP);
	CU_ASSERT_EQUAL(t.nic->creates, creates);
	t.n_sel--;
	CU_ASSERT_EQUAL_FATAL(plan(), 0);
	end();
}

static void
begin_many(const char *name, uint32_t n)
{
	begin(name, NULL);
	for (uint32_t i = 0; i < n; i++)
		select_queues(ADDR, (uint16_t)(8000 + i), 1u << (i % 4));
	CU_ASSERT_EQUAL_FATAL(plan(), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
}

static void
test_i40e_pacing(void)
{
	begin_many("net_i40e0", 200);
	install();
	CU_ASSERT_EQUAL(persona_rules(t.nic), 200);
	packets();
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.proven, 200);
	end();

	/* Without pauses the driver is as content, and traffic tells. */
	begin_many("net_i40e0", 200);
	ops.pause_us = no_pause;
	install();
	CU_ASSERT_EQUAL(t.report.created, 200);
	CU_ASSERT_EQUAL(persona_rules(t.nic), 64);
	packets();
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.proven, 64);
	CU_ASSERT_EQUAL(t.report.lost, 136);
	end();
}

/* configure() forgets i40e's handles but not the rules: those must go before stop. */
static void
test_i40e_restart(void)
{
	begin_installed("net_i40e0");
	ps_flow_uninstall(&t.flow);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(t.id), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	install();
	CU_ASSERT_EQUAL(persona_rules(t.nic), 3);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(t.id), 0);
	ps_flow_invalidate(&t.flow);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	CU_ASSERT_EQUAL(ps_flow_install(&t.flow, &t.err), -EEXIST);
	CU_ASSERT_EQUAL(t.nic->n_flows, 0);
	persona_lose(t.id, true, -1);
	end();
}

static void
test_iavf_limit(void)
{
	begin_many("net_iavf0", 128);
	install();
	CU_ASSERT_EQUAL(persona_rules(t.nic), 128);
	end();

	/* The PF grants less than it should: all or nothing. */
	begin_many("net_iavf0", 128);
	t.nic->max_rules = 100;
	CU_ASSERT_EQUAL(ps_flow_install(&t.flow, &t.err), -EPERM);
	CU_ASSERT_EQUAL(persona_rules(t.nic), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "Fdir space full"));
	t.nic->max_rules = 128;
	end();
}

static void
test_iavf_reset(void)
{
	struct ps_watch_verdict v;

	begin_installed("net_iavf0");
	packets();
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.proven, 3);
	persona_lose(t.id, true, RTE_ETH_EVENT_INTR_RESET);
	v = ps_watch_step(&t.watch, t.now);
	CU_ASSERT_EQUAL(v.action, PS_WATCH_RESET_PORT);
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.lost, 3);
	ps_flow_uninstall(&t.flow);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(t.id), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	install();
	ps_watch_done(&t.watch, v.action, 0, t.now);
	packets();
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.proven, 3);
	end();
}

static void
test_iavf_on_i40e(void)
{
	begin("net_iavf1", "i40e");
	CU_ASSERT_PTR_EQUAL(t.family, &ps_family_iavf_i40e);
	select_queues(ADDR, 8009, 0xf);
	CU_ASSERT_EQUAL_FATAL(plan(), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	install();
	CU_ASSERT_EQUAL(t.report.soft, 1);
	CU_ASSERT_EQUAL(t.nic->creates, 0);
	end();

	/* In a guest the PF cannot be seen: the driver says no, and the line says why. */
	begin("net_iavf1", "");
	select_queues(ADDR, 8009, 1);
	CU_ASSERT_EQUAL_FATAL(plan(), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	CU_ASSERT_EQUAL(ps_flow_install(&t.flow, &t.err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "Failed to create parser engine."));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "i40e"));
	end();
}

static void
test_ice_engines(void)
{
	begin_installed("net_ice0");
	for (unsigned int i = 0; i < PERSONA_RULES; i++)
		CU_ASSERT_FALSE(t.nic->rule[i].used && t.nic->rule[i].no_counters);
	/* The same without MARK or COUNT: the switch takes it, and cannot be asked. */
	CU_ASSERT_EQUAL(raw(true, UINT32_MAX, 9000, UINT16_MAX, plain), 0);
	CU_ASSERT_TRUE(t.nic->rule[3].no_counters);
	end();
}

static void
test_bnxt(void)
{
	static const struct rte_flow_action_queue zero = {.index = 0}, two = {.index = 2};
	const struct rte_flow_action to_zero[] = {
		{RTE_FLOW_ACTION_TYPE_QUEUE, &zero}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct rte_flow_action to_two[] = {
		{RTE_FLOW_ACTION_TYPE_QUEUE, &two}, {.type = RTE_FLOW_ACTION_TYPE_END}};

	begin_installed("net_bnxt0");
	CU_ASSERT_NOT_EQUAL(raw(true, UINT32_MAX, 9000, UINT16_MAX, to_zero), 0);
	/* Another queue for a rule of ours, NULL without an error: the watch's business. */
	rte_errno = 0;
	CU_ASSERT_NOT_EQUAL(raw(true, UINT32_MAX, 8009, UINT16_MAX, plain), 0);
	CU_ASSERT_EQUAL(rte_errno, 0);
	packets();
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.lost, 1);
	end();

	/* A rule left over by somebody else is flushed before ours come. */
	begin_many("net_bnxt0", 4);
	CU_ASSERT_EQUAL(raw(true, UINT32_MAX, 8000, UINT16_MAX, to_two), 0);
	install();
	CU_ASSERT_EQUAL(persona_rules(t.nic), 4);
	end();

	begin_many("net_bnxt0", 4);
	t.nic->untrusted = true;
	CU_ASSERT(ps_flow_install(&t.flow, &t.err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "trust on"));
	t.nic->untrusted = false;
	end();
}

static void
test_bnxt_recovery(void)
{
	struct ps_watch_verdict v;

	begin_installed("net_bnxt0");
	persona_lose(t.id, true, RTE_ETH_EVENT_ERR_RECOVERING);
	v = ps_watch_step(&t.watch, t.now);
	CU_ASSERT_EQUAL(v.action, PS_WATCH_NOTHING);
	CU_ASSERT_TRUE(v.alarm);
	CU_ASSERT_FALSE(ps_watch_due(&t.watch, t.now + 10 * PERIOD));
	persona_lose(t.id, true, RTE_ETH_EVENT_RECOVERY_SUCCESS);
	v = ps_watch_step(&t.watch, t.now);
	CU_ASSERT_EQUAL(v.action, PS_WATCH_REINSTALL);
	install();
	ps_watch_done(&t.watch, v.action, 0, t.now);
	packets();
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.proven, 3);
	end();
}

static void
test_mlx5(void)
{
	begin_installed("mlx5_pci0");
	CU_ASSERT_TRUE(t.nic->isolated);
	/* Hits that the driver has not fetched yet are no loss. */
	packets();
	CU_ASSERT_EQUAL(
		ps_flow_verify(&t.flow, t.counts, N(t.counts), t.now, &t.report, &t.err), 0);
	CU_ASSERT_EQUAL(t.report.lost, 0);
	t.now += PERIOD;
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.proven, 3);

	persona_lose(t.id, true, RTE_ETH_EVENT_INTR_RMV);
	CU_ASSERT_EQUAL(ps_watch_step(&t.watch, t.now).action, PS_WATCH_STOP);
	round_of_proof();
	CU_ASSERT_EQUAL(t.report.lost, 3);
	end();

	/* A started port cannot be isolated any more: that is the end, not a warning. */
	begin("mlx5_pci0", NULL);
	select_queues(ADDR, 8009, 1);
	CU_ASSERT_EQUAL_FATAL(plan(), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
	ps_flow_close(&t.flow);
	CU_ASSERT_EQUAL(ps_flow_prepare(&t.flow, t.id, t.family, &t.plan, &ops, &t.err), -EBUSY);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(t.id), 0);
	/* Rules before start are refused by the driver. */
	CU_ASSERT_EQUAL(ps_flow_install(&t.flow, &t.err), -ENODEV);
	end();
}

/* The arguments are EAL's, with the devices. */
int
main(int argc, char **argv)
{
	static const CU_TestInfo tests[] = {
		{"every family: created, proven by traffic, removed", test_every_family},
		{"every family: nothing else is taken", test_nothing_else},
		{"every family: silent loss, noticed and mended", test_silent_loss},
		{"i40e: silent widening and one input set", test_i40e_widening},
		{"i40e: success without a rule", test_i40e_pacing},
		{"i40e: rules that outlive their handles", test_i40e_restart},
		{"iavf: 128 rules, all or none", test_iavf_limit},
		{"iavf: reset", test_iavf_reset},
		{"iavf: a PF without flow director", test_iavf_on_i40e},
		{"ice: flow director, not switch", test_ice_engines},
		{"bnxt: queue 0, NULL without an error, trust", test_bnxt},
		{"bnxt: firmware recovery", test_bnxt_recovery},
		{"mlx5: isolation, counter lag, removal", test_mlx5},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "personas", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};
	unsigned int failures;

	persona_register();
	if (rte_eal_init(argc, argv) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("personas", 511, 0, 0, 2048, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	rte_eal_cleanup();
	return failures != 0;
}
