/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "dedicated.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntuple.h"
#include "settings.h"

#define FATE_BYTES 64

void
ps_dedicated_fate(struct ps_queues ours, char *text, size_t size)
{
	if (ours.n == 1)
		snprintf(text, size, "queue=%u", ours.first);
	else
		snprintf(text, size, "rss=%u+%u", ours.first, ours.n);
}

char *
ps_dedicated_key(uint32_t addr_be, uint16_t port_be, char text[PS_DEDICATED_KEY])
{
	char addr[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &addr_be, addr, sizeof(addr));
	snprintf(text, PS_DEDICATED_KEY, "udp4.%s.%u", addr, ntohs(port_be));
	return text;
}

uint32_t
ps_dedicated_total(struct ps_queues ours, uint32_t now)
{
	const uint32_t last = ours.first + ours.n;
	const uint32_t need = ours.first > 0 ? last : last + 1;

	return now > need ? now : need;
}

int
ps_dedicated_place(
	struct ps_queues *ours, uint32_t n, uint32_t total, uint64_t taken, struct ps_err *err)
{
	for (uint32_t first = 0; n > 0 && n < total && first + n <= total; first++) {
		const uint64_t mine = n < 64 ? ((UINT64_C(1) << n) - 1) : UINT64_MAX;

		if (first + n > 64)
			break;
		if (((taken >> first) & mine) != 0)
			continue;
		*ours = (struct ps_queues){.first = first, .n = n};
		return 0;
	}
	return ps_fail(err, ENOSPC, "no %u neighbouring queue%s of %u %s free", n,
		n == 1 ? "" : "s", total, n == 1 ? "is" : "are");
}

static int
differs(const struct ps_dedicated *d, const char *what, struct ps_err *err)
{
	return ps_fail(err, ESTALE,
		"%s: layout = dedicated, but %s; stop penstock, and penstock init sets it",
		d->ifname, what);
}

static int
verify_table(const struct ps_dedicated *d, struct ps_err *err)
{
	struct ps_rss *r = malloc(sizeof(*r));
	int ret = r == NULL ? ps_fail(err, ENOMEM, "out of memory") : ps_rss_get(d->ifname, r, err);
	char what[96], queues[PS_QUEUES_TEXT];

	if (ret == 0 && r->n_entries == 0)
		ret = ps_fail(err, EOPNOTSUPP,
			"%s: its driver has no indirection table: set layout = simple", d->ifname);
	if (ret == 0 && !ps_rss_spares(r, d->ours)) {
		snprintf(what, sizeof(what), "the indirection table leads to penstock's %s too",
			ps_queues_text(d->ours, queues));
		ret = differs(d, what, err);
	}
	free(r);
	return ret;
}

static void
key_rule(const struct ps_steer_key *key, struct ps_ntuple_rule *rule)
{
	*rule = (struct ps_ntuple_rule){
		.daddr_be = key->addr_be, .dport_be = key->port_be, .location = RX_CLS_LOC_ANY};
}

static int
verify_rules(const struct ps_dedicated *d, struct ps_err *err)
{
	char want[FATE_BYTES], got[FATE_BYTES], key[PS_DEDICATED_KEY], what[192];
	struct ps_ntuple_report *all;
	enum ps_ntuple_quirk quirk;
	uint32_t n;
	int ret = ps_ntuple_all(d->ifname, &all, &n, &quirk, err);

	ps_dedicated_fate(d->ours, want, sizeof(want));
	for (uint32_t i = 0; ret == 0 && i < d->n_keys; i++) {
		struct ps_ntuple_rule rule, of;

		key_rule(&d->keys[i], &rule);
		snprintf(got, sizeof(got), "none");
		if (ps_ntuple_match(all, n, &rule, quirk, &of) != NULL)
			ps_ntuple_fate_text(d->ifname, &of, got, sizeof(got));
		if (strcmp(got, want) == 0)
			continue;
		snprintf(what, sizeof(what), "the ntuple rule %s is %s, not %s",
			ps_dedicated_key(d->keys[i].addr_be, d->keys[i].port_be, key), got, want);
		ret = differs(d, what, err);
	}
	free(all);
	return ret;
}

int
ps_dedicated_verify(const struct ps_dedicated *d, struct ps_err *err)
{
	int ret = verify_table(d, err);

	return ret < 0 ? ret : verify_rules(d, err);
}

/* Without, no driver takes rules; which one has no such switch is seen by its answer. */
static int
allow_rules(const char *ifname, struct ps_err *err)
{
	struct ps_feature f;

	if (ps_feature_get(ifname, "rx-ntuple-filter", &f, err) < 0 || f.active || !f.changeable)
		return 0;
	return ps_feature_set(ifname, "rx-ntuple-filter", true, err);
}

/* Channels and RSS context are not set here: both would take the queues from under the sockets. */
int
ps_dedicated_mend(const struct ps_dedicated *d, struct ps_err *err)
{
	char fate[FATE_BYTES], key[PS_DEDICATED_KEY];
	struct ps_rss *r = malloc(sizeof(*r));
	int ret = r == NULL ? ps_fail(err, ENOMEM, "out of memory") : ps_rss_get(d->ifname, r, err);

	if (ret == 0 && !ps_rss_spares(r, d->ours)) {
		ret = ps_rss_spare(r, d->ours, r->n_rings);
		r->n_key = r->hash = 0;
		ret = ret < 0 ? differs(d, "its queues have become too few", err)
			      : ps_rss_set(d->ifname, r, err);
	}
	free(r);
	if (ret == 0)
		ret = allow_rules(d->ifname, err);
	ps_dedicated_fate(d->ours, fate, sizeof(fate));
	for (uint32_t i = 0; ret == 0 && i < d->n_keys; i++)
		ret = ps_setting_set(d->ifname,
			ps_dedicated_key(d->keys[i].addr_be, d->keys[i].port_be, key), fate, err);
	return ret;
}
