/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "handover.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>
#include <rte_ring_elem.h>

#define ENTRIES 256 /* of a ring: four bursts */

_Static_assert(sizeof(struct ps_handed) % 4 == 0, "a ring's element is made of words");

struct ps_handover {
	unsigned int n;
	struct rte_ring *ring[]; /* [from * n + to] */
};

static struct rte_ring *
make_ring(void)
{
	const ssize_t bytes = rte_ring_get_memsize_elem(sizeof(struct ps_handed), ENTRIES);
	struct rte_ring *r = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)bytes);

	if (r != NULL && rte_ring_init(r, "handover", ENTRIES, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0)
		return r;
	free(r);
	return NULL;
}

int
ps_handover_new(struct ps_handover **out, unsigned int n_workers, struct ps_err *e)
{
	const size_t pairs = (size_t)n_workers * n_workers;
	struct ps_handover *h = calloc(1, sizeof(*h) + pairs * sizeof(h->ring[0]));
	bool made = h != NULL;

	for (size_t i = 0; made && i < pairs; i++) {
		h->n = n_workers;
		if (i / n_workers == i % n_workers)
			continue;
		h->ring[i] = make_ring();
		made = h->ring[i] != NULL;
	}
	if (!made) {
		ps_handover_free(h);
		return ps_fail(e, ENOMEM, "out of memory");
	}
	*out = h;
	return 0;
}

void
ps_handover_free(struct ps_handover *h)
{
	struct ps_handed left;

	for (size_t i = 0; h != NULL && i < (size_t)h->n * h->n; i++) {
		while (h->ring[i] != NULL &&
			rte_ring_sc_dequeue_elem(h->ring[i], &left, sizeof(left)) == 0)
			rte_pktmbuf_free(left.dg.frame);
		free(h->ring[i]);
	}
	free(h);
}

bool
ps_handover_give(struct ps_handover *h, unsigned int from, unsigned int to,
	const struct ps_datagram *dg, uint32_t service)
{
	struct ps_handed handed = {.dg = *dg, .service = service};
	struct rte_mbuf *m = dg->frame;

	if (to >= h->n || to == from || m == NULL)
		return false;
	rte_mbuf_refcnt_update(m, 1);
	if (rte_ring_sp_enqueue_elem(h->ring[from * h->n + to], &handed, sizeof(handed)) == 0)
		return true;
	rte_mbuf_refcnt_update(m, -1);
	return false;
}

unsigned int
ps_handover_take(struct ps_handover *h, unsigned int to, unsigned int from, struct ps_handed *out,
	unsigned int n)
{
	if (from == to)
		return 0;
	return rte_ring_sc_dequeue_burst_elem(
		h->ring[from * h->n + to], out, sizeof(*out), n, NULL);
}
