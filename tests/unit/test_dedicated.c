/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The dedicated-queue layout: tables that spare some queues, rules as settings, and what verifying
 * sees, against a card of this file's own: ps_ethtool_ioctl() is replaced here. */

#include <CUnit/Basic.h>
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dedicated.h"
#include "ntuple.h"
#include "settings.h"

#define SLOTS    16
#define CONTEXTS 4
#define ADDR     0x0a02000au /* 10.0.2.10, as the wire has it */

static struct {
	uint32_t rings, entries; /* of each table */
	uint32_t table[CONTEXTS][PS_RSS_ENTRIES];
	bool made[CONTEXTS];
	bool has_contexts, has_rules;
	bool used[SLOTS];
	struct ethtool_rx_flow_spec slot[SLOTS];
	uint32_t context[SLOTS];
	unsigned int writes;
} nic;

static struct ps_err err;
static struct ps_rss rss;

static void
spread(void)
{
	for (uint32_t i = 0; i < nic.entries; i++)
		nic.table[0][i] = i % nic.rings;
}

static void
boot(uint32_t rings, uint32_t entries)
{
	memset(&nic, 0, sizeof(nic));
	nic.rings = rings;
	nic.entries = entries;
	nic.made[0] = nic.has_contexts = nic.has_rules = true;
	spread();
}

/* -- the card -- */

static int
get_table(struct ethtool_rxfh *x)
{
	if (x->rss_context != 0 && !nic.has_contexts)
		return -EOPNOTSUPP;
	if (x->rss_context >= CONTEXTS || !nic.made[x->rss_context])
		return -ENOENT;
	if (x->indir_size != 0 && x->indir_size != nic.entries)
		return -EINVAL;
	if (x->indir_size != 0)
		memcpy(x->rss_config, nic.table[x->rss_context], nic.entries * sizeof(uint32_t));
	x->indir_size = nic.entries;
	x->key_size = 0;
	x->hfunc = 1;
	return 0;
}

static int
set_table(struct ethtool_rxfh *x)
{
	uint32_t id = x->rss_context;

	nic.writes++;
	if (id != 0 && !nic.has_contexts)
		return -EOPNOTSUPP;
	if (id == ETH_RXFH_CONTEXT_ALLOC)
		for (id = 1; id < CONTEXTS && nic.made[id];)
			id++;
	if (id >= CONTEXTS)
		return -ENOSPC;
	for (uint32_t i = 0; i < x->indir_size; i++)
		if (x->indir_size != nic.entries || x->rss_config[i] >= nic.rings)
			return -EINVAL;
	if (id == 0 && x->indir_size == 0)
		spread();
	memcpy(nic.table[id], x->rss_config, x->indir_size * sizeof(uint32_t));
	nic.made[id] = id == 0 || x->indir_size > 0;
	x->rss_context = id;
	return 0;
}

static int
list_rules(struct ethtool_rxnfc *nfc, bool locations)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!nic.used[i])
			continue;
		if (locations && n == nfc->rule_cnt)
			return -EMSGSIZE;
		if (locations)
			nfc->rule_locs[n] = i;
		n++;
	}
	nfc->rule_cnt = n;
	nfc->data = SLOTS;
	return 0;
}

static int
insert_rule(const struct ethtool_rxnfc *nfc)
{
	const uint32_t at = nfc->fs.location;
	const bool by_context = (nfc->fs.flow_type & FLOW_RSS) != 0;

	nic.writes++;
	if (at >= SLOTS ||
		(nfc->fs.ring_cookie != RX_CLS_FLOW_DISC && nfc->fs.ring_cookie >= nic.rings))
		return -EINVAL;
	if (by_context && (nfc->rss_context >= CONTEXTS || !nic.made[nfc->rss_context] ||
				  nfc->fs.ring_cookie != 0))
		return -EINVAL;
	nic.used[at] = true;
	nic.slot[at] = nfc->fs;
	nic.context[at] = nfc->rss_context;
	return 0;
}

static int
rule_command(struct ethtool_rxnfc *nfc)
{
	const uint32_t at = nfc->fs.location;

	switch (nfc->cmd) {
	case ETHTOOL_GRXCLSRLCNT:
		return list_rules(nfc, false);
	case ETHTOOL_GRXCLSRLALL:
		return list_rules(nfc, true);
	case ETHTOOL_SRXCLSRLINS:
		return insert_rule(nfc);
	}
	if (at >= SLOTS || !nic.used[at])
		return -ENOENT;
	if (nfc->cmd == ETHTOOL_SRXCLSRLDEL) {
		nic.writes++;
		nic.used[at] = false;
		return 0;
	}
	nfc->fs = nic.slot[at];
	if (nic.slot[at].flow_type & FLOW_RSS)
		nfc->rss_context = nic.context[at];
	return 0;
}

int
ps_ethtool_ioctl(const char *ifname, void *cmd)
{
	struct ethtool_drvinfo *info = cmd;
	struct ethtool_rxnfc *nfc = cmd;

	(void)ifname;
	switch (nfc->cmd) {
	case ETHTOOL_GDRVINFO:
		snprintf(info->driver, sizeof(info->driver), "test");
		return 0;
	case ETHTOOL_GRXRINGS:
		nfc->data = nic.rings;
		return 0;
	case ETHTOOL_GRSSH:
		return get_table(cmd);
	case ETHTOOL_SRSSH:
		return set_table(cmd);
	}
	return nic.has_rules ? rule_command(nfc) : -EOPNOTSUPP;
}

/* -- tables -- */

/* Every other queue has its share, to one entry; ours have none. */
static void
check_spared(const uint32_t *entry, uint32_t n_entries, struct ps_queues ours, uint32_t total)
{
	uint32_t hits[64] = {0}, others = total - ours.n;

	for (uint32_t i = 0; i < n_entries; i++)
		hits[entry[i] < total ? entry[i] : 63]++;
	for (uint32_t q = 0; q < total; q++) {
		if (q >= ours.first && q < ours.first + ours.n)
			CU_ASSERT_EQUAL(hits[q], 0)
		else
			CU_ASSERT(
				hits[q] == n_entries / others || hits[q] == n_entries / others + 1);
	}
}

static void
test_tables(void)
{
	static const struct {
		struct ps_queues ours;
		uint32_t total, entries;
	} cases[] = {
		{{0, 1}, 8, 128},  /* 128 is not divisible by 7 */
		{{7, 1}, 8, 512},  /* the last */
		{{3, 2}, 8, 64},   /* two in the middle */
		{{0, 2}, 3, 128},  /* one queue is left */
		{{0, 1}, 48, 40},  /* fewer entries than queues */
		{{1, 1}, 2, 4096}, /* the longest */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rss.n_entries = cases[i].entries;
		CU_ASSERT_EQUAL_FATAL(ps_rss_spare(&rss, cases[i].ours, cases[i].total), 0);
		CU_ASSERT(ps_rss_spares(&rss, cases[i].ours));
		check_spared(rss.entry, rss.n_entries, cases[i].ours, cases[i].total);
		rss.entry[rss.n_entries - 1] = cases[i].ours.first + cases[i].ours.n - 1;
		CU_ASSERT(!ps_rss_spares(&rss, cases[i].ours));
	}
}

static void
test_too_few(void)
{
	static const struct {
		struct ps_queues ours;
		uint32_t total;
	} cases[] = {{{0, 1}, 1}, {{0, 4}, 4}, {{4, 1}, 4}, {{3, 2}, 4}, {{0, UINT32_MAX}, 4},
		{{UINT32_MAX, 1}, 4}, {{0, 1}, 0}};

	rss.n_entries = 128;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(ps_rss_spare(&rss, cases[i].ours, cases[i].total), -EINVAL);
	boot(4, 128);
	CU_ASSERT_EQUAL(ps_setting_set("x", "rss", "table=but:0+4/4", &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text, "cannot be penstock's and leave one for the kernel"));
	CU_ASSERT_EQUAL(nic.writes, 0);
	/* Ours and at least one more, and all that there are already. */
	CU_ASSERT_EQUAL(ps_dedicated_total((struct ps_queues){0, 1}, 1), 2);
	CU_ASSERT_EQUAL(ps_dedicated_total((struct ps_queues){0, 2}, 2), 3);
	CU_ASSERT_EQUAL(ps_dedicated_total((struct ps_queues){0, 1}, 48), 48);
	CU_ASSERT_EQUAL(ps_dedicated_total((struct ps_queues){7, 1}, 4), 8);
	CU_ASSERT_EQUAL(ps_dedicated_total((struct ps_queues){7, 1}, 8), 8);
}

/* Others hold queues: the lowest place that is free, or none. */
static void
test_places(void)
{
	static const struct {
		uint32_t n, total;
		uint64_t taken;
		int first; /* or -ENOSPC */
	} cases[] = {
		{1, 8, 0, 0},
		{1, 8, 0xf, 4},  /* a validator on 0 to 3 */
		{2, 8, 0xb, 4},  /* the gap at 2 is too narrow */
		{1, 8, 0xb, 2},  /* and here it is not */
		{1, 8, 0x7f, 7}, /* the last */
		{2, 8, 0x7f, -ENOSPC},
		{1, 8, 0xff, -ENOSPC},
		{1, 1, 0, -ENOSPC}, /* none would be left */
		{4, 4, 0, -ENOSPC},
		{4, 5, 0, 0},
		{4, 5, 1, 1},
		{64, 128, 0, 0},
		{1, 128, UINT64_MAX, -ENOSPC}, /* the program knows 64 queues */
		{0, 8, 0, -ENOSPC},
		{UINT32_MAX, 8, 0, -ENOSPC},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ps_queues ours = {99, 99};
		int rc =
			ps_dedicated_place(&ours, cases[i].n, cases[i].total, cases[i].taken, &err);

		CU_ASSERT_EQUAL(rc, cases[i].first < 0 ? cases[i].first : 0);
		if (rc == 0)
			CU_ASSERT(ours.first == (uint32_t)cases[i].first && ours.n == cases[i].n);
	}
}

static void
test_table_setting(void)
{
	static char before[PS_SETTING_BYTES], after[PS_SETTING_BYTES];

	boot(8, 128);
	CU_ASSERT_EQUAL(ps_setting_get("x", "rss", before, sizeof(before), &err), 0);
	nic.entries = 256; /* as with some cards when the channels change */
	CU_ASSERT_EQUAL(ps_setting_set("x", "rss", "table=but:2+3/8", &err), 0);
	check_spared(nic.table[0], nic.entries, (struct ps_queues){2, 3}, 8);
	nic.entries = 128;
	CU_ASSERT_EQUAL(ps_setting_get("x", "rss", after, sizeof(after), &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(after, "table=0,1,5,6,7,0,"));
	CU_ASSERT_EQUAL(ps_setting_set("x", "rss", before, &err), 0);
	CU_ASSERT(nic.table[0][2] == 2 && nic.table[0][127] == 7);
	CU_ASSERT_EQUAL(ps_setting_set("x", "rss", after, &err), 0);
	CU_ASSERT(nic.table[0][2] == 5);
	/* More queues than there are is the card's word. */
	CU_ASSERT_EQUAL(ps_setting_set("x", "rss", "table=but:0+1/9", &err), -EINVAL);
	for (const char *const *t = (const char *const[]){"table=but:0+1/8x", "table=but:0+1",
		     "table=but:0+1/0", "table=but:", "table=but:1,2", NULL};
		*t != NULL; t++)
		CU_ASSERT_EQUAL(ps_setting_set("x", "rss", *t, &err), -EINVAL);
}

/* -- rules -- */

static const char *
get(const char *key)
{
	static char text[64];

	CU_ASSERT_EQUAL(ps_setting_get("x", key, text, sizeof(text), &err), 0);
	return text;
}

static void
test_rules(void)
{
	const char *key = "udp4.10.0.2.10.8009";

	boot(8, 128);
	CU_ASSERT_STRING_EQUAL(get(key), "none");
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "queue=7", &err), 0);
	CU_ASSERT_STRING_EQUAL(get(key), "queue=7");
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "queue=7", &err), 0);
	CU_ASSERT_EQUAL(nic.writes, 1); /* it was so already */
	CU_ASSERT_STRING_EQUAL(get("udp4.10.0.2.10.8010"), "none");
	CU_ASSERT_STRING_EQUAL(get("udp4.10.0.2.11.8009"), "none");
	CU_ASSERT_STRING_EQUAL(get("udp4.0.0.0.0.8009"), "none");
	/* Another fate is somebody's, and stays. */
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "queue=6", &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ethtool -N x delete 0"));
	CU_ASSERT_STRING_EQUAL(get(key), "queue=7");
	CU_ASSERT_EQUAL(ps_setting_set("x", "udp4.0.0.0.0.53", "queue=1", &err), 0);
	CU_ASSERT_EQUAL(nic.slot[1].m_u.udp_ip4_spec.ip4dst, 0);
	CU_ASSERT_STRING_EQUAL(get("udp4.0.0.0.0.53"), "queue=1");
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "none", &err), 0);
	CU_ASSERT(!nic.used[0] && nic.used[1]);
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "none", &err), 0);
	nic.slot[1].ring_cookie = RX_CLS_FLOW_DISC;
	CU_ASSERT_STRING_EQUAL(get("udp4.0.0.0.0.53"), "drop");
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "queue=8", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "queue=", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "rss=0+2", &err), -ENOENT);
	for (const char *const *k = (const char *const[]){"udp4.", "udp4.10.0.2.8009x",
		     "udp4.10.0.2.10.", "udp4.10.0.2.10.0", "udp4.10.0.2.10.65536",
		     "udp4.10.0.2.10.-1", "udp4.300.0.2.10.8009", "udp4.8009", NULL};
		*k != NULL; k++)
		CU_ASSERT_EQUAL(ps_setting_set("x", *k, "queue=1", &err), -EINVAL);
	nic.has_rules = false;
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "queue=1", &err), -EOPNOTSUPP);
}

static void
test_contexts(void)
{
	const char *key = "udp4.10.0.2.10.8009";

	boot(8, 128);
	CU_ASSERT_STRING_EQUAL(get("context.6+2"), "none");
	nic.made[1] = true; /* somebody's, over queue 0 */
	CU_ASSERT_EQUAL(ps_setting_set("x", "context.6+2", "set", &err), 0);
	CU_ASSERT(nic.made[2] && nic.table[2][0] == 6 && nic.table[2][127] == 7);
	CU_ASSERT_EQUAL(ps_setting_set("x", "context.6+2", "set", &err), 0);
	CU_ASSERT(!nic.made[3]);
	CU_ASSERT_STRING_EQUAL(get("context.6+2"), "set");
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "rss=6+2", &err), 0);
	CU_ASSERT(nic.context[0] == 2 && nic.slot[0].ring_cookie == 0);
	CU_ASSERT_STRING_EQUAL(get(key), "rss=6+2");
	nic.context[0] = 1;
	CU_ASSERT_STRING_EQUAL(get(key), "rss=0+1");
	nic.table[1][5] = 3;
	CU_ASSERT_STRING_EQUAL(get(key), "context=1");
	nic.context[0] = 2;
	CU_ASSERT_EQUAL(ps_setting_set("x", key, "none", &err), 0);
	CU_ASSERT_EQUAL(ps_setting_set("x", "context.6+2", "none", &err), 0);
	CU_ASSERT(!nic.made[2] && nic.made[1] && !nic.used[0]);
	CU_ASSERT_EQUAL(ps_setting_set("x", "context.6+0", "set", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set("x", "context.7+2", "set", &err), -EINVAL);
	nic.has_contexts = false;
	CU_ASSERT_EQUAL(ps_setting_set("x", "context.6+2", "set", &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "set queues = 1, or layout = simple"));
}

/* -- the whole -- */

static const struct ps_steer_key keys[] = {{.addr_be = ADDR}, {.addr_be = 0}};
static struct ps_steer_key wanted[2];

static void
set_up(struct ps_dedicated *d, struct ps_queues ours)
{
	char fate[64], key[PS_DEDICATED_KEY], text[64];

	boot(8, 128);
	memcpy(wanted, keys, sizeof(keys));
	wanted[0].port_be = htons(8009);
	wanted[1].port_be = htons(8010);
	*d = (struct ps_dedicated){.ifname = "x", .ours = ours, .keys = wanted, .n_keys = 2};
	CU_ASSERT_EQUAL(ps_dedicated_verify(d, &err), -ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "penstock init"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "indirection table"));
	snprintf(text, sizeof(text), "table=but:%u+%u/8", ours.first, ours.n);
	CU_ASSERT_EQUAL_FATAL(ps_setting_set("x", "rss", text, &err), 0);
	snprintf(text, sizeof(text), "context.%u+%u", ours.first, ours.n);
	if (ours.n > 1)
		CU_ASSERT_EQUAL_FATAL(ps_setting_set("x", text, "set", &err), 0);
	ps_dedicated_fate(ours, fate, sizeof(fate));
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(ps_dedicated_verify(d, &err), -ESTALE);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, i == 0 ? "8009 is none" : "8010 is none"));
		ps_dedicated_key(wanted[i].addr_be, wanted[i].port_be, key);
		CU_ASSERT_EQUAL_FATAL(ps_setting_set("x", key, fate, &err), 0);
	}
	CU_ASSERT_EQUAL(ps_dedicated_verify(d, &err), 0);
}

/* Lost while it runs: seen, and set again. */
static void
check_mended(const struct ps_dedicated *d)
{
	CU_ASSERT_EQUAL(ps_dedicated_verify(d, &err), -ESTALE);
	CU_ASSERT_EQUAL(ps_dedicated_mend(d, &err), 0);
	CU_ASSERT_EQUAL(ps_dedicated_verify(d, &err), 0);
}

static void
test_verify(void)
{
	static const struct ps_queues cases[] = {{0, 1}, {7, 1}, {3, 1}, {0, 2}, {6, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ps_dedicated d;

		set_up(&d, cases[i]);
		spread();
		check_mended(&d);
		check_spared(nic.table[0], nic.entries, d.ours, 8);
		nic.used[1] = false;
		check_mended(&d);
		memset(nic.used, 0, sizeof(nic.used));
		check_mended(&d);
		/* A narrower rule is another one. */
		nic.slot[0].m_u.udp_ip4_spec.ip4src = UINT32_MAX;
		check_mended(&d);
		/* What stands there and leads elsewhere is not replaced. */
		nic.slot[1].flow_type &= ~(uint32_t)FLOW_RSS;
		nic.slot[1].ring_cookie = 5;
		CU_ASSERT_EQUAL(ps_dedicated_verify(&d, &err), -ESTALE);
		CU_ASSERT_EQUAL(ps_dedicated_mend(&d, &err), -EEXIST);
		CU_ASSERT_EQUAL(nic.slot[1].ring_cookie, 5);
	}
}

static void
test_lost_context(void)
{
	struct ps_dedicated d;

	set_up(&d, (struct ps_queues){6, 2});
	nic.table[1][3] = 2;
	CU_ASSERT_EQUAL(ps_dedicated_verify(&d, &err), -ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "context=1, not rss=6+2"));
	nic.made[1] = false;
	CU_ASSERT_EQUAL(ps_dedicated_verify(&d, &err), -ESTALE);
	/* Queues that went: nothing to spread over. */
	set_up(&d, (struct ps_queues){0, 1});
	nic.rings = 1;
	spread();
	CU_ASSERT_EQUAL(ps_dedicated_mend(&d, &err), -ESTALE);
	nic.entries = 0;
	CU_ASSERT_EQUAL(ps_dedicated_verify(&d, &err), -EOPNOTSUPP);
}

int
main(void)
{
	unsigned int failed = 1;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("dedicated", NULL, NULL);
	if (s != NULL && CU_add_test(s, "tables that spare queues", test_tables) &&
		CU_add_test(s, "too few queues", test_too_few) &&
		CU_add_test(s, "a place beside others", test_places) &&
		CU_add_test(s, "the table as a setting", test_table_setting) &&
		CU_add_test(s, "rules as settings", test_rules) &&
		CU_add_test(s, "RSS contexts as settings", test_contexts) &&
		CU_add_test(s, "verified, lost, mended", test_verify) &&
		CU_add_test(s, "contexts and queues lost", test_lost_context)) {
		CU_basic_set_mode(CU_BRM_VERBOSE);
		CU_basic_run_tests();
		failed = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	return failed != 0;
}
