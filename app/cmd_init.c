/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "host/change.h"
#include "host/undo.h"
#include "host/use.h"
#include "ps_json.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define UNDO_MINUTES     10.0
#define UNDO_MINUTES_MAX 1440.0

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
	"usage: penstock fini -c FILE [--rules-only] [--json]\n"
	"\n"
	"Restores what penstock init changed. What somebody else changed since is named and left\n"
	"alone. Also removes a killed penstock's XDP program, and the drop rules for the services "
	"from\n"
	"the physical functions.\n"
	"\n"
	"  -c FILE       configuration\n"
	"  --rules-only  remove the drop rules only, also while penstock runs\n"
	"  --json        one JSON object\n"
	"  -h            this text\n";

const char ps_help_confirm[] = "usage: penstock confirm -c FILE\n"
			       "\n"
			       "Keeps what penstock init did: it is not taken back any more.\n";

struct options {
	const char *command, *file;
	bool json, way_in, rules_only;
	double undo_minutes;
};

/* -- output -- */

struct printer {
	bool json;
	struct ps_json j;
	unsigned int n;
};

static void
print_change(void *arg, const struct ps_change *c, enum ps_outcome o, const char *why)
{
	struct printer *p = arg;

	p->n++;
	if (!p->json) {
		printf("%-9s %s%s%s: %s\n", ps_outcome_name(o), c->target,
			c->key[0] != '\0' ? " " : "", c->key, why);
		return;
	}
	ps_json_open(&p->j, NULL, '{');
	ps_json_str(&p->j, "kind", c->kind);
	ps_json_str(&p->j, "target", c->target);
	ps_json_str(&p->j, "key", c->key);
	ps_json_str(&p->j, "old", c->old);
	ps_json_str(&p->j, "new", c->new_value);
	ps_json_str(&p->j, "outcome", ps_outcome_name(o));
	ps_json_str(&p->j, "why", why);
	ps_json_close(&p->j, '}');
}

static void
begin_print(struct printer *p, const char *name)
{
	if (!p->json)
		return;
	p->j.out = stdout;
	ps_json_open(&p->j, NULL, '{');
	ps_json_str(&p->j, "name", name);
	ps_json_open(&p->j, "changes", '[');
}

static void
end_print(struct printer *p, bool ok, const char *text)
{
	if (!p->json) {
		if (text[0] != '\0')
			printf("%s\n", text);
		return;
	}
	ps_json_close(&p->j, ']');
	ps_json_bool(&p->j, "ok", ok);
	ps_json_str(&p->j, "text", text);
	ps_json_close(&p->j, '}');
	putchar('\n');
}

static int
end_with(int rc, const struct ps_err *e)
{
	if (rc == 0 && fflush(stdout) == 0)
		return PS_EXIT_OK;
	if (rc < 0)
		ps_log(PS_LOG_ERROR, "%s", e->text);
	return PS_EXIT_FAILED;
}

/* -- init -- */

static unsigned int
count_wishes(const struct ps_host *h)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->n_rows; i++)
		n += h->row[i].wish;
	return n;
}

/* The deadline is in the file, and its guard runs, before anything is changed. */
static int
arm(struct ps_state *s, const struct options *o, const struct ps_conf *conf, struct ps_err *e)
{
	int rc;

	if (o->undo_minutes <= 0)
		return 0;
	s->undo_ns = ps_state_now_ns() + (uint64_t)(o->undo_minutes * 60e9);
	rc = ps_state_write(s, e);
	return rc < 0 ? rc : ps_undo_start(s, conf, e);
}

static int
apply(struct ps_state *s, const struct ps_host *h, const struct options *o, struct printer *p,
	struct ps_err *e)
{
	const uint64_t before_ns = s->undo_ns;
	struct ps_err second;
	int rc = arm(s, o, h->conf, e);

	if (rc == 0)
		rc = ps_change_all(s, h, print_change, p, e);
	if (rc == 0)
		return 0;
	s->undo_ns = before_ns;
	if (ps_state_write(s, &second) < 0)
		ps_log(PS_LOG_ERROR, "%s", second.text);
	return rc;
}

static void
summary(const struct ps_host *h, const struct ps_state *s, const struct options *o,
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
			"is "
			"run",
			wishes, o->undo_minutes, h->file);
}

static int
do_init(const struct options *o, struct ps_err *e)
{
	static struct ps_conf conf;
	static struct ps_host host;
	static struct ps_state state;
	struct printer p = {.json = o->json};
	unsigned int wishes;
	char text[320] = "";
	int rc = ps_host_open(&host, &conf, o->file, e);

	if (rc == 0 && host.running)
		rc = ps_fail(e, EBUSY, "penstock %s is running; stop it first", conf.name);
	if (rc == 0)
		rc = ps_state_open(&state, conf.name, e);
	if (rc < 0)
		return rc;
	ps_host_look(&host);
	wishes = count_wishes(&host);
	if (wishes > 0 && !o->way_in)
		rc = ps_use_way_in(&conf, e);
	if (rc == 0) {
		begin_print(&p, conf.name);
		if (wishes > 0)
			rc = apply(&state, &host, o, &p, e);
		if (rc == 0)
			summary(&host, &state, o, wishes, text, sizeof(text));
		end_print(&p, rc == 0, rc == 0 ? text : e->text);
	}
	ps_state_close(&state);
	ps_host_close(&host);
	return rc;
}

/* -- fini -- */

static int
remove_rules(const struct ps_conf *conf, struct ps_err *e)
{
	int rc = ps_use_drop_rules(conf, e);

	if (rc > 0)
		ps_log(PS_LOG_INFO, "%d drop rules removed", rc);
	return rc < 0 ? rc : 0;
}

/* The kernel gets its packets back first; a rule that stays keeps nothing else from being restored.
 */
static int
restore(const struct ps_conf *conf, struct ps_state *s, const struct options *o, struct ps_err *e)
{
	struct printer p = {.json = o->json};
	struct ps_err rules;
	int rc = ps_use_busy(conf, s, e), failed;

	if (rc < 0)
		return rc;
	failed = remove_rules(conf, &rules);
	ps_use_stale_programs(conf);
	begin_print(&p, conf->name);
	s->undo_ns = 0;
	rc = ps_change_undo(s, 0, print_change, &p, e);
	if (rc > 0)
		rc = ps_fail(e, EIO,
			"%d could not be restored and stay in %s; mend the cause "
			"and run penstock fini again",
			rc, s->path);
	if (failed < 0 && rc < 0)
		ps_log(PS_LOG_ERROR, "%s", rules.text);
	else if (failed < 0)
		rc = ps_fail(e, -failed, "%s", rules.text);
	end_print(&p, rc == 0, rc < 0 ? e->text : p.n == 0 ? "nothing to restore" : "");
	return rc;
}

static int
do_fini(const struct options *o, struct ps_err *e)
{
	static struct ps_conf conf;
	static struct ps_state state;
	int rc = ps_conf_load(&conf, o->file, NULL, 0, e);

	if (rc < 0)
		return rc;
	if (o->rules_only)
		return remove_rules(&conf, e);
	rc = ps_state_open(&state, conf.name, e);
	if (rc < 0) {
		struct ps_err rules;

		/* A damaged state file keeps no packet from the kernel. */
		if (!ps_use_running(conf.name) && remove_rules(&conf, &rules) < 0)
			ps_log(PS_LOG_ERROR, "%s", rules.text);
		return rc;
	}
	rc = restore(&conf, &state, o, e);
	ps_state_close(&state);
	return rc;
}

/* -- confirm -- */

static int
do_confirm(const struct options *o, struct ps_err *e)
{
	static struct ps_conf conf;
	static struct ps_state state;
	int rc = ps_conf_load(&conf, o->file, NULL, 0, e);

	if (rc == 0)
		rc = ps_state_open(&state, conf.name, e);
	if (rc < 0)
		return rc;
	if (state.undo_ns == 0) {
		printf("nothing waits for it\n");
	} else {
		state.undo_ns = 0;
		rc = ps_state_write(&state, e);
		if (rc == 0)
			printf("kept: %u changes\n", state.n);
	}
	ps_state_close(&state);
	return rc;
}

/* -- command lines -- */

static bool
parse_minutes(const char *text, double *minutes)
{
	char *end;

	*minutes = strtod(text, &end);
	return end != text && *end == '\0' && *minutes >= 0 && *minutes <= UNDO_MINUTES_MAX;
}

/* 0, PS_EXIT_USAGE, or -1 for help. */
static int
parse(int argc, char **argv, const struct option *longs, struct options *o)
{
	int opt;

	*o = (struct options){.command = argv[0], .undo_minutes = UNDO_MINUTES};
	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:c:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'c':
			o->file = optarg;
			break;
		case 'j':
			o->json = true;
			break;
		case 'w':
			o->way_in = true;
			break;
		case 'r':
			o->rules_only = true;
			break;
		case 'u':
			if (!parse_minutes(optarg, &o->undo_minutes))
				return ps_usage(argv[0], "--undo-after %s: minutes, 0 to %.0f",
					optarg, UNDO_MINUTES_MAX);
			break;
		case 'h':
			return -1;
		default:
			return ps_usage_option(argv[0], opt, argv);
		}
	}
	if (optind < argc)
		return ps_usage(argv[0], "unexpected '%s'", argv[optind]);
	if (o->file == NULL)
		return ps_usage(argv[0], "-c FILE is missing");
	return 0;
}

static int
command(int argc, char **argv, const struct option *longs, const char *help_text,
	int (*run)(const struct options *o, struct ps_err *e))
{
	struct options o;
	struct ps_err e;
	int rc = parse(argc, argv, longs, &o);

	if (rc < 0)
		return ps_print_help(help_text);
	return rc > 0 ? rc : end_with(run(&o, &e), &e);
}

int
ps_cmd_init(int argc, char **argv)
{
	static const struct option longs[] = {
		{"i-have-another-way-in", no_argument, NULL, 'w'},
		{"undo-after", required_argument, NULL, 'u'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};

	return command(argc, argv, longs, ps_help_init, do_init);
}

int
ps_cmd_fini(int argc, char **argv)
{
	static const struct option longs[] = {
		{"rules-only", no_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};

	return command(argc, argv, longs, ps_help_fini, do_fini);
}

int
ps_cmd_confirm(int argc, char **argv)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};

	return command(argc, argv, longs, ps_help_confirm, do_confirm);
}
