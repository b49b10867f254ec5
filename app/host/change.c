/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *
ps_outcome_name(enum ps_outcome o)
{
	static const char *const name[] = {"changed", "refused", "kept", "restored", "already",
		"foreign", "gone", "forgotten", "failed"};

	return name[o];
}

static struct ps_knob
knob_of(const struct ps_change *c)
{
	struct ps_knob k = {.kind = c->kind};

	snprintf(k.target, sizeof(k.target), "%s", c->target);
	snprintf(k.key, sizeof(k.key), "%s", c->key);
	return k;
}

char *
ps_change_command(const struct ps_change *c, const char *value, char *text, size_t cap)
{
	const struct ps_knob k = knob_of(c);

	return ps_knob_command(&k, value, text, cap);
}

/* -- init -- */

/* The state remembers the value before the first change of a knob. */
static struct ps_change *
note(struct ps_state *s, const struct ps_row *r)
{
	struct ps_change *c = ps_state_find(s, r->knob.kind, r->knob.target, r->knob.key);
	char *value;

	if (c == NULL)
		return ps_state_add(s, r->knob.kind, r->knob.target, r->knob.key, r->old, r->value);
	value = strdup(r->value);
	if (value == NULL)
		return NULL;
	free(c->new_value);
	c->new_value = value;
	c->done = false;
	return c;
}

static int
keep_value(struct ps_change *c, const struct ps_knob *k, struct ps_err *e)
{
	static char now[PS_KNOB_VALUE];
	char *value = NULL;
	int rc = ps_knob_get(k, now);

	if (rc == 0)
		value = strdup(now);
	if (value == NULL)
		return ps_fail(
			e, rc < 0 ? -rc : ENOMEM, "%s %s: cannot be read back", k->target, k->key);
	free(c->new_value);
	c->new_value = value;
	c->done = true;
	return 0;
}

static int
make(struct ps_state *s, const struct ps_row *r, ps_report *report, void *arg, struct ps_err *e)
{
	struct ps_change *c = note(s, r);
	char why[128];
	int rc;

	if (c == NULL)
		return ps_fail(e, ENOSPC, "%s %s: its value cannot be kept in %s", r->knob.target,
			r->knob.key, s->path);
	rc = ps_state_write(s, e);
	if (rc == 0)
		rc = ps_knob_set(&r->knob, r->value, e);
	/* Drivers may say more than was asked for. */
	if (rc == 0)
		rc = keep_value(c, &r->knob, e);
	if (rc == 0)
		rc = ps_state_write(s, e);
	snprintf(why, sizeof(why), "%.48s -> %.48s", r->old, r->value);
	report(arg, c, rc == 0 ? PS_CHANGED : PS_REFUSED, rc == 0 ? why : e->text);
	return rc;
}

/* -- restoring: goal[i] is the value that change i shall have, NULL: it is left alone -- */

/* What was open when init was cut short may have any value, and is ours as long as the machine runs
 * on: after a restart of the machine nothing of it is left. */
static enum ps_outcome
judge(const struct ps_state *s, const struct ps_change *c, const char *goal, const char *now)
{
	if (strcmp(now, goal) == 0)
		return PS_ALREADY;
	if (strcmp(now, PS_KNOB_ABSENT) == 0)
		return PS_GONE;
	if (strcmp(now, c->new_value) == 0)
		return PS_RESTORED;
	return !c->done && !ps_state_rebooted(s) ? PS_RESTORED : PS_FOREIGN;
}

static enum ps_outcome
restore(const struct ps_state *s, const struct ps_change *c, const char *goal, char *why,
	size_t cap)
{
	const struct ps_knob k = knob_of(c);
	char now[PS_KNOB_VALUE];
	enum ps_outcome o;
	struct ps_err e;
	int rc = ps_knob_get(&k, now);

	if (rc == -ENOENT || rc == -ENODEV)
		snprintf(now, sizeof(now), PS_KNOB_ABSENT);
	else if (rc < 0) {
		snprintf(why, cap, "cannot be read: %s", strerror(-rc));
		return PS_FAILED;
	}
	o = judge(s, c, goal, now);
	if (o == PS_RESTORED && ps_knob_set(&k, goal, &e) < 0) {
		snprintf(why, cap, "%s", e.text);
		return PS_FAILED;
	}
	if (o == PS_FOREIGN)
		snprintf(why, cap, "now %.48s, init had set %.48s; before that it was %.48s", now,
			c->new_value, goal);
	else if (o == PS_GONE)
		snprintf(why, cap, "it is not there any more; before init it was %.48s", goal);
	else
		snprintf(why, cap, "%.48s", goal);
	return o;
}

/* Restoring one setting may disturb another (channels reset the indirection table), so those that
 * were put back are looked at once more, in the order in which they were made. */
static void
settle(const struct ps_state *s, const char *const goal[], enum ps_outcome outcome[])
{
	char now[PS_KNOB_VALUE];
	struct ps_err unused;

	for (unsigned int i = 0; i < s->n; i++) {
		const struct ps_knob k = knob_of(&s->change[i]);

		if (goal[i] == NULL || (outcome[i] != PS_RESTORED && outcome[i] != PS_ALREADY))
			continue;
		if (ps_knob_get(&k, now) == 0 && strcmp(now, goal[i]) != 0 &&
			ps_knob_set(&k, goal[i], &unused) < 0)
			outcome[i] = PS_FAILED;
	}
}

/* What the state has to remember of a change after its restoring: true, if nothing. */
static bool
is_over(struct ps_change *c, const char *goal, enum ps_outcome o)
{
	char *value;

	if (o == PS_FAILED || o == PS_GONE)
		return false;
	if (strcmp(goal, c->old) == 0)
		return true;
	/* An earlier init's: that value stands again. */
	value = o != PS_FOREIGN ? strdup(goal) : NULL;
	if (value != NULL) {
		free(c->new_value);
		c->new_value = value;
		c->done = true;
	}
	return false;
}

/* Returns how many could not be restored and stay. */
static int
restore_all(struct ps_state *s, const char *const goal[], bool forget, ps_report *report, void *arg)
{
	static enum ps_outcome outcome[PS_STATE_CHANGES];
	char why[640];
	int stay = 0;

	for (unsigned int i = s->n; i-- > 0;) {
		if (goal[i] == NULL)
			continue;
		outcome[i] = restore(s, &s->change[i], goal[i], why, sizeof(why));
		if (outcome[i] == PS_GONE && forget)
			outcome[i] = PS_FORGOTTEN;
		report(arg, &s->change[i], outcome[i], why);
	}
	settle(s, goal, outcome);
	for (unsigned int i = s->n; i-- > 0;) {
		if (goal[i] == NULL)
			continue;
		stay += outcome[i] == PS_FAILED || outcome[i] == PS_GONE;
		if (is_over(&s->change[i], goal[i], outcome[i]))
			ps_state_remove(s, i);
	}
	return stay;
}

int
ps_change_undo(struct ps_state *s, bool forget, ps_report *report, void *arg, struct ps_err *e)
{
	static const char *goal[PS_STATE_CHANGES];
	int stay, rc;

	for (unsigned int i = 0; i < s->n; i++)
		goal[i] = s->change[i].old;
	stay = restore_all(s, goal, forget, report, arg);
	rc = ps_state_write(s, e);
	return rc < 0 ? rc : stay;
}

/* The rows [0, n) back to what was found: an earlier init may have made it so. */
static void
roll_back(struct ps_state *s, const struct ps_host *h, unsigned int n, ps_report *report, void *arg)
{
	static const char *goal[PS_STATE_CHANGES];
	struct ps_err e;
	int stay;

	memset(goal, 0, sizeof(goal));
	for (unsigned int i = 0; i < n; i++) {
		const struct ps_row *r = &h->row[i];
		struct ps_change *c = NULL;

		if (r->wish)
			c = ps_state_find(s, r->knob.kind, r->knob.target, r->knob.key);
		if (c != NULL && goal[c - s->change] == NULL)
			goal[c - s->change] = r->old;
	}
	stay = restore_all(s, goal, false, report, arg);
	if (ps_state_write(s, &e) < 0)
		ps_log(PS_LOG_ERROR, "rolling back: %s", e.text);
	else if (stay > 0)
		ps_log(PS_LOG_ERROR,
			"rolling back: not everything could be restored; penstock fini");
}

int
ps_change_all(
	struct ps_state *s, const struct ps_host *h, ps_report *report, void *arg, struct ps_err *e)
{
	for (unsigned int i = 0; i < h->n_rows; i++) {
		int rc = h->row[i].wish ? make(s, &h->row[i], report, arg, e) : 0;

		if (rc < 0) {
			roll_back(s, h, i + 1, report, arg);
			return rc;
		}
	}
	return 0;
}
