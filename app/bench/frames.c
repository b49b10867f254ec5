/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PORT RTE_BE16(8001)
#define ADDR RTE_BE32(RTE_IPV4(10, 77, 0, 2))

#include <rte_ip.h>

static const struct rte_ether_addr mac = {{2, 0, 0, 0, 0, 1}};

struct bench_frames *
bench_frames_new(struct ps_err *e)
{
	const struct ps_net_selector s = {ADDR, PORT, FRAME_SERVICE};
	struct bench_frames *f = aligned_alloc(64, (sizeof(*f) + 63) & ~(size_t)63);

	if (f != NULL) {
		memset(f, 0, sizeof(*f));
		f->selectors = ps_net_selectors_new(&s, 1);
	}
	if (f == NULL || f->selectors == NULL) {
		free(f);
		ps_fail(e, ENOMEM, "no memory for frames");
		return NULL;
	}
	for (unsigned int i = 0; i < BURST; i++) {
		struct rte_mbuf *m = f->m[i] = &f->f[i].m;

		m->buf_addr = f->f[i].room;
		m->buf_len = sizeof(f->f[i].room);
		m->data_off = RTE_PKTMBUF_HEADROOM;
		m->nb_segs = 1;
	}
	return f;
}

void
bench_frames_free(struct bench_frames *f)
{
	if (f == NULL)
		return;
	ps_net_selectors_free(f->selectors);
	free(f);
}

void
bench_frames_open(struct bench_frames *f)
{
	for (unsigned int i = 0; i < BURST; i++) {
		f->m[i]->data_len = 0;
		ps_net_tx_open(&f->dg[i], f->m[i]);
	}
}

void
bench_frame_fill(struct bench_frames *f, unsigned int i, const void *payload, uint16_t len)
{
	struct ps_datagram *dg = &f->dg[i];

	f->m[i]->data_len = 0;
	ps_net_tx_open(dg, f->m[i]);
	memcpy(dg->data, payload, len);
	dg->len = len;
	dg->ecn = 0;
	dg->link = 0;
	dg->flow = (struct ps_flow4){RTE_BE32(RTE_IPV4(10, 77, 0, 1)), ADDR,
		rte_cpu_to_be_16((uint16_t)(1024 + i)), PORT};
	ps_net_headers(dg, &mac);
}

void
bench_frames_checked(struct bench_frames *f, bool by_card)
{
	for (unsigned int i = 0; i < BURST; i++)
		f->m[i]->ol_flags =
			by_card ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
}
