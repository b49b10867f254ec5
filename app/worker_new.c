/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "worker.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <numa.h>

#include <rte_byteorder.h>

#include "port.h"

static int
find_group(const char *name, gid_t *group, struct ps_err *e)
{
	struct group *g;

	*group = (gid_t)-1;
	if (name[0] == '\0')
		return 0;
	g = getgrnam(name);
	if (g == NULL)
		return ps_fail(e, ENOENT,
			"[feed] group: there is no group %s; groupadd %s, or leave it out", name,
			name);
	*group = g->gr_gid;
	return 0;
}

static int
make_dir(const char *dir, gid_t group, struct ps_err *e)
{
	if (mkdir(dir, 0750) == 0) {
		if (group != (gid_t)-1 && chown(dir, (uid_t)-1, group) != 0)
			return ps_fail(e, errno,
				"[feed] group: cannot give %s to it: %s; run as root", dir,
				strerror(errno));
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	return ps_fail(e, errno,
		"[feed] dir: cannot make %s: %s; make it with mkdir -p, or name another", dir,
		strerror(errno));
}

static int
open_feed(struct ps_worker_service *s, const struct ps_conf *conf, unsigned int worker,
	struct ps_err *e)
{
	char path[PATH_MAX];
	struct ps_feed_conf f = {
		.path = path,
		.service = s->conf->name,
		.capacity_bytes = (uint64_t)conf->feed.size_mb << 20,
		.worker = worker,
	};
	int rc;

	rc = find_group(conf->feed.group, &f.group, e);
	if (rc == 0)
		rc = make_dir(conf->feed.dir, f.group, e);
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%s/%s.%u", conf->feed.dir, s->conf->name, worker);
	return ps_feed_open(&s->feed, &f, e);
}

static int
add_service(struct ps_worker *w, const struct ps_conf *conf, const struct ps_conf_service *sc,
	const struct ps_endpoint_keys *keys, struct ps_err *e)
{
	struct ps_worker_service *s = &w->service[w->n_services];
	int rc;

	s->conf = sc;
	s->daddr_be = sc->n_addrs == 1 ? sc->addr_be[0] : 0;
	s->dport_be = rte_cpu_to_be_16((uint16_t)sc->port);
	rc = open_feed(s, conf, w->id, e);
	if (rc < 0)
		return rc;
	w->n_services++;
	if (sc->kind == PS_SERVICE_UDP)
		return 0;
	return ps_endpoint_open(&s->endpoint, conf, (enum ps_service_kind)sc->kind, w->id, w->node,
		keys, &s->feed, &w->drops, e);
}

/* The worker's table: its own services only. */
static struct ps_net_selectors *
make_selectors(const struct ps_worker *w)
{
	struct ps_net_selectors *table;
	struct ps_net_selector *list;
	unsigned int n = 0;

	list = calloc((size_t)PS_CONF_SERVICES * PS_CONF_ADDRS, sizeof(*list));
	if (list == NULL)
		return NULL;
	for (unsigned int i = 0; i < w->n_services; i++) {
		const struct ps_worker_service *s = &w->service[i];

		if (s->conf->any)
			list[n++] =
				(struct ps_net_selector){PS_NET_ADDR_ANY, s->dport_be, (uint16_t)i};
		for (uint32_t a = 0; a < s->conf->n_addrs; a++)
			list[n++] = (struct ps_net_selector){
				s->conf->addr_be[a], s->dport_be, (uint16_t)i};
	}
	table = ps_net_selectors_new(list, n);
	free(list);
	return table;
}

int
ps_worker_new(struct ps_worker **out, const struct ps_conf *conf, unsigned int id, int cpu,
	const struct ps_endpoint_keys *keys, struct ps_err *e)
{
	int node = numa_available() >= 0 ? numa_node_of_cpu(cpu) : -1;
	struct ps_worker *w = ps_node_alloc(sizeof(*w), node);
	int rc = 0;

	if (w == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	w->id = id;
	w->lcore = id + 1;
	w->cpu = cpu;
	w->node = node;
	w->sleep = conf->idle == PS_IDLE_SLEEP;
	if (node >= 0)
		numa_set_preferred(node);
	for (unsigned int i = 0; rc == 0 && i < conf->n_services; i++) {
		const struct ps_conf_service *s = &conf->service[i];

		if (s->all_workers || CPU_ISSET(id, &s->workers))
			rc = add_service(w, conf, s, keys, e);
	}
	if (node >= 0)
		numa_set_localalloc();
	if (rc == 0) {
		w->selectors = make_selectors(w);
		if (w->selectors == NULL)
			rc = ps_fail(e, ENOMEM, "out of memory");
	}
	if (rc < 0)
		ps_worker_free(w);
	else
		*out = w;
	return rc;
}

void
ps_worker_add_port(struct ps_worker *w, struct ps_port *p)
{
	struct ps_worker_port *q = &w->port[w->n_ports++];

	q->id = p->id;
	q->queue = (uint16_t)w->id;
	q->mac = p->mac;
	if (p->kind == PS_PORT_AF_XDP) {
		q->xdp = &p->xdp;
		q->xdp_queue = (uint16_t)(p->conf->first_queue + w->id);
	}
	if (w->tx_pool == NULL)
		w->tx_pool = p->pool;
}

void
ps_worker_free(struct ps_worker *w)
{
	for (unsigned int i = 0; i < w->n_services; i++) {
		ps_endpoint_close(&w->service[i].endpoint);
		ps_feed_close(&w->service[i].feed);
	}
	ps_net_selectors_free((struct ps_net_selectors *)w->selectors);
	ps_node_free(w, sizeof(*w));
}
