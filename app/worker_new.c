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
	s->number = (uint32_t)(sc - conf->service);
	s->worker = w;
	s->daddr_be = sc->n_addrs == 1 ? sc->addr_be[0] : 0;
	s->dport_be = rte_cpu_to_be_16((uint16_t)sc->port);
	rc = open_feed(s, conf, w->id, e);
	if (rc < 0)
		return rc;
	w->n_services++;
	if (sc->kind == PS_SERVICE_UDP)
		return 0;
	return ps_endpoint_open(&s->endpoint, conf, (enum ps_service_kind)sc->kind, w->id, w->node,
		keys, &(struct ps_quic_others){s, ps_worker_give}, &s->feed, &w->drops, e);
}

/* Selectors of all workers, so that what was steered wrongly is known as such. */
static int
make_selectors(struct ps_worker *w, const struct ps_conf *conf, const struct ps_steer *steer,
	struct ps_err *e)
{
	struct ps_net_selector *list = calloc(steer->n, sizeof(*list));

	w->n_selectors = steer->n;
	w->service_of = calloc(steer->n + 1, sizeof(*w->service_of));
	if (list != NULL && w->service_of != NULL) {
		w->service_of[0] = PS_NO_SERVICE;
		for (unsigned int i = 0; i < steer->n; i++) {
			const struct ps_selector *sel = &steer->sel[i];

			list[i] = (struct ps_net_selector){
				sel->addr_be, sel->dport_be, (uint16_t)sel->id};
			w->service_of[sel->id] = PS_NO_SERVICE;
			for (unsigned int k = 0; k < w->n_services; k++)
				if (w->service[k].conf == &conf->service[steer->service[i]])
					w->service_of[sel->id] = (uint16_t)k;
		}
		w->selectors = ps_net_selectors_new(list, steer->n);
	}
	free(list);
	return w->selectors != NULL ? 0 : ps_fail(e, ENOMEM, "out of memory");
}

int
ps_worker_new(struct ps_worker **out, const struct ps_conf *conf, const struct ps_steer *steer,
	unsigned int id, int cpu, const struct ps_endpoint_keys *keys, struct ps_err *e)
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
	if (rc == 0)
		rc = make_selectors(w, conf, steer, e);
	if (rc < 0)
		ps_worker_free(w);
	else
		*out = w;
	return rc;
}

static int
add_queue(struct ps_worker *w, struct ps_port *p, uint16_t queue, bool aside, struct ps_err *e)
{
	struct ps_worker_port *q = &w->port[w->n_ports];

	if (w->n_ports == PS_WORKER_QUEUES)
		return ps_fail(e, E2BIG, "too many queues for one worker; use fewer ports");
	*q = (struct ps_worker_port){
		.id = p->id,
		.queue = queue,
		.bit = UINT32_C(1) << p->index,
		.mac = p->mac,
		.aside = aside,
		.local = p->loopback,
		.steer = ps_node_alloc((w->n_selectors + 1) * sizeof(*q->steer), w->node),
	};
	if (q->steer == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	if (p->kind == PS_PORT_AF_XDP) {
		q->xdp = &p->xdp;
		q->xdp_queue = (uint16_t)(p->conf->first_queue + queue);
	}
	if (p->kind == PS_PORT_SOCKET)
		q->sock = &p->sock.queue[queue];
	w->n_ports++;
	return 0;
}

/* The first worker also serves the queues below those that rules may choose. */
int
ps_worker_add_port(struct ps_worker *w, struct ps_port *p, struct ps_err *e)
{
	const uint8_t base = p->family->caps.queue_base;
	int rc = add_queue(w, p, (uint16_t)(base + w->id), false, e);

	for (uint16_t i = 0; rc == 0 && w->id == 0 && i < base; i++)
		rc = add_queue(w, p, i, true, e);
	if (w->tx_pool == NULL)
		w->tx_pool = p->pool;
	return rc;
}

void
ps_worker_free(struct ps_worker *w)
{
	for (unsigned int i = 0; i < w->n_services; i++) {
		ps_endpoint_close(&w->service[i].endpoint);
		ps_feed_close(&w->service[i].feed);
	}
	for (unsigned int i = 0; i < w->n_ports; i++)
		ps_node_free(w->port[i].steer, (w->n_selectors + 1) * sizeof(*w->port[i].steer));
	ps_net_selectors_free((struct ps_net_selectors *)w->selectors);
	free(w->service_of);
	ps_node_free(w, sizeof(*w));
}
