/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What can be seen of a port's steering while it runs: netlink and ethdev events are posted to its
 * watch, rules, program and list are read back. control.c acts on what the watch says. */

#include "port.h"

#include <errno.h>
#include <string.h>

#include "ps_time.h"

/* Only where all that rules take is to stay away from the kernel's interface. */
static void
count_leak(struct ps_port *p)
{
	struct ps_err e;

	if (p->kind != PS_PORT_PCI && p->kind != PS_PORT_EAL)
		return;
	if (p->plan.n_rules == 0 ||
		(p->conf->pf[0] == '\0' && p->family->caps.rest != PS_REST_KERNEL))
		return;
	p->counts_leak = ps_leak_open(&p->leak, p->ifname, p->plan.rule, p->plan.n_rules, &e) == 0;
	if (!p->counts_leak)
		ps_log(PS_LOG_WARN,
			"[port %s] what of the services reaches the kernel on %s cannot be "
			"counted: %s; rules that are there and do not act are not seen",
			p->conf->name, p->ifname, e.text);
}

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
	count_leak(p);
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
	if (p->counts_leak)
		ps_leak_close(&p->leak);
	p->evented = p->monitored = p->counts_leak = false;
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

/* -- looking -- */

/* Packets to a queue that is not ours, or has lost its socket, go on to the kernel, and are
 * counted: when all do, what leads to our queues does not act, whatever the kernel answers for it.
 */
static int
verify_program(struct ps_port *p, struct ps_watch_sample *sample, struct ps_err *e)
{
	/* Down, some drivers have no table to tell of; to come up is an event. */
	const bool down = p->monitored && !p->mon.link.up;
	int rc = ps_xdp_verify(&p->xdp, p->keys, p->n_keys, e);

	sample->rules = p->plan.n_rules;
	sample->steered = p->counts.redirected;
	sample->elsewhere = p->counts.elsewhere;
	if (rc == 0)
		p->state = PS_RULE_PROVEN;
	else if (rc == -ENOENT || rc == -EBUSY || rc == -ESTALE)
		p->state = PS_RULE_LOST;
	if (rc == 0)
		rc = ps_xdp_verify_deny(&p->xdp, &p->deny, e);
	if (rc == 0 && !down)
		rc = ps_baseline_verify(&p->baseline, e);
	if (rc == 0 && !down)
		rc = ps_port_verify_layout(p, e);
	sample->kernel_differs = p->state == PS_RULE_LOST || rc == -ESTALE;
	sample->readback_failed = rc < 0 && !sample->kernel_differs;
	return sample->kernel_differs ? 0 : rc;
}

/* A PF that does not have the VF's address, and so no rules, gets what is its own. */
static int
read_leak(struct ps_port *p, struct ps_err *e)
{
	uint32_t packets;
	int rc;

	if (!p->counts_leak)
		return 0;
	rc = ps_leak_read(&p->leak, &packets, e);
	if (p->n_pf_rules > 0 || p->family->caps.rest == PS_REST_KERNEL)
		p->leaked += packets;
	return rc;
}

static int
verify_rules(struct ps_port *p, const struct ps_steer_count *counts, uint32_t n_counts,
	uint64_t now_ns, struct ps_watch_sample *sample, struct ps_err *e)
{
	struct ps_flow_report report;
	int rc = ps_flow_verify(&p->flow, counts, n_counts, now_ns, &report, e);

	ps_port_look_at_addresses(p);
	p->steered += report.right;
	p->elsewhere += report.wrong;
	sample->rules = p->plan.n_rules;
	sample->lost = report.lost;
	if (rc == 0)
		rc = ps_port_pf_verify(p, &sample->kernel_differs, e);
	if (rc == 0 && !sample->kernel_differs)
		rc = read_leak(p, e);
	sample->steered = p->steered;
	sample->elsewhere = p->elsewhere;
	sample->leaked = p->leaked;
	sample->readback_failed = rc < 0;
	return rc;
}

int
ps_port_verify(struct ps_port *p, const struct ps_steer_count *counts, uint32_t n_counts,
	uint64_t now_ns, struct ps_watch_sample *sample, struct ps_err *e)
{
	*sample = (struct ps_watch_sample){0};
	switch (p->kind) {
	case PS_PORT_AF_XDP:
		return verify_program(p, sample, e);
	case PS_PORT_SOCKET:
		return 0;
	default:
		return verify_rules(p, counts, n_counts, now_ns, sample, e);
	}
}

/* -- putting back -- */

static int
reinstall_program(struct ps_port *p, struct ps_err *e)
{
	/* The settings first: what sets them may reset the card. */
	int rc = ps_baseline_restore(&p->baseline, e);

	if (rc == 0)
		rc = ps_port_mend_layout(p, e);
	if (rc == 0)
		rc = ps_xdp_reattach(&p->xdp, e);
	if (rc == 0)
		rc = ps_xdp_seat_sockets(&p->xdp, e);
	if (rc == 0)
		rc = ps_xdp_deny(&p->xdp, &p->deny, e);
	if (rc == 0)
		rc = ps_xdp_allow(&p->xdp, p->keys, p->n_keys, e);
	if (rc == 0)
		rc = ps_xdp_verify(&p->xdp, p->keys, p->n_keys, e);
	p->state = rc == 0 ? PS_RULE_PROVEN : PS_RULE_LOST;
	return rc;
}

int
ps_port_reinstall(struct ps_port *p, struct ps_err *e)
{
	int rc;

	if (p->kind == PS_PORT_SOCKET)
		return 0;
	if (p->kind == PS_PORT_AF_XDP)
		return reinstall_program(p, e);
	rc = ps_flow_install(&p->flow, e);
	return rc < 0 ? rc : ps_port_pf_reinstall(p, e);
}

int
ps_port_reload(struct ps_port *p, struct ps_err *e)
{
	struct ps_err cause, unused;
	struct ps_deny next;
	int rc = ps_deny_load(&next, p->conf->deny, &cause);

	if (rc < 0)
		return ps_fail(e, -rc, "[port %s] %.400s; the list of %u prefixes stays",
			p->conf->name, cause.text, p->deny.n);
	rc = ps_xdp_deny(&p->xdp, &next, &cause);
	if (rc < 0) {
		ps_deny_free(&next);
		ps_xdp_deny(&p->xdp, &p->deny, &unused);
		return ps_fail(e, -rc, "[port %s] %.400s; the list of %u prefixes stays",
			p->conf->name, cause.text, p->deny.n);
	}
	ps_deny_free(&p->deny);
	p->deny = next;
	p->deny_loads++;
	return 0;
}

/* -- for people -- */

const char *
ps_port_heir(const struct ps_port *p)
{
	if (p->kind == PS_PORT_AF_XDP || p->kind == PS_PORT_SOCKET)
		return "its traffic is left to the kernel";
	if (p->family->caps.rest == PS_REST_KERNEL)
		return "its traffic is left to the kernel, as the rules end with the program";
	if (p->n_pf_rules > 0)
		return "its traffic is left to the kernel of the physical function, whose drop "
		       "rules go";
	if (p->kind == PS_PORT_EAL)
		return "its traffic is for whoever else has this device";
	return "its traffic is nobody's, as no kernel has this device";
}
