/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "cmd_host.h"
#include "host/change.h"
#include "host/pf_record.h"
#include "host/undo.h"
#include "host/use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char ps_help_init[] =
	"usage: penstock init -c FILE [--i-have-another-way-in] [--undo-after MINUTES] [--json]\n"
	"\n"
	"Does what penstock check marks with *, after each old value is safe in\n"
	"/var/lib/penstock/NAME.state (or in $STATE_DIRECTORY). A failure takes all of it back.\n"
	"\n"
	"  -c FILE                  configuration\n"
	"  --i-have-another-way-in  also on an interface with the default route, an SSH session, "
	"a\n"
	"                           bond or a bridge\n"
	"  --undo-after MINUTES     take it back unless penstock confirm is run until then (10);\n"
	"                           0: never\n"
	"  --json                   one JSON object\n"
	"  -h                       this text\n";

const char ps_help_fini[] =
	"usage: penstock fini -c FILE [--rules-only | --forget] [--json]\n"
	"\n"
	"Restores what penstock init changed. What somebody else changed since is named and left\n"
	"alone; what belongs to a device that is gone is named and kept for when it comes back. "
	"Also\n"
	"removes a killed penstock's XDP program, and its drop rules from the physical functions.\n"
	"\n"
	"  -c FILE       configuration\n"
	"  --rules-only  remove the drop rules only, also while penstock runs\n"
	"  --forget      the devices that are gone will not come back: keep nothing of them\n"
	"  --json        one JSON object\n"
	"  -h            this text\n";

const char ps_help_confirm[] = "usage: penstock confirm -c FILE [--json]\n"
			       "\n"
			       "Keeps what penstock init did: it is not taken back any more.\n"
			       "\n"
			       "  -c FILE  configuration\n"
			       "  --json   one JSON object\n"
			       "  -h       this text\n";

/* -- rows -- */

static const char *
state_of(enum ps_outcome o)
{
	switch (o) {
	case PS_FOREIGN:
		return "partial";
	case PS_REFUSED:
	case PS_GONE:
	case PS_FAILED:
		return "not";
	default:
		return "ok";
	}
}

static void
add_change(void *arg, const struct ps_change *c, enum ps_outcome o, const char *why)
{
	char remedy[320] = "";

	if (o == PS_REFUSED)
		ps_change_command(c, c->new_value, remedy, sizeof(remedy));
	else if (o == PS_FOREIGN || o == PS_FAILED)
		ps_change_command(c, c->old, remedy, sizeof(remedy));
	else if (o == PS_GONE)
		snprintf(remedy, sizeof(remedy),
			"plug it back and run penstock fini again, or penstock fini --forget");
	ps_rows_add(arg, &(struct ps_line){
				 .name = c->key[0] != '\0' ? c->key : c->kind,
				 .subject = c->target,
				 .state = state_of(o),
				 .why = why,
				 .remedy = remedy,
				 .outcome = ps_outcome_name(o),
			 });
}

static void
add_simple(struct ps_rows *r, const char *name, const char *state, const char *outcome,
	const char *why, const char *remedy)
{
	ps_rows_add(r, &(struct ps_line){
			       .name = name,
			       .subject = "",
			       .state = state,
			       .why = why,
			       .remedy = remedy,
			       .outcome = outcome,
		       });
}

/* -- init -- */

/* The deadline is in the file, and its guard runs, before anything is changed. */
static int
arm(struct ps_state *s, const struct ps_host_options *o, const struct ps_conf *conf,
	struct ps_err *e)
{
	int rc;

	if (o->undo_minutes <= 0)
		return 0;
	s->undo_ns = ps_state_now_ns() + (uint64_t)(o->undo_minutes * 60e9);
	rc = ps_state_write(s, e);
	return rc < 0 ? rc : ps_undo_start(s, conf, e);
}

static int
apply(struct ps_state *s, const struct ps_host *h, const struct ps_host_options *o,
	struct ps_rows *r, struct ps_err *e)
{
	const uint64_t before_ns = s->undo_ns;
	struct ps_err second;
	int rc = arm(s, o, h->conf, e);

	if (rc == 0)
		rc = ps_change_all(s, h, add_change, r, e);
	if (rc == 0)
		return 0;
	s->undo_ns = before_ns;
	if (ps_state_write(s, &second) < 0)
		ps_log(PS_LOG_ERROR, "%s", second.text);
	return rc;
}

static void
summary(const struct ps_host *h, const struct ps_state *s, const struct ps_host_options *o,
	unsigned int wishes, char *text, size_t cap)
{
	if (wishes == 0 && s->undo_ns == 0)
		snprintf(text, cap, "nothing to change");
	else if (wishes == 0)
		snprintf(text, cap, "nothing to change; penstock confirm -c %s keeps what is",
			h->file);
	else if (s->undo_ns == 0)
		snprintf(text, cap, "%u changed; penstock fini -c %s takes them back", wishes,
			h->file);
	else
		snprintf(text, cap,
			"%u changed, and taken back in %.3g minutes unless penstock confirm -c %s "
			"is run",
			wishes, o->undo_minutes, h->file);
}

static int
prepare(const struct ps_host_options *o, struct ps_host *host, struct ps_conf *conf,
	struct ps_state *state, struct ps_err *e)
{
	int rc = ps_host_open(host, conf, o->file, e);

	if (rc == 0 && host->running)
		rc = ps_fail(e, EBUSY, "penstock %s is running; stop it first", conf->name);
	return rc < 0 ? rc : ps_state_open(state, conf->name, e);
}

static int
do_init(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e)
{
	static struct ps_conf conf;
	static struct ps_host host;
	static struct ps_state state;
	unsigned int wishes;
	char text[320] = "";
	int rc = prepare(o, &host, &conf, &state, e);

	if (rc < 0)
		return rc;
	ps_host_look(&host);
	wishes = ps_host_wishes(&host);
	if (wishes > 0 && !o->way_in)
		rc = ps_use_way_in(&conf, e);
	if (rc == 0) {
		ps_rows_begin(r, conf.name);
		if (wishes > 0)
			rc = apply(&state, &host, o, r, e);
		if (rc == 0)
			summary(&host, &state, o, wishes, text, sizeof(text));
		ps_rows_close(r);
		ps_rows_end(r, rc == 0, rc == 0 ? text : e->text);
	}
	ps_state_close(&state);
	ps_host_close(&host);
	return rc;
}

/* -- fini -- */

/* How many stay because of what is gone, or -errno. */
static int
remove_rules(const struct ps_conf *conf, const struct ps_host_options *o, struct ps_rows *r,
	struct ps_err *e)
{
	unsigned int gone;
	char why[64];
	int rc = ps_pf_record_remove(conf->name, true, &gone, e);

	if (rc < 0)
		add_simple(r, "rules", "not", "failed", e->text, "see ethtool -n of the PF");
	if (rc > 0) {
		snprintf(why, sizeof(why), "%d drop rules removed", rc);
		add_simple(r, "rules", "ok", "removed", why, "");
	}
	if (rc < 0 || gone == 0)
		return rc < 0 ? rc : 0;
	snprintf(why, sizeof(why), "%u drop rules of a PF that is not there any more", gone);
	if (o->forget) {
		ps_pf_record_forget(conf->name);
		add_simple(r, "rules", "ok", "forgotten", why, "");
		return 0;
	}
	add_simple(r, "rules", "not", "gone", why,
		"plug it back and run penstock fini again, or penstock fini --forget");
	return (int)gone;
}

static void
remove_programs(const struct ps_conf *conf, struct ps_rows *r)
{
	char why[64];
	int n = ps_use_stale_programs(conf);

	if (n == 0)
		return;
	snprintf(why, sizeof(why), "%d programs of a killed penstock taken off", n);
	add_simple(r, "xdp", "ok", "removed", why, "");
}

/* The kernel gets its packets back first; a rule that stays keeps nothing else from being restored.
 */
static int
restore(const struct ps_conf *conf, struct ps_state *s, const struct ps_host_options *o,
	struct ps_rows *r, struct ps_err *e)
{
	struct ps_err rules;
	int failed = remove_rules(conf, o, r, &rules), rc;

	remove_programs(conf, r);
	s->undo_ns = 0;
	rc = ps_change_undo(s, o->forget, add_change, r, e);
	if (failed > 0 || rc > 0)
		rc = ps_fail(e, EIO,
			"%d could not be restored and stay in %s; mend what the rows say and run "
			"penstock fini again",
			(failed > 0 ? failed : 0) + (rc > 0 ? rc : 0), s->path);
	if (failed < 0 && rc < 0)
		ps_log(PS_LOG_ERROR, "%s", rules.text);
	else if (failed < 0)
		rc = ps_fail(e, -failed, "%s", rules.text);
	return rc;
}

static int
only_rules(const struct ps_conf *conf, const struct ps_host_options *o, struct ps_rows *r,
	struct ps_err *e)
{
	int rc;

	ps_rows_begin(r, conf->name);
	rc = remove_rules(conf, o, r, e);
	if (rc > 0)
		rc = ps_fail(e, ENODEV,
			"the PF of %d drop rules is not there any more; penstock "
			"fini --forget if it will not come back",
			rc);
	ps_rows_close(r);
	ps_rows_end(r, rc == 0, rc < 0 ? e->text : "");
	return rc;
}

static int
do_fini(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e)
{
	static struct ps_conf conf;
	static struct ps_state state;
	int rc = ps_conf_load(&conf, o->file, NULL, 0, e);

	if (rc < 0)
		return rc;
	if (o->rules_only)
		return only_rules(&conf, o, r, e);
	rc = ps_state_open(&state, conf.name, e);
	if (rc < 0) {
		struct ps_err rules;
		unsigned int gone;

		/* A damaged state file keeps no packet from the kernel. */
		if (!ps_use_running(conf.name) &&
			ps_pf_record_remove(conf.name, true, &gone, &rules) < 0)
			ps_log(PS_LOG_ERROR, "%s", rules.text);
		return rc;
	}
	rc = ps_use_busy(&conf, &state, e);
	if (rc == 0) {
		ps_rows_begin(r, conf.name);
		rc = restore(&conf, &state, o, r, e);
		ps_rows_close(r);
		ps_rows_end(r, rc == 0, rc < 0 ? e->text : r->n == 0 ? "nothing to restore" : "");
	}
	ps_state_close(&state);
	return rc;
}

/* -- confirm -- */

static void
add_kept(struct ps_rows *r, const struct ps_change *c)
{
	char why[128];

	snprintf(why, sizeof(why), "%.48s -> %.48s", c->old, c->new_value);
	add_change(r, c, PS_KEPT, why);
}

static int
do_confirm(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e)
{
	static struct ps_conf conf;
	static struct ps_state state;
	char text[64] = "nothing waits for it";
	int rc = ps_conf_load(&conf, o->file, NULL, 0, e);

	if (rc == 0)
		rc = ps_state_open(&state, conf.name, e);
	if (rc < 0)
		return rc;
	if (state.undo_ns != 0) {
		state.undo_ns = 0;
		rc = ps_state_write(&state, e);
		snprintf(text, sizeof(text), "kept: %u changes", state.n);
	}
	if (rc == 0) {
		ps_rows_begin(r, conf.name);
		for (unsigned int i = 0; o->json && i < state.n; i++)
			add_kept(r, &state.change[i]);
		ps_rows_close(r);
		ps_rows_end(r, true, text);
	}
	ps_state_close(&state);
	return rc;
}

/* -- commands -- */

int
ps_cmd_init(int argc, char **argv)
{
	return ps_host_command(argc, argv, "wu", ps_help_init, do_init);
}

int
ps_cmd_fini(int argc, char **argv)
{
	return ps_host_command(argc, argv, "rf", ps_help_fini, do_fini);
}

int
ps_cmd_confirm(int argc, char **argv)
{
	return ps_host_command(argc, argv, "", ps_help_confirm, do_confirm);
}
