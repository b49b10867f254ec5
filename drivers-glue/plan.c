/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the checks of one selector share. */
struct planner {
	struct ps_plan *plan;
	const struct ps_caps *caps;
	const struct ps_plan_port *port;
	const struct ps_selector *sel;
	uint32_t n;
	bool expand; /* "any" becomes one rule for each address of the port */
	struct ps_err *e;
};

char *
ps_selector_text(const struct ps_selector *s, uint32_t addr_be, char text[PS_RULE_TEXT])
{
	char addr[INET_ADDRSTRLEN] = "any address";

	if (addr_be != 0)
		inet_ntop(AF_INET, &addr_be, addr, sizeof(addr));
	snprintf(text, PS_RULE_TEXT, "%.48s (%s UDP %u)", s->name, addr, ntohs(s->dport_be));
	return text;
}

/* One line: port, family, selector, limit, remedy. */
static int
refuse(const struct planner *p, const struct ps_selector *s, int errnum, const char *limit,
	const char *remedy)
{
	char text[PS_RULE_TEXT];

	return ps_fail(p->e, errnum, "[port %s] %s: %s: %s; %s", p->port->name,
		ps_selector_text(s, s->addr_be, text), p->caps->name, limit, remedy);
}

static uint64_t
all_workers(const struct planner *p)
{
	return p->port->n_workers >= 64 ? UINT64_MAX : (UINT64_C(1) << p->port->n_workers) - 1;
}

static bool
overlap(const struct ps_selector *a, const struct ps_selector *b)
{
	return a->dport_be == b->dport_be &&
	       (a->addr_be == b->addr_be || a->addr_be == 0 || b->addr_be == 0);
}

static int
check_against_others(const struct planner *p, uint32_t i)
{
	const struct ps_selector *s = &p->sel[i];
	char other[PS_RULE_TEXT], limit[PS_RULE_TEXT + 32];

	for (uint32_t k = 0; k < i; k++) {
		bool both = overlap(s, &p->sel[k]);

		if (!both && s->id != p->sel[k].id)
			continue;
		snprintf(limit, sizeof(limit), "%s %s",
			both ? "takes the same packets as" : "has the same id as",
			ps_selector_text(&p->sel[k], p->sel[k].addr_be, other));
		return refuse(p, s, EINVAL, limit,
			both ? "give one of them another port or another address"
			     : "number them differently");
	}
	return 0;
}

static int
check_selector(const struct planner *p, uint32_t i)
{
	const struct ps_selector *s = &p->sel[i];
	char limit[96];

	if (s->dport_be == 0)
		return refuse(p, s, EINVAL, "a rule needs a UDP port", "give port = 1 to 65535");
	if (s->id == 0 || s->id > PS_PLAN_ID_MAX)
		return refuse(p, s, EINVAL, "ids are 1 to 65535", "number the selectors from 1");
	if (s->fate == PS_FATE_QUEUES && s->workers == 0)
		return refuse(
			p, s, EINVAL, "no worker of this port serves it", "set workers = all");
	if (s->fate == PS_FATE_QUEUES && (s->workers & ~all_workers(p)) != 0) {
		snprintf(limit, sizeof(limit), "this port has workers 0 to %d only",
			p->port->n_workers - 1);
		return refuse(p, s, EINVAL, limit, "name one of these in workers, or raise queues");
	}
	return check_against_others(p, i);
}

/* Neighbouring and a power of two, as the queue regions of ice and iavf are. */
static bool
is_region(uint64_t queues, unsigned int max)
{
	unsigned int n = (unsigned int)__builtin_popcountll(queues);
	uint64_t low = queues >> __builtin_ctzll(queues);

	return n <= max && (n & (n - 1)) == 0 && (low & (low + 1)) == 0;
}

/* Fills soft and queues, or refuses the set. */
static int
plan_queues(const struct planner *p, const struct ps_selector *s, struct ps_rule *r)
{
	const struct ps_caps *c = p->caps;
	unsigned int n = (unsigned int)__builtin_popcountll(s->workers);
	char limit[96];

	if (s->fate == PS_FATE_DROP) {
		r->soft = !c->rules;
		return 0;
	}
	r->queues = s->workers << c->queue_base;
	if (c->rules) {
		if (n == 1 || (c->subset == PS_SUBSET_POW2 && is_region(s->workers, c->subset_max)))
			return 0;
		if (c->subset == PS_SUBSET_LIST && n <= c->subset_max)
			return 0;
	}
	/* The port's own distribution already reaches all workers, and none besides. */
	if (s->workers == all_workers(p) && c->queue_base == 0 && !c->isolate) {
		r->soft = true;
		return 0;
	}
	if (!c->rules)
		return refuse(p, s, ENOTSUP, "this device cannot choose queues by address and port",
			"set workers = all");
	if (c->subset == PS_SUBSET_NONE)
		return refuse(p, s, ENOTSUP, "a rule leads to one queue, or none does",
			"give it one worker, or workers = all");
	snprintf(limit, sizeof(limit),
		c->subset == PS_SUBSET_LIST
			? "a rule leads to at most %u queues"
			: "a rule leads to neighbouring queues, 1, 2, 4, ... up to %u of them",
		c->subset_max);
	return refuse(p, s, ENOTSUP, limit,
		c->subset == PS_SUBSET_LIST ? "give it fewer workers"
					    : "give it such workers, like 0-3, or workers = all");
}

static bool
has_action(const struct ps_caps *c, enum ps_action a)
{
	return memchr(c->actions, a, sizeof(c->actions)) != NULL;
}

static int
add_rules(const struct planner *p, const struct ps_selector *s)
{
	uint32_t copies = s->addr_be == 0 && p->expand ? p->port->n_addrs : 1;
	struct ps_rule r = {
		.selector = s,
		.addr_be = s->addr_be,
		.dport_be = s->dport_be,
		.fate = s->fate,
	};
	int rc = plan_queues(p, s, &r);

	if (rc < 0)
		return rc;
	if (r.soft && !p->port->pf)
		copies = 1;
	r.shared = copies > 1;
	r.count = !r.soft && has_action(p->caps, PS_ACT_COUNT);
	if (!r.soft && r.fate == PS_FATE_QUEUES && has_action(p->caps, PS_ACT_MARK))
		r.mark = s->id;
	for (uint32_t i = 0; i < copies; i++) {
		if (s->addr_be == 0 && p->expand && (!r.soft || p->port->pf))
			r.addr_be = p->port->addr_be[i];
		p->plan->rule[p->plan->n_rules++] = r;
		p->plan->n_soft += r.soft;
	}
	return 0;
}

/* "any" is spelled out where rules with and without address cannot stand together, and where the
 * physical function must drop exactly what is ours. */
static int
choose_fields(struct planner *p)
{
	const struct ps_selector *any = NULL;
	bool exact = false;

	for (uint32_t i = 0; i < p->n; i++) {
		struct ps_rule r = {0};
		int rc = check_selector(p, i);

		if (rc == 0)
			rc = plan_queues(p, &p->sel[i], &r);
		if (rc < 0)
			return rc;
		if (r.soft && !p->port->pf)
			continue;
		if (p->sel[i].addr_be == 0)
			any = &p->sel[i];
		else
			exact = true;
	}
	p->expand = any != NULL && (p->port->pf || (exact && !p->caps->mixed));
	if (!p->expand || p->port->n_addrs > 0)
		return 0;
	return refuse(p, any, ENOTSUP,
		p->port->pf ? "its physical function has the same MAC address and drops exact "
			      "addresses only"
			    : "rules with and without an address cannot stand together",
		"set addresses in the [port] section, or name them in the service");
}

/* The selector named is the one with which the limit is passed. */
static int
too_many(
	const struct planner *p, bool soft_too, uint32_t max, const char *limit, const char *remedy)
{
	const struct ps_plan *plan = p->plan;

	for (uint32_t i = 0, n = 0; i < plan->n_rules; i++) {
		n += soft_too || !plan->rule[i].soft;
		if (n > max)
			return refuse(p, plan->rule[i].selector, ENOSPC, limit, remedy);
	}
	return 0;
}

static int
check_limits(const struct planner *p)
{
	const uint32_t hard = p->plan->n_rules - p->plan->n_soft;
	const struct ps_caps *c = p->caps;
	char limit[96];

	if (c->max_rules != 0 && hard > c->max_rules) {
		snprintf(limit, sizeof(limit), "%u rules are needed, the device holds %u", hard,
			c->max_rules);
		return too_many(p, false, c->max_rules, limit, c->limit_remedy);
	}
	if (p->port->pf && p->port->pf_rules != 0 && p->plan->n_rules > p->port->pf_rules) {
		snprintf(limit, sizeof(limit),
			"%u drop rules are needed in its physical function, which holds %u",
			p->plan->n_rules, p->port->pf_rules);
		return too_many(p, true, p->port->pf_rules, limit,
			"name fewer addresses, or give the VF a MAC address of its own (vf_mac)");
	}
	return 0;
}

static uint64_t
default_queues(const struct planner *p)
{
	/* With queues that no rule may choose, everything else stays there: what comes to the
	 * others was steered. */
	if (p->caps->queue_base > 0)
		return (UINT64_C(1) << p->caps->queue_base) - 1;
	return all_workers(p);
}

static int
fill(struct planner *p)
{
	struct ps_plan *plan = p->plan;
	int rc = choose_fields(p);

	if (rc < 0)
		return rc;
	plan->rule = calloc((size_t)p->n * (p->port->n_addrs > 1 ? p->port->n_addrs : 1) + 1,
		sizeof(*plan->rule));
	if (plan->rule == NULL)
		return ps_fail(p->e, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < p->n; i++)
		rc = add_rules(p, &p->sel[i]);
	return rc < 0 ? rc : check_limits(p);
}

int
ps_plan(struct ps_plan *plan, const struct ps_caps *caps, const struct ps_plan_port *port,
	const struct ps_selector *sel, uint32_t n, struct ps_err *e)
{
	struct planner p = {.plan = plan, .caps = caps, .port = port, .sel = sel, .n = n, .e = e};
	int rc;

	*plan = (struct ps_plan){
		.caps = caps,
		.port = port->name,
		.n_queues = port->n_workers + caps->queue_base,
	};
	if (port->n_workers == 0 || plan->n_queues > PS_PLAN_QUEUES)
		return ps_fail(e, EINVAL, "[port %s] queues: %s takes 1 to %d here; change queues",
			port->name, caps->name, PS_PLAN_QUEUES - caps->queue_base);
	plan->reta_queues = default_queues(&p);
	rc = fill(&p);
	if (rc < 0)
		ps_plan_free(plan);
	return rc;
}

void
ps_plan_free(struct ps_plan *plan)
{
	free(plan->rule);
	plan->rule = NULL;
	plan->n_rules = plan->n_soft = 0;
}
