/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* penstock bench: what one core spends on a packet, measured in memory. A client endpoint of ours
 * makes the packets, outside the measured time; no port, and no EAL but for --stages. */

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cmd.h"
#include "ps_err.h"
#include "ps_json.h"

const char ps_help_bench[] =
	"usage: penstock bench WHAT [--size BYTES] [--conns N] [--reps N] [--json]\n"
	"       penstock bench --stages [--size BYTES] [--conns N] [--reps N] [--json]\n"
	"\n"
	"Measures on this core, in memory; nothing is sent anywhere. Everything that is counted "
	"was\n"
	"seen to arrive as it was sent. WHAT is one of\n"
	"  open         header and packet protection alone, beside the bare calls of the cipher "
	"library\n"
	"  ingest       bursts of 64 packets: decrypt, frames, count, acknowledge\n"
	"  feed         the same, and reassembly and the copy into a feed in /dev/shm\n"
	"  packed       six transactions in one packet; use --size 176\n"
	"  handshake    with both certificates, the server's time, connection closed again\n"
	"  retry        an Initial in, a Retry out with Ethernet, IP and UDP headers\n"
	"  unknown-cid  packets of no connection\n"
	"  classify     UDP frames of 64 bytes: parse, check, publish\n"
	"  conns        ingest and open over 1, 1,000, 4,000, .. up to --conns connections\n"
	"  timers       a loop without packets, with as many idle connections\n"
	"  scale        two workers on two processors against one\n"
	"  cores        round trip of a cache line between these two processors\n"
	"  flood        established connections at 70 % of what the core can take, beside Initials "
	"of\n"
	"               spoofed addresses and new clients: the share still served\n"
	"  stages       what each stage of a packet's way takes; also as --stages\n"
	"\n"
	"  --size BYTES    of one transaction, 134..4096 (default 1024)\n"
	"  --conns N       connections, taken in random order, 1..100000 (default 1)\n"
	"  --reps N        repetitions, of which median and minimum are printed (default 7)\n"
	"  --flood-pps N   Initials per second in flood, each burst has one (default 1000000)\n"
	"  --handshakes N  handshakes per second in flood (default 1000)\n"
	"  --json          one object on one line\n";

static volatile sig_atomic_t stop;

static void
on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts: the minimum comes first. */
static double
median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void
report_json(const struct ps_bench_options *o, struct ps_bench_result *r)
{
	struct ps_json j = {.out = stdout};

	ps_json_open(&j, NULL, '{');
	ps_json_str(&j, "bench", o->what);
	ps_json_u64(&j, "size", o->size);
	ps_json_u64(&j, "conns", o->conns);
	ps_json_u64(&j, "reps", o->reps);
	ps_json_str(&j, "curves", ps_bench_curves());
	ps_json_open(&j, "rows", '[');
	for (unsigned int i = 0; i < r->n; i++) {
		struct ps_bench_row *row = &r->row[i];

		ps_json_open(&j, NULL, '{');
		ps_json_str(&j, "what", row->what);
		ps_json_str(&j, "unit", row->unit);
		ps_json_double(&j, "median", median(row->value, row->n));
		ps_json_double(&j, "min", row->value[0]);
		ps_json_close(&j, '}');
	}
	ps_json_close(&j, ']');
	ps_json_close(&j, '}');
	printf("\n");
}

static void
report(const struct ps_bench_options *o, struct ps_bench_result *r)
{
	printf("%s: transactions of %u bytes, %u connections, %u repetitions, curves of %s\n",
		o->what, o->size, o->conns, o->reps, ps_bench_curves());
	printf("%-40s %12s %12s  unit\n", "", "median", "minimum");
	for (unsigned int i = 0; i < r->n; i++) {
		struct ps_bench_row *row = &r->row[i];
		double middle = median(row->value, row->n);

		printf("%-40s %12.2f %12.2f  %s\n", row->what, middle, row->value[0], row->unit);
	}
}

static bool
number(const char *text, unsigned long min, unsigned long max, unsigned int *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || v < min || v > max)
		return false;
	*out = (unsigned int)v;
	return true;
}

/* 0, or the exit code with its line printed; -1: help was asked for. */
static int
parse(int argc, char **argv, struct ps_bench_options *o, bool *json)
{
	static const struct option longs[] = {{"size", required_argument, NULL, 'n'},
		{"conns", required_argument, NULL, 'n'}, {"reps", required_argument, NULL, 'n'},
		{"flood-pps", required_argument, NULL, 'n'},
		{"handshakes", required_argument, NULL, 'n'}, {"json", no_argument, NULL, 'j'},
		{"stages", no_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {0}};
	/* of the first options of longs[] */
	const struct {
		unsigned int min, max, *out;
	} range[] = {{PS_BENCH_MIN_SIZE, PS_BENCH_MAX_SIZE, &o->size},
		{1, PS_BENCH_MAX_CONNS, &o->conns}, {1, PS_BENCH_MAX_REPS, &o->reps},
		{1, PS_BENCH_MAX_FLOOD, &o->flood_pps}, {0, PS_BENCH_MAX_HS, &o->handshakes}};
	int opt, i;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:h", longs, &i)) != -1) {
		if (opt == 'j')
			*json = true;
		else if (opt == 's')
			o->what = "stages";
		else if (opt == 'h')
			return -1;
		else if (opt != 'n')
			return ps_usage_option("bench", opt, argv);
		else if (!number(optarg, range[i].min, range[i].max, range[i].out))
			return ps_usage("bench", "--%s %s: give a number from %u to %u",
				longs[i].name, optarg, range[i].min, range[i].max);
	}
	if (optind < argc)
		o->what = argv[optind++];
	return 0;
}

int
ps_cmd_bench(int argc, char **argv)
{
	struct ps_bench_options o = {
		.size = 1024, .conns = 1, .reps = 7, .flood_pps = 1000000, .handshakes = 1000};
	static struct ps_bench_result r;
	struct sigaction sa = {.sa_handler = on_signal};
	struct ps_err e;
	bool json = false;
	int rc;

	/* options before and after WHAT */
	rc = parse(argc, argv, &o, &json);
	if (rc == 0 && optind < argc) {
		argc -= optind - 1;
		argv += optind - 1;
		rc = parse(argc, argv, &o, &json);
		if (rc == 0 && optind < argc)
			return ps_usage("bench", "unexpected '%s'", argv[optind]);
	}
	if (rc < 0)
		return ps_print_help(ps_help_bench);
	if (rc > 0)
		return rc;
	if (o.what == NULL || !ps_bench_known(o.what))
		return ps_usage("bench", "say what to measure: %s", ps_bench_names());
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (ps_bench_run(&o, &r, &stop, &e) != 0) {
		ps_log(PS_LOG_ERROR, "%s", e.text);
		return 1;
	}
	if (json)
		report_json(&o, &r);
	else
		report(&o, &r);
	return 0;
}
