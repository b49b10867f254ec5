/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* layout = dedicated: our queues out of the indirection table, and a rule to them for each service.
 */

#include "steps.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dedicated.h"
#include "ethtool.h"
#include "ntuple.h"

#define FATE_BYTES 64
/* Each is a row and an entry of the state file. */
#define RULES_MAX 256

static struct ps_queues
queues_of(const struct ps_conf_port *p)
{
	return (struct ps_queues){.first = p->first_queue, .n = p->queues};
}

/* -- ntuple -- */

void
ps_look_dedicated_ntuple(struct ps_host *h, const char *ifname)
{
	const struct ps_knob k = ps_knob_setting(ifname, "feature.rx-ntuple-filter");
	struct ps_ntuple_table t = {0};
	struct ps_feature f = {0};
	struct ps_err e;
	bool has_feature = ps_feature_get(ifname, "rx-ntuple-filter", &f, &e) == 0;
	int rc = ps_ntuple_list(ifname, &t, &e);

	free(t.locations);
	if (has_feature && !f.active && f.changeable)
		ps_host_want(h, PS_STEP_NOT, ifname, &k, "on",
			"layout = dedicated leads the services' packets by rules");
	else if (rc == -EOPNOTSUPP)
		ps_row_add(h, PS_STEP_NOT, ifname, "layout = simple in [port]",
			"its driver has no ntuple rules, which layout = dedicated needs");
	else if (rc < 0)
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
	else
		ps_row_add(h, PS_STEP_OK, ifname, "", "the driver takes ntuple rules");
}

/* -- rss -- */

/* As many queues as there will be once the step channels is done; 0: not known. */
static uint32_t
planned_total(const struct ps_conf_port *p, const char *ifname)
{
	struct ps_err unused;
	uint32_t now;

	if ((ps_params_get(ifname, PS_CHANNELS, "combined", &now, &unused) == 0 && now > 0) ||
		(ps_params_get(ifname, PS_CHANNELS, "rx", &now, &unused) == 0 && now > 0))
		return ps_dedicated_total(queues_of(p), now);
	return 0;
}

static void
look_table(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	static struct ps_rss rss;
	const struct ps_knob k = ps_knob_setting(ifname, "rss");
	const struct ps_queues ours = queues_of(p);
	uint32_t total = planned_total(p, ifname);
	char value[64], queues[PS_QUEUES_TEXT];
	struct ps_err e;
	int rc = ps_rss_get(ifname, &rss, &e);

	if (rc == -EOPNOTSUPP || (rc == 0 && rss.n_entries == 0)) {
		ps_row_add(h, PS_STEP_NOT, ifname, "layout = simple in [port]",
			"its driver has no indirection table, which layout = dedicated needs");
		return;
	}
	if (rc < 0) {
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
		return;
	}
	total = total > 0 ? total : rss.n_rings;
	if ((rss.n_rings == 0 || total == rss.n_rings) && ps_rss_spares(&rss, ours)) {
		ps_row_add(h, PS_STEP_OK, ifname, "", "the table spares penstock's %s",
			ps_queues_text(ours, queues));
		return;
	}
	snprintf(value, sizeof(value), "table=but:%u+%u/%u", ours.first, ours.n, total);
	ps_host_want(
		h, PS_STEP_NOT, ifname, &k, value, "our queues get the services' packets only");
}

static void
look_context(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	const struct ps_queues ours = queues_of(p);
	struct ps_knob k;
	struct ps_err e;
	char key[40];
	uint32_t id;
	int rc = ps_rss_context_find(ifname, ours, &id, &e);

	snprintf(key, sizeof(key), "context.%u+%u", ours.first, ours.n);
	k = ps_knob_setting(ifname, key);
	if (rc == 0)
		ps_row_add(h, PS_STEP_OK, ifname, "", "RSS context %u spreads over ours", id);
	else if (rc == -EOPNOTSUPP)
		ps_row_add(h, PS_STEP_NOT, ifname, "queues = 1, or layout = simple, in [port]",
			"its driver has no further RSS contexts, and a rule alone leads to one "
			"queue");
	else
		ps_host_want(h, PS_STEP_NOT, ifname, &k, "set",
			"the services' packets spread over our queues");
}

void
ps_look_dedicated_rss(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	look_table(h, p, ifname);
	if (p->queues > 1)
		look_context(h, p, ifname);
}

/* -- rules -- */

struct rules {
	struct ps_ntuple_report *all;
	uint32_t n;
	enum ps_ntuple_quirk quirk;
	char fate[FATE_BYTES];
};

static void
look_rule(struct ps_host *h, const char *ifname, const struct rules *r, uint32_t addr_be,
	uint32_t port)
{
	const struct ps_ntuple_rule rule = {
		.daddr_be = addr_be, .dport_be = htons((uint16_t)port), .location = RX_CLS_LOC_ANY};
	char key[PS_DEDICATED_KEY], subject[64], now[FATE_BYTES], remedy[96];
	struct ps_ntuple_rule of;
	struct ps_knob k;

	ps_dedicated_key(addr_be, rule.dport_be, key);
	snprintf(subject, sizeof(subject), "%.15s %s", ifname, key + strlen("udp4."));
	k = ps_knob_setting(ifname, key);
	if (ps_ntuple_match(r->all, r->n, &rule, r->quirk, &of) == NULL) {
		ps_host_want(h, PS_STEP_NOT, subject, &k, r->fate,
			"without a rule its packets go to the kernel");
		return;
	}
	ps_ntuple_fate_text(ifname, &of, now, sizeof(now));
	snprintf(remedy, sizeof(remedy), "ethtool -N %.15s delete %u", ifname, of.location);
	if (strcmp(now, r->fate) == 0)
		ps_row_add(h, PS_STEP_OK, subject, "", "%s", now);
	else
		ps_row_add(h, PS_STEP_NOT, subject, remedy,
			"a rule at location %u takes its packets elsewhere: %s, not %s",
			of.location, now, r->fate);
}

static unsigned int
count_rules(const struct ps_conf *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n_services; i++)
		n += c->service[i].any ? 1 : c->service[i].n_addrs;
	return n;
}

static void
look_rules(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	struct rules r;
	struct ps_err e;
	int rc = ps_ntuple_all(ifname, &r.all, &r.n, &r.quirk, &e);

	ps_dedicated_fate(queues_of(p), r.fate, sizeof(r.fate));
	if (rc < 0) {
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
		return;
	}
	for (unsigned int i = 0; i < h->conf->n_services; i++) {
		const struct ps_conf_service *s = &h->conf->service[i];

		if (s->any)
			look_rule(h, ifname, &r, 0, s->port);
		for (uint32_t a = 0; a < s->n_addrs; a++)
			look_rule(h, ifname, &r, s->addr_be[a], s->port);
	}
	free(r.all);
}

void
ps_step_rules(struct ps_host *h)
{
	const unsigned int n = count_rules(h->conf);
	char ifname[16];
	bool any = false;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];

		if (p->layout != PS_LAYOUT_DEDICATED || ps_host_interface(p, ifname) == NULL)
			continue;
		any = true;
		if (n > RULES_MAX)
			ps_row_add(h, PS_STEP_NOT, ifname,
				"name fewer addresses, or set layout = simple",
				"%u rules are needed, and penstock init sets at most %u", n,
				RULES_MAX);
		else
			look_rules(h, p, ifname);
	}
	if (!any)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no port has layout = dedicated");
}
