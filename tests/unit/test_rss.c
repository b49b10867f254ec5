/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Indirection table, hash key and hashed fields against a driver of this file's own:
 * ps_ethtool_ioctl() is replaced here. */

#include <CUnit/Basic.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethtool.h"

#define ENTRIES 512
#define KEY     52

static struct {
	uint32_t rings, entry[ENTRIES];
	uint8_t key[KEY], hash;
	uint64_t fields;
	bool configured; /* the table was set, and no longer follows the channels */
	bool deaf;       /* answers 0 and changes nothing */
	unsigned int sets;
} nic;

static struct ps_err err;
static char text[PS_RSS_TEXT_BYTES], again[PS_RSS_TEXT_BYTES];

static void
spread(void)
{
	for (uint32_t i = 0; i < ENTRIES; i++)
		nic.entry[i] = i % nic.rings;
	nic.configured = false;
}

static void
boot(uint32_t rings)
{
	memset(&nic, 0, sizeof(nic));
	nic.rings = rings;
	nic.hash = 1;
	nic.fields = RXH_IP_SRC | RXH_IP_DST;
	for (unsigned int i = 0; i < KEY; i++)
		nic.key[i] = (uint8_t)(0x6d + i * 7);
	spread();
}

static int
get_rxfh(struct ethtool_rxfh *x)
{
	if (x->indir_size != 0 && x->indir_size != ENTRIES)
		return -EINVAL;
	if (x->indir_size != 0)
		memcpy(x->rss_config, nic.entry, sizeof(nic.entry));
	if (x->key_size != 0)
		memcpy(x->rss_config + x->indir_size, nic.key, KEY);
	x->indir_size = ENTRIES;
	x->key_size = KEY;
	x->hfunc = nic.hash;
	return 0;
}

static int
set_rxfh(const struct ethtool_rxfh *x)
{
	uint32_t n = x->indir_size == ETH_RXFH_INDIR_NO_CHANGE ? 0 : x->indir_size;

	nic.sets++;
	if (n != 0 && n != ENTRIES)
		return -EINVAL;
	if (x->key_size != 0 && x->key_size != KEY)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (x->rss_config[i] >= nic.rings)
			return -EINVAL;
	if (nic.deaf)
		return 0;
	if (x->indir_size == 0)
		spread();
	if (n != 0) {
		memcpy(nic.entry, x->rss_config, sizeof(nic.entry));
		nic.configured = true;
	}
	if (x->key_size != 0)
		memcpy(nic.key, x->rss_config + n, KEY);
	if (x->hfunc != 0)
		nic.hash = x->hfunc;
	return 0;
}

int
ps_ethtool_ioctl(const char *ifname, void *cmd)
{
	struct ethtool_rxnfc *nfc = cmd;

	(void)ifname;
	switch (nfc->cmd) {
	case ETHTOOL_GRXRINGS:
		nfc->data = nic.rings;
		return 0;
	case ETHTOOL_GRSSH:
		return get_rxfh(cmd);
	case ETHTOOL_SRSSH:
		return set_rxfh(cmd);
	case ETHTOOL_GRXFH:
		nfc->data = nic.fields;
		return nfc->flow_type == UDP_V4_FLOW ? 0 : -EINVAL;
	case ETHTOOL_SRXFH:
		nic.sets++;
		if (!nic.deaf)
			nic.fields = nfc->data;
		return 0;
	}
	return -EOPNOTSUPP;
}

/* Queue 0 is ours and the rest is spread over the others; then all as before. */
static void
test_save_and_restore(void)
{
	struct ps_rss *r = calloc(1, sizeof(*r));

	boot(4);
	CU_ASSERT_EQUAL(ps_rss_text("x", text, sizeof(text), &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "table=even"));
	r->n_entries = ENTRIES;
	for (uint32_t i = 0; i < ENTRIES; i++)
		r->entry[i] = 1 + i % 3;
	r->n_key = KEY;
	memset(r->key, 0x11, KEY);
	CU_ASSERT_EQUAL(ps_rss_set("x", r, &err), 0);
	CU_ASSERT(nic.configured && nic.entry[0] == 1 && nic.entry[5] == 3 && nic.key[51] == 0x11);
	CU_ASSERT_EQUAL(ps_rss_set("x", r, &err), 0);
	CU_ASSERT_EQUAL(nic.sets, 1); /* it was so already */
	CU_ASSERT_EQUAL(ps_rss_text("x", again, sizeof(again), &err), 0);
	CU_ASSERT_EQUAL(ps_rss_restore("x", text, &err), 0);
	CU_ASSERT(!nic.configured); /* channels may be changed again */
	CU_ASSERT(nic.entry[6] == 2 && nic.key[0] == 0x6d && nic.key[1] == 0x74);
	CU_ASSERT_EQUAL(ps_rss_restore("x", again, &err), 0);
	CU_ASSERT(nic.configured && nic.entry[ENTRIES - 1] == 1 + (ENTRIES - 1) % 3);
	CU_ASSERT_EQUAL(nic.key[0], 0x11);
	free(r);
}

static void
test_parts(void)
{
	boot(4);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "hash=2", &err), 0);
	CU_ASSERT(nic.hash == 2 && nic.key[0] == 0x6d && !nic.configured);
	CU_ASSERT_EQUAL(ps_rss_text("x", text, 64, &err), -ENOSPC);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "table=1,,2", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "table=1,", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "key=6", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "key=6g", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "wings=1", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_rss_restore("x", "table=0,1", &err), -EINVAL); /* the driver's word */
	nic.deaf = true;
	CU_ASSERT_EQUAL(ps_rss_restore("x", "hash=1", &err), -EIO);
}

static void
test_fields(void)
{
	boot(2);
	CU_ASSERT_EQUAL(ps_flowhash_text("x", text, 16, &err), 0);
	CU_ASSERT_STRING_EQUAL(text, "sd");
	CU_ASSERT_EQUAL(ps_flowhash_set("x", "sdfn", &err), 0);
	CU_ASSERT_EQUAL(nic.fields, RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 | RXH_L4_B_2_3);
	CU_ASSERT_EQUAL(ps_flowhash_set("x", "sdfn", &err), 0);
	CU_ASSERT_EQUAL(nic.sets, 1);
	CU_ASSERT_EQUAL(ps_flowhash_set("x", "sdq", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_flowhash_set("x", text, &err), 0);
	CU_ASSERT_EQUAL(nic.fields, RXH_IP_SRC | RXH_IP_DST);
	nic.deaf = true;
	CU_ASSERT_EQUAL(ps_flowhash_set("x", "sdfn", &err), -EIO);
	nic.fields = 1u << 20;
	CU_ASSERT_EQUAL(ps_flowhash_text("x", text, 16, &err), -ERANGE);
}

int
main(void)
{
	unsigned int failed = 1;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("rss", NULL, NULL);
	if (s != NULL && CU_add_test(s, "the table is saved and restored", test_save_and_restore) &&
		CU_add_test(s, "parts of it, and wrong ones", test_parts) &&
		CU_add_test(s, "hashed fields", test_fields)) {
		CU_basic_set_mode(CU_BRM_VERBOSE);
		CU_basic_run_tests();
		failed = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	return failed != 0;
}
