/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What can be seen of a port's steering while it runs: netlink and ethdev events are posted to its
 * watch, rules, program and list are read back. control.c acts on what the watch says. */

#include "port.h"

#include <errno.h>
#include <string.h>

#include "ps_time.h"

int
ps_port_watch(struct ps_port *p, const struct ps_conf *conf, struct ps_err *e)
{
	int rc;

	ps_watch_init(&p->watch, conf->watch_ms * PS_MS_NS, p->family->caps.patience_ms,
		(enum ps_on_rule_loss)conf->on_rule_loss, ps_now_ns());
	if (p->kind == PS_PORT_PCI || p->kind == PS_PORT_EAL) {
		rc = ps_events_attach(&p->events, p->id, &p->watch, &p->flow, e);
		if (rc < 0)
			return rc;
		p->evented = true;
	}
	if (p->ifname[0] == '\0' && p->conf->pf[0] != '\0')
		snprintf(p->ifname, sizeof(p->ifname), "%.*s", IF_NAMESIZE - 1, p->conf->pf);
	if (p->ifname[0] == '\0')
		return 0;
	rc = ps_linkmon_open(&p->mon, p->ifname, e);
	p->monitored = rc == 0;
	return rc;
}

void
ps_port_unwatch(struct ps_port *p)
{
	if (p->evented)
		ps_events_detach(&p->events);
	if (p->monitored)
		ps_linkmon_close(&p->mon);
	p->evented = p->monitored = false;
}

void
ps_port_hear(struct ps_port *p)
{
	struct ps_err e;
	char text[256];
	int changes;

	if (!p->monitored)
		return;
	changes = ps_linkmon_poll(&p->mon, &e);
	if (changes < 0) {
		ps_log(PS_LOG_WARN, "[port %s] %s; only the periodic look remains", p->conf->name,
			e.text);
		ps_linkmon_close(&p->mon);
		p->monitored = false;
		return;
	}
	if (changes == 0)
		return;
	ps_log(changes & PS_LINK_XDP ? PS_LOG_DEBUG : PS_LOG_INFO, "[port %s] %s: %s",
		p->conf->name, p->ifname, ps_link_change_text(changes, text, sizeof(text)));
	ps_watch_link(&p->watch, changes);
}

static int
verify_program(struct ps_port *p, struct ps_watch_sample *sample, struct ps_err *e)
{
	int rc = ps_xdp_verify(&p->xdp, p->keys, p->n_keys, e);

	sample->rules = p->plan.n_rules;
	sample->kernel_differs = rc == -ENOENT || rc == -EBUSY || rc == -ESTALE;
	sample->readback_failed = rc < 0 && !sample->kernel_differs;
	if (rc == 0)
		p->state = PS_RULE_PROVEN;
	else if (sample->kernel_differs)
		p->state = PS_RULE_LOST;
	return sample->kernel_differs ? 0 : rc;
}

int
ps_port_verify(struct ps_port *p, const struct ps_steer_count *counts, uint32_t n_counts,
	uint64_t now_ns, struct ps_watch_sample *sample, struct ps_err *e)
{
	struct ps_flow_report report;
	int rc;

	*sample = (struct ps_watch_sample){0};
	if (p->kind == PS_PORT_AF_XDP)
		return verify_program(p, sample, e);
	if (p->kind == PS_PORT_SOCKET)
		return 0;
	rc = ps_flow_verify(&p->flow, counts, n_counts, now_ns, &report, e);
	p->steered += report.right;
	p->elsewhere += report.wrong;
	sample->rules = p->plan.n_rules;
	sample->lost = report.lost;
	sample->steered = p->steered;
	sample->elsewhere = p->elsewhere;
	if (rc == 0)
		rc = ps_port_pf_verify(p, &sample->kernel_differs, e);
	sample->readback_failed = rc < 0;
	return rc;
}

int
ps_port_reinstall(struct ps_port *p, struct ps_err *e)
{
	int rc;

	if (p->kind == PS_PORT_SOCKET)
		return 0;
	if (p->kind != PS_PORT_AF_XDP) {
		rc = ps_flow_install(&p->flow, e);
		return rc < 0 ? rc : ps_port_pf_reinstall(p, e);
	}
	rc = ps_xdp_reattach(&p->xdp, e);
	if (rc == 0)
		rc = ps_xdp_allow(&p->xdp, p->keys, p->n_keys, e);
	if (rc == 0)
		rc = ps_xdp_verify(&p->xdp, p->keys, p->n_keys, e);
	p->state = rc == 0 ? PS_RULE_PROVEN : PS_RULE_LOST;
	return rc;
}
