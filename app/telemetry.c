/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* rte_telemetry commands: flat dictionaries of numbers, so that collectors read them unchanged.
 * They run on telemetry's thread, read counters without order, and make no other system call than
 * the clock's. The lock only keeps a command from outliving what it reads. */

#include "telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_version.h>

#include "ps_time.h"

#define KEY_MAX      64
#define FEED_ENTRIES 6 /* of one feed; those of one worker fit into one answer */

_Static_assert(PS_CONF_SERVICES <= RTE_TEL_MAX_DICT_ENTRIES / FEED_ENTRIES, "one worker's feeds");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ps_app *current; /* under lock */

/* Renamed in DPDK 23.03, and the old name removed later. */
void
ps_tel_u64(struct rte_tel_data *d, const char *key, uint64_t value)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
	rte_tel_data_add_dict_uint(d, key, value);
#else
	rte_tel_data_add_dict_u64(d, key, value);
#endif
}

static void
add_of(struct rte_tel_data *d, const char *name, const char *key, uint64_t value)
{
	char full[2 * KEY_MAX];

	snprintf(full, sizeof(full), "%s_%s", name, key);
	ps_tel_u64(d, full, value);
}

/* A worker's number, or -1 when there is none such. */
static int
worker_param(const struct ps_app *app, const char *params)
{
	char *end;
	unsigned long n;

	if (params == NULL || *params < '0' || *params > '9')
		return -1;
	n = strtoul(params, &end, 10);
	return *end == '\0' && n < app->n_workers ? (int)n : -1;
}

/* Telemetry's names allow fewer characters than those of ports do. */
static void
add_port_text(struct rte_tel_data *d, unsigned int i, const struct ps_port *p)
{
	const char *cause = p->watch.cause;
	char key[KEY_MAX], mode[96];

	ps_port_mode(p, mode, sizeof(mode));
	snprintf(key, sizeof(key), "port%u_name", i);
	rte_tel_data_add_dict_string(d, key, p->conf->name);
	snprintf(key, sizeof(key), "port%u_device", i);
	rte_tel_data_add_dict_string(d, key, p->conf->device);
	snprintf(key, sizeof(key), "port%u_mode", i);
	rte_tel_data_add_dict_string(d, key, mode);
	snprintf(key, sizeof(key), "port%u_path", i);
	rte_tel_data_add_dict_string(d, key, ps_port_path(p));
	if (p->kind == PS_PORT_AF_XDP) {
		snprintf(key, sizeof(key), "port%u_attach", i);
		rte_tel_data_add_dict_string(
			d, key, ps_xdp_is_linked(&p->xdp) ? "bpf_link" : "netlink");
	}
	snprintf(key, sizeof(key), "port%u_family", i);
	rte_tel_data_add_dict_string(d, key, p->family->caps.name);
	if (p->n_fallbacks > 0) {
		snprintf(key, sizeof(key), "port%u_fallback", i);
		snprintf(mode, sizeof(mode), "%.95s", p->fallback[0]);
		rte_tel_data_add_dict_string(d, key, mode);
	}
	snprintf(key, sizeof(key), "port%u", i);
	add_of(d, key, "queues", p->conf->queues);
	add_of(d, key, "mtu", p->mtu);
	add_of(d, key, "fallbacks", p->n_fallbacks);
	add_of(d, key, "alarm", p->watch.alarm);
	add_of(d, key, "losses", p->watch.losses);
	add_of(d, key, "reinstalls", p->watch.reinstalls);
	add_of(d, key, "leaked", p->leaked);
	add_of(d, key, "later_addresses", p->later.n);
	if (p->conf->deny[0] != '\0') {
		add_of(d, key, "deny_prefixes", p->deny.n);
		add_of(d, key, "deny_loads", p->deny_loads);
	}
	if (cause != NULL) {
		snprintf(key, sizeof(key), "port%u_cause", i);
		rte_tel_data_add_dict_string(d, key, cause);
	}
}

static int
info(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	uint64_t fallbacks = 0, alarms = 0;
	char mode[96];

	(void)params;
	rte_tel_data_add_dict_string(d, "version", PS_VERSION);
	rte_tel_data_add_dict_string(d, "dpdk", rte_version());
	rte_tel_data_add_dict_string(d, "name", app->conf.name);
	if (app->n_ports > 0) {
		ps_port_mode(&app->port[0], mode, sizeof(mode));
		rte_tel_data_add_dict_string(d, "mode", mode);
	}
	rte_tel_data_add_dict_string(d, "privileges", app->privileges);
	ps_tel_u64(d, "pid", (uint64_t)getpid());
	ps_tel_u64(d, "uptime_s", (ps_now_ns() - app->start_ns) / PS_SEC_NS);
	ps_tel_u64(d, "ports", app->n_ports);
	ps_tel_u64(d, "workers", app->n_workers);
	ps_tel_u64(d, "services", app->conf.n_services);
	for (unsigned int i = 0; i < app->n_ports; i++) {
		fallbacks += app->port[i].n_fallbacks;
		alarms += app->port[i].watch.alarm + (app->port[i].later.n > 0);
	}
	ps_tel_u64(d, "fallbacks", fallbacks);
	ps_tel_u64(d, "alarms", alarms + app->drift.n);
	ps_tel_u64(d, "contact_drifts", app->drift.n);
	for (unsigned int i = 0; i < app->n_ports; i++)
		add_port_text(d, i, &app->port[i]);
	return 0;
}

static void
add_worker_stats(struct rte_tel_data *d, const struct ps_worker_stats *s)
{
#define X(name, help) ps_tel_u64(d, #name, s->name);
	PS_WORKER_STATS(X)
#undef X
}

static void
add_queue_counts(struct ps_xdp_queue_counts *sum, const struct ps_xdp_queue_counts *q)
{
	sum->rx_dropped += q->rx_dropped;
	sum->rx_ring_full += q->rx_ring_full;
	sum->rx_fill_empty += q->rx_fill_empty;
	sum->rx_invalid += q->rx_invalid;
	sum->tx_empty += q->tx_empty;
	sum->tx_invalid += q->tx_invalid;
}

static void
add_xsk(struct rte_tel_data *d, const struct ps_xdp_queue_counts *q)
{
	ps_tel_u64(d, "xsk_dropped", q->rx_dropped);
	ps_tel_u64(d, "xsk_ring_full", q->rx_ring_full);
	ps_tel_u64(d, "xsk_fill_empty", q->rx_fill_empty);
	ps_tel_u64(d, "xsk_invalid", q->rx_invalid);
	ps_tel_u64(d, "xsk_tx_empty", q->tx_empty);
	ps_tel_u64(d, "xsk_tx_invalid", q->tx_invalid);
}

static int
stats(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	struct ps_xdp_queue_counts q = {0};
	struct ps_xdp_counts c = {0};
	struct ps_worker_stats s = {0};
	uint64_t received = 0, datagrams = 0, published = 0, dropped = 0, missed = 0;

	(void)params;
	for (unsigned int i = 0; i < app->n_workers; i++) {
		const struct ps_worker *w = app->worker[i];

#define X(name, help) s.name += w->stats.name;
		PS_WORKER_STATS(X)
#undef X
		for (int r = 0; r < PS_DROP_COUNT; r++)
			dropped += w->drops.n[r];
		for (unsigned int j = 0; j < w->n_services; j++) {
			published += w->service[j].feed.stats.records;
			datagrams += w->service[j].datagrams;
			if (w->service[j].endpoint.tpu != NULL)
				received += ps_tpu_stats(w->service[j].endpoint.tpu)->transactions;
		}
	}
	for (unsigned int i = 0; i < app->n_ports; i++) {
		const struct ps_port *p = &app->port[i];

		c.redirected += p->counts.redirected;
		c.passed += p->counts.passed;
		c.passed_stale += p->counts.passed_stale;
		c.elsewhere += p->counts.elsewhere;
		c.denied += p->counts.denied;
		missed += p->missed;
		for (unsigned int n = 0; n < p->conf->queues; n++)
			add_queue_counts(&q, &p->queue_counts[n]);
	}
	add_worker_stats(d, &s);
	ps_tel_u64(d, "received", received);
	ps_tel_u64(d, "datagrams", datagrams);
	ps_tel_u64(d, "published", published);
	ps_tel_u64(d, "dropped", dropped);
	ps_tel_u64(d, "missed", missed);
	ps_tel_u64(d, "redirected", c.redirected);
	ps_tel_u64(d, "passed", c.passed);
	ps_tel_u64(d, "passed_stale", c.passed_stale);
	ps_tel_u64(d, "passed_elsewhere", c.elsewhere);
	ps_tel_u64(d, "denied", c.denied);
	add_xsk(d, &q);
	return 0;
}

static int
drops(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	(void)params;
	for (int r = 0; r < PS_DROP_COUNT; r++) {
		uint64_t n = 0;

		for (unsigned int i = 0; i < app->n_workers; i++)
			n += app->worker[i]->drops.n[r];
		ps_tel_u64(d, ps_drop_info[r].key, n);
	}
	return 0;
}

static int
services(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	(void)params;
	for (unsigned int i = 0; i < app->conf.n_services; i++) {
		const struct ps_conf_service *s = &app->conf.service[i];
		uint64_t datagrams = 0, bytes = 0, records = 0, workers = 0;

		for (unsigned int w = 0; w < app->n_workers; w++) {
			for (unsigned int j = 0; j < app->worker[w]->n_services; j++) {
				const struct ps_worker_service *ws = &app->worker[w]->service[j];

				if (ws->conf != s)
					continue;
				workers++;
				datagrams += ws->datagrams;
				bytes += ws->bytes;
				records += ws->feed.stats.records;
			}
		}
		add_of(d, s->name, "port", s->port);
		add_of(d, s->name, "workers", workers);
		add_of(d, s->name, "datagrams", datagrams);
		add_of(d, s->name, "bytes", bytes);
		add_of(d, s->name, "records", records);
	}
	return 0;
}

static int
queue(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	int n = worker_param(app, params);
	struct ps_xdp_queue_counts q = {0};
	const struct ps_worker *w;
	uint64_t dropped = 0;

	if (n < 0)
		return -EINVAL;
	w = app->worker[n];
	for (int r = 0; r < PS_DROP_COUNT; r++)
		dropped += w->drops.n[r];
	ps_tel_u64(d, "lcore", (uint64_t)w->cpu);
	ps_tel_u64(d, "node", w->node >= 0 ? (uint64_t)w->node : 0);
	ps_tel_u64(d, "ports", w->n_ports);
	add_worker_stats(d, &w->stats);
	ps_tel_u64(d, "dropped", dropped);
	for (unsigned int i = 0; i < app->n_ports; i++)
		if ((unsigned int)n < app->port[i].conf->queues)
			add_queue_counts(&q, &app->port[i].queue_counts[n]);
	add_xsk(d, &q);
	return 0;
}

/* All QUIC services of one worker together. */
static int
quic(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	int n = worker_param(app, params);
	struct ps_quic_stats q = {0};
	struct ps_tpu_stats t = {0};

	if (n < 0)
		return -EINVAL;
	for (unsigned int i = 0; i < app->worker[n]->n_services; i++) {
		const struct ps_endpoint *p = &app->worker[n]->service[i].endpoint;
		const struct ps_quic_stats *qs;
		const struct ps_tpu_stats *ts;

		if (p->quic == NULL)
			continue;
		qs = ps_quic_stats(p->quic);
		ts = ps_tpu_stats(p->tpu);
#define X(name, help) q.name += qs->name;
		PS_QUIC_STATS(X)
#undef X
		t.transactions += ts->transactions;
		t.bytes += ts->bytes;
		t.whole += ts->whole;
		t.abandoned += ts->abandoned;
		t.refused += ts->refused;
	}
#define X(name, help) ps_tel_u64(d, #name, q.name);
	PS_QUIC_STATS(X)
#undef X
	ps_tel_u64(d, "transactions", t.transactions);
	ps_tel_u64(d, "transaction_bytes", t.bytes);
	ps_tel_u64(d, "whole", t.whole);
	ps_tel_u64(d, "abandoned", t.abandoned);
	ps_tel_u64(d, "sink_refused", t.refused);
	return 0;
}

/* Those of one worker, or all; more than a dictionary holds would be cut without a word. */
static int
feeds(struct ps_app *app, const char *params, struct rte_tel_data *d)
{
	const uint64_t now_ns = ps_now_ns();
	int only = worker_param(app, params);
	static bool said; /* under lock */
	unsigned int n = 0;

	if (only < 0 && params != NULL && *params != '\0')
		return -EINVAL;
	for (unsigned int w = 0; only < 0 && w < app->n_workers; w++)
		n += FEED_ENTRIES * app->worker[w]->n_services;
	if (n > RTE_TEL_MAX_DICT_ENTRIES) {
		if (!said) /* collectors ask every second */
			ps_log(PS_LOG_WARN, "telemetry: the answer to /penstock/feeds is too long; "
					    "ask by worker: /penstock/feeds,0");
		said = true;
		return -E2BIG;
	}
	for (unsigned int w = 0; w < app->n_workers; w++) {
		if (only >= 0 && (unsigned int)only != w)
			continue;
		for (unsigned int i = 0; i < app->worker[w]->n_services; i++) {
			const struct ps_worker_service *s = &app->worker[w]->service[i];
			uint64_t seen_ns = ps_feed_consumer_heartbeat_ns(&s->feed);
			char name[KEY_MAX];

			snprintf(name, sizeof(name), "%s_%u", s->conf->name, w);
			add_of(d, name, "records", s->feed.stats.records);
			add_of(d, name, "bytes", s->feed.stats.bytes);
			add_of(d, name, "full", s->feed.stats.full);
			add_of(d, name, "bad_cursor", s->feed.stats.bad_cursor);
			add_of(d, name, "unread_bytes", ps_feed_unread_bytes(&s->feed));
			add_of(d, name, "consumer",
				seen_ns != 0 && (int64_t)(now_ns - seen_ns) < (int64_t)PS_SEC_NS);
		}
	}
	return 0;
}

static const struct command {
	const char *path, *help;
	int (*fill)(struct ps_app *app, const char *params, struct rte_tel_data *d);
} commands[] = {
	{"/penstock/info", "Version, ports and the modes they obtained", info},
	{"/penstock/stats", "Totals of all workers and ports", stats},
	{"/penstock/drops", "Everything received and not delivered, by reason", drops},
	{"/penstock/services", "Each service's port, workers, datagrams and records", services},
	{"/penstock/queue", "One worker's packets and loop. Parameter: worker", queue},
	{"/penstock/quic", "One worker's QUIC connections and streams. Parameter: worker", quic},
	{"/penstock/flows", "Rules by state, and their losses", ps_tel_flows},
	{"/penstock/flow", "One rule: state, proof, counters. Parameter: number", ps_tel_flow},
	{"/penstock/verify", "Looks at all rules now, then as /penstock/flows", ps_tel_verify},
	{"/penstock/feeds",
		"Each feed's records and consumer. Parameter: worker; without, all that fit",
		feeds},
};

static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	int rc = -ENOENT;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (current == NULL || strcmp(cmd, commands[i].path) != 0)
			continue;
		rte_tel_data_start_dict(d);
		rc = commands[i].fill(current, params, d);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int
ps_telemetry_start(struct ps_app *app, struct ps_err *e)
{
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (rte_telemetry_register_cmd(commands[i].path, answer, commands[i].help) < 0)
			return ps_fail(e, EIO, "telemetry does not take %s", commands[i].path);
	pthread_mutex_lock(&lock);
	current = app;
	pthread_mutex_unlock(&lock);
	return 0;
}

void
ps_telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	current = NULL;
	pthread_mutex_unlock(&lock);
}
