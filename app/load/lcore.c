/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "load.h"
#include "ps_time.h"

#define BATCH      64  /* transactions of one round */
#define TX_ROUNDS  8   /* bursts of one round */
#define TX_TRIES   256 /* to give a burst to a full port */
#define BEAT_NS    PS_MS_NS
#define RETRY_NS   (100 * PS_MS_NS) /* before a connection that ended is opened again */
#define CLOSE_NS   (50 * PS_MS_NS)  /* for the last words of the connections */
#define OPENED_MAX 8                /* connections begun in one round */

/* -- what the endpoint tells -- */

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	struct ps_load *l = ctx;

	(void)peer;
	l->conn[l->of_slot[id.slot]].up = true;
	l->stats.open++;
	l->stats.up++;
}

static void
on_acked(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	struct ps_load *l = ctx;

	(void)id;
	l->stats.acked++;
	ps_histogram_add(&l->latency, l->now_ns - user);
}

static void
on_lost(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	(void)id;
	(void)user;
	((struct ps_load *)ctx)->stats.lost++;
}

static void
on_closed(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why)
{
	struct ps_load *l = ctx;
	struct ps_load_conn *c = &l->conn[l->of_slot[id.slot]];

	(void)why;
	if (!c->alive || c->id.slot != id.slot || c->id.generation != id.generation ||
		atomic_load_explicit(&l->stop, memory_order_relaxed))
		return; /* one of long ago, or our own doing */
	l->stats.up -= c->up;
	l->stats.failed++;
	l->n_alive--;
	c->alive = c->up = false;
	c->retry_ns = l->now_ns + RETRY_NS;
}

struct ps_quic_events
ps_load_events(struct ps_load *l)
{
	return (struct ps_quic_events){l, on_connected, on_acked, on_lost, on_closed};
}

/* -- receive -- */

static void
receive(struct ps_load *l)
{
	const struct ps_port *p = &l->app.port[0];
	struct ps_datagram *in[PS_NET_BURST];
	struct rte_mbuf *frames[PS_NET_BURST];
	unsigned int n = rte_eth_rx_burst(p->id, 0, frames, PS_NET_BURST);

	if (n == 0)
		return;
	l->stats.rx_packets += n;
	if (l->quic != NULL) {
		ps_net_classify_burst(l->selectors, p->id, frames, n, &l->rx, &l->drops);
		for (unsigned int i = 0; i < l->rx.n; i++)
			in[i] = &l->rx.dg[i];
		ps_quic_rx_burst(l->quic, in, l->rx.n, l->now_ns);
	}
	rte_pktmbuf_free_bulk(frames, n);
}

/* -- send -- */

static bool
refill(struct ps_load *l)
{
	const unsigned int n = l->n_spare;

	if (n < PS_LOAD_TX &&
		rte_pktmbuf_alloc_bulk(l->app.port[0].pool, &l->spare[n], PS_LOAD_TX - n) == 0) {
		for (unsigned int i = n; i < PS_LOAD_TX; i++)
			ps_net_tx_open(&l->tx[i], l->spare[i]);
		l->n_spare = PS_LOAD_TX;
	}
	return l->n_spare > 0;
}

/* Gives the port what is ready; what it does not take stays so. True when nothing is left. */
static bool
flush(struct ps_load *l)
{
	const struct ps_port *p = &l->app.port[0];
	unsigned int sent = 0;

	if (l->n_ready > 0)
		sent = rte_eth_tx_burst(p->id, 0, l->spare, (uint16_t)l->n_ready);
	for (unsigned int i = 0; i < sent; i++)
		l->stats.tx_bytes += l->tx[i].len;
	l->stats.tx_packets += sent;
	l->n_ready -= sent;
	l->n_spare -= sent;
	memmove(l->spare, l->spare + sent, l->n_spare * sizeof(l->spare[0]));
	memmove(l->tx, l->tx + sent, l->n_spare * sizeof(l->tx[0]));
	return l->n_ready == 0;
}

/* The first n frames have their datagrams. */
static bool
send_frames(struct ps_load *l, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		ps_net_headers(&l->tx[i], &l->app.port[0].mac);
	l->n_ready = n;
	return flush(l);
}

/* What the endpoint has to say; why no more of it left, CREDIT being the endpoint itself. */
static enum ps_load_limit
transmit(struct ps_load *l)
{
	struct ps_datagram *out[PS_LOAD_TX];
	unsigned int n, offered;

	if (!flush(l))
		return PS_LOAD_BY_PORT;
	for (unsigned int rounds = 0; rounds < TX_ROUNDS; rounds++) {
		if (!refill(l))
			return PS_LOAD_BY_PORT;
		offered = l->n_spare;
		for (unsigned int i = 0; i < offered; i++)
			out[i] = &l->tx[i];
		n = ps_quic_tx_burst(l->quic, out, offered, l->now_ns);
		if (!send_frames(l, n))
			return PS_LOAD_BY_PORT;
		if (n < offered)
			return PS_LOAD_BY_CREDIT;
	}
	return PS_LOAD_BY_SELF;
}

/* -- transactions -- */

/* How many are due now. */
static unsigned int
due(const struct ps_load *l)
{
	uint64_t left = l->o.count - l->stats.sent, n = left < BATCH ? left : BATCH, by_now;

	if (l->o.rate == 0)
		return (unsigned int)n;
	by_now = (uint64_t)((double)(l->now_ns - l->start_ns) * l->o.rate / PS_SEC_NS);
	if (by_now <= l->stats.sent)
		return 0;
	return (unsigned int)(by_now - l->stats.sent < n ? by_now - l->stats.sent : n);
}

static const uint8_t *
transaction(const struct ps_load *l, uint64_t index, uint32_t *len)
{
	*len = l->txn[index % l->n_txns].len;
	return l->bytes + l->txn[index % l->n_txns].at;
}

/* The next transaction on the next connection that may send. False: none may. */
static bool
send_stream(struct ps_load *l)
{
	uint32_t len;
	const uint8_t *bytes = transaction(l, l->stats.sent, &len);

	for (uint32_t tries = 0; tries < l->o.conns && tries < BATCH; tries++) {
		const struct ps_load_conn *c = &l->conn[l->next_conn];

		l->next_conn = l->next_conn + 1 < l->o.conns ? l->next_conn + 1 : 0;
		if (c->alive && ps_quic_send_stream(l->quic, c->id, bytes, len, l->now_ns) == 0) {
			l->stats.sent++;
			return true;
		}
	}
	return false;
}

static enum ps_load_limit
offer_streams(struct ps_load *l, unsigned int wanted)
{
	enum ps_load_limit left;
	unsigned int n = 0;

	while (n < wanted && send_stream(l))
		n++;
	left = transmit(l);
	if (left != PS_LOAD_BY_CREDIT || n < wanted)
		return left;
	return wanted < BATCH ? PS_LOAD_BY_RATE : PS_LOAD_BY_SELF;
}

static enum ps_load_limit
offer_datagrams(struct ps_load *l, unsigned int wanted)
{
	const struct ps_load_options *o = &l->o;
	uint32_t len;

	if (!flush(l) || !refill(l))
		return PS_LOAD_BY_PORT;
	if (wanted > l->n_spare)
		wanted = l->n_spare;
	for (unsigned int i = 0; i < wanted; i++) {
		const uint8_t *bytes = transaction(l, l->stats.sent, &len);
		struct ps_datagram *dg = &l->tx[i];

		memcpy(dg->data, bytes, len);
		dg->len = (uint16_t)len;
		dg->ecn = 0;
		dg->flow = (struct ps_flow4){o->from_be, o->to_be, o->from_port_be, o->to_port_be};
		dg->link = ps_net_link(l->app.port[0].id, &o->mac);
		l->stats.sent++;
	}
	if (!send_frames(l, wanted))
		return PS_LOAD_BY_PORT;
	return wanted < BATCH ? PS_LOAD_BY_RATE : PS_LOAD_BY_SELF;
}

static void
open_connections(struct ps_load *l)
{
	const struct ps_load_options *o = &l->o;
	const struct ps_flow4 flow = {o->from_be, o->to_be, o->from_port_be, o->to_port_be};
	unsigned int begun = 0;

	for (uint32_t i = 0; l->n_alive < o->conns && i < o->conns && begun < OPENED_MAX; i++) {
		struct ps_load_conn *c = &l->conn[i];

		if (c->alive || c->retry_ns > l->now_ns)
			continue;
		if (ps_quic_connect(l->quic, flow, ps_net_link(l->app.port[0].id, &o->mac),
			    l->now_ns, &c->id) != 0)
			return; /* as many as may be half-open are */
		l->of_slot[c->id.slot] = i;
		c->alive = true;
		l->n_alive++;
		begun++;
	}
}

static void
beat(struct ps_load *l)
{
	struct ps_port *p = &l->app.port[0];

	if (l->now_ns - l->beat_ns < BEAT_NS)
		return;
	l->beat_ns = l->now_ns;
	if (p->kind == PS_PORT_AF_XDP)
		ps_xdp_beat(&p->xdp, (uint16_t)p->conf->first_queue, l->now_ns);
	if (l->quic != NULL && !l->all_sent)
		open_connections(l);
}

static void
round_of(struct ps_load *l)
{
	enum ps_load_limit limit;
	unsigned int wanted;

	l->now_ns = ps_now_ns();
	if (l->quic != NULL && l->stats.open == 0)
		l->start_ns = l->now_ns; /* the clock starts with the first connection */
	beat(l);
	receive(l);
	wanted = l->all_sent ? 0 : due(l);
	if (l->quic != NULL) {
		ps_quic_service(l->quic, l->now_ns);
		limit = offer_streams(l, wanted);
	} else {
		limit = offer_datagrams(l, wanted);
	}
	if (l->all_sent || l->start_ns == l->now_ns)
		return;
	l->stats.limit[limit]++;
	if (l->stats.sent < l->o.count && !atomic_load_explicit(&l->finish, memory_order_relaxed))
		return;
	l->end_ns = l->now_ns;
	atomic_store_explicit(&l->all_sent, true, memory_order_release);
}

int
ps_load_main(void *arg)
{
	struct ps_load *l = arg;
	uint64_t end_ns;

	l->now_ns = l->start_ns = ps_now_ns();
	while (!atomic_load_explicit(&l->stop, memory_order_acquire))
		round_of(l);
	end_ns = l->now_ns + CLOSE_NS;
	if (l->quic != NULL)
		ps_quic_close_all(l->quic, 0, "", l->now_ns);
	while ((l->quic != NULL ? transmit(l) == PS_LOAD_BY_PORT : !flush(l)) && l->now_ns < end_ns)
		l->now_ns = ps_now_ns();
	rte_pktmbuf_free_bulk(l->spare, l->n_spare);
	return 0;
}
