/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Datagrams that a card gave to one worker and that belong to a connection of another: the client's
 * address changed, so RSS chose another queue (RFC 9000 section 9). From each worker to each other
 * one leads a ring of one producer and one consumer. A frame in it holds a reference of its own, so
 * that the giver frees its burst as always. */
#ifndef PS_APP_HANDOVER_H
#define PS_APP_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "ps_datagram.h"
#include "ps_err.h"

struct ps_handed {
	struct ps_datagram dg;
	uint32_t service; /* number in the configuration */
	uint32_t unused;
};

struct ps_handover;

/* Control thread, while no worker runs. */
int ps_handover_new(struct ps_handover **out, unsigned int n_workers, struct ps_err *e);
/* Frees the frames that nobody took. */
void ps_handover_free(struct ps_handover *h);

/* By the worker from. False: there is no such worker, its ring is full, or the datagram lies in no
 * frame that could wait. */
bool ps_handover_give(struct ps_handover *h, unsigned int from, unsigned int to,
	const struct ps_datagram *dg, uint32_t service);
/* By the worker to: at most n that came from the worker from. The caller frees the frames. */
unsigned int ps_handover_take(struct ps_handover *h, unsigned int to, unsigned int from,
	struct ps_handed *out, unsigned int n);

#endif
