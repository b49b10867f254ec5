/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd_host.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "cmd.h"

#define UNDO_MINUTES     10.0
#define UNDO_MINUTES_MAX 1440.0

/* -- rows -- */

void
ps_rows_begin(struct ps_rows *r, const char *instance)
{
	r->begun = true;
	if (!r->json)
		return;
	r->j.out = stdout;
	ps_json_open(&r->j, NULL, '{');
	ps_json_str(&r->j, "name", instance);
	ps_json_open(&r->j, "steps", '[');
}

static void
add_json(struct ps_json *j, const struct ps_line *l)
{
	ps_json_open(j, NULL, '{');
	ps_json_str(j, "name", l->name);
	ps_json_str(j, "subject", l->subject);
	ps_json_str(j, "state", l->state);
	ps_json_str(j, "why", l->why);
	ps_json_str(j, "remedy", l->remedy);
	if (l->outcome != NULL)
		ps_json_str(j, "outcome", l->outcome);
	if (l->has_init)
		ps_json_bool(j, "init", l->init);
	ps_json_close(j, '}');
}

void
ps_rows_add(struct ps_rows *r, const struct ps_line *l)
{
	r->n++;
	if (r->json) {
		add_json(&r->j, l);
		return;
	}
	printf("%-9s %-12s %-22s %s\n", l->outcome != NULL ? l->outcome : l->state, l->name,
		l->subject, l->why);
	if (l->remedy[0] != '\0')
		printf("%-9s %-12s %s%s\n", "", "", l->init ? "* " : "> ", l->remedy);
}

void
ps_rows_add_host(struct ps_rows *r, const struct ps_host *h)
{
	for (unsigned int i = 0; i < h->n_rows; i++) {
		const struct ps_row *row = &h->row[i];

		ps_rows_add(r, &(struct ps_line){
				       .name = row->step,
				       .subject = row->subject,
				       .state = ps_step_state_name(row->state),
				       .why = row->why,
				       .remedy = row->remedy,
				       .has_init = true,
				       .init = row->wish,
			       });
	}
}

void
ps_rows_close(struct ps_rows *r)
{
	if (r->json)
		ps_json_close(&r->j, ']');
}

void
ps_rows_end(struct ps_rows *r, bool ok, const char *text)
{
	if (r->json) {
		ps_json_bool(&r->j, "ok", ok);
		ps_json_str(&r->j, "text", text);
		ps_json_close(&r->j, '}');
		putchar('\n');
	} else if (ok && text[0] != '\0') {
		printf("%s\n", text);
	}
}

/* -- command lines -- */

static const struct option all_longs[] = {
	{"contact-info", required_argument, NULL, 'i'},
	{"i-have-another-way-in", no_argument, NULL, 'w'},
	{"undo-after", required_argument, NULL, 'u'},
	{"rules-only", no_argument, NULL, 'r'},
	{"forget", no_argument, NULL, 'f'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
};

#define N_LONGS (sizeof(all_longs) / sizeof(all_longs[0]))

static void
choose_longs(struct option longs[N_LONGS + 1], const char *own)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < N_LONGS; i++)
		if (strchr("jh", all_longs[i].val) != NULL || strchr(own, all_longs[i].val) != NULL)
			longs[n++] = all_longs[i];
	longs[n] = (struct option){0};
}

static bool
parse_minutes(const char *text, double *minutes)
{
	char *end;

	*minutes = strtod(text, &end);
	return end != text && *end == '\0' && *minutes >= 0 && *minutes <= UNDO_MINUTES_MAX;
}

/* False when the letter is not one of ours, or its value is wrong. */
static bool
take(struct ps_host_options *o, int opt)
{
	switch (opt) {
	case 'c':
		o->file = optarg;
		break;
	case 'i':
		o->contact_file = optarg;
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
	case 'f':
		o->forget = true;
		break;
	case 'u':
		return parse_minutes(optarg, &o->undo_minutes);
	default:
		return false;
	}
	return true;
}

/* 0, PS_EXIT_USAGE, or -1 for help. */
static int
parse(int argc, char **argv, const char *own, struct ps_host_options *o)
{
	struct option longs[N_LONGS + 1];
	int opt;

	choose_longs(longs, own);
	*o = (struct ps_host_options){.undo_minutes = UNDO_MINUTES};
	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:c:h", longs, NULL)) != -1) {
		if (opt == 'h')
			return -1;
		if (take(o, opt))
			continue;
		if (opt == 'u')
			return ps_usage(argv[0], "--undo-after %s: minutes, 0 to %.0f", optarg,
				UNDO_MINUTES_MAX);
		return ps_usage_option(argv[0], opt, argv);
	}
	if (optind < argc)
		return ps_usage(argv[0], "unexpected '%s'", argv[optind]);
	if (o->file == NULL)
		return ps_usage(argv[0], "-c FILE is missing");
	return 0;
}

int
ps_host_command(int argc, char **argv, const char *own, const char *help_text,
	int (*run)(const struct ps_host_options *o, struct ps_rows *r, struct ps_err *e))
{
	struct ps_host_options o;
	struct ps_rows r = {0};
	struct ps_err e;
	int rc = parse(argc, argv, own, &o);

	if (rc < 0)
		return ps_print_help(help_text);
	if (rc > 0)
		return rc;
	r.json = o.json;
	rc = run(&o, &r, &e);
	if (rc < 0 && !r.begun) {
		ps_rows_begin(&r, "");
		ps_rows_close(&r);
		ps_rows_end(&r, false, e.text);
	}
	if (rc < 0)
		ps_log(PS_LOG_ERROR, "%s", e.text);
	return rc == 0 ? PS_EXIT_OK : PS_EXIT_FAILED;
}
