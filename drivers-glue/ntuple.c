/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ntuple.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethtool.h"

/* More than any driver has; a count above it is nonsense. */
#define MAX_RULES 65536
/* Where a driver does not tell the size of its table. */
#define DEFAULT_SIZE 1024

static const char *
rule_text(const struct ps_ntuple_rule *rule, char text[64])
{
	char addr[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &rule->daddr_be, addr, sizeof(addr));
	snprintf(text, 64, "dst-ip %s dst-port %u", addr, ntohs(rule->dport_be));
	return text;
}

static int
get_quirk(const char *ifname, enum ps_ntuple_quirk *quirk, struct ps_err *err)
{
	struct ps_driver driver;
	int ret = ps_driver_get(ifname, &driver, err);

	if (ret == 0)
		*quirk = ps_ntuple_quirk_of(driver.name);
	return ret;
}

static int
fail_unsupported(const char *ifname, int ret, struct ps_err *err)
{
	if (ret == -EOPNOTSUPP)
		return ps_fail(err, EOPNOTSUPP,
			"%s: its driver has no ntuple rules: choose another path (port.path)",
			ifname);
	if (ret == -EPERM)
		return ps_fail(
			err, EPERM, "%s: ntuple rules need CAP_NET_ADMIN: run as root", ifname);
	return ps_fail(err, -ret, "%s: reading ntuple rules: %s", ifname, strerror(-ret));
}

/* One answer of the driver; the number of rules may grow between count and list. */
static int
list_once(const char *ifname, struct ps_ntuple_table *t)
{
	struct ethtool_rxnfc count = {.cmd = ETHTOOL_GRXCLSRLCNT}, *all;
	int ret = ps_ethtool_ioctl(ifname, &count);

	if (ret < 0)
		return ret;
	if (count.rule_cnt > MAX_RULES)
		return -ERANGE;
	all = calloc(1, sizeof(*all) + count.rule_cnt * sizeof(all->rule_locs[0]));
	t->locations = calloc(count.rule_cnt + 1, sizeof(t->locations[0]));
	if (all == NULL || t->locations == NULL) {
		ret = -ENOMEM;
	} else {
		all->cmd = ETHTOOL_GRXCLSRLALL;
		all->rule_cnt = count.rule_cnt;
		ret = ps_ethtool_ioctl(ifname, all);
	}
	if (ret == 0 && all->rule_cnt > count.rule_cnt)
		ret = -EMSGSIZE;
	if (ret == 0) {
		t->n = all->rule_cnt;
		memcpy(t->locations, all->rule_locs, t->n * sizeof(t->locations[0]));
		/* Some tell the size here, some with the count. */
		t->size = (uint32_t)(all->data ? all->data : count.data) & ~RX_CLS_LOC_SPECIAL;
		t->driver_chooses = (count.data & RX_CLS_LOC_SPECIAL) != 0;
	} else {
		free(t->locations);
		t->locations = NULL;
	}
	free(all);
	return ret;
}

int
ps_ntuple_list(const char *ifname, struct ps_ntuple_table *t, struct ps_err *err)
{
	int ret = -EMSGSIZE;

	for (int tries = 0; tries < 3 && ret == -EMSGSIZE; tries++) {
		memset(t, 0, sizeof(*t));
		ret = list_once(ifname, t);
	}
	return ret < 0 ? fail_unsupported(ifname, ret, err) : 0;
}

static bool
is_used(const struct ps_ntuple_table *t, uint32_t location)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->locations[i] == location)
			return true;
	return false;
}

static int
report_rule(const char *ifname, uint32_t location, struct ps_ntuple_report *r)
{
	/* Bytes the driver does not write come back as they were sent: as zeros. */
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_GRXCLSRULE, .fs.location = location};
	int ret = ps_ethtool_ioctl(ifname, &nfc);

	r->fs = nfc.fs;
	r->context = nfc.fs.flow_type & FLOW_RSS ? nfc.rss_context : 0;
	return ret;
}

static int
read_rule(const char *ifname, uint32_t location, struct ethtool_rx_flow_spec *fs)
{
	struct ps_ntuple_report r;
	int ret = report_rule(ifname, location, &r);

	*fs = r.fs;
	return ret;
}

int
ps_ntuple_all(const char *ifname, struct ps_ntuple_report **all, uint32_t *n,
	enum ps_ntuple_quirk *quirk, struct ps_err *err)
{
	struct ps_ntuple_table t;
	int ret = ps_ntuple_list(ifname, &t, err);

	*n = 0;
	*all = NULL;
	if (ret == 0)
		ret = get_quirk(ifname, quirk, err);
	if (ret < 0)
		return ret;
	*all = calloc(t.n + 1, sizeof(**all));
	for (uint32_t i = 0; *all != NULL && i < t.n; i++)
		*n += report_rule(ifname, t.locations[i], &(*all)[*n]) == 0;
	free(t.locations);
	return *all != NULL ? 0 : fail_unsupported(ifname, -ENOMEM, err);
}

int
ps_ntuple_read(
	const char *ifname, uint32_t location, struct ethtool_rx_flow_spec *fs, struct ps_err *err)
{
	struct ps_ntuple_table t;
	bool used;
	int ret = ps_ntuple_list(ifname, &t, err);

	if (ret < 0)
		return ret;
	/* Drivers disagree on the error for an empty location: the list tells. */
	used = is_used(&t, location);
	free(t.locations);
	if (!used)
		return ps_fail(err, ENOENT,
			"%s: there is no ntuple rule at location %u: see "
			"ethtool -n %s",
			ifname, location, ifname);
	ret = read_rule(ifname, location, fs);
	return ret < 0 ? fail_unsupported(ifname, ret, err) : 0;
}

static int
find(const char *ifname, const struct ps_ntuple_table *t, const struct ps_ntuple_rule *rule,
	uint32_t *location, enum ps_ntuple_verdict *v, struct ps_err *err)
{
	struct ps_ntuple_rule anywhere = *rule;
	struct ethtool_rx_flow_spec want, got;
	enum ps_ntuple_quirk quirk = PS_NTUPLE_EXACT;
	int ret = get_quirk(ifname, &quirk, err);

	if (ret < 0)
		return ret;
	anywhere.location = RX_CLS_LOC_ANY;
	ps_ntuple_spec(&anywhere, &want);
	for (uint32_t i = 0; i < t->n; i++) {
		if (read_rule(ifname, t->locations[i], &got) < 0)
			continue; /* removed meanwhile */
		*v = ps_ntuple_compare(&want, &got, quirk);
		if (*v <= PS_NTUPLE_UNKNOWN) {
			*location = t->locations[i];
			return 0;
		}
	}
	return -ENOENT;
}

int
ps_ntuple_find(const char *ifname, const struct ps_ntuple_rule *rule, uint32_t *location,
	enum ps_ntuple_verdict *v, struct ps_err *err)
{
	struct ps_ntuple_table t;
	char text[64];
	int ret = ps_ntuple_list(ifname, &t, err);

	if (ret < 0)
		return ret;
	ret = find(ifname, &t, rule, location, v, err);
	free(t.locations);
	if (ret == -ENOENT)
		return ps_fail(err, ENOENT, "%s: no ntuple rule for %s: see ethtool -n %s", ifname,
			rule_text(rule, text), ifname);
	return ret;
}

/* Decides where it goes; t is what is there now. */
static int
choose(const char *ifname, const struct ps_ntuple_table *t, struct ps_ntuple_rule *rule,
	struct ps_err *err)
{
	uint32_t size = t->size ? t->size : DEFAULT_SIZE;

	if (rule->location != RX_CLS_LOC_ANY) {
		if (is_used(t, rule->location))
			return ps_fail(err, EBUSY,
				"%s: another ntuple rule is at location %u: ethtool -N %s delete "
				"%u, or choose another location",
				ifname, rule->location, ifname, rule->location);
		return 0;
	}
	if (t->driver_chooses)
		return 0;
	for (uint32_t l = 0; l < size; l++)
		if (!is_used(t, l)) {
			rule->location = l;
			return 0;
		}
	return ps_fail(err, ENOSPC,
		"%s: all %u ntuple rules are taken: remove some, see "
		"ethtool -n %s",
		ifname, size, ifname);
}

static int
insert_raw(const char *ifname, struct ps_ntuple_rule *rule, struct ps_err *err)
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_SRXCLSRLINS, .rss_context = rule->context};
	char text[64];
	int ret;

	ps_ntuple_spec(rule, &nfc.fs);
	ret = ps_ethtool_ioctl(ifname, &nfc);
	if (ret < 0)
		return ps_fail(err, -ret,
			"%s: the driver refuses the ntuple rule %s (%s): is it on (ethtool -K %s "
			"ntuple on), is the queue there, does the kernel log name a reason?",
			ifname, rule_text(rule, text), strerror(-ret), ifname);
	if (nfc.fs.location & RX_CLS_LOC_SPECIAL)
		return ps_fail(err, EIO,
			"%s: the driver does not tell where it put the ntuple rule %s: look with "
			"ethtool -n %s and remove it",
			ifname, rule_text(rule, text), ifname);
	rule->location = nfc.fs.location;
	return 0;
}

static int
delete_raw(const char *ifname, uint32_t location)
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_SRXCLSRLDEL, .fs.location = location};

	return ps_ethtool_ioctl(ifname, &nfc);
}

int
ps_ntuple_insert(const char *ifname, struct ps_ntuple_rule *rule, enum ps_ntuple_verdict *v,
	struct ps_err *err)
{
	struct ps_ntuple_rule r = *rule;
	struct ps_ntuple_table t;
	char text[64];
	int ret = ps_ntuple_list(ifname, &t, err);

	if (ret < 0)
		return ret;
	ret = find(ifname, &t, rule, &r.location, v, err);
	if (ret == 0) {
		rule->location = r.location;
		ret = ps_fail(err, EEXIST,
			"%s: the ntuple rule %s is there already, at location %u", ifname,
			rule_text(rule, text), r.location);
	} else if (ret == -ENOENT) {
		ret = choose(ifname, &t, &r, err);
	}
	free(t.locations);
	if (ret == 0)
		ret = insert_raw(ifname, &r, err);
	if (ret < 0)
		return ret;
	rule->location = r.location;
	ret = ps_ntuple_verify(ifname, rule, v, err);
	if (ret == 0 && *v <= PS_NTUPLE_UNKNOWN)
		return 0;
	delete_raw(ifname, r.location);
	return ps_fail(err, EIO,
		"%s: the driver took the ntuple rule %s but does not have it as it was given (%s); "
		"it was removed: choose another path (port.path)",
		ifname, rule_text(rule, text), ret < 0 ? "not found" : ps_ntuple_reason(*v));
}

int
ps_ntuple_verify(const char *ifname, const struct ps_ntuple_rule *rule, enum ps_ntuple_verdict *v,
	struct ps_err *err)
{
	struct ethtool_rx_flow_spec want, got;
	enum ps_ntuple_quirk quirk = PS_NTUPLE_EXACT;
	int ret = get_quirk(ifname, &quirk, err);

	if (ret == 0)
		ret = ps_ntuple_read(ifname, rule->location, &got, err);
	if (ret == 0) {
		ps_ntuple_spec(rule, &want);
		*v = ps_ntuple_compare(&want, &got, quirk);
	}
	return ret;
}

int
ps_ntuple_delete(const char *ifname, const struct ps_ntuple_rule *rule, struct ps_err *err)
{
	enum ps_ntuple_verdict v;
	char text[64];
	int ret = ps_ntuple_verify(ifname, rule, &v, err);

	if (ret < 0)
		return ret;
	if (v > PS_NTUPLE_UNKNOWN)
		return ps_fail(err, ESTALE,
			"%s: location %u no longer holds our ntuple rule %s (%s)"
			": left alone, see ethtool -n %s",
			ifname, rule->location, rule_text(rule, text), ps_ntuple_reason(v), ifname);
	ret = delete_raw(ifname, rule->location);
	if (ret < 0)
		return ps_fail(err, -ret,
			"%s: removing the ntuple rule %s: %s: try ethtool -N %s "
			"delete %u",
			ifname, rule_text(rule, text), strerror(-ret), ifname, rule->location);
	/* A driver that answers 0 and keeps it would go on dropping. */
	ret = ps_ntuple_verify(ifname, rule, &v, err);
	if (ret == 0 && v <= PS_NTUPLE_UNKNOWN)
		return ps_fail(err, EIO,
			"%s: the driver keeps the ntuple rule %s: reload the driver", ifname,
			rule_text(rule, text));
	return ret == -ENOENT ? 0 : ret;
}
