/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the bridge tells of itself, each name and its meaning once: the --json lines, telemetry and
 * penstock top are made from these lists. */
#ifndef PS_BRIDGE_STATS_H
#define PS_BRIDGE_STATS_H

#include <stdint.h>

/* clang-format off */
#define PS_BRIDGE_STATS(X) \
	X(taken,      "records read from the feeds") \
	X(sent,       "given to a connection or the socket") \
	X(delivered,  "acknowledged by the validator, or datagrams sent") \
	X(lost,       "under way when their connection ended, or not taken by the kernel") \
	X(rejected,   "discarded by the validator: it stopped their stream") \
	X(aged,       "discarded: older than max_age_ms") \
	X(duplicate,  "discarded: the same bytes came before") \
	X(too_long,   "discarded: longer than the protocol or the validator takes") \
	X(opened,     "connections made") \
	X(failed,     "connections that ended, or were never made") \
	X(refused,    "datagrams that met a closed port (told by the kernel)") \
	X(throttle_ms,"time in which something waited and the validator took nothing")

#define PS_BRIDGE_GAUGES(X) \
	X(feeds,        "feeds attached") \
	X(unread_bytes, "in the feeds, not taken yet") \
	X(connections,  "connections to the validator") \
	X(waiting,      "records held here that no connection has taken") \
	X(under_way,    "sent and not acknowledged") \
	X(throttled,    "1 while something waits and the validator takes nothing")

/* Of the latencies, from the network card to the validator's acknowledgement. */
#define PS_BRIDGE_SHARES(X) \
	X(p50,  0.5) \
	X(p90,  0.9) \
	X(p99,  0.99) \
	X(p999, 0.999) \
	X(max,  1)
/* clang-format on */

struct ps_bridge_stats {
#define X(name, help) uint64_t name;
	PS_BRIDGE_STATS(X)
#undef X
};

struct ps_bridge_gauges {
#define X(name, help) uint64_t name;
	PS_BRIDGE_GAUGES(X)
#undef X
};

#endif
