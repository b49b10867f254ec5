/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "linkmon.h"
#include "ps_time.h"
#include "watch.h"

#define PERIOD PS_SEC_NS
#define START  (1000 * PS_SEC_NS)

static struct ps_watch w;
static uint64_t now;
static struct ps_watch_sample good;

static void
begin(enum ps_on_rule_loss on_loss)
{
	now = START;
	good = (struct ps_watch_sample){.rules = 2, .steered = 100, .elsewhere = 5};
	ps_watch_init(&w, PERIOD, 0, on_loss, now);
}

/* One period later: due once, and this is what is seen. */
static struct ps_watch_verdict
period(const struct ps_watch_sample *s)
{
	CU_ASSERT_FALSE(ps_watch_due(&w, w.due_ns - 1));
	now = w.due_ns;
	CU_ASSERT_EQUAL(ps_watch_step(&w, now).action, PS_WATCH_NOTHING);
	CU_ASSERT_TRUE(ps_watch_due(&w, now));
	return ps_watch_observe(&w, s, now);
}

static void
check(struct ps_watch_verdict v, enum ps_watch_do action, bool alarm)
{
	CU_ASSERT_EQUAL(v.action, action);
	CU_ASSERT_EQUAL(v.alarm, alarm);
	if (action != PS_WATCH_NOTHING)
		CU_ASSERT_PTR_NOT_NULL(v.cause);
}

static void
test_quiet(void)
{
	begin(PS_LOSS_REINSTALL);
	for (int i = 0; i < 100; i++) {
		struct ps_watch_verdict v = period(&good);

		check(v, PS_WATCH_NOTHING, false);
		CU_ASSERT_PTR_NULL(v.cause);
		/* Mis-steered packets alone are no loss while rules take some. */
		good.steered += 10;
		good.elsewhere += i % 3 == 0;
	}
	CU_ASSERT_EQUAL(w.losses, 0);
}

static void
test_lost_rules(void)
{
	struct ps_watch_sample bad;

	begin(PS_LOSS_REINSTALL);
	check(period(&good), PS_WATCH_NOTHING, false);
	bad = good;
	bad.lost = 1;
	check(period(&bad), PS_WATCH_REINSTALL, true);
	/* Asked for once only. */
	CU_ASSERT_FALSE(ps_watch_due(&w, now + 10 * PERIOD));
	check(ps_watch_step(&w, now + 10 * PERIOD), PS_WATCH_NOTHING, true);
	/* Installed is not yet proven: the alarm stands until rules are seen. */
	check(ps_watch_done(&w, PS_WATCH_REINSTALL, 0, now), PS_WATCH_NOTHING, true);
	check(period(&good), PS_WATCH_NOTHING, false);
	CU_ASSERT_EQUAL(w.losses, 1);
	CU_ASSERT_EQUAL(w.reinstalls, 1);
}

static void
test_stop(void)
{
	struct ps_watch_sample bad;

	begin(PS_LOSS_STOP);
	bad = good;
	bad.kernel_differs = true;
	check(period(&bad), PS_WATCH_STOP, true);
	CU_ASSERT_FALSE(ps_watch_due(&w, now + 10 * PERIOD));
	ps_watch_post(&w, PS_WATCH_RESET);
	check(ps_watch_step(&w, now + PERIOD), PS_WATCH_NOTHING, true);
	CU_ASSERT_EQUAL(w.reinstalls, 0);
}

/* Whenever within a period it happens, a silent loss is noticed within two. */
static void
test_counters_stand_still(void)
{
	for (unsigned int percent = 0; percent < 100; percent += 10) {
		uint64_t lost_at;
		enum ps_watch_do action = PS_WATCH_NOTHING;

		begin(PS_LOSS_REINSTALL);
		check(period(&good), PS_WATCH_NOTHING, false);
		lost_at = now + PERIOD * percent / 100;
		good.steered += percent; /* as long as the rules stood */
		for (int i = 0; i < 2 && action == PS_WATCH_NOTHING; i++) {
			good.elsewhere += 100;
			action = period(&good).action;
		}
		CU_ASSERT_EQUAL(action, PS_WATCH_REINSTALL);
		CU_ASSERT_TRUE(now <= lost_at + 2 * PERIOD);
	}
	/* No traffic at all says nothing. */
	begin(PS_LOSS_REINSTALL);
	for (int i = 0; i < 5; i++)
		check(period(&good), PS_WATCH_NOTHING, false);
}

/* Packets that a rule should take or drop, and that the kernel gets: whatever the rules take
 * meanwhile, and whenever within a period it begins, noticed within two. */
static void
test_leak(void)
{
	for (unsigned int percent = 0; percent < 100; percent += 10) {
		enum ps_watch_do action = PS_WATCH_NOTHING;
		uint64_t began;

		begin(PS_LOSS_REINSTALL);
		/* Of the time before the first look: counted, and not held against the rules. */
		good.leaked = 7;
		check(period(&good), PS_WATCH_NOTHING, false);
		began = now + PERIOD * percent / 100;
		for (int i = 0; i < 2 && action == PS_WATCH_NOTHING; i++) {
			good.steered += 100;
			good.leaked += i > 0 || percent > 0;
			action = period(&good).action;
		}
		CU_ASSERT_EQUAL(action, PS_WATCH_REINSTALL);
		CU_ASSERT_TRUE(now <= began + 2 * PERIOD);
		CU_ASSERT_PTR_NOT_NULL(strstr(w.cause, "the kernel gets packets"));
		/* What came until the rules were there again says nothing of the new ones. */
		ps_watch_done(&w, PS_WATCH_REINSTALL, 0, now);
		good.leaked += 50;
		check(period(&good), PS_WATCH_NOTHING, false);
		CU_ASSERT_PTR_NULL(w.cause);
	}
	begin(PS_LOSS_STOP);
	period(&good);
	good.leaked++;
	check(period(&good), PS_WATCH_STOP, true);
}

static void
test_reset(void)
{
	begin(PS_LOSS_REINSTALL);
	ps_watch_post(&w, PS_WATCH_RESET);
	ps_watch_post(&w, PS_WATCH_LINK);
	check(ps_watch_step(&w, now), PS_WATCH_RESET_PORT, true);
	/* A second one, while the first is dealt with, is not forgotten. */
	ps_watch_post(&w, PS_WATCH_RESET);
	check(ps_watch_step(&w, now), PS_WATCH_NOTHING, true);
	ps_watch_done(&w, PS_WATCH_RESET_PORT, -ECANCELED, now);
	check(ps_watch_step(&w, now), PS_WATCH_RESET_PORT, true);
	ps_watch_done(&w, PS_WATCH_RESET_PORT, 0, now);
	check(period(&good), PS_WATCH_NOTHING, false);
	CU_ASSERT_EQUAL(w.losses, 2);
}

static void
test_recovery(void)
{
	begin(PS_LOSS_REINSTALL);
	ps_watch_post(&w, PS_WATCH_RECOVERING);
	check(ps_watch_step(&w, now), PS_WATCH_NOTHING, true);
	/* The device cannot be asked anything now. */
	CU_ASSERT_FALSE(ps_watch_due(&w, now + 5 * PERIOD));
	ps_watch_post(&w, PS_WATCH_RECOVERED);
	check(ps_watch_step(&w, now + 5 * PERIOD), PS_WATCH_REINSTALL, true);
	ps_watch_done(&w, PS_WATCH_REINSTALL, 0, now + 5 * PERIOD);
	check(period(&good), PS_WATCH_NOTHING, false);

	ps_watch_post(&w, PS_WATCH_RECOVERING);
	ps_watch_step(&w, now);
	check(ps_watch_step(&w, now + PS_WATCH_RECOVERY_NS - 1), PS_WATCH_NOTHING, true);
	check(ps_watch_step(&w, now + PS_WATCH_RECOVERY_NS), PS_WATCH_STOP, true);

	begin(PS_LOSS_REINSTALL);
	ps_watch_post(&w, PS_WATCH_RECOVERING);
	ps_watch_post(&w, PS_WATCH_RECOVERY_FAILED);
	check(ps_watch_step(&w, now), PS_WATCH_STOP, true);

	begin(PS_LOSS_STOP);
	ps_watch_post(&w, PS_WATCH_RECOVERING);
	check(ps_watch_step(&w, now), PS_WATCH_STOP, true);
}

static void
test_removed(void)
{
	begin(PS_LOSS_REINSTALL);
	ps_watch_post(&w, PS_WATCH_RESET);
	ps_watch_post(&w, PS_WATCH_REMOVED);
	check(ps_watch_step(&w, now), PS_WATCH_STOP, true);
}

static void
test_link(void)
{
	static const int look[] = {PS_LINK_NTUPLE_OFF, PS_LINK_XDP, PS_LINK_DOWN | PS_LINK_UP,
		PS_LINK_MTU, PS_LINK_MASTER, PS_LINK_CHANNELS, PS_LINK_RINGS, PS_LINK_FEATURES,
		PS_LINK_SETTINGS, PS_LINK_MISSED};

	begin(PS_LOSS_REINSTALL);
	ps_watch_link(&w, 0);
	ps_watch_link(&w, PS_LINK_NAME);
	check(ps_watch_step(&w, now), PS_WATCH_NOTHING, false);
	CU_ASSERT_FALSE(ps_watch_due(&w, now));

	/* These may have cost rules: the kernel is asked at once, not at the period's end. */
	for (unsigned int i = 0; i < sizeof(look) / sizeof(look[0]); i++) {
		begin(PS_LOSS_REINSTALL);
		ps_watch_link(&w, look[i]);
		check(ps_watch_step(&w, now), PS_WATCH_NOTHING, false);
		CU_ASSERT_TRUE(ps_watch_due(&w, now));
		good.kernel_differs = true;
		check(ps_watch_observe(&w, &good, now), PS_WATCH_REINSTALL, true);
	}

	begin(PS_LOSS_REINSTALL);
	ps_watch_link(&w, PS_LINK_MAC);
	check(ps_watch_step(&w, now), PS_WATCH_REINSTALL, true);

	begin(PS_LOSS_REINSTALL);
	ps_watch_link(&w, PS_LINK_GONE);
	check(ps_watch_step(&w, now), PS_WATCH_STOP, true);
}

static void
test_retry(void)
{
	begin(PS_LOSS_REINSTALL);
	good.lost = 1;
	check(period(&good), PS_WATCH_REINSTALL, true);
	check(ps_watch_done(&w, PS_WATCH_REINSTALL, -EIO, now), PS_WATCH_NOTHING, true);
	check(ps_watch_step(&w, now + PERIOD - 1), PS_WATCH_NOTHING, true);
	now += PERIOD;
	check(ps_watch_step(&w, now), PS_WATCH_REINSTALL, true);
	ps_watch_done(&w, PS_WATCH_REINSTALL, -EIO, now);
	now += PERIOD;
	check(ps_watch_step(&w, now), PS_WATCH_REINSTALL, true);
	check(ps_watch_done(&w, PS_WATCH_REINSTALL, -EIO, now), PS_WATCH_STOP, true);
}

/* A port that loses its rules every few periods is not installed on for ever. */
static void
test_flapping(void)
{
	struct ps_watch_sample bad;
	struct ps_watch_verdict v;
	int installs = 0;

	begin(PS_LOSS_REINSTALL);
	bad = good;
	bad.lost = 2;
	while ((v = period(&bad)).action == PS_WATCH_REINSTALL) {
		installs++;
		ps_watch_done(&w, PS_WATCH_REINSTALL, 0, now);
		for (int i = 0; i < PS_WATCH_HEALTHY - 1; i++)
			check(period(&good), PS_WATCH_NOTHING, false);
		CU_ASSERT_FATAL(installs <= PS_WATCH_ATTEMPTS);
	}
	check(v, PS_WATCH_STOP, true);
	CU_ASSERT_EQUAL(installs, PS_WATCH_ATTEMPTS);

	/* After enough good periods the count starts again. */
	begin(PS_LOSS_REINSTALL);
	for (int n = 0; n < 3 * PS_WATCH_ATTEMPTS; n++) {
		check(period(&bad), PS_WATCH_REINSTALL, true);
		ps_watch_done(&w, PS_WATCH_REINSTALL, 0, now);
		for (int i = 0; i < PS_WATCH_HEALTHY; i++)
			period(&good);
	}
}

static void
test_blind(void)
{
	struct ps_watch_sample blind;

	begin(PS_LOSS_STOP);
	blind = good;
	blind.readback_failed = true;
	check(period(&blind), PS_WATCH_NOTHING, false);
	check(period(&blind), PS_WATCH_NOTHING, true);
	CU_ASSERT_PTR_NULL(period(&blind).cause);
	check(period(&good), PS_WATCH_NOTHING, false);
}

static void
test_patience(void)
{
	ps_watch_init(&w, PS_SEC_NS, 1500, PS_LOSS_REINSTALL, START);
	CU_ASSERT_EQUAL(w.period_ns, 1500 * PS_MS_NS);
	CU_ASSERT_FALSE(ps_watch_due(&w, START + 1500 * PS_MS_NS - 1));
	CU_ASSERT_TRUE(ps_watch_due(&w, START + 1500 * PS_MS_NS));
}

int
main(void)
{
	static const CU_TestInfo tests[] = {
		{"nothing happens", test_quiet},
		{"lost rules are installed again", test_lost_rules},
		{"on_rule_loss = stop", test_stop},
		{"counters stand still while packets arrive elsewhere", test_counters_stand_still},
		{"the kernel gets what rules should take", test_leak},
		{"reset", test_reset},
		{"recovery", test_recovery},
		{"removal", test_removed},
		{"changes of the link", test_link},
		{"an installation that fails is tried again, not for ever", test_retry},
		{"a port that flaps is stopped", test_flapping},
		{"rules that cannot be read back are an alarm", test_blind},
		{"the period is not below the family's patience", test_patience},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "watch", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
