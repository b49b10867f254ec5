/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Frames of lib/net in plain memory, without EAL: nobody allocates or frees their buffers. */
#ifndef PS_APP_BENCH_FRAMES_H
#define PS_APP_BENCH_FRAMES_H

#include <rte_mbuf.h>

#include "ends.h"
#include "net.h"

#define FRAME_SERVICE 1

struct bench_frames {
	struct {
		struct rte_mbuf m;
		uint8_t room[RTE_PKTMBUF_HEADROOM + 2048];
	} f[BURST];
	struct rte_mbuf *m[BURST];
	struct ps_datagram dg[BURST];
	struct ps_net_selectors *selectors; /* of the one service that all are for */
	struct ps_net_rx rx;
	struct ps_drops drops;
};

struct bench_frames *bench_frames_new(struct ps_err *e);
void bench_frames_free(struct bench_frames *f); /* NULL is ignored */
/* Makes frame i from len bytes of payload, checksums included. */
void bench_frame_fill(struct bench_frames *f, unsigned int i, const void *payload, uint16_t len);
/* Empties all, for an endpoint to write to dg. */
void bench_frames_open(struct bench_frames *f);
/* Says of all frames whether a card looked at their checksums and found them good. */
void bench_frames_checked(struct bench_frames *f, bool by_card);

#endif
