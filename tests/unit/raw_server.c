/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The server side of raw_peer.h. */

#include "raw_peer.h"

#include <CUnit/Basic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define START_NS (1000 * PS_SEC_NS)

/* -- the server's sink: a plain reassembly that remembers everything -- */

struct raw_stream *
raw_stream_of(struct raw_server *s, uint64_t id)
{
	for (unsigned int i = 0; i < s->n_streams; i++)
		if (s->stream[i].id == id)
			return &s->stream[i];
	return NULL;
}

static bool
sink_reserve(void *ctx, const struct ps_stream_frame *f, unsigned int n)
{
	struct raw_server *s = ctx;

	(void)f;
	(void)n;
	s->reserved++;
	return !s->refuse;
}

static enum ps_sink_result
sink_data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	struct raw_server *s = ctx;
	struct raw_stream *r;

	s->sender = *peer;
	if (f->slot == PS_SLOT_NONE) {
		f->slot = s->n_streams < RAW_STREAMS ? s->n_streams++ : RAW_STREAMS - 1;
		s->stream[f->slot] =
			(struct raw_stream){.used = true, .id = f->stream_id, .final = UINT32_MAX};
	}
	r = &s->stream[f->slot];
	CU_ASSERT_TRUE(r->used && r->id == f->stream_id);
	for (uint32_t i = f->offset; i < f->offset + f->len; i++) {
		r->filled += !r->have[i];
		r->have[i] = true;
		r->bytes[i] = f->data[i - f->offset];
	}
	if (f->fin)
		r->final = f->offset + f->len;
	if (r->filled != r->final)
		return PS_SINK_MORE;
	r->delivered++;
	r->used = false;
	s->delivered++;
	return PS_SINK_DONE;
}

static void
sink_abandon(void *ctx, uint32_t slot)
{
	struct raw_server *s = ctx;

	CU_ASSERT_TRUE(slot < s->n_streams && s->stream[slot].used);
	s->stream[slot].used = false;
	s->stream[slot].abandoned++;
}

static uint32_t
sink_room(void *ctx)
{
	return ((struct raw_server *)ctx)->room;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	struct raw_server *s = ctx;

	s->connected++;
	s->id = id;
	s->identity = *peer;
}

static void
on_closed(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why)
{
	struct raw_server *s = ctx;

	s->closed++;
	s->id = id;
	s->why = *why;
}

/* -- the server -- */

void
raw_server_defaults(struct raw_server *s)
{
	memset(s, 0, sizeof(*s));
	ps_quic_defaults(&s->limits, &s->config);
	s->config.retry = PS_RETRY_OFF;
	s->limits.conns = 16;
	s->limits.handshakes = 8;
	s->limits.streams = 64;
	s->limits.key_cache = 16;
	s->config.stream_window = 16;
	s->config.drops = &s->drops;
	s->config.sink = (struct ps_sink){s, sink_reserve, sink_data, sink_abandon, sink_room};
	s->config.events =
		(struct ps_quic_events){.ctx = s, .connected = on_connected, .closed = on_closed};
	memset(s->config.keys.cid_key, 0x31, sizeof(s->config.keys.cid_key));
	memset(s->config.keys.token_key, 0x32, sizeof(s->config.keys.token_key));
	s->room = 1000000;
	s->link = 7;
	s->now_ns = START_NS;
}

void
raw_server_start(struct raw_server *s)
{
	struct ps_tls_config tls = {
		.server = true, .threaded = s->threaded, .sessions = 64, .alpn = "solana-tpu"};
	struct ps_err e;

	memset(tls.seed, 0x11, sizeof(tls.seed));
	s->tls = s->config.tls = ps_tls_new(&tls, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->tls);
	s->mem = aligned_alloc(64, ps_quic_footprint(&s->limits));
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->mem);
	s->q = ps_quic_new(s->mem, &s->limits, &s->config, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->q);
	s->stats = ps_quic_stats(s->q);
	s->next_ns = ps_quic_service(s->q, s->now_ns);
}

void
raw_server_stop(struct raw_server *s)
{
	while (s->n_peers > 0)
		raw_peer_free(s->peer[--s->n_peers]);
	ps_tls_free(s->tls);
	ps_quic_stop(s->q);
	free(s->mem);
}

void
raw_inject(struct raw_server *s, struct ps_flow4 flow, const void *bytes, size_t len)
{
	/* exactly as long as the datagram, so that a sanitizer sees a read beyond it */
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct ps_datagram d = {
		.data = copy, .len = (uint16_t)len, .ecn = s->ecn, .flow = flow, .link = s->link};
	struct ps_datagram *burst = &d;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	if (len > 0)
		memcpy(copy, bytes, len);
	ps_quic_rx_burst(s->q, &burst, 1, s->now_ns);
	free(copy);
}

static bool
leads_to(struct ps_flow4 down, struct ps_flow4 up)
{
	return down.dport_be == up.sport_be && down.daddr_be == up.saddr_be;
}

void
raw_pump(struct raw_server *s)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;

	for (;;) {
		unsigned int i;

		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(s->q, &out, 1, s->now_ns) == 0)
			return;
		if (s->lose > 0) {
			s->lose--;
			continue;
		}
		for (i = 0; i < s->n_peers; i++)
			if (leads_to(d.flow, s->peer[i]->flow) || leads_to(d.flow, s->peer[i]->was))
				break;
		if (i == s->n_peers) {
			s->unrouted++;
			continue;
		}
		s->peer[i]->in = d;
		raw_datagram_in(s->peer[i], d.data, d.len);
	}
}

void
raw_run(struct raw_server *s, uint64_t ns)
{
	uint64_t end_ns = s->now_ns + ns;

	for (unsigned int i = 0; i < 100000; i++) {
		s->next_ns = ps_quic_service(s->q, s->now_ns);
		s->services++;
		raw_pump(s);
		s->next_ns = ps_quic_service(s->q, s->now_ns);
		if (s->now_ns >= end_ns)
			return;
		/* a timer that is due again at once costs a call each microsecond: visible */
		if (s->next_ns <= s->now_ns)
			s->now_ns += PS_US_NS;
		else
			s->now_ns = s->next_ns < end_ns ? s->next_ns : end_ns;
	}
	CU_FAIL("service never ran out of timers");
}

bool
raw_wait(struct raw_server *s, const unsigned int *n, unsigned int least)
{
	uint64_t end_ns = ps_now_ns() + 20 * PS_SEC_NS;

	while (*n < least && ps_now_ns() < end_ns) {
		ps_quic_service(s->q, s->now_ns);
		raw_pump(s);
		sched_yield();
	}
	return *n >= least;
}
