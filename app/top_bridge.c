/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "top_bridge.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "bridge/stats.h"
#include "ps_time.h"

int
ps_top_bridge_connect(const struct ps_tel_options *o)
{
	char prefix[sizeof(o->prefix) + 8];
	int fd;

	snprintf(prefix, sizeof(prefix), "%s-bridge", o->prefix);
	fd = o->path != NULL ? ps_tel_open(o->path) : ps_tel_connect(prefix, NULL);
	return fd < 0 ? -1 : fd;
}

static bool
ask(int fd, struct ps_top_bridge *s)
{
	return fd >= 0 && ps_tel_query(fd, "/penstock/bridge/info", &s->info, NULL) == 0 &&
	       ps_tel_query(fd, "/penstock/bridge/stats", &s->stats, NULL) == 0 &&
	       ps_tel_query(fd, "/penstock/bridge/latency", &s->latency, NULL) == 0;
}

void
ps_top_bridge_take(const struct ps_tel_options *o, int *fd, struct ps_top_bridge *s)
{
	s->at_ns = ps_now_ns();
	s->there = ask(*fd, s);
	if (s->there)
		return;
	if (*fd >= 0)
		close(*fd);
	*fd = ps_top_bridge_connect(o);
	s->there = ask(*fd, s);
}

void
ps_top_bridge_json(const struct ps_top_bridge *s, struct ps_json *j)
{
	if (!s->there)
		return;
	ps_json_open(j, "bridge", '{');
	ps_json_open(j, "info", '{');
	ps_tel_put(j, &s->info);
	ps_json_close(j, '}');
	ps_json_open(j, "stats", '{');
	ps_tel_put(j, &s->stats);
	ps_json_close(j, '}');
	ps_json_open(j, "latency", '{');
	ps_tel_put(j, &s->latency);
	ps_json_close(j, '}');
	ps_json_close(j, '}');
}

static void
print_counter(const struct ps_top_bridge *s, const struct ps_top_bridge *before, const char *key,
	const char *help)
{
	const double seconds = (double)(s->at_ns - before->at_ns) / (double)PS_SEC_NS;
	const uint64_t now = ps_tel_number(&s->stats, key);
	const uint64_t then = before->there ? ps_tel_number(&before->stats, key) : now;

	printf("  %-13s %14" PRIu64 " %12.0f/s  %s\n", key, now,
		seconds > 0 && now > then ? (double)(now - then) / seconds : 0, help);
}

void
ps_top_bridge_print(const struct ps_top_bridge *s, const struct ps_top_bridge *before)
{
	if (!s->there)
		return;
	printf("bridge to %s  pid %" PRIu64 "  up %" PRIu64 " s%s\n",
		ps_tel_text(&s->info, "target"), ps_tel_number(&s->info, "pid"),
		ps_tel_number(&s->info, "uptime_s"),
		ps_tel_number(&s->stats, "throttled") > 0 ? "  THROTTLED by the validator" : "");
#define X(name, help) print_counter(s, before, #name, help);
	PS_BRIDGE_STATS(X)
#undef X
#define X(name, help)                                                                              \
	printf("  %-13s %14" PRIu64 " %14s  %s\n", #name, ps_tel_number(&s->stats, #name), "",     \
		help);
	PS_BRIDGE_GAUGES(X)
#undef X
	printf("  from the network card to the validator's acknowledgement, in us:");
#define X(name, share)                                                                             \
	printf(" " #name " %" PRIu64, ps_tel_number(&s->latency, #name "_ns") / 1000);
	PS_BRIDGE_SHARES(X)
#undef X
	putchar('\n');
}
