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

	for (unsigned int f = 0; f < b->n_feeds; f++) {
		penstock_feed_info(b->feed[f].feed, &info);
		bytes += info.unread_bytes;
	}
	return bytes;
}

static void
print_json(const struct ps_bridge *b, double seconds)
{
	struct ps_json j = {.out = stdout};

	ps_json_open(&j, NULL, '{');
	ps_json_double(&j, "seconds", seconds);
#define X(name, help) ps_json_u64(&j, #name, b->stats.name);
	PS_BRIDGE_STATS(X)
#undef X
	ps_json_u64(&j, "feeds", b->n_feeds);
	ps_json_u64(&j, "unread_bytes", b->stopping ? 0 : unread_bytes(b));
	ps_json_u64(&j, "connections", b->n_up);
	ps_json_u64(&j, "waiting", b->queue.n_waiting);
	ps_json_u64(&j, "under_way", b->queue.n_sent);
	ps_json_bool(&j, "throttled", b->throttled);
	ps_json_double(&j, "latency_p50_us", us(b, 0.5));
	ps_json_double(&j, "latency_p90_us", us(b, 0.9));
	ps_json_double(&j, "latency_p99_us", us(b, 0.99));
	ps_json_double(&j, "latency_p999_us", us(b, 0.999));
	ps_json_double(&j, "latency_max_us", (double)b->latency.max / 1000);
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
			" lost, %u wait%s, half within %.0f us\n",
			seconds, b->n_up, s->taken, s->delivered,
			s->delivered - b->before.delivered, s->duplicate, s->aged, s->too_long,
			s->lost, b->queue.n_waiting, b->throttled ? " (throttled)" : "",
			us(b, 0.5));
	b->before = *s;
	b->report_ns = b->now_ns;
}
