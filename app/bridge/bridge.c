/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bridge.h"
#include "ps_time.h"

#define BATCH     256              /* given to connections in one round */
#define NAP_NS    (100 * PS_US_NS) /* without work: feeds do not wake their consumer */
#define ANSWER_NS (2 * PS_SEC_NS)  /* for acknowledgements after a signal */
#define REPORT_NS PS_SEC_NS

static volatile sig_atomic_t stop, reload;

static void
on_signal(int signo)
{
	if (signo == SIGHUP)
		reload = 1;
	else
		stop = 1;
}

/* -- how a record ends -- */

static void
discard(struct ps_bridge *b, uint32_t item, uint64_t *counter)
{
	++*counter;
	ps_bridge_seen_forget(&b->seen, b->queue.item[item].hash);
	ps_bridge_queue_done(&b->queue, item);
}

void
ps_bridge_delivered(struct ps_bridge *b, uint32_t item)
{
	const struct penstock_feed_record *r = b->queue.item[item].record;
	const uint64_t since_ns =
		r->clock == PENSTOCK_FEED_CLOCK_MONOTONIC ? r->received : r->published_ns;

	b->stats.delivered++;
	if (b->now_ns > since_ns)
		ps_histogram_add(&b->latency, b->now_ns - since_ns);
	ps_bridge_queue_done(&b->queue, item);
}

/* Whether it arrived is not known. Its sender may try again, so it is no duplicate any more. */
void
ps_bridge_lost(struct ps_bridge *b, uint32_t item)
{
	discard(b, item, &b->stats.lost);
}

/* By the validator, which is alive. */
void
ps_bridge_rejected(struct ps_bridge *b, uint32_t item)
{
	discard(b, item, &b->stats.rejected);
}

void
ps_bridge_too_long(struct ps_bridge *b, uint32_t item)
{
	discard(b, item, &b->stats.too_long);
}

/* -- what goes next -- */

static void
discard_old(struct ps_bridge *b)
{
	uint32_t i;

	while ((i = ps_bridge_queue_old(&b->queue, b->now_ns, b->max_age_ns)) != PS_BRIDGE_NONE)
		discard(b, i, &b->stats.aged);
}

uint32_t
ps_bridge_next(struct ps_bridge *b)
{
	uint32_t i;

	/* by stake, what is next need not be the oldest that was looked at */
	while ((i = ps_bridge_queue_next(&b->queue, b->throttled)) != PS_BRIDGE_NONE &&
		ps_bridge_item_is_old(&b->queue.item[i], b->now_ns, b->max_age_ns))
		discard(b, i, &b->stats.aged);
	return i;
}

static unsigned int
send_streams(struct ps_bridge *b)
{
	unsigned int n = 0;
	uint32_t i;

	while (n < BATCH && (i = ps_bridge_next(b)) != PS_BRIDGE_NONE) {
		const int rc = ps_bridge_quic_send(b, i);

		if (rc == -EAGAIN)
			break;
		if (rc == -EMSGSIZE) {
			ps_bridge_too_long(b, i);
			continue;
		}
		ps_bridge_queue_sent(&b->queue, i, b->throttled);
		b->stats.sent++;
		n++;
	}
	return n;
}

/* Throttled from the first record that found no room until nothing waits any more. */
static void
judge(struct ps_bridge *b, bool refused)
{
	const bool waits = b->queue.n_waiting > 0;

	if (b->throttled)
		b->stats.throttle_ms += (b->now_ns - b->throttled_ns) / PS_MS_NS;
	if (b->throttled)
		b->throttled_ns += (b->now_ns - b->throttled_ns) / PS_MS_NS * PS_MS_NS;
	if (!b->throttled && refused && waits) {
		b->throttled = true;
		b->throttled_ns = b->now_ns;
	}
	b->throttled &= waits;
}

/* -- run -- */

static bool
uses_quic(const struct ps_bridge *b)
{
	return b->conf.bridge.protocol == PS_BRIDGE_QUIC;
}

static void
reload_stakes(struct ps_bridge *b)
{
	struct ps_err e;

	reload = 0;
	if (b->conf.bridge.stakes[0] == '\0')
		return;
	if (ps_bridge_stakes_load(&b->stakes, b->conf.bridge.stakes, &e) == 0)
		ps_log(PS_LOG_INFO, "%zu stakes from %s", b->stakes.n, b->conf.bridge.stakes);
	else
		ps_log(PS_LOG_WARN, "%s; the stakes stay as they were", e.text);
}

/* True when there was anything to do. */
static int
round_of(struct ps_bridge *b, bool take, struct ps_err *e)
{
	unsigned int sent;
	bool busy = false;
	int taken = 0;

	b->now_ns = ps_now_ns();
	if (uses_quic(b))
		busy = ps_bridge_quic_work(b);
	if (take && b->now_ns >= b->scan_ns && ps_bridge_feeds_scan(b, false, e) < 0)
		ps_log(PS_LOG_WARN, "%s", e->text);
	discard_old(b);
	if (take)
		taken = ps_bridge_feeds_take(b, e);
	if (taken < 0)
		return taken;
	if (uses_quic(b)) {
		sent = take ? send_streams(b) : 0;
		ps_bridge_quic_flush(b);
		judge(b, sent < BATCH);
	} else {
		sent = take ? ps_bridge_udp_send(b) : 0;
	}
	ps_bridge_feeds_release(b);
	if (b->now_ns - b->report_ns >= REPORT_NS)
		ps_bridge_report(b);
	ps_bridge_telemetry_work(b);
	return busy || sent > 0 || taken > 0;
}

/* Until something comes from the validator, or a little while. */
static void
nap(const struct ps_bridge *b)
{
	const struct timespec for_ns = {.tv_nsec = NAP_NS};
	struct pollfd fd[PS_BRIDGE_KEYS];

	for (unsigned int k = 0; k < b->n_links; k++)
		fd[k] = (struct pollfd){.fd = b->link[k].fd, .events = POLLIN};
	ppoll(fd, b->n_links, &for_ns, NULL);
}

/* What was not sent stays in the feeds for the next start. */
static int
serve(struct ps_bridge *b, struct ps_err *e)
{
	uint64_t end_ns;
	int rc = 0;

	while (!stop && rc >= 0) {
		if (reload)
			reload_stakes(b);
		rc = round_of(b, true, e);
		if (rc == 0)
			nap(b);
	}
	end_ns = ps_now_ns() + ANSWER_NS;
	while (rc >= 0 && b->queue.n_sent > 0 && b->now_ns < end_ns) {
		rc = round_of(b, false, e);
		if (rc == 0)
			nap(b);
	}
	return rc < 0 ? rc : 0;
}

static int
prepare(struct ps_bridge *b, struct ps_err *e)
{
	const uint32_t held = b->conf.bridge.hold;
	uint8_t key[16];
	int rc = 0;

	b->max_age_ns = b->conf.bridge.max_age_ms * PS_MS_NS;
	b->now_ns = b->start_ns = b->report_ns = ps_now_ns();
	ps_random(key, sizeof(key));
	if (b->conf.bridge.stakes[0] != '\0')
		rc = ps_bridge_stakes_load(&b->stakes, b->conf.bridge.stakes, e);
	if (rc < 0)
		return rc;
	if (ps_bridge_queue_new(&b->queue, held, b->conf.bridge.unstaked_percent) < 0 ||
		ps_bridge_seen_new(&b->seen, b->conf.bridge.duplicates, key) < 0)
		return ps_fail(e, ENOMEM,
			"no memory for %u records; lower [bridge] hold and "
			"duplicates",
			held);
	rc = uses_quic(b) ? ps_bridge_quic_open(b, e) : ps_bridge_udp_open(b, e);
	if (rc == 0)
		rc = ps_bridge_telemetry_open(b, e);
	if (rc == 0)
		rc = ps_bridge_feeds_scan(b, true, e);
	if (rc == 0 && b->n_feeds == 0)
		ps_log(PS_LOG_WARN, "there is no feed %s yet; waits for penstock run",
			b->conf.bridge.feeds);
	if (rc == 0 && b->telemetry.fd >= 0)
		ps_log(PS_LOG_INFO, "telemetry at %s", b->telemetry.addr.sun_path);
	return rc;
}

int
ps_bridge_run(struct ps_bridge *b, struct ps_err *e)
{
	const struct sigaction sa = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
	int rc;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	b->telemetry.fd = -1;
	rc = prepare(b, e);
	if (rc == 0) {
		rc = serve(b, e);
		b->stopping = true;
	}
	ps_bridge_telemetry_close(b);
	ps_bridge_quic_close(b);
	ps_bridge_feeds_close(b);
	if (rc == 0)
		ps_bridge_report(b);
	ps_bridge_queue_free(&b->queue);
	ps_bridge_seen_free(&b->seen);
	ps_bridge_stakes_free(&b->stakes);
	return rc;
}
