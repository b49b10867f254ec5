/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "worker.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "af_xdp.h"
#include "ps_privilege.h"
#include "ps_time.h"
#include "sock_port.h"

#define TICK_NS        PS_MS_NS /* heartbeats */
#define LONG_AGO_NS    1        /* and not 0, which is a queue that was never ours */
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

static bool
is_held(const struct ps_worker *w, const struct ps_worker_port *p)
{
	return (atomic_load_explicit(&w->held, memory_order_relaxed) & p->bit) != 0;
}

static void
send_payloads(struct ps_worker *w, const struct ps_worker_port *p, const struct ps_datagram *dg,
	struct rte_mbuf **m, unsigned int n)
{
	const unsigned int sent = ps_sock_tx(p->sock, dg, n);

	for (unsigned int i = 0; i < sent; i++)
		w->stats.tx_bytes += dg[i].len;
	w->stats.tx_packets += sent;
	w->drops.n[PS_DROP_TX_FULL] += n - sent;
	rte_pktmbuf_free_bulk(m, n);
}

/* Frames of one port. */
static void
send_frames(
	struct ps_worker *w, const struct ps_worker_port *p, struct rte_mbuf **m, unsigned int n)
{
	unsigned int sent = 0;

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

static void
send_run(struct ps_worker *w, const struct ps_worker_port *p, unsigned int first, unsigned int n)
{
	if (p == NULL || is_held(w, p)) {
		rte_pktmbuf_free_bulk(&w->spare[first], n);
		w->drops.n[PS_DROP_TX_FULL] += n;
	} else if (p->sock != NULL) {
		send_payloads(w, p, &w->tx[first], &w->spare[first], n);
	} else {
		send_frames(w, p, &w->spare[first], n);
	}
}

/* Writes headers and sends, a run of frames for one port at a time. */
static void
send_datagrams(struct ps_worker *w, unsigned int n)
{
	for (unsigned int i = 0, first = 0; i < n; i++) {
		const struct ps_worker_port *p = port_of(w, w->tx[i].link);

		if (p != NULL && p->sock == NULL)
			ps_net_headers(&w->tx[i], &p->mac);
		if (i + 1 == n || port_of(w, w->tx[i + 1].link) != p) {
			send_run(w, p, first, i + 1 - first);
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

/* The device says which rule brought the frame: a hint, which is only counted. */
static bool
has_mark(const struct rte_mbuf *m, uint16_t selector)
{
	return m != NULL && (m->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0 &&
	       m->hash.fdir.hi == selector;
}

/* Address and port were looked up in software and decide alone. What belongs to another worker's
 * service is counted as mis-steered and goes no further. */
static void
sort(struct ps_worker *w, const struct ps_worker_port *p)
{
	for (unsigned int i = 0; i < w->rx.n; i++) {
		const uint16_t selector = w->rx.service[i];
		const uint16_t service = w->service_of[selector];
		const bool served = service != PS_NO_SERVICE;
		struct ps_worker_service *s;

		ps_steer_count_packet(&p->steer[selector], served && !p->aside,
			has_mark(w->rx.dg[i].frame, selector));
		if (!served) {
			ps_drop(&w->drops, PS_DROP_RX_NO_SERVICE);
			continue;
		}
		s = &w->service[service];
		s->in[s->n_in++] = &w->rx.dg[i];
		s->bytes += w->rx.dg[i].len;
	}
}

bool
ps_worker_give(void *ctx, uint8_t worker, const struct ps_datagram *dg)
{
	struct ps_worker_service *s = ctx;
	struct ps_worker *w = s->worker;

	return w->handover != NULL && ps_handover_give(w->handover, w->id, worker, dg, s->number);
}

/* Gives each service its datagrams of the burst. What they put into their feeds is visible before
 * any acknowledgement leaves. */
static void
deliver(struct ps_worker *w, uint64_t now_ns)
{
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
receive_payloads(struct ps_worker *w, const struct ps_worker_port *p, uint64_t now_ns)
{
	ps_sock_rx(p->sock, &w->rx, &w->drops);
	if (w->rx.n == 0)
		return 0;
	for (unsigned int i = 0; i < w->rx.n; i++)
		w->stats.rx_bytes += w->rx.dg[i].len;
	w->stats.rx_packets += w->rx.n;
	sort(w, p);
	deliver(w, now_ns);
	return w->rx.n;
}

static unsigned int
receive(struct ps_worker *w, const struct ps_worker_port *p, uint64_t now_ns)
{
	struct rte_mbuf *frames[PS_NET_BURST];
	unsigned int n;

	if (is_held(w, p))
		return 0;
	if (p->sock != NULL)
		return receive_payloads(w, p, now_ns);
	n = rte_eth_rx_burst(p->id, p->queue, frames, PS_NET_BURST);
	if (n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		w->stats.rx_bytes += frames[i]->pkt_len;
	for (unsigned int i = 0; p->local && i < n; i++)
		frames[i]->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	w->stats.rx_packets += n;
	ps_net_classify_burst(atomic_load_explicit(&w->selectors, memory_order_acquire), p->id,
		frames, n, &w->rx, &w->drops);
	sort(w, p);
	deliver(w, now_ns);
	rte_pktmbuf_free_bulk(frames, n);
	return n;
}

/* What another worker received for connections of this one. */
static unsigned int
receive_handed(struct ps_worker *w, unsigned int from, uint64_t now_ns)
{
	struct ps_handed in[PS_NET_BURST];
	const unsigned int n = ps_handover_take(w->handover, w->id, from, in, PS_NET_BURST);

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < w->n_services; k++)
			if (w->service[k].number == in[i].service)
				w->service[k].in[w->service[k].n_in++] = &in[i].dg;
	if (n > 0)
		deliver(w, now_ns);
	for (unsigned int i = 0; i < n; i++)
		rte_pktmbuf_free(in[i].dg.frame);
	return n;
}

/* -- the loop -- */

static void
close_all(struct ps_worker *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < w->n_services; i++)
		if (w->service[i].endpoint.quic != NULL)
			ps_quic_close_all(
				w->service[i].endpoint.quic, CLOSE_DROPPED, "dropped", now_ns);
}

/* A yielded queue's beat is one of long ago, so that the kernel has its packets at once; and
 * clients hear that the connections are over, or they would wait for us until their idle timeout.
 */
static void
beat(struct ps_worker *w, uint64_t now_ns)
{
	const bool yield = atomic_load_explicit(&w->yield, memory_order_relaxed);
	bool yielded = yield;

	if (w->guard != NULL)
		ps_guard_beat(w->guard, now_ns);
	for (unsigned int i = 0; i < w->n_ports; i++) {
		if (w->port[i].xdp == NULL) {
			yielded = false; /* its clients still reach us, whatever they get */
			continue;
		}
		ps_xdp_beat(w->port[i].xdp, w->port[i].xdp_queue, yield ? LONG_AGO_NS : now_ns);
	}
	if (yielded && !w->yielded)
		close_all(w, now_ns);
	w->yielded = yielded;
	for (unsigned int i = 0; i < w->n_services; i++)
		ps_feed_heartbeat(&w->service[i].feed, now_ns);
}

/* Ports that the control thread wants for itself. */
static void
follow_hold(struct ps_worker *w)
{
	const uint32_t hold = atomic_load_explicit(&w->hold, memory_order_acquire);

	if (hold != atomic_load_explicit(&w->held, memory_order_relaxed))
		atomic_store_explicit(&w->held, hold, memory_order_release);
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
	close_all(w, now_ns);
	for (unsigned int i = 0; i < w->n_services; i++) {
		struct ps_quic *q = w->service[i].endpoint.quic;

		while (q != NULL && transmit(w, q, now_ns) && ps_now_ns() - now_ns < AGE_OF_STOP_NS)
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

	ps_privilege_keep(0);
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
		follow_hold(w);
		for (unsigned int i = 0; i < w->n_ports; i++)
			busy |= receive(w, &w->port[i], now_ns) > 0;
		for (unsigned int i = 0; i < w->n_workers && w->handover != NULL; i++)
			busy |= receive_handed(w, i, now_ns) > 0;
		busy |= serve_quic(w, now_ns);
		w->stats.loops++;
		w->stats.busy_loops += busy;
		if (!busy && w->sleep)
			nanosleep(&idle, NULL);
	}
	wind_down(w, ps_now_ns());
	return 0;
}
