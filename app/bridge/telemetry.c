/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge.h"
#include "ps_b58.h"
#include "ps_time.h"

#define LOOK_NS  (10 * PS_MS_NS)
#define DIR_MODE 0750

/* -- answers -- */

static void
info(void *ctx, struct ps_json *j)
{
	const struct ps_bridge *b = ctx;
	const struct ps_conf *c = &b->conf;
	const bool quic = c->bridge.protocol == PS_BRIDGE_QUIC;

	ps_json_str(j, "version", PS_VERSION);
	ps_json_u64(j, "pid", (uint64_t)getpid());
	ps_json_str(j, "name", c->name);
	ps_json_u64(j, "uptime_s", (b->now_ns - b->start_ns) / PS_SEC_NS);
	ps_json_str(j, "target", c->bridge.target);
	ps_json_str(j, "protocol", quic ? "quic" : "udp");
	ps_json_str(j, "feeds", c->bridge.feeds);
	ps_json_u64(j, "keys", quic ? b->n_links : 0);
	for (unsigned int k = 0; quic && k < b->n_links; k++) {
		char name[16], text[PS_B58_MAX_CHARS];

		snprintf(name, sizeof(name), "key%u", k);
		ps_json_str(j, name, ps_b58_encode(text, b->link[k].key, sizeof(b->link[k].key)));
	}
	ps_json_u64(j, "connections_per_key", c->bridge.connections);
	ps_json_u64(j, "streams", c->bridge.streams);
	ps_json_u64(j, "max_age_ms", c->bridge.max_age_ms);
	ps_json_u64(j, "hold", c->bridge.hold);
	ps_json_u64(j, "duplicates", c->bridge.duplicates);
	ps_json_u64(j, "unstaked_percent", c->bridge.unstaked_percent);
	ps_json_u64(j, "stakes", b->stakes.n);
}

static void
stats(void *ctx, struct ps_json *j)
{
	ps_bridge_put_stats(ctx, j);
}

static void
feeds(void *ctx, struct ps_json *j)
{
	const struct ps_bridge *b = ctx;

	for (unsigned int f = 0; f < b->n_feeds && !b->stopping; f++) {
		struct penstock_feed_info i;
		char name[32];

		penstock_feed_info(b->feed[f].feed, &i);
		snprintf(name, sizeof(name), "feed%u", f);
		ps_json_str(j, name, b->feed[f].path);
		snprintf(name, sizeof(name), "feed%u_unread_bytes", f);
		ps_json_u64(j, name, i.unread_bytes);
	}
}

static void
latency(void *ctx, struct ps_json *j)
{
	const struct ps_bridge *b = ctx;

	ps_json_u64(j, "count", b->latency.n);
#define X(name, share) ps_json_u64(j, #name "_ns", ps_histogram_at(&b->latency, share));
	PS_BRIDGE_SHARES(X)
#undef X
}

/* Each class that holds something: from how many ns on, and how many. */
static void
histogram(void *ctx, struct ps_json *j)
{
	const struct ps_bridge *b = ctx;

	for (unsigned int i = 0; i < PS_HISTOGRAM_CLASSES; i++) {
		char from[24];

		if (b->latency.count[i] == 0)
			continue;
		snprintf(from, sizeof(from), "%llu", (unsigned long long)ps_histogram_from(i));
		ps_json_u64(j, from, b->latency.count[i]);
	}
}

/* Flat objects, as all of penstock's telemetry. */
static const struct ps_tel_server_command commands[] = {
	{"/penstock/bridge/info", info},
	{"/penstock/bridge/stats", stats},
	{"/penstock/bridge/feeds", feeds},
	{"/penstock/bridge/latency", latency},
	{"/penstock/bridge/histogram", histogram},
};

/* -- the socket -- */

/* Where EAL would have it for the file prefix penstock-NAME-bridge. */
static int
make_place(struct ps_bridge *b, char *path, size_t cap)
{
	const char *dir = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
	char *place = b->telemetry_dir;
	const size_t room = sizeof(b->telemetry_dir);

	if (dir == NULL || dir[0] == '\0')
		dir = getuid() == 0 ? "/var/run" : user != NULL ? user : "/tmp";
	snprintf(path, cap, "%.300s/dpdk/penstock-%.255s-bridge/dpdk_telemetry.v2", dir,
		b->conf.name);
	snprintf(place, room, "%.300s/dpdk", dir);
	if (mkdir(place, DIR_MODE) < 0 && errno != EEXIST)
		return -errno;
	snprintf(place, room, "%.300s/dpdk/penstock-%.255s-bridge", dir, b->conf.name);
	return mkdir(place, DIR_MODE) < 0 && errno != EEXIST ? -errno : 0;
}

int
ps_bridge_telemetry_open(struct ps_bridge *b, struct ps_err *e)
{
	const bool given = b->conf.bridge.telemetry[0] != '\0';
	char path[PATH_MAX];
	int rc = 0;

	if (given)
		snprintf(path, sizeof(path), "%s", b->conf.bridge.telemetry);
	else
		rc = make_place(b, path, sizeof(path));
	if (rc < 0)
		ps_fail(e, -rc, "telemetry: %s: %s", path, strerror(-rc));
	else
		rc = ps_tel_server_open(&b->telemetry, path, commands,
			sizeof(commands) / sizeof(commands[0]), b, e);
	if (rc == -EADDRINUSE)
		return ps_fail(e, EADDRINUSE,
			"telemetry: another bridge listens at %s; stop it, or give this one a "
			"[penstock] name or [bridge] telemetry of its own",
			path);
	if (rc < 0 && given)
		return ps_fail(e, -rc, "[bridge] telemetry: %s: %s; name a path that may be made",
			path, strerror(-rc));
	if (rc < 0)
		ps_log(PS_LOG_WARN, "%s; goes on without, [bridge] telemetry names another place",
			e->text);
	return 0;
}

void
ps_bridge_telemetry_work(struct ps_bridge *b)
{
	if (b->now_ns < b->telemetry_ns)
		return;
	b->telemetry_ns = b->now_ns + LOOK_NS;
	ps_tel_server_work(&b->telemetry, b->now_ns);
}

void
ps_bridge_telemetry_close(struct ps_bridge *b)
{
	ps_tel_server_close(&b->telemetry);
	if (b->telemetry_dir[0] != '\0')
		rmdir(b->telemetry_dir);
}
