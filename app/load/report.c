/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <inttypes.h>
#include <stdio.h>

#include "load.h"
#include "ps_json.h"

static const char *const limit_key[PS_LOAD_LIMITS] = {"rate", "credit", "port", "self"};
static const char *const limit_text[PS_LOAD_LIMITS] = {
	"the rate asked for",
	"the endpoint: credit or acknowledgements of the server, or too few connections",
	"the port: the server does not take packets faster, or the device",
	"this lcore",
};

static enum ps_load_limit
limit_of(const struct ps_load_stats *s)
{
	enum ps_load_limit most = PS_LOAD_BY_RATE;

	for (int i = 0; i < PS_LOAD_LIMITS; i++)
		if (s->limit[i] > s->limit[most])
			most = i;
	return most;
}

static double
us(const struct ps_load *l, double share)
{
	return (double)ps_histogram_at(&l->latency, share) / 1000;
}

void
ps_load_progress(const struct ps_load *l, const struct ps_load_stats *before, double seconds)
{
	const struct ps_load_stats *now = &l->stats;

	if (l->o.udp) {
		fprintf(stderr, "%5.1f s: %.0f transactions/s sent\n", seconds,
			(double)(now->sent - before->sent));
		return;
	}
	fprintf(stderr,
		"%5.1f s: %" PRIu64 " connections, %.0f transactions/s sent, %.0f/s acknowledged, "
		"%" PRIu64 " lost, half within %.0f us\n",
		seconds, now->up, (double)(now->sent - before->sent),
		(double)(now->acked - before->acked), now->lost, us(l, 0.5));
}

static void
summary_json(const struct ps_load *l, double seconds)
{
	const struct ps_load_stats *s = &l->stats;
	struct ps_json j = {.out = stdout};

	ps_json_open(&j, NULL, '{');
	ps_json_str(&j, "protocol", l->o.udp ? "udp" : "tpu-quic");
	ps_json_u64(&j, "sent", s->sent);
	ps_json_u64(&j, "acked", s->acked);
	ps_json_u64(&j, "lost", s->lost);
	ps_json_double(&j, "seconds", seconds);
	ps_json_double(&j, "sent_per_s", (double)s->sent / seconds);
	ps_json_u64(&j, "conns_opened", s->open);
	ps_json_u64(&j, "conns_failed", s->failed);
	ps_json_u64(&j, "tx_packets", s->tx_packets);
	ps_json_u64(&j, "tx_bytes", s->tx_bytes);
	ps_json_u64(&j, "rx_packets", s->rx_packets);
	ps_json_double(&j, "latency_p50_us", us(l, 0.5));
	ps_json_double(&j, "latency_p90_us", us(l, 0.9));
	ps_json_double(&j, "latency_p99_us", us(l, 0.99));
	ps_json_double(&j, "latency_p999_us", us(l, 0.999));
	ps_json_double(&j, "latency_max_us", (double)l->latency.max / 1000);
	ps_json_str(&j, "limited_by", limit_key[limit_of(s)]);
	ps_json_close(&j, '}');
	printf("\n");
}

void
ps_load_summary(const struct ps_load *l, double seconds)
{
	const struct ps_load_stats *s = &l->stats;

	if (l->o.json) {
		summary_json(l, seconds);
		return;
	}
	printf("sent          %" PRIu64 " transactions in %.2f s, %.0f/s\n", s->sent, seconds,
		(double)s->sent / seconds);
	if (!l->o.udp) {
		printf("acknowledged  %" PRIu64 ", lost %" PRIu64 "\n", s->acked, s->lost);
		printf("connections   %" PRIu64 " opened, %" PRIu64
		       " ended by the server or failed\n",
			s->open, s->failed);
		printf("latency       p50 %.0f us, p90 %.0f, p99 %.0f, p99.9 %.0f, longest %.0f\n",
			us(l, 0.5), us(l, 0.9), us(l, 0.99), us(l, 0.999),
			(double)l->latency.max / 1000);
	}
	printf("packets       %" PRIu64 " sent, %" PRIu64 " received\n", s->tx_packets,
		s->rx_packets);
	printf("limited by    %s\n", limit_text[limit_of(s)]);
}
