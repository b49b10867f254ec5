/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steer.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_byteorder.h>

static uint64_t
workers_of(const struct ps_conf_service *s)
{
	uint64_t set = 0;

	if (s->all_workers)
		return UINT64_MAX;
	for (unsigned int w = 0; w < PS_WORKERS_MAX; w++)
		if (CPU_ISSET(w, &s->workers))
			set |= UINT64_C(1) << w;
	return set;
}

static void
add(struct ps_steer *s, const struct ps_conf *conf, unsigned int service, uint32_t addr_be)
{
	const struct ps_conf_service *c = &conf->service[service];

	s->sel[s->n] = (struct ps_selector){
		.name = c->name,
		.id = s->n + 1,
		.addr_be = addr_be,
		.dport_be = rte_cpu_to_be_16((uint16_t)c->port),
		.fate = PS_FATE_QUEUES,
		.workers = workers_of(c),
	};
	s->service[s->n++] = (uint16_t)service;
}

int
ps_steer_new(struct ps_steer *s, const struct ps_conf *conf, struct ps_err *e)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < conf->n_services; i++)
		n += conf->service[i].any ? 1 : conf->service[i].n_addrs;
	*s = (struct ps_steer){
		.sel = calloc(n, sizeof(*s->sel)), .service = calloc(n, sizeof(*s->service))};
	if (s->sel == NULL || s->service == NULL) {
		ps_steer_free(s);
		return ps_fail(e, ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < conf->n_services; i++) {
		const struct ps_conf_service *c = &conf->service[i];

		if (c->any)
			add(s, conf, i, 0);
		for (uint32_t a = 0; !c->any && a < c->n_addrs; a++)
			add(s, conf, i, c->addr_be[a]);
	}
	return 0;
}

void
ps_steer_free(struct ps_steer *s)
{
	free(s->sel);
	free(s->service);
	*s = (struct ps_steer){0};
}

void
ps_steer_add(struct ps_steer_count sum[], const struct ps_steer_count add[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		sum[i].right += add[i].right;
		sum[i].wrong += add[i].wrong;
		sum[i].marked += add[i].marked;
		sum[i].unmarked += add[i].unmarked;
	}
}
