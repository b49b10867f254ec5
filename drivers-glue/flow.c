/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "ps_time.h"

/* Packets that were in the rings when rules came are gone by then. */
#define SETTLE_NS (100 * PS_MS_NS)

enum verdict {
	OPEN,    /* nothing seen either way */
	PRESENT, /* the rule is there */
	ABSENT,  /* it is not, or does not act */
};

static const char *const state_name[] = {
	[PS_RULE_PLANNED] = "planned",
	[PS_RULE_CREATED] = "created",
	[PS_RULE_PROVEN] = "proven",
	[PS_RULE_LOST] = "lost",
	[PS_RULE_SOFT] = "software",
};

const char *
ps_rule_state_name(enum ps_rule_state state)
{
	return state_name[state];
}

static int
check_thread(const struct ps_flow *f, struct ps_err *e)
{
	if (pthread_equal(pthread_self(), f->owner))
		return 0;
	return ps_fail(e, EPERM, "[port %s] rules belong to the thread that prepared the port",
		f->plan->port);
}

/* The handle if it may be given to the driver. */
static struct rte_flow *
handle_of(const struct ps_flow *f, const struct ps_flow_rule *r)
{
	return r->generation == atomic_load(&f->generation) ? r->handle : NULL;
}

int
ps_flow_prepare(struct ps_flow *f, uint16_t port_id, const struct ps_family *family,
	const struct ps_plan *plan, const struct ps_flow_ops *ops, struct ps_err *e)
{
	struct rte_flow_error error = {0};
	int rc;

	*f = (struct ps_flow){
		.family = family,
		.plan = plan,
		.ops = ops,
		.owner = pthread_self(),
		.port_id = port_id,
		.generation = 1,
		.n_rules = plan->n_rules,
	};
	f->rule = calloc(plan->n_rules + 1, sizeof(*f->rule));
	if (f->rule == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < f->n_rules; i++) {
		f->rule[i].rule = &plan->rule[i];
		f->rule[i].state = plan->rule[i].soft ? PS_RULE_SOFT : PS_RULE_PLANNED;
	}
	if (!family->caps.isolate)
		return 0;
	/* Going on without it would take the kernel's traffic away. */
	rc = ops->isolate(port_id, 1, &error);
	f->isolated = rc == 0;
	if (rc == 0)
		return 0;
	return ps_fail(e, -rc,
		"[port %s] %s: flow isolation: %s (%s); stop other programs on this device, and "
		"use devarg dv_flow_en=1",
		plan->port, family->caps.name, error.message != NULL ? error.message : "refused",
		strerror(-rc));
}

/* -- creating -- */

/* Everything one rte_flow_create() call points to. */
struct request {
	struct rte_flow_item_ipv4 ip_spec, ip_mask;
	struct rte_flow_item_udp udp_spec, udp_mask;
	struct rte_flow_item pattern[4];
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	struct rte_flow_action_mark mark;
	struct rte_flow_action_count count;
	uint16_t queues[PS_PLAN_QUEUES];
	struct rte_flow_action actions[5];
};

static void
build_pattern(struct request *q, const struct ps_caps *caps, const struct ps_rule *r)
{
	struct rte_flow_item ip = {.type = RTE_FLOW_ITEM_TYPE_IPV4};

	if (r->addr_be != 0) {
		q->ip_spec.hdr.dst_addr = r->addr_be;
		q->ip_mask.hdr.dst_addr = UINT32_MAX;
	}
	if (caps->proto_in_spec)
		q->ip_spec.hdr.next_proto_id = IPPROTO_UDP;
	if (r->addr_be != 0 || caps->proto_in_spec) {
		ip.spec = &q->ip_spec;
		ip.mask = &q->ip_mask;
	}
	q->udp_spec.hdr.dst_port = r->dport_be;
	q->udp_mask.hdr.dst_port = UINT16_MAX;
	q->pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
	q->pattern[1] = ip;
	q->pattern[2] = (struct rte_flow_item){
		.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &q->udp_spec, .mask = &q->udp_mask};
	q->pattern[3].type = RTE_FLOW_ITEM_TYPE_END;
}

static struct rte_flow_action
build_fate(struct request *q, const struct ps_family *family, const struct ps_rule *r)
{
	uint32_t n = 0;

	if (r->fate == PS_FATE_DROP)
		return (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_DROP};
	for (uint16_t i = 0; i < PS_PLAN_QUEUES; i++)
		if ((r->queues >> i & 1) != 0)
			q->queues[n++] = i;
	if (n == 1) {
		q->queue.index = q->queues[0];
		return (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_QUEUE, &q->queue};
	}
	q->rss = (struct rte_flow_action_rss){
		.types = family->rss_types, .queue_num = n, .queue = q->queues};
	return (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_RSS, &q->rss};
}

static void
build_actions(struct request *q, const struct ps_family *family, const struct ps_rule *r)
{
	struct rte_flow_action *a = q->actions;

	for (const uint8_t *want = family->caps.actions; *want != PS_ACT_END; want++) {
		if (*want == PS_ACT_FATE)
			*a++ = build_fate(q, family, r);
		if (*want == PS_ACT_MARK && r->mark != 0) {
			q->mark.id = r->mark;
			*a++ = (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_MARK, &q->mark};
		}
		if (*want == PS_ACT_COUNT && r->count)
			*a++ = (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_COUNT, &q->count};
	}
	a->type = RTE_FLOW_ACTION_TYPE_END;
}

static int
create(struct ps_flow *f, struct ps_flow_rule *r, struct ps_err *e)
{
	static const struct rte_flow_attr attr = {.ingress = 1};
	const struct ps_caps *caps = &f->family->caps;
	struct rte_flow_error error = {.type = RTE_FLOW_ERROR_TYPE_NONE};
	struct request q = {0};
	char text[PS_RULE_TEXT];
	int rc;

	build_pattern(&q, caps, r->rule);
	build_actions(&q, f->family, r->rule);
	rte_errno = 0;
	r->handle = f->ops->create(f->port_id, &attr, q.pattern, q.actions, &error);
	if (r->handle != NULL) {
		r->generation = f->installed_generation;
		r->state = PS_RULE_CREATED;
		return 0;
	}
	/* NULL without an error: the driver changed a rule with the same match. It is none of
	 * ours, since the plan has no two alike: it was left over. */
	rc = error.type == RTE_FLOW_ERROR_TYPE_NONE ? EEXIST : EIO;
	if (rte_errno != 0)
		rc = rte_errno;
	ps_selector_text(r->rule->selector, r->rule->addr_be, text);
	return ps_fail(e, rc, "[port %s] %s: rule for %s: %s (%s); %s", f->plan->port, caps->name,
		text, error.message != NULL ? error.message : "refused by the driver", strerror(rc),
		rc == ENOSPC || rc == ENOBUFS ? "name fewer addresses" : caps->create_remedy);
}

/* Newest first. What the driver will not destroy, its flush takes. */
static void
remove_rules(struct ps_flow *f)
{
	struct rte_flow_error error;
	struct rte_flow *handle;

	for (uint32_t i = f->n_rules; i-- > 0;) {
		struct ps_flow_rule *r = &f->rule[i];

		handle = handle_of(f, r);
		if (handle != NULL)
			f->ops->destroy(f->port_id, handle, &error);
		r->handle = NULL;
		if (r->state != PS_RULE_SOFT)
			r->state = PS_RULE_PLANNED;
		r->based = false;
		r->doubt_ns = 0;
	}
}

static int
create_all(struct ps_flow *f, struct ps_err *e)
{
	const struct ps_caps *caps = &f->family->caps;
	uint32_t n = 0;
	int rc;

	f->installed_generation = atomic_load(&f->generation);
	for (uint32_t i = 0; i < f->n_rules; i++) {
		struct ps_flow_rule *r = &f->rule[i];

		if (r->state == PS_RULE_SOFT)
			continue;
		if (caps->batch != 0 && n > 0 && n % caps->batch == 0)
			f->ops->pause_us(caps->batch_pause_us);
		rc = create(f, r, e);
		if (rc < 0)
			return rc;
		n++;
		if (atomic_load(&f->generation) != f->installed_generation)
			return ps_fail(e, ECANCELED,
				"[port %s] %s: the port was reset while rules were installed; "
				"install again when it runs",
				f->plan->port, caps->name);
	}
	return 0;
}

static int
flush(struct ps_flow *f, struct ps_err *e)
{
	struct rte_flow_error error = {0};
	int rc = f->ops->flush(f->port_id, &error);

	if (rc == 0)
		return 0;
	return ps_fail(e, -rc,
		"[port %s] %s: old rules cannot be removed: %s (%s); stop and start the port",
		f->plan->port, f->family->caps.name,
		error.message != NULL ? error.message : "refused by the driver", strerror(-rc));
}

int
ps_flow_install(struct ps_flow *f, struct ps_err *e)
{
	int rc = check_thread(f, e);

	if (rc < 0)
		return rc;
	if (f->plan->n_rules == f->plan->n_soft) {
		f->installed = true;
		return 0;
	}
	f->installed = false;
	f->xstat_based = false;
	f->settled = false;
	f->first_round_ns = 0;
	remove_rules(f);
	rc = flush(f, e);
	if (rc == 0)
		rc = create_all(f, e);
	if (rc == 0) {
		f->installed = true;
		return 0;
	}
	remove_rules(f);
	if (atomic_load(&f->generation) == f->installed_generation)
		flush(f, NULL);
	return rc;
}

/* -- proof -- */

static enum verdict
by_traffic(const struct ps_flow *f, const struct ps_flow_rule *r)
{
	const struct ps_steer_count *fresh = &r->fresh;

	if (fresh->wrong > 0)
		return ABSENT;
	if (r->rule->mark != 0 && fresh->unmarked > 0)
		return ABSENT;
	if (f->xstat_based && f->fresh_xstat == 0 && fresh->right > 0)
		return ABSENT;
	/* Which of a selector's rules brought the packet cannot be told. */
	if (r->rule->shared)
		return OPEN;
	if (f->family->caps.proof == PS_PROOF_MARK && fresh->marked > 0)
		return PRESENT;
	if (f->family->caps.proof == PS_PROOF_QUEUE && fresh->right > 0 &&
		(r->rule->queues & f->plan->reta_queues) == 0)
		return PRESENT;
	return OPEN;
}

/* The driver answers for the rule; an answer without hits_set is none. */
static enum verdict
by_counter(struct ps_flow *f, struct ps_flow_rule *r)
{
	struct rte_flow_action count[2] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_query_count c = {0};
	struct rte_flow_error error;
	struct rte_flow *handle = handle_of(f, r);

	if (handle == NULL || f->ops->query(f->port_id, handle, count, &c, &error) != 0)
		return ABSENT;
	if (!c.hits_set)
		return ABSENT;
	if (f->family->caps.dump && f->ops->dump(f->port_id, handle, &error) != 0)
		return ABSENT;
	r->fresh_hits = r->based ? c.hits - r->hits : 0;
	r->hits = c.hits;
	/* Its packets arrive, and it counts none of them. */
	if (!r->rule->shared && r->fresh.right + r->fresh.wrong > 0 && r->fresh_hits == 0)
		return ABSENT;
	return PRESENT;
}

static void
judge(struct ps_flow *f, struct ps_flow_rule *r, uint64_t now_ns)
{
	enum verdict v = by_traffic(f, r);

	if (f->family->caps.proof == PS_PROOF_COUNT && v != ABSENT)
		v = by_counter(f, r);
	if (v == PRESENT) {
		r->state = PS_RULE_PROVEN;
		r->doubt_ns = 0;
	} else if (v == ABSENT) {
		if (r->doubt_ns == 0)
			r->doubt_ns = now_ns;
		if (now_ns - r->doubt_ns >= f->family->caps.patience_ms * PS_MS_NS)
			r->state = PS_RULE_LOST;
	}
}

static void
observe(struct ps_flow_rule *r, const struct ps_steer_count *counts, uint32_t n)
{
	struct ps_steer_count now = {0};
	uint32_t id = r->rule->selector->id;

	if (counts != NULL && id < n)
		now = counts[id];
	r->fresh = (struct ps_steer_count){0};
	if (r->based)
		r->fresh = (struct ps_steer_count){
			.right = now.right - r->seen.right,
			.wrong = now.wrong - r->seen.wrong,
			.marked = now.marked - r->seen.marked,
			.unmarked = now.unmarked - r->seen.unmarked,
		};
	r->seen = now;
}

static void
read_xstat(struct ps_flow *f)
{
	uint64_t value;

	if (f->family->caps.xstat == NULL)
		return;
	if (f->ops->xstat(f->port_id, f->family->caps.xstat, &value) != 0) {
		f->xstat_based = false;
		return;
	}
	f->fresh_xstat = f->xstat_based ? value - f->xstat : 1;
	f->xstat = value;
	f->xstat_based = true;
}

static void
report_rule(struct ps_flow_report *report, const struct ps_flow_rule *r)
{
	uint32_t *const by_state[] = {
		[PS_RULE_PLANNED] = &report->planned,
		[PS_RULE_CREATED] = &report->created,
		[PS_RULE_PROVEN] = &report->proven,
		[PS_RULE_LOST] = &report->lost,
		[PS_RULE_SOFT] = &report->soft,
	};

	++*by_state[r->state];
	if (r->state == PS_RULE_LOST && report->bad == NULL)
		report->bad = r;
}

int
ps_flow_verify(struct ps_flow *f, const struct ps_steer_count *counts, uint32_t n_counts,
	uint64_t now_ns, struct ps_flow_report *report, struct ps_err *e)
{
	const struct ps_selector *last = NULL;
	int rc = check_thread(f, e);

	*report = (struct ps_flow_report){0};
	if (rc < 0)
		return rc;
	if (f->first_round_ns == 0)
		f->first_round_ns = now_ns;
	f->settled = now_ns - f->first_round_ns >= SETTLE_NS;
	if (f->installed)
		read_xstat(f);
	for (uint32_t i = 0; i < f->n_rules; i++) {
		struct ps_flow_rule *r = &f->rule[i];

		if (r->handle != NULL && handle_of(f, r) == NULL)
			r->state = PS_RULE_LOST;
		observe(r, counts, n_counts);
		/* A selector's rules stand side by side and share its counters. */
		if (r->rule->selector != last) {
			report->right += r->fresh.right;
			report->wrong += r->fresh.wrong;
			last = r->rule->selector;
		}
		if (r->state == PS_RULE_CREATED || r->state == PS_RULE_PROVEN)
			judge(f, r, now_ns);
		r->based = f->settled;
		report_rule(report, r);
	}
	return 0;
}

/* -- the end -- */

void
ps_flow_invalidate(struct ps_flow *f)
{
	atomic_fetch_add(&f->generation, 1);
}

void
ps_flow_uninstall(struct ps_flow *f)
{
	struct ps_err e;

	if (f->rule == NULL)
		return;
	if (check_thread(f, &e) < 0) {
		ps_log(PS_LOG_ERROR, "%s", e.text);
		return;
	}
	if (f->installed && f->plan->n_soft < f->n_rules) {
		bool current = atomic_load(&f->generation) == f->installed_generation;

		remove_rules(f);
		if (current && flush(f, &e) < 0)
			ps_log(PS_LOG_WARN, "%s", e.text);
	}
	f->installed = false;
	ps_flow_invalidate(f);
}

void
ps_flow_close(struct ps_flow *f)
{
	ps_flow_uninstall(f);
	free(f->rule);
	f->rule = NULL;
	f->n_rules = 0;
}
