/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Kernel rules: what each driver reports for a correct rule is accepted, and every single change
 * of anything that has a meaning is rejected. Then insert, find, verify and delete against drivers
 * of this file's own that keep, lose, widen or number rules as real ones do: ps_ethtool_ioctl() is
 * replaced here. */

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethtool.h"
#include "ntuple.h"
#include "ps_be.h"

#define LIVE_BYTES 13
#define QUEUE      3
#define PLACE      7
#define VF_COOKIE  ((uint64_t)2 << 32) /* VF 1 */

/* -- what drivers report for dst-ip 10.0.0.2 dst-port 8001 -- */

struct capture {
	const char *driver;
	struct ps_ntuple_rule rule;
	uint32_t flag;     /* added to the flow type */
	uint8_t mask_from; /* bytes of the mask union that are all ones, beside the fields' own */
	uint8_t mask_bytes;
	enum ps_ntuple_verdict verdict;
};

#define RULE(...)                                                                                  \
	{                                                                                          \
		.daddr_be = 0x0200000a, .dport_be = 0x411f, .location = PLACE, __VA_ARGS__         \
	}

static const struct capture captures[] = {
	{"i40e", RULE(.queue = QUEUE), 0, 16, 16, PS_NTUPLE_EQUAL},
	{"i40e", RULE(.queue = QUEUE, .to_vf = true, .vf = 1), 0, 16, 16, PS_NTUPLE_EQUAL},
	{"i40e", RULE(.drop = true), 0, 16, 16, PS_NTUPLE_EQUAL},
	{"i40e", RULE(.drop = true), 0, 0, 32, PS_NTUPLE_UNKNOWN}, /* a source is in the set */
	{"ice", RULE(.queue = QUEUE), 0, 0, 0, PS_NTUPLE_EQUAL},
	{"ice", RULE(.drop = true), 0, 0, 0, PS_NTUPLE_EQUAL},
	{"mlx5_core", RULE(.queue = QUEUE), 0, 0, 0, PS_NTUPLE_EQUAL},
	{"bnxt_en", RULE(.queue = QUEUE), 0, 0, 0, PS_NTUPLE_EQUAL},
	{"ixgbe", RULE(.queue = QUEUE), FLOW_EXT, 0, 0, PS_NTUPLE_EQUAL},
	{"ixgbe", RULE(.drop = true), FLOW_EXT, 0, 0, PS_NTUPLE_EQUAL},
};
#define N_CAPTURES (sizeof(captures) / sizeof(captures[0]))

static struct ethtool_rx_flow_spec want, good;
static enum ps_ntuple_quirk quirk;

static void
load(const struct capture *c)
{
	quirk = ps_ntuple_quirk_of(c->driver);
	ps_ntuple_spec(&c->rule, &want);
	good = want;
	good.flow_type |= c->flag;
	memset(good.m_u.hdata + c->mask_from, 0xff, c->mask_bytes);
}

static enum ps_ntuple_verdict
judge(const struct ethtool_rx_flow_spec *got)
{
	return ps_ntuple_compare(&want, got, quirk);
}

static void
test_request(void)
{
	static const uint8_t addr[4] = {10, 0, 0, 2}, port[2] = {0x1f, 0x41};
	struct ethtool_rx_flow_spec fs, zero = {0};

	load(&captures[1]);
	fs = want;
	CU_ASSERT_EQUAL(fs.flow_type, UDP_V4_FLOW);
	CU_ASSERT_EQUAL(memcmp(fs.h_u.hdata + 4, addr, 4), 0);
	CU_ASSERT_EQUAL(memcmp(fs.h_u.hdata + 10, port, 2), 0);
	CU_ASSERT_EQUAL(fs.ring_cookie, VF_COOKIE | QUEUE);
	CU_ASSERT_EQUAL(fs.location, PLACE);
	CU_ASSERT_EQUAL(fs.m_u.udp_ip4_spec.ip4dst, UINT32_MAX);
	CU_ASSERT_EQUAL(fs.m_u.udp_ip4_spec.pdst, UINT16_MAX);
	fs.flow_type = 0;
	fs.h_u.udp_ip4_spec.ip4dst = fs.m_u.udp_ip4_spec.ip4dst = 0;
	fs.h_u.udp_ip4_spec.pdst = fs.m_u.udp_ip4_spec.pdst = 0;
	fs.ring_cookie = 0;
	fs.location = 0;
	CU_ASSERT_EQUAL(memcmp(&fs, &zero, sizeof(fs)), 0);
	load(&captures[2]);
	CU_ASSERT_EQUAL(want.ring_cookie, RX_CLS_FLOW_DISC);
}

static void
test_captures(void)
{
	for (size_t i = 0; i < N_CAPTURES; i++) {
		load(&captures[i]);
		CU_ASSERT_EQUAL(judge(&good), captures[i].verdict);
	}
	/* Without the driver's name such masks mean a different rule. */
	load(&captures[3]);
	quirk = PS_NTUPLE_EXACT;
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_MASK_SRC_IP);
}

/* -- changes -- */

/* The report does not tell the masks: a source that was not asked for shows in its value alone. */
static bool
overlaid(void)
{
	return judge(&good) == PS_NTUPLE_UNKNOWN;
}

static unsigned int rejected;

/* The verdict names the field: one of the two. */
static void
reject(const struct ethtool_rx_flow_spec *got, enum ps_ntuple_verdict a, enum ps_ntuple_verdict b)
{
	enum ps_ntuple_verdict v = judge(got);

	CU_ASSERT_FATAL(v > PS_NTUPLE_UNKNOWN);
	CU_ASSERT(v == a || v == b);
	CU_ASSERT(strlen(ps_ntuple_reason(v)) > 8);
	rejected++;
}

static void
flip(void *field, unsigned int bit)
{
	((uint8_t *)field)[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static const struct {
	unsigned int first, n;
	enum ps_ntuple_verdict value, mask;
} fields[] = {
	{0, 32, PS_NTUPLE_VALUE_SRC_IP, PS_NTUPLE_MASK_SRC_IP},
	{32, 32, PS_NTUPLE_VALUE_DST_IP, PS_NTUPLE_MASK_DST_IP},
	{64, 16, PS_NTUPLE_VALUE_SRC_PORT, PS_NTUPLE_MASK_SRC_PORT},
	{80, 16, PS_NTUPLE_VALUE_DST_PORT, PS_NTUPLE_MASK_DST_PORT},
	{96, 8, PS_NTUPLE_VALUE_TOS, PS_NTUPLE_MASK_TOS},
};

static void
change_flow_type(void)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		struct ethtool_rx_flow_spec got = good;

		got.flow_type ^= 1u << bit;
		if ((1u << bit) & (FLOW_EXT | FLOW_MAC_EXT)) {
			CU_ASSERT(judge(&got) <= PS_NTUPLE_UNKNOWN); /* and no mask behind it */
			continue;
		}
		reject(&got, PS_NTUPLE_FLOW_TYPE, PS_NTUPLE_FATE);
	}
}

static void
change_values(void)
{
	for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
		for (unsigned int bit = fields[f].first; bit < fields[f].first + fields[f].n;
			bit++) {
			struct ethtool_rx_flow_spec got = good;

			flip(got.h_u.hdata, bit);
			if ((want.m_u.hdata[bit / 8] & (1u << bit % 8)) || overlaid())
				reject(&got, fields[f].value, fields[f].value);
			else
				CU_ASSERT(judge(&got) <= PS_NTUPLE_UNKNOWN);
		}
}

static void
change_masks(void)
{
	for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
		for (unsigned int bit = fields[f].first; bit < fields[f].first + fields[f].n;
			bit++) {
			struct ethtool_rx_flow_spec got = good;

			flip(got.m_u.hdata, bit);
			/* Once i40e's overlay is broken, the first field that it covered tells. */
			reject(&got, fields[f].mask, PS_NTUPLE_MASK_SRC_IP);
		}
}

static void
change_fate(void)
{
	for (unsigned int bit = 0; bit < 64; bit++) {
		struct ethtool_rx_flow_spec got = good;
		enum ps_ntuple_verdict v;

		got.ring_cookie ^= UINT64_C(1) << bit;
		v = bit < 32 ? PS_NTUPLE_QUEUE : bit < 40 ? PS_NTUPLE_VF : PS_NTUPLE_FATE;
		reject(&got, v, PS_NTUPLE_FATE);
	}
	for (unsigned int bit = 0; bit < 32; bit++) {
		struct ethtool_rx_flow_spec got = good;

		got.location ^= 1u << bit;
		reject(&got, PS_NTUPLE_LOCATION, PS_NTUPLE_LOCATION);
	}
}

static void
change_extensions(void)
{
	for (unsigned int bit = 0; bit < 8 * sizeof(good.m_ext); bit++) {
		struct ethtool_rx_flow_spec got = good;

		flip(&got.m_ext, bit);
		got.flow_type |= FLOW_EXT | FLOW_MAC_EXT;
		if (bit < 16) { /* padding */
			CU_ASSERT(judge(&got) <= PS_NTUPLE_UNKNOWN);
			continue;
		}
		if (bit < 64)
			reject(&got, PS_NTUPLE_MASK_DST_MAC, PS_NTUPLE_MASK_DST_MAC);
		else if (bit < 96)
			reject(&got, PS_NTUPLE_MASK_VLAN, PS_NTUPLE_MASK_VLAN);
		else
			reject(&got, PS_NTUPLE_MASK_USER_DATA, PS_NTUPLE_MASK_USER_DATA);
	}
}

static void
test_changes(void)
{
	/* flow type, address and port, masks, cookie and location, extensions */
	unsigned int each = 30 + 48 + 8 * LIVE_BYTES + 96 + 144, total = 0;

	for (size_t i = 0; i < N_CAPTURES; i++) {
		load(&captures[i]);
		rejected = 0;
		change_flow_type();
		change_values();
		change_masks();
		change_fate();
		change_extensions();
		CU_ASSERT_EQUAL(rejected, each + (overlaid() ? 32 + 16 + 8 : 0));
		total += rejected;
	}
	printf(" %u changes rejected ", total);
	CU_ASSERT(total >= 687);
}

/* Every value of every live byte of value and mask. */
static void
test_byte_values(void)
{
	unsigned int values = 0;

	rejected = 0;
	for (size_t i = 0; i < N_CAPTURES; i++) {
		bool all_values;

		load(&captures[i]);
		all_values = overlaid();
		values += all_values ? LIVE_BYTES : 6;
		for (unsigned int b = 0; b < LIVE_BYTES; b++)
			for (unsigned int v = 0; v < 256; v++) {
				struct ethtool_rx_flow_spec h = good, m = good;

				h.h_u.hdata[b] = (uint8_t)v;
				m.m_u.hdata[b] = (uint8_t)v;
				if (v != good.m_u.hdata[b]) {
					CU_ASSERT(judge(&m) > PS_NTUPLE_UNKNOWN);
					rejected++;
				}
				if (v != good.h_u.hdata[b] &&
					(want.m_u.hdata[b] != 0 || all_values)) {
					CU_ASSERT(judge(&h) > PS_NTUPLE_UNKNOWN);
					rejected++;
				}
			}
	}
	CU_ASSERT_EQUAL(rejected, 255 * (N_CAPTURES * LIVE_BYTES + values));
}

/* A request for all fields, as a rule of another kind would be: values of each count. */
static void
test_all_fields(void)
{
	load(&captures[6]);
	memset(want.m_u.hdata, 0xff, LIVE_BYTES);
	for (unsigned int b = 0; b < LIVE_BYTES; b++)
		want.h_u.hdata[b] = (uint8_t)(0x11 * b);
	good = want;
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_EQUAL);
	rejected = 0;
	change_values();
	change_masks();
	CU_ASSERT_EQUAL(rejected, 2 * 8 * LIVE_BYTES);
	/* i40e's overlay explains ones where ones were asked for, and nothing less. */
	quirk = PS_NTUPLE_I40E;
	memset(good.m_u.hdata, 0xff, 16);
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_EQUAL);
	want.m_u.hdata[4] = 0xf0;
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_MASK_DST_IP);
}

static void
test_inactive(void)
{
	load(&captures[4]);
	for (size_t b = LIVE_BYTES; b < sizeof(good.h_u.hdata); b++)
		good.h_u.hdata[b] = good.m_u.hdata[b] = (uint8_t)(b * 7);
	memset(&good.h_ext, 0x5a, sizeof(good.h_ext));
	memset(&good.m_ext, 0x5a, sizeof(good.m_ext)); /* no flag says that it counts */
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_EQUAL);
	/* Where the driver chose the location, any is right. */
	want.location = RX_CLS_LOC_ANY;
	good.location = 900;
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_EQUAL);
	/* A request that this comparator does not know is never equal. */
	want.flow_type = good.flow_type = TCP_V4_FLOW;
	CU_ASSERT_EQUAL(judge(&good), PS_NTUPLE_FLOW_TYPE);
}

/* -- drivers of our own -- */

#define SLOTS 8

static struct kernel {
	const char *driver;
	bool has_rules, chooses, loses, widens, keeps, rejects, size_with_count;
	bool used[SLOTS];
	struct ethtool_rx_flow_spec slot[SLOTS];
	unsigned int inserts, deletes;
	bool dirty; /* a request was not zeroed */
} kernel;

static void
boot(const char *driver)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.driver = driver;
	kernel.has_rules = true;
}

static int
list_rules(struct ethtool_rxnfc *nfc, bool locations)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!kernel.used[i])
			continue;
		if (locations && n == nfc->rule_cnt)
			return -EMSGSIZE;
		if (locations)
			nfc->rule_locs[n] = i;
		n++;
	}
	nfc->rule_cnt = n;
	if (locations != kernel.size_with_count)
		nfc->data = SLOTS;
	if (!locations && kernel.chooses)
		nfc->data |= RX_CLS_LOC_SPECIAL;
	return 0;
}

static int
insert_rule(struct ethtool_rxnfc *nfc)
{
	uint32_t at = nfc->fs.location;

	kernel.inserts++;
	if (kernel.rejects || (kernel.chooses && at != RX_CLS_LOC_ANY))
		return -EINVAL;
	if (kernel.chooses)
		for (at = SLOTS - 1; at > 0 && kernel.used[at];)
			at--;
	if (at >= SLOTS)
		return -EINVAL;
	nfc->fs.location = at;
	if (kernel.loses)
		return 0;
	kernel.used[at] = true;
	kernel.slot[at] = nfc->fs;
	if (kernel.widens)
		kernel.slot[at].m_u.udp_ip4_spec.pdst = 0;
	return 0;
}

static int
read_slot(struct ethtool_rxnfc *nfc)
{
	static const struct ethtool_rxnfc zero;
	uint32_t at = nfc->fs.location;
	struct ethtool_rxnfc plain = *nfc;

	plain.cmd = 0;
	plain.fs.location = 0;
	kernel.dirty |= memcmp(&plain, &zero, sizeof(plain)) != 0;
	if (at >= SLOTS || !kernel.used[at])
		return -EINVAL;
	nfc->fs = kernel.slot[at];
	if (strcmp(kernel.driver, "i40e") == 0)
		memset(nfc->fs.m_u.hdata + 16, 0xff, 16);
	if (strcmp(kernel.driver, "ixgbe") == 0)
		nfc->fs.flow_type |= FLOW_EXT;
	return 0;
}

int
ps_ethtool_ioctl(const char *ifname, void *cmd)
{
	struct ethtool_drvinfo *info = cmd;
	struct ethtool_rxnfc *nfc = cmd;

	(void)ifname;
	if (info->cmd == ETHTOOL_GDRVINFO) {
		snprintf(info->driver, sizeof(info->driver), "%s", kernel.driver);
		return 0;
	}
	if (!kernel.has_rules)
		return -EOPNOTSUPP;
	switch (nfc->cmd) {
	case ETHTOOL_GRXCLSRLCNT:
		return list_rules(nfc, false);
	case ETHTOOL_GRXCLSRLALL:
		return list_rules(nfc, true);
	case ETHTOOL_GRXCLSRULE:
		return read_slot(nfc);
	case ETHTOOL_SRXCLSRLINS:
		return insert_rule(nfc);
	case ETHTOOL_SRXCLSRLDEL:
		kernel.deletes++;
		if (nfc->fs.location >= SLOTS || !kernel.used[nfc->fs.location])
			return -ENOENT;
		kernel.used[nfc->fs.location] = kernel.keeps;
		return 0;
	}
	return -EOPNOTSUPP;
}

static struct ps_ntuple_rule
any_place(uint16_t port, bool drop)
{
	struct ps_ntuple_rule r = {
		.daddr_be = 0x0200000a, .drop = drop, .queue = QUEUE, .location = RX_CLS_LOC_ANY};

	ps_be16_store(&r.dport_be, port);
	return r;
}

static void
test_life(void)
{
	static const char *const drivers[] = {"i40e", "ice", "mlx5_core", "bnxt_en", "ixgbe"};

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		struct ps_ntuple_rule a = any_place(8001, false), b = any_place(8002, true), again;
		struct ps_ntuple_table t;
		enum ps_ntuple_verdict v = PS_NTUPLE_FATE;
		uint32_t where = 99;

		boot(drivers[i]);
		kernel.chooses = strcmp(drivers[i], "bnxt_en") == 0;
		kernel.size_with_count = strcmp(drivers[i], "mlx5_core") != 0;
		CU_ASSERT_EQUAL_FATAL(ps_ntuple_insert("x", &a, &v, NULL), 0);
		CU_ASSERT_EQUAL(v, PS_NTUPLE_EQUAL);
		CU_ASSERT_EQUAL(a.location, kernel.chooses ? SLOTS - 1u : 0u);
		CU_ASSERT_EQUAL_FATAL(ps_ntuple_insert("x", &b, &v, NULL), 0);
		CU_ASSERT(kernel.used[a.location] && kernel.used[b.location]);
		again = any_place(8002, true);
		CU_ASSERT_EQUAL(ps_ntuple_insert("x", &again, &v, NULL), -EEXIST);
		CU_ASSERT_EQUAL(again.location, b.location);
		CU_ASSERT_EQUAL(kernel.inserts, 2);
		CU_ASSERT_EQUAL(ps_ntuple_find("x", &a, &where, &v, NULL), 0);
		CU_ASSERT_EQUAL(where, a.location);
		CU_ASSERT_EQUAL_FATAL(ps_ntuple_list("x", &t, NULL), 0);
		CU_ASSERT(t.n == 2 && t.size == SLOTS && t.driver_chooses == kernel.chooses);
		free(t.locations);
		CU_ASSERT_EQUAL(ps_ntuple_delete("x", &a, NULL), 0);
		CU_ASSERT(!kernel.used[a.location] && kernel.used[b.location]);
		CU_ASSERT_EQUAL(ps_ntuple_verify("x", &a, &v, NULL), -ENOENT);
		CU_ASSERT_EQUAL(ps_ntuple_delete("x", &a, NULL), -ENOENT);
		CU_ASSERT_EQUAL(ps_ntuple_verify("x", &b, &v, NULL), 0);
		CU_ASSERT(!kernel.dirty);
	}
}

static void
test_places(void)
{
	struct ps_ntuple_rule r = any_place(8001, true);
	enum ps_ntuple_verdict v;
	struct ps_err err;

	boot("ice");
	kernel.used[0] = kernel.used[2] = true; /* other people's */
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), 0);
	CU_ASSERT_EQUAL(r.location, 1);
	r = any_place(8002, true);
	r.location = 2;
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "location 2"));
	r.location = 5;
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), 0);
	CU_ASSERT(kernel.used[5]);
	memset(kernel.used, true, sizeof(kernel.used));
	r = any_place(8003, true);
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), -ENOSPC);
	CU_ASSERT_EQUAL(kernel.inserts, 2);
}

static void
test_bad_drivers(void)
{
	struct ps_ntuple_rule r = any_place(8001, true);
	enum ps_ntuple_verdict v;
	struct ps_err err;

	boot("e1000e");
	kernel.has_rules = false;
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), -EOPNOTSUPP);
	boot("i40e");
	kernel.rejects = true;
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "10.0.0.2 dst-port 8001"));
	boot("ice"); /* answers 0, does nothing */
	kernel.loses = true;
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), -EIO);
	boot("ice"); /* the mask of the port is gone: it would drop all UDP to the address */
	kernel.widens = true;
	r = any_place(8001, true);
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ps_ntuple_reason(PS_NTUPLE_MASK_DST_PORT)));
	CU_ASSERT_EQUAL(kernel.deletes, 1);
	CU_ASSERT(!kernel.used[0]);
	boot("ice"); /* a delete that does nothing */
	kernel.keeps = true;
	r = any_place(8001, true);
	CU_ASSERT_EQUAL(ps_ntuple_insert("x", &r, &v, &err), 0);
	CU_ASSERT_EQUAL(ps_ntuple_delete("x", &r, &err), -EIO);
}

static void
test_foreign_rule_stays(void)
{
	struct ps_ntuple_rule r = any_place(8001, true);
	enum ps_ntuple_verdict v;
	struct ps_err err;

	boot("mlx5_core");
	CU_ASSERT_EQUAL_FATAL(ps_ntuple_insert("x", &r, &v, &err), 0);
	kernel.slot[r.location].ring_cookie = 5; /* somebody replaced it */
	CU_ASSERT_EQUAL(ps_ntuple_verify("x", &r, &v, &err), 0);
	CU_ASSERT_EQUAL(v, PS_NTUPLE_FATE);
	CU_ASSERT_EQUAL(ps_ntuple_delete("x", &r, &err), -ESTALE);
	CU_ASSERT_EQUAL(kernel.deletes, 0);
	CU_ASSERT(kernel.used[r.location]);
}

int
main(void)
{
	unsigned int failed = 1;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("ntuple", NULL, NULL);
	if (s != NULL && CU_add_test(s, "the request is zero but for the rule", test_request) &&
		CU_add_test(s, "every driver's report of a right rule", test_captures) &&
		CU_add_test(s, "every change of a bit that counts", test_changes) &&
		CU_add_test(s, "every value of every live byte", test_byte_values) &&
		CU_add_test(s, "a request for all fields", test_all_fields) &&
		CU_add_test(s, "bytes that mean nothing", test_inactive) &&
		CU_add_test(s, "insert, find, verify, delete", test_life) &&
		CU_add_test(s, "locations", test_places) &&
		CU_add_test(s, "drivers that lie", test_bad_drivers) &&
		CU_add_test(s, "a rule that is no longer ours stays", test_foreign_rule_stays)) {
		CU_basic_set_mode(CU_BRM_VERBOSE);
		CU_basic_run_tests();
		failed = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	return failed != 0;
}
