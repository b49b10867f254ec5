/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Settings of a kernel's interface that somebody changes while the port runs, with a made interface
 * and a made clock: seen within two periods of the watch, and taken back. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cunit_run.h"
#include "baseline.h"
#include "ps_time.h"
#include "watch.h"

#define PERIOD PS_SEC_NS

static const char *const keys[] = {"channels", "rings", "rss", "flow-hash-udp4"};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* The made interface. */
static char value[N_KEYS][64];
static int get_rc[N_KEYS], set_rc;
static char order[128]; /* what was set */

static unsigned int
find(const char *key)
{
	unsigned int i = 0;

	while (i < N_KEYS && strcmp(key, keys[i]) != 0)
		i++;
	CU_ASSERT_FATAL(i < N_KEYS);
	return i;
}

static int
get(const char *ifname, const char *key, char *text, size_t size, struct ps_err *err)
{
	const unsigned int i = find(key);

	(void)err;
	CU_ASSERT_STRING_EQUAL(ifname, "made0");
	snprintf(text, size, "%s", value[i]);
	return get_rc[i];
}

static int
set(const char *ifname, const char *key, const char *text, struct ps_err *err)
{
	(void)err;
	CU_ASSERT_STRING_EQUAL(ifname, "made0");
	if (set_rc < 0)
		return set_rc;
	if (strcmp(value[find(key)], text) != 0)
		snprintf(order + strlen(order), sizeof(order) - strlen(order), "%s ", key);
	snprintf(value[find(key)], sizeof(value[0]), "%s", text);
	return 0;
}

static const struct ps_setting_ops made = {get, set};
static struct ps_baseline b;
static struct ps_err err;

static void
begin(void)
{
	static const char *const first[] = {
		"combined=2", "rx=512 tx=512", "hash=1 key=6d5a table=even", "sdfn"};

	for (unsigned int i = 0; i < N_KEYS; i++)
		snprintf(value[i], sizeof(value[i]), "%s", first[i]);
	memset(get_rc, 0, sizeof(get_rc));
	set_rc = 0;
	order[0] = '\0';
	CU_ASSERT_EQUAL_FATAL(ps_baseline_take(&b, "made0", &made, &err), 0);
}

static void
test_each(void)
{
	static const char *const words[] = {
		"combined=2 -> changed", "rx=512 tx=512", "ethtool -x made0", "sdfn"};

	for (unsigned int i = 0; i < N_KEYS; i++) {
		begin();
		CU_ASSERT_EQUAL(ps_baseline_verify(&b, &err), 0);
		snprintf(value[i], sizeof(value[i]), "changed");
		CU_ASSERT_EQUAL(ps_baseline_verify(&b, &err), -ESTALE);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words[i]));
		CU_ASSERT_EQUAL(ps_baseline_restore(&b, &err), 0);
		CU_ASSERT_EQUAL(ps_baseline_verify(&b, &err), 0);
		ps_baseline_free(&b);
	}
}

/* The later depend on the earlier. */
static void
test_order(void)
{
	begin();
	for (unsigned int i = 0; i < N_KEYS; i++)
		snprintf(value[i], sizeof(value[i]), "changed");
	CU_ASSERT_EQUAL(ps_baseline_restore(&b, &err), 0);
	CU_ASSERT_STRING_EQUAL(order, "channels rings rss flow-hash-udp4 ");
	set_rc = -EBUSY;
	CU_ASSERT_EQUAL(ps_baseline_restore(&b, &err), -EBUSY);
	ps_baseline_free(&b);
}

/* What a device does not have is not watched; what it does not tell is no change. */
static void
test_lacks(void)
{
	begin();
	ps_baseline_free(&b);
	get_rc[1] = -ENOENT;
	get_rc[2] = -EOPNOTSUPP;
	CU_ASSERT_EQUAL_FATAL(ps_baseline_take(&b, "made0", &made, &err), 0);
	CU_ASSERT_PTR_NULL(b.text[1]);
	snprintf(value[2], sizeof(value[2]), "changed");
	CU_ASSERT_EQUAL(ps_baseline_verify(&b, &err), 0);
	CU_ASSERT_EQUAL(ps_baseline_restore(&b, &err), 0);
	CU_ASSERT_STRING_EQUAL(order, "");
	get_rc[0] = -ENODEV;
	CU_ASSERT_EQUAL(ps_baseline_verify(&b, &err), -ENODEV);
	ps_baseline_free(&b);
	CU_ASSERT_EQUAL(ps_baseline_take(&b, "made0", &made, &err), -ENODEV);
	for (unsigned int i = 0; i < N_KEYS; i++)
		CU_ASSERT_PTR_NULL(b.text[i]);
}

static struct ps_watch_sample
look(void)
{
	return (struct ps_watch_sample){
		.rules = 1, .kernel_differs = ps_baseline_verify(&b, &err) == -ESTALE};
}

/* At any time within a period, and each of the settings. */
static void
test_two_periods(void)
{
	for (unsigned int n = 0; n < 10 * N_KEYS; n++) {
		enum ps_watch_do action = PS_WATCH_NOTHING;
		struct ps_watch_sample s;
		uint64_t now = 1000 * PS_SEC_NS, changed;
		struct ps_watch w;

		begin();
		ps_watch_init(&w, PERIOD, 0, PS_LOSS_REINSTALL, now);
		changed = now + PERIOD * (n / N_KEYS) / 10;
		for (; action == PS_WATCH_NOTHING && now < changed + 3 * PERIOD;
			now += PERIOD / 20) {
			if (now == changed)
				snprintf(value[n % N_KEYS], sizeof(value[0]), "changed");
			if (!ps_watch_due(&w, now))
				continue;
			s = look();
			action = ps_watch_observe(&w, &s, now).action;
		}
		CU_ASSERT_EQUAL(action, PS_WATCH_REINSTALL);
		CU_ASSERT_TRUE(now <= changed + 2 * PERIOD);
		ps_watch_done(&w, action, ps_baseline_restore(&b, &err), now);
		s = look();
		CU_ASSERT_FALSE(ps_watch_observe(&w, &s, now + PERIOD).alarm);
		ps_baseline_free(&b);
	}
}

int
main(void)
{
	static const CU_TestInfo tests[] = {
		{"each setting", test_each},
		{"put back in order", test_order},
		{"what is not there is not watched", test_lacks},
		{"seen within two periods, and put back", test_two_periods},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "baseline", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
