/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <inttypes.h>
#include <stdio.h>

#include "bridge.h"
#include "ps_json.h"
#include "ps_time.h"

static double
us(const struct ps_bridge *b, double share)
{
	return (double)ps_histogram_at(&b->latency, share) / 1000;
}

static uint64_t
unread_bytes(const struct ps_bridge *b)
{
	struct penstock_feed_info info;
	uint64_t bytes = 0;

	for (unsigned int f = 0; f < b->n_feeds && !b->stopping; f++) {
		penstock_feed_info(b->feed[f].feed, &info);
		bytes += info.unread_bytes;
	}
	return bytes;
}

void
ps_bridge_put_stats(const struct ps_bridge *b, struct ps_json *j)
{
	const struct ps_bridge_gauges g = {
		.feeds = b->n_feeds,
		.unread_bytes = unread_bytes(b),
		.connections = b->n_up,
		.waiting = b->queue.n_waiting,
		.under_way = b->queue.n_sent,
		.throttled = b->throttled,
	};

#define X(name, help) ps_json_u64(j, #name, b->stats.name);
	PS_BRIDGE_STATS(X)
#undef X
#define X(name, help) ps_json_u64(j, #name, g.name);
	PS_BRIDGE_GAUGES(X)
#undef X
}

static void
print_json(const struct ps_bridge *b, double seconds)
{
	struct ps_json j = {.out = stdout};

	ps_json_open(&j, NULL, '{');
	ps_json_double(&j, "seconds", seconds);
	ps_bridge_put_stats(b, &j);
#define X(name, share) ps_json_double(&j, "latency_" #name "_us", us(b, share));
	PS_BRIDGE_SHARES(X)
#undef X
	ps_json_close(&j, '}');
	printf("\n");
	fflush(stdout);
}

void
ps_bridge_report(struct ps_bridge *b)
{
	const struct ps_bridge_stats *s = &b->stats;
	const double seconds = (double)(b->now_ns - b->start_ns) / PS_SEC_NS;

	if (b->json)
		print_json(b, seconds);
	else
		fprintf(stderr,
			"%5.1f s: %u connections, %" PRIu64 " taken, %" PRIu64
			" delivered (%" PRIu64 " since the last line), %" PRIu64
			" duplicates, %" PRIu64 " too old, %" PRIu64 " too long, %" PRIu64
			" lost, %" PRIu64 " rejected, %u wait%s, half within %.0f us\n",
			seconds, b->n_up, s->taken, s->delivered,
			s->delivered - b->before.delivered, s->duplicate, s->aged, s->too_long,
			s->lost, s->rejected, b->queue.n_waiting,
			b->throttled ? " (throttled)" : "", us(b, 0.5));
	b->before = *s;
	b->report_ns = b->now_ns;
}
