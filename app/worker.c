/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "worker.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "af_xdp.h"
#include "ps_time.h"

#define TICK_NS        PS_MS_NS /* heartbeats */
#define IDLE_SLEEP_NS  (20 * PS_US_NS)
#define TX_ROUNDS      8 /* bursts that one endpoint may send in one loop */
#define CLOSE_DROPPED  1 /* Agave's application code */
#define AGE_OF_STOP_NS (50 * PS_MS_NS)

/* -- transmit -- */

static const struct ps_worker_port *
port_of(const struct ps_worker *w, uint64_t link)
{
	for (unsigned int i = 0; i < w->n_ports; i++)
		if (w->port[i].id == ps_net_link_port(link))
			return &w->port[i];
	return NULL;
}

/* Frames of one port. */
static void
send_frames(
	struct ps_worker *w, const struct ps_worker_port *p, struct rte_mbuf **m, unsigned int n)
{
	unsigned int sent = 0;

	if (p == NULL) {
		rte_pktmbuf_free_bulk(m, n);
		w->drops.n[PS_DROP_TX_FULL] += n;
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		w->stats.tx_bytes += m[i]->pkt_len;
	sent = rte_eth_tx_burst(p->id, p->queue, m, (uint16_t)n);
	w->stats.tx_packets += sent;
	if (sent == n)
		return;
	for (unsigned int i = sent; i < n; i++)
		w->stats.tx_bytes -= m[i]->pkt_len;
	rte_pktmbuf_free_bulk(m + sent, n - sent);
	w->drops.n[PS_DROP_TX_FULL] += n - sent;
}

static bool
refill(struct ps_worker *w)
{
	const unsigned int n = w->n_spare;

	if (n < PS_TX_BURST &&
		rte_pktmbuf_alloc_bulk(w->tx_pool, &w->spare[n], PS_TX_BURST - n) == 0) {
		for (unsigned int i = n; i < PS_TX_BURST; i++)
			ps_net_tx_open(&w->tx[i], w->spare[i]);
		w->n_spare = PS_TX_BURST;
	}
	return w->n_spare > 0;
}

/* Takes the first n of the spare frames out; the last ones fill their places. */
static void
spend(struct ps_worker *w, unsigned int n)
{
	const unsigned int rest = w->n_spare - n;

	for (unsigned int i = 0; i < n && i < rest; i++) {
		w->spare[i] = w->spare[w->n_spare - 1 - i];
		w->tx[i] = w->tx[w->n_spare - 1 - i];
	}
	w->n_spare = rest;
}

/* Writes headers and sends, a run of frames for one port at a time. */
static void
send_datagrams(struct ps_worker *w, unsigned int n)
{
	for (unsigned int i = 0, first = 0; i < n; i++) {
		const struct ps_worker_port *p = port_of(w, w->tx[i].link);

		if (p != NULL)
			ps_net_headers(&w->tx[i], &p->mac);
		if (i + 1 == n || port_of(w, w->tx[i + 1].link) != p) {
			send_frames(w, p, &w->spare[first], i + 1 - first);
			first = i + 1;
		}
	}
}

/* What the endpoint has to say now. True when it said something. */
static bool
transmit(struct ps_worker *w, struct ps_quic *q, uint64_t now_ns)
{
	struct ps_datagram *out[PS_TX_BURST];
	unsigned int n, offered, rounds = 0, sent = 0;

	do {
		if (!refill(w)) {
			ps_drop(&w->drops, PS_DROP_TX_NO_BUFFER);
			break;
		}
		offered = w->n_spare;
		for (unsigned int i = 0; i < offered; i++)
			out[i] = &w->tx[i];
		n = ps_quic_tx_burst(q, out, offered, now_ns);
		send_datagrams(w, n);
		spend(w, n);
		sent += n;
	} while (n == offered && ++rounds < TX_ROUNDS);
	return sent > 0;
}

/* -- receive -- */

static void
publish_datagrams(struct ps_worker *w, struct ps_worker_service *s, uint64_t now_ns)
{
	for (unsigned int i = 0; i < s->n_in; i++)
		if (!ps_feed_put_datagram(&s->feed, s->in[i], now_ns))
			ps_drop(&w->drops, PS_DROP_FEED_FULL);
}

/* Gives each service its datagrams of the burst. What they put into their feeds is visible before
 * any acknowledgement leaves. */
static void
deliver(struct ps_worker *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < w->rx.n; i++) {
		struct ps_worker_service *s = &w->service[w->rx.service[i]];

		s->in[s->n_in++] = &w->rx.dg[i];
		s->bytes += w->rx.dg[i].len;
	}
	for (unsigned int i = 0; i < w->n_services; i++) {
		struct ps_worker_service *s = &w->service[i];

		if (s->n_in == 0)
			continue;
		s->datagrams += s->n_in;
		if (s->endpoint.quic != NULL) {
			ps_tpu_tick(s->endpoint.tpu, now_ns, s->daddr_be, s->dport_be);
			ps_quic_rx_burst(s->endpoint.quic, s->in, s->n_in, now_ns);
		} else {
			publish_datagrams(w, s, now_ns);
		}
		ps_feed_publish(&s->feed);
		s->n_in = 0;
	}
}

static unsigned int
receive(struct ps_worker *w, const struct ps_worker_port *p, uint64_t now_ns)
{
	struct rte_mbuf *frames[PS_NET_BURST];
	unsigned int n = rte_eth_rx_burst(p->id, p->queue, frames, PS_NET_BURST);

	if (n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		w->stats.rx_bytes += frames[i]->pkt_len;
	w->stats.rx_packets += n;
	ps_net_classify_burst(atomic_load_explicit(&w->selectors, memory_order_acquire), p->id,
		frames, n, &w->rx, &w->drops);
	deliver(w, now_ns);
	rte_pktmbuf_free_bulk(frames, n);
	return n;
}

/* -- the loop -- */

static void
beat(struct ps_worker *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < w->n_ports; i++)
		if (w->port[i].xdp != NULL)
			ps_xdp_beat(w->port[i].xdp, w->port[i].xdp_queue, now_ns);
	for (unsigned int i = 0; i < w->n_services; i++)
		ps_feed_heartbeat(&w->service[i].feed, now_ns);
}

static bool
serve_quic(struct ps_worker *w, uint64_t now_ns)
{
	bool busy = false;

	for (unsigned int i = 0; i < w->n_services; i++) {
		struct ps_worker_service *s = &w->service[i];

		if (s->endpoint.quic == NULL)
			continue;
		busy |= ps_quic_service(s->endpoint.quic, now_ns) <= now_ns;
		busy |= transmit(w, s->endpoint.quic, now_ns);
	}
	return busy;
}

/* Every connection hears that it is over; datagrams already received are dealt with first. */
static void
wind_down(struct ps_worker *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < w->n_services; i++) {
		struct ps_quic *q = w->service[i].endpoint.quic;

		if (q == NULL)
			continue;
		ps_quic_close_all(q, CLOSE_DROPPED, "dropped", now_ns);
		while (transmit(w, q, now_ns) && ps_now_ns() - now_ns < AGE_OF_STOP_NS)
			;
	}
	rte_pktmbuf_free_bulk(w->spare, w->n_spare);
	w->n_spare = 0;
}

int
ps_worker_main(void *arg)
{
	const struct timespec idle = {.tv_nsec = IDLE_SLEEP_NS};
	struct ps_worker *w = arg;

	w->last_ns = ps_now_ns();
	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		const uint64_t now_ns = ps_now_ns();
		bool busy = false;

		if (now_ns - w->last_ns > w->stats.longest_ns)
			w->stats.longest_ns = now_ns - w->last_ns;
		w->last_ns = now_ns;
		if (now_ns - w->tick_ns >= TICK_NS) {
			w->tick_ns = now_ns;
			beat(w, now_ns);
		}
		for (unsigned int i = 0; i < w->n_ports; i++)
			busy |= receive(w, &w->port[i], now_ns) > 0;
		busy |= serve_quic(w, now_ns);
		w->stats.loops++;
		w->stats.busy_loops += busy;
		if (!busy && w->sleep)
			nanosleep(&idle, NULL);
	}
	wind_down(w, ps_now_ns());
	return 0;
}
