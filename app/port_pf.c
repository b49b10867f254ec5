/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A VF that has the MAC address of its physical function: the PF's kernel would also see what is
 * ours, and answer it. Exact rules in the PF drop that there; they are read back and compared by
 * meaning, and go before the port does. A rule of this meaning that is there already (the rules of
 * a killed run are gone by now) becomes ours: left behind, it would keep the traffic from the
 * kernel after our end. */

#include "port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/pf_record.h"

static int
is_needed(const struct ps_port *p, bool *needed, struct ps_err *e)
{
	struct ps_iface pf;
	int rc;

	*needed = false;
	if (p->conf->pf[0] == '\0' || (p->kind != PS_PORT_PCI && p->kind != PS_PORT_EAL))
		return 0;
	rc = ps_iface_get(p->conf->pf, &pf, e);
	if (rc == 0)
		*needed = memcmp(pf.mac, p->mac.addr_bytes, sizeof(pf.mac)) == 0;
	return rc;
}

/* Kept until the port's end: telemetry may be reading them. */
static int
make_rules(struct ps_port *p, struct ps_err *e)
{
	if (p->pf_rule == NULL)
		p->pf_rule = calloc(p->plan.n_rules, sizeof(*p->pf_rule));
	if (p->pf_rule == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->plan.n_rules; i++) {
		const struct ps_rule *r = &p->plan.rule[i];

		if (r->addr_be == 0)
			return ps_fail(e, EINVAL,
				"[port %s] service %s: address = any cannot be kept from the "
				"kernel of %s, which has the same MAC address; name the addresses, "
				"or set another vf_mac",
				p->conf->name, r->selector->name, p->conf->pf);
		p->pf_rule[i].ntuple = (struct ps_ntuple_rule){
			.daddr_be = r->addr_be, .dport_be = r->dport_be, .drop = true};
		p->pf_rule[i].state = PS_RULE_PLANNED;
	}
	atomic_store(&p->n_pf_rules, p->plan.n_rules);
	return 0;
}

static int
insert(struct ps_port *p, struct ps_ntuple_rule *rule, struct ps_err *e)
{
	enum ps_ntuple_verdict v;
	int rc;

	rule->location = RX_CLS_LOC_ANY;
	rc = ps_pf_record_note(p->conf->pf, rule, e);
	if (rc == 0)
		rc = ps_ntuple_insert(p->conf->pf, rule, &v, e);
	if (rc == -EEXIST) {
		ps_port_fall_back(p,
			"a drop rule of our own -> one that goes at the end too: %.256s", e->text);
		rc = 0;
	}
	if (rc == 0)
		rc = ps_pf_record_note(p->conf->pf, rule, e);
	return rc;
}

/* Reads the rule back: 0 and its state, or why it could not be asked. What is at its place and
 * means something else was put there by somebody: ours is lost. */
static int
look_at(const struct ps_port *p, struct ps_pf_rule *rule, struct ps_err *e)
{
	enum ps_ntuple_verdict v = PS_NTUPLE_EQUAL;
	int rc;

	if (rule->state == PS_RULE_PLANNED)
		return 0;
	rc = ps_ntuple_verify(p->conf->pf, &rule->ntuple, &v, e);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (rc == 0 && v > PS_NTUPLE_UNKNOWN)
		ps_fail(e, ESTALE, "%s: location %u holds another rule than ours: %s", p->conf->pf,
			rule->ntuple.location, ps_ntuple_reason(v));
	if (rc == -ENOENT || v > PS_NTUPLE_UNKNOWN)
		rule->state = PS_RULE_LOST;
	else
		rule->state = v == PS_NTUPLE_EQUAL ? PS_RULE_PROVEN : PS_RULE_CREATED;
	return 0;
}

/* Those that are not there. */
static int
insert_all(struct ps_port *p, struct ps_err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < p->n_pf_rules; i++) {
		struct ps_pf_rule *rule = &p->pf_rule[i];

		rc = look_at(p, rule, e);
		if (rc < 0 || rule->state == PS_RULE_CREATED || rule->state == PS_RULE_PROVEN)
			continue;
		rc = insert(p, &rule->ntuple, e);
		if (rc == 0) {
			rule->state = PS_RULE_CREATED;
			rc = look_at(p, rule, e);
		}
	}
	return rc;
}

/* The first failure, after all were tried; those that failed stay ours. */
static int
delete_all(struct ps_port *p, struct ps_err *e)
{
	int rc = 0;

	for (uint32_t i = p->n_pf_rules; i-- > 0;) {
		struct ps_pf_rule *rule = &p->pf_rule[i];
		struct ps_err cause;
		int one = 0;

		if (rule->state != PS_RULE_PLANNED)
			one = ps_ntuple_delete(p->conf->pf, &rule->ntuple, &cause);
		if (one == 0 || one == -ENOENT || one == -ESTALE)
			rule->state = PS_RULE_PLANNED;
		else if (rc == 0)
			rc = ps_fail(e, -one, "[port %s] %.480s", p->conf->name, cause.text);
	}
	if (rc == 0)
		atomic_store(&p->n_pf_rules, 0);
	return rc;
}

int
ps_port_pf_install(struct ps_port *p, struct ps_err *e)
{
	bool needed;
	int rc = is_needed(p, &needed, e);

	if (rc < 0 || !needed)
		return rc;
	rc = make_rules(p, e);
	if (rc == 0)
		rc = insert_all(p, e);
	if (rc < 0)
		ps_port_pf_remove(p);
	return rc;
}

/* Whether the rules have to be there changes with the PF's MAC address: kept after it was changed,
 * they would leave what comes to the new one to nobody; and where there was no need of any, it may
 * come. */
int
ps_port_pf_verify(struct ps_port *p, bool *differs, struct ps_err *e)
{
	bool needed;
	int rc = is_needed(p, &needed, e);

	*differs = rc == 0 && needed != (p->n_pf_rules > 0);
	if (*differs && needed)
		ps_fail(e, ESTALE, "%s now has the MAC address of the port, and no rules",
			p->conf->pf);
	else if (*differs)
		ps_fail(e, ESTALE,
			"%s no longer has the MAC address of the port, its rules must go",
			p->conf->pf);
	if (p->n_pf_rules == 0)
		return rc == -ENODEV ? 0 : rc;
	for (uint32_t i = 0; rc == 0 && i < p->n_pf_rules; i++) {
		rc = look_at(p, &p->pf_rule[i], e);
		*differs |= p->pf_rule[i].state == PS_RULE_LOST;
	}
	return rc;
}

int
ps_port_pf_reinstall(struct ps_port *p, struct ps_err *e)
{
	bool needed;
	int rc = is_needed(p, &needed, e);

	if (rc == 0 && !needed)
		rc = delete_all(p, e);
	else if (rc == 0 && p->n_pf_rules == 0)
		rc = ps_port_pf_install(p, e);
	else if (rc == 0)
		rc = insert_all(p, e);
	return rc == -ENODEV && p->n_pf_rules == 0 ? 0 : rc;
}

void
ps_port_pf_remove(struct ps_port *p)
{
	struct ps_err e;

	if (delete_all(p, &e) < 0)
		ps_log(PS_LOG_WARN, "%s", e.text);
	atomic_store(&p->n_pf_rules, 0);
}

const char *
ps_port_pf_proof(const struct ps_pf_rule *rule)
{
	if (rule->state == PS_RULE_PLANNED)
		return "none";
	if (rule->state == PS_RULE_CREATED)
		return "kernel readback; the driver does not tell this rule's masks";
	return "kernel readback compared by meaning";
}
