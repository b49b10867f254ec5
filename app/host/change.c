/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *
ps_outcome_name(enum ps_outcome o)
{
	static const char *const name[] = {"changed", "restored", "already", "foreign", "failed"};

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
	if (rc < 0)
		return rc;
	/* Drivers may say more than was asked for. */
	rc = keep_value(c, &r->knob, e);
	if (rc == 0)
		rc = ps_state_write(s, e);
	if (rc == 0) {
		snprintf(why, sizeof(why), "%.48s -> %.48s", r->old, r->value);
		report(arg, c, PS_CHANGED, why);
	}
	return rc;
}

int
ps_change_all(
	struct ps_state *s, const struct ps_host *h, ps_report *report, void *arg, struct ps_err *e)
{
	const unsigned int from = s->n;
	struct ps_err undo_error;
	int rc = 0, failed;

	for (unsigned int i = 0; rc == 0 && i < h->n_rows; i++)
		if (h->row[i].wish)
			rc = make(s, &h->row[i], report, arg, e);
	if (rc == 0)
		return 0;
	failed = ps_change_undo(s, from, report, arg, &undo_error);
	if (failed == 0)
		return rc;
	ps_log(PS_LOG_ERROR, "rolling back: %s",
		failed < 0 ? undo_error.text : "not everything could be restored; penstock fini");
	return rc;
}

/* -- fini -- */

/* What was open when init was cut short may have any value, and is ours as long as the machine runs
 * on: after a restart of the machine nothing of it is left. */
static enum ps_outcome
judge(const struct ps_state *s, const struct ps_change *c, const char *now)
{
	if (strcmp(now, c->old) == 0)
		return PS_ALREADY;
	if (strcmp(now, c->new_value) == 0)
		return PS_RESTORED;
	return !c->done && !ps_state_rebooted(s) ? PS_RESTORED : PS_FOREIGN;
}

static enum ps_outcome
restore(const struct ps_state *s, const struct ps_change *c, char *why, size_t cap)
{
	const struct ps_knob k = knob_of(c);
	char now[PS_KNOB_VALUE];
	enum ps_outcome o;
	struct ps_err e;
	int rc = ps_knob_get(&k, now);

	if (rc == -ENOENT || rc == -ENODEV) {
		snprintf(why, cap, "it is not there any more");
		return PS_FOREIGN;
	}
	if (rc < 0) {
		snprintf(why, cap, "cannot be read: %s", strerror(-rc));
		return PS_FAILED;
	}
	o = judge(s, c, now);
	if (o == PS_RESTORED && ps_knob_set(&k, c->old, &e) < 0) {
		snprintf(why, cap, "%s", e.text);
		return PS_FAILED;
	}
	if (o == PS_FOREIGN)
		snprintf(why, cap, "now %.48s, init had set %.48s; before that it was %.48s", now,
			c->new_value, c->old);
	else
		snprintf(why, cap, "%.48s", c->old);
	return o;
}

/* Restoring one setting may disturb another (channels reset the indirection table), so those that
 * were put back are looked at once more, in the order in which they were made. */
static void
settle(struct ps_state *s, unsigned int from, enum ps_outcome outcome[])
{
	char now[PS_KNOB_VALUE];
	struct ps_err unused;

	for (unsigned int i = from; i < s->n; i++) {
		const struct ps_knob k = knob_of(&s->change[i]);

		if (outcome[i] != PS_RESTORED && outcome[i] != PS_ALREADY)
			continue;
		if (ps_knob_get(&k, now) == 0 && strcmp(now, s->change[i].old) != 0 &&
			ps_knob_set(&k, s->change[i].old, &unused) < 0)
			outcome[i] = PS_FAILED;
	}
}

int
ps_change_undo(
	struct ps_state *s, unsigned int from, ps_report *report, void *arg, struct ps_err *e)
{
	static enum ps_outcome outcome[PS_STATE_CHANGES];
	char why[640];
	int failed = 0, rc;

	for (unsigned int i = s->n; i-- > from;) {
		outcome[i] = restore(s, &s->change[i], why, sizeof(why));
		report(arg, &s->change[i], outcome[i], why);
	}
	settle(s, from, outcome);
	for (unsigned int i = s->n; i-- > from;) {
		if (outcome[i] == PS_FAILED)
			failed++;
		else
			ps_state_remove(s, i);
	}
	rc = ps_state_write(s, e);
	return rc < 0 ? rc : failed;
}
