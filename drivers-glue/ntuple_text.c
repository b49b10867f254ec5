/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethtool.h"
#include "ntuple.h"

bool
ps_ntuple_key_parse(const char *key, struct ps_ntuple_rule *rule)
{
	const char *dot = strrchr(key, '.');
	char addr[INET_ADDRSTRLEN], *end;
	unsigned long port;

	*rule = (struct ps_ntuple_rule){.location = RX_CLS_LOC_ANY};
	if (dot == NULL || (size_t)(dot - key) >= sizeof(addr) || dot[1] < '0' || dot[1] > '9')
		return false;
	snprintf(addr, sizeof(addr), "%.*s", (int)(dot - key), key);
	port = strtoul(dot + 1, &end, 10);
	rule->dport_be = htons((uint16_t)port);
	return *end == '\0' && port > 0 && port <= UINT16_MAX &&
	       inet_pton(AF_INET, addr, &rule->daddr_be) == 1;
}

/* Matches what rule matches, whatever becomes of it: *of is rule with the report's fate. */
static bool
is_match(const struct ps_ntuple_report *r, const struct ps_ntuple_rule *rule,
	enum ps_ntuple_quirk quirk, struct ps_ntuple_rule *of)
{
	const uint64_t cookie = r->fs.ring_cookie, vf = ethtool_get_flow_spec_ring_vf(cookie);
	struct ethtool_rx_flow_spec want;

	*of = *rule;
	of->location = r->fs.location;
	of->drop = cookie == RX_CLS_FLOW_DISC;
	of->to_vf = !of->drop && vf > 0;
	of->vf = (uint8_t)(vf - 1);
	of->queue = (uint32_t)ethtool_get_flow_spec_ring(cookie);
	of->context = r->context;
	ps_ntuple_spec(of, &want);
	return ps_ntuple_compare(&want, &r->fs, quirk) <= PS_NTUPLE_UNKNOWN;
}

const struct ps_ntuple_report *
ps_ntuple_match(const struct ps_ntuple_report *all, uint32_t n, const struct ps_ntuple_rule *rule,
	enum ps_ntuple_quirk quirk, struct ps_ntuple_rule *of)
{
	const struct ps_ntuple_report *first = NULL;
	struct ps_ntuple_rule this;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_match(&all[i], rule, quirk, &this))
			continue;
		if (first == NULL || this.location < first->fs.location) {
			first = &all[i];
			*of = this;
		}
	}
	return first;
}

void
ps_ntuple_fate_text(const char *ifname, const struct ps_ntuple_rule *rule, char *text, size_t size)
{
	struct ps_queues q;
	struct ps_err unused;

	if (rule->drop)
		snprintf(text, size, "drop");
	else if (rule->context != 0 &&
		 ps_rss_context_queues(ifname, rule->context, &q, &unused) == 0)
		snprintf(text, size, "rss=%u+%u", q.first, q.n);
	else if (rule->context != 0)
		snprintf(text, size, "context=%u", rule->context);
	else if (rule->to_vf)
		snprintf(text, size, "vf=%u queue=%u", rule->vf, rule->queue);
	else
		snprintf(text, size, "queue=%u", rule->queue);
}

/* Its location is in *of; -ENOENT. */
static int
look_up(const char *ifname, const struct ps_ntuple_rule *rule, struct ps_ntuple_rule *of,
	struct ps_err *err)
{
	struct ps_ntuple_report *all;
	enum ps_ntuple_quirk quirk;
	uint32_t n;
	int ret = ps_ntuple_all(ifname, &all, &n, &quirk, err);

	if (ret == 0 && ps_ntuple_match(all, n, rule, quirk, of) == NULL)
		ret = -ENOENT;
	free(all);
	return ret;
}

static int
parse(const char *key, struct ps_ntuple_rule *rule, struct ps_err *err)
{
	return ps_ntuple_key_parse(key, rule)
		       ? 0
		       : ps_fail(err, EINVAL, "\"%.60s\" is not ADDRESS.PORT of a rule", key);
}

int
ps_ntuple_text(const char *ifname, const char *key, char *text, size_t size, struct ps_err *err)
{
	struct ps_ntuple_rule rule, of;
	int ret = parse(key, &rule, err);

	if (ret == 0)
		ret = look_up(ifname, &rule, &of, err);
	if (ret == 0)
		ps_ntuple_fate_text(ifname, &of, text, size);
	else if (ret == -ENOENT)
		snprintf(text, size, "none");
	return ret == -ENOENT ? 0 : ret;
}

/* "queue=N", or "rss=FIRST+N", whose context must be there. */
static int
parse_fate(const char *ifname, const char *text, struct ps_ntuple_rule *rule, struct ps_err *err)
{
	struct ps_queues q;
	int at = 0;

	if (sscanf(text, "queue=%u%n", &rule->queue, &at) == 1 && text[at] == '\0')
		return 0;
	if (sscanf(text, "rss=%u+%u%n", &q.first, &q.n, &at) == 2 && text[at] == '\0')
		return ps_rss_context_find(ifname, q, &rule->context, err);
	return ps_fail(err, EINVAL, "\"%.60s\" is not what becomes of a rule's packets", text);
}

int
ps_ntuple_restore(const char *ifname, const char *key, const char *text, struct ps_err *err)
{
	struct ps_ntuple_rule rule, of;
	enum ps_ntuple_verdict v;
	char fate[64];
	int ret = parse(key, &rule, err), found;

	if (ret < 0)
		return ret;
	found = look_up(ifname, &rule, &of, err);
	if (found < 0 && found != -ENOENT)
		return found;
	if (strcmp(text, "none") == 0)
		return found == 0 ? ps_ntuple_delete(ifname, &of, err) : 0;
	ret = parse_fate(ifname, text, &rule, err);
	if (ret < 0)
		return ret;
	if (found == -ENOENT)
		return ps_ntuple_insert(ifname, &rule, &v, err);
	ps_ntuple_fate_text(ifname, &of, fate, sizeof(fate));
	if (strcmp(fate, text) == 0)
		return 0;
	return ps_fail(err, EEXIST,
		"%s: another ntuple rule takes these packets (%s), at location %u: ethtool -N %s "
		"delete %u",
		ifname, fate, of.location, ifname, of.location);
}
