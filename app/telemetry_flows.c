/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "telemetry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

#include "ps_time.h"

#define VERIFY_NS (PS_SEC_NS) /* clients wait for two */

/* One selector's packets on one port, of all workers. */
static struct ps_steer_count
count_of(const struct ps_app *app, const struct ps_port *p, uint32_t id)
{
	struct ps_steer_count sum = {0};

	for (unsigned int w = 0; w < app->n_workers; w++)
		for (unsigned int i = 0; i < app->worker[w]->n_ports; i++)
			if (app->worker[w]->port[i].id == p->id)
				ps_steer_add(&sum, &app->worker[w]->port[i].steer[id], 1);
	return sum;
}

/* Rules of one selector share its counters, and stand side by side. */
static bool
is_first(const struct ps_port *p, uint32_t rule)
{
	return rule == 0 || p->plan.rule[rule].selector != p->plan.rule[rule - 1].selector;
}

int
ps_tel_flows(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	uint64_t state[PS_RULE_SOFT + 1] = {0};
	uint64_t rules = 0, alarms = 0, losses = 0, reinstalls = 0, leaked = 0;
	struct ps_steer_count sum = {0};

	(void)params;
	for (unsigned int i = 0; i < app->n_ports; i++) {
		const struct ps_port *p = &app->port[i];
		const uint32_t n_pf = p->n_pf_rules;

		rules += p->plan.n_rules + n_pf;
		leaked += p->leaked;
		alarms += p->watch.alarm;
		losses += p->watch.losses;
		reinstalls += p->watch.reinstalls;
		for (uint32_t r = 0; r < p->plan.n_rules; r++) {
			struct ps_steer_count c = count_of(app, p, p->plan.rule[r].selector->id);

			state[ps_port_rule_state(p, r)]++;
			if (is_first(p, r))
				ps_steer_add(&sum, &c, 1);
		}
		for (uint32_t r = 0; r < n_pf; r++)
			state[p->pf_rule[r].state]++;
	}
	ps_tel_u64(d, "flows", rules);
	for (unsigned int s = 0; s <= PS_RULE_SOFT; s++)
		ps_tel_u64(d, ps_rule_state_name((enum ps_rule_state)s), state[s]);
	ps_tel_u64(d, "right", sum.right);
	ps_tel_u64(d, "missteered", sum.wrong);
	ps_tel_u64(d, "leaked", leaked);
	ps_tel_u64(d, "alarms", alarms);
	ps_tel_u64(d, "losses", losses);
	ps_tel_u64(d, "reinstalls", reinstalls);
	ps_tel_u64(d, "looks", atomic_load(&app->looks_done));
	return 0;
}

/* The rule with this number, counted over all ports; behind those of a port's plan come those in
 * its physical function. */
static const struct ps_port *
find(const struct ps_app *app, const char *params, uint32_t *rule)
{
	unsigned long n;
	char *end;

	if (params == NULL || *params < '0' || *params > '9')
		return NULL;
	n = strtoul(params, &end, 10);
	for (unsigned int i = 0; *end == '\0' && i < app->n_ports; i++) {
		*rule = (uint32_t)n;
		if (n < app->port[i].plan.n_rules + app->port[i].n_pf_rules)
			return &app->port[i];
		n -= app->port[i].plan.n_rules + app->port[i].n_pf_rules;
	}
	return NULL;
}

static void
add_text(struct rte_tel_data *d, const char *key, const char *text)
{
	char cut[RTE_TEL_MAX_STRING_LEN];

	snprintf(cut, sizeof(cut), "%.*s", (int)sizeof(cut) - 1, text);
	rte_tel_data_add_dict_string(d, key, cut);
}

static void
add_match(struct rte_tel_data *d, const struct ps_port *p, const char *family,
	const struct ps_rule *rule)
{
	char addr[INET_ADDRSTRLEN] = "any";

	if (rule->addr_be != 0)
		inet_ntop(AF_INET, &rule->addr_be, addr, sizeof(addr));
	add_text(d, "port", p->conf->name);
	add_text(d, "path", ps_port_path(p));
	add_text(d, "family", family);
	add_text(d, "service", rule->selector->name);
	add_text(d, "address", addr);
	ps_tel_u64(d, "udp_port", ntohs(rule->dport_be));
}

/* The drop in the physical function that keeps its kernel from a rule's packets. */
static void
add_pf_rule(struct rte_tel_data *d, const struct ps_port *p, uint32_t r)
{
	const struct ps_pf_rule *pf = &p->pf_rule[r];

	add_match(d, p, "pf-drop", &p->plan.rule[r]);
	add_text(d, "action", "drop");
	add_text(d, "interface", p->conf->pf);
	add_text(d, "state", ps_rule_state_name(pf->state));
	add_text(d, "proof", ps_port_pf_proof(pf));
	add_text(d, "unproven",
		"that it acts, until a packet comes: what the kernel of the "
		"interface gets is counted as leaked");
	add_text(d, "lost_on", "ntuple off, reset, another MAC address of the interface");
	ps_tel_u64(d, "location", pf->ntuple.location);
	ps_tel_u64(d, "leaked", p->leaked);
	ps_tel_u64(d, "alarm", p->watch.alarm);
}

int
ps_tel_flow(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	const struct ps_rule *rule;
	struct ps_steer_count c;
	const struct ps_port *p;
	uint32_t r;

	p = find(app, params, &r);
	if (p == NULL)
		return -EINVAL;
	if (r >= p->plan.n_rules) {
		add_pf_rule(d, p, r - p->plan.n_rules);
		return 0;
	}
	rule = &p->plan.rule[r];
	c = count_of(app, p, rule->selector->id);
	add_match(d, p, p->family->caps.name, rule);
	add_text(d, "action", rule->fate == PS_FATE_DROP ? "drop" : "queues");
	add_text(d, "state", ps_rule_state_name(ps_port_rule_state(p, r)));
	add_text(d, "proof", ps_port_proof(p, r));
	add_text(d, "unproven", p->family->caps.unproven);
	add_text(d, "lost_on", p->family->caps.lost_on);
	ps_tel_u64(d, "selector", rule->selector->id);
	ps_tel_u64(d, "mark", rule->mark);
	ps_tel_u64(d, "queues", rule->queues);
	ps_tel_u64(d, "generation", atomic_load(&p->flow.generation));
	ps_tel_u64(d, "hits", p->flow.rule != NULL ? p->flow.rule[r].hits : 0);
	ps_tel_u64(d, "right", c.right);
	ps_tel_u64(d, "missteered", c.wrong);
	ps_tel_u64(d, "marked", c.marked);
	ps_tel_u64(d, "unmarked", c.unmarked);
	ps_tel_u64(d, "leaked", p->leaked);
	ps_tel_u64(d, "alarm", p->watch.alarm);
	return 0;
}

/* The control thread owns all rules: it is asked, and waited for. */
int
ps_tel_verify(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	const uint32_t asked = atomic_fetch_add(&app->looks_asked, 1) + 1;
	const uint64_t deadline = ps_now_ns() + VERIFY_NS;
	bool done;

	eventfd_write(app->wake_fd, 1);
	while (!(done = (int32_t)(atomic_load(&app->looks_done) - asked) >= 0) &&
		ps_now_ns() < deadline)
		nanosleep(&(struct timespec){.tv_nsec = PS_MS_NS}, NULL);
	ps_tel_u64(d, "verified", done);
	return ps_tel_flows(app, params, d);
}
