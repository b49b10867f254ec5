/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cmd.h"
#include "conf.h"
#include "ps_json.h"
#include "ps_time.h"
#include "top_bridge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char ps_help_top[] = "usage: penstock top [--name NAME | --file-prefix PREFIX] [--bridge "
			   "PATH] [--once] [--json]\n"
			   "\n"
			   "Shows a running penstock: rates each second, drop reasons by rate, "
			   "feeds, connections; and\n"
			   "the bridge of that name: what it delivered and discarded, whether the "
			   "validator throttles,\n"
			   "latencies. One of the two is enough.\n"
			   "\n"
			   "  --name NAME           the instance's [penstock] name (penstock)\n"
			   "  --file-prefix PREFIX  its EAL file prefix (penstock-NAME)\n"
			   "  --bridge PATH         a bridge with [bridge] telemetry = PATH\n"
			   "  --once                totals once, then end\n"
			   "  --json                one JSON object (each second without --once)\n"
			   "  -h, --help            this text\n";

struct sources {
	int penstock, bridge; /* -1: not there */
};

/* One look at everything. */
struct sample {
	struct ps_top_bridge bridge;
	bool penstock; /* it is there, and all that follows its */
	uint64_t at_ns;
	unsigned int n_workers;
	struct ps_tel_dict info, stats, drops, services;
	struct ps_tel_dict queue[PS_WORKERS_MAX], quic[PS_WORKERS_MAX], feeds[PS_WORKERS_MAX];
};

static int
ask_worker(int fd, const char *what, unsigned int w, struct ps_tel_dict *d, struct ps_err *e)
{
	char command[64];

	snprintf(command, sizeof(command), "/penstock/%s,%u", what, w);
	return ps_tel_query(fd, command, d, e);
}

static int
take_penstock(int fd, struct sample *s, struct ps_err *e)
{
	const struct {
		const char *command;
		struct ps_tel_dict *d;
	} fixed[] = {
		{"/penstock/info", &s->info},
		{"/penstock/stats", &s->stats},
		{"/penstock/drops", &s->drops},
		{"/penstock/services", &s->services},
	};
	uint64_t workers;
	int rc = 0;

	s->at_ns = ps_now_ns();
	for (unsigned int i = 0; rc == 0 && i < sizeof(fixed) / sizeof(fixed[0]); i++)
		rc = ps_tel_query(fd, fixed[i].command, fixed[i].d, e);
	if (rc < 0)
		return rc;
	workers = ps_tel_number(&s->info, "workers");
	s->n_workers = workers < PS_WORKERS_MAX ? (unsigned int)workers : PS_WORKERS_MAX;
	for (unsigned int w = 0; rc == 0 && w < s->n_workers; w++) {
		rc = ask_worker(fd, "queue", w, &s->queue[w], e);
		if (rc == 0)
			rc = ask_worker(fd, "quic", w, &s->quic[w], e);
		if (rc == 0)
			rc = ask_worker(fd, "feeds", w, &s->feeds[w], e);
	}
	return rc;
}

static int
take(const struct ps_tel_options *o, struct sources *from, struct sample *s, struct ps_err *e)
{
	s->penstock = from->penstock >= 0;
	ps_top_bridge_take(o, &from->bridge, &s->bridge);
	if (!s->penstock && !s->bridge.there)
		return ps_fail(e, EPIPE, "the bridge does not answer any more; has it stopped?");
	return s->penstock ? take_penstock(from->penstock, s, e) : 0;
}

/* -- JSON -- */

static void
put_dict(struct ps_json *j, const char *key, const struct ps_tel_dict *d)
{
	ps_json_open(j, key, '{');
	ps_tel_put(j, d);
	ps_json_close(j, '}');
}

static void
put_penstock(struct ps_json *j, const struct sample *s)
{
	put_dict(j, "info", &s->info);
	put_dict(j, "stats", &s->stats);
	put_dict(j, "drops", &s->drops);
	put_dict(j, "services", &s->services);
	ps_json_open(j, "feeds", '{');
	for (unsigned int w = 0; w < s->n_workers; w++)
		ps_tel_put(j, &s->feeds[w]);
	ps_json_close(j, '}');
	ps_json_open(j, "queues", '[');
	for (unsigned int w = 0; w < s->n_workers; w++)
		put_dict(j, NULL, &s->queue[w]);
	ps_json_close(j, ']');
	ps_json_open(j, "quic", '[');
	for (unsigned int w = 0; w < s->n_workers; w++)
		put_dict(j, NULL, &s->quic[w]);
	ps_json_close(j, ']');
}

static void
print_json(const struct sample *s)
{
	struct ps_json j = {.out = stdout};

	ps_json_open(&j, NULL, '{');
	if (s->penstock)
		put_penstock(&j, s);
	ps_top_bridge_json(&s->bridge, &j);
	ps_json_close(&j, '}');
	putchar('\n');
}

/* -- table -- */

struct rate {
	const char *key;
	uint64_t total;
	double per_s;
};

static double
rate_of(const struct ps_tel_dict *now, const struct ps_tel_dict *before, const char *key, double s)
{
	uint64_t a = ps_tel_number(before, key), b = ps_tel_number(now, key);

	return s > 0 && b > a ? (double)(b - a) / s : 0;
}

/* The fastest first, then the largest. */
static int
compare_rates(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	if (x->per_s != y->per_s)
		return x->per_s < y->per_s ? 1 : -1;
	return x->total == y->total ? 0 : x->total < y->total ? 1 : -1;
}

static void
print_line(const struct sample *s, const struct sample *before, double seconds, const char *label,
	const char *key)
{
	printf("  %-26s %14" PRIu64 " %14.0f/s\n", label, ps_tel_number(&s->stats, key),
		rate_of(&s->stats, &before->stats, key, seconds));
}

static void
print_drops(const struct sample *s, const struct sample *before, double seconds)
{
	struct rate r[PS_TEL_ENTRIES];

	for (unsigned int i = 0; i < s->drops.n; i++) {
		const char *key = s->drops.entry[i].key;

		r[i] = (struct rate){key, s->drops.entry[i].number,
			rate_of(&s->drops, &before->drops, key, seconds)};
	}
	qsort(r, s->drops.n, sizeof(r[0]), compare_rates);
	printf("drops\n");
	for (unsigned int i = 0; i < s->drops.n && r[i].total > 0; i++)
		printf("  %-26s %14" PRIu64 " %14.0f/s\n", r[i].key, r[i].total, r[i].per_s);
}

static void
print_numbers(const struct ps_tel_dict *d)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (!d->entry[i].is_text && d->entry[i].number > 0)
			printf("  %-40s %14" PRIu64 "\n", d->entry[i].key, d->entry[i].number);
}

static void
print_group(const char *title, const struct ps_tel_dict *d)
{
	printf("%s\n", title);
	print_numbers(d);
}

static const char *
port_text(const struct ps_tel_dict *info, unsigned int port, const char *what)
{
	char key[PS_TEL_KEY];

	snprintf(key, sizeof(key), "port%u_%s", port, what);
	return ps_tel_text(info, key);
}

static void
print_ports(const struct ps_tel_dict *info)
{
	printf("ports\n");
	for (unsigned int i = 0; i < ps_tel_number(info, "ports"); i++) {
		const char *fallback = port_text(info, i, "fallback");
		const char *cause = port_text(info, i, "cause");

		printf("  %-12s %-16s path %s, %s%s%s%s%s\n", port_text(info, i, "name"),
			port_text(info, i, "device"), port_text(info, i, "path"),
			port_text(info, i, "mode"), fallback[0] != '\0' ? "; fell back: " : "",
			fallback, cause[0] != '\0' ? "; ALARM: " : "", cause);
	}
}

static void
print_penstock(const struct sample *s, const struct sample *before)
{
	const double seconds = (double)(s->at_ns - before->at_ns) / (double)PS_SEC_NS;

	printf("penstock %s  pid %" PRIu64 "  up %" PRIu64 " s  %u worker%s%s\n",
		ps_tel_text(&s->info, "name"), ps_tel_number(&s->info, "pid"),
		ps_tel_number(&s->info, "uptime_s"), s->n_workers, s->n_workers == 1 ? "" : "s",
		ps_tel_number(&s->info, "alarms") > 0 ? "  ALARM: see penstock flows and the log"
						      : "");
	print_ports(&s->info);
	printf("traffic\n");
	print_line(s, before, seconds, "frames received", "rx_packets");
	print_line(s, before, seconds, "frames sent", "tx_packets");
	print_line(s, before, seconds, "transactions", "received");
	print_line(s, before, seconds, "records published", "published");
	print_line(s, before, seconds, "dropped", "dropped");
	print_line(s, before, seconds, "missed by the device", "missed");
	print_line(s, before, seconds, "passed to the kernel", "passed");
	print_line(s, before, seconds, "passed, worker not beating", "passed_stale");
	print_line(s, before, seconds, "of them on other queues", "passed_elsewhere");
	print_line(s, before, seconds, "denied by source", "denied");
	print_drops(s, before, seconds);
	print_group("services", &s->services);
	printf("feeds\n");
	for (unsigned int w = 0; w < s->n_workers; w++)
		print_numbers(&s->feeds[w]);
	for (unsigned int w = 0; w < s->n_workers; w++) {
		char title[32];

		snprintf(title, sizeof(title), "quic, worker %u", w);
		print_group(title, &s->quic[w]);
	}
}

static void
print_table(const struct sample *s, const struct sample *before)
{
	if (s->penstock)
		print_penstock(s, before);
	ps_top_bridge_print(&s->bridge, &before->bridge);
}

static int
show_from(struct sources *from, const struct ps_tel_options *o, struct ps_err *e)
{
	static struct sample sample[2];
	const bool clear = !o->flag && !o->json && isatty(STDOUT_FILENO);
	unsigned int now = 0;
	int rc = take(o, from, &sample[now], e);

	sample[1] = sample[0];
	while (rc == 0) {
		if (clear)
			fputs("\033[H\033[2J", stdout);
		if (o->json)
			print_json(&sample[now]);
		else
			print_table(&sample[now], &sample[!now]);
		if (fflush(stdout) != 0 || o->flag)
			return 0;
		sleep(1);
		now = !now;
		rc = take(o, from, &sample[now], e);
	}
	return rc;
}

static int
show(const struct ps_tel_options *o, struct ps_err *e)
{
	struct sources from = {ps_tel_connect(o->prefix, e), ps_top_bridge_connect(o)};
	int rc;

	if (from.bridge < 0 && o->path != NULL)
		rc = ps_fail(e, ENOENT,
			"no bridge answers at %s; start it with [bridge] telemetry = %s", o->path,
			o->path);
	else if (from.bridge < 0 && from.penstock < 0)
		rc = from.penstock;
	else
		rc = show_from(&from, o, e);
	if (from.penstock >= 0)
		close(from.penstock);
	if (from.bridge >= 0)
		close(from.bridge);
	return rc;
}

int
ps_cmd_top(int argc, char **argv)
{
	static const struct ps_tel_command command = {"top", ps_help_top, "once", "bridge", show};

	return ps_tel_command(&command, argc, argv);
}
