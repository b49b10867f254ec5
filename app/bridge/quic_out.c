/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge.h"
#include "curve25519.h"
#include "ip_control.h"
#include "ps_time.h"

#define SEND_STREAMS  4096 /* not acknowledged at once, per key */
#define RX_ROUNDS     8    /* bursts of one round */
#define TX_ROUNDS     16
#define BACKOFF_NS    (100 * PS_MS_NS) /* the first one; doubles */
#define BACKOFF_MAX   (5 * PS_SEC_NS)
#define STALL_NS      (250 * PS_MS_NS) /* without acknowledgement: no more streams */
#define DEAD_NS       (2 * PS_SEC_NS)  /* the same: opened again */
#define STEADY_NS     (10 * PS_SEC_NS) /* a connection that lived so long begins anew */
#define IDLE_MS       30000
#define KEEP_NS       (10 * PS_SEC_NS) /* so often something is sent to be acknowledged */
#define CONTROL_BYTES 64

/* -- what the endpoint tells -- */

static struct ps_bridge_conn *
conn_of(struct ps_bridge_link *l, struct ps_quic_conn_id id)
{
	struct ps_bridge_conn *c = &l->conn[l->of_slot[id.slot]];

	return c->alive && c->id.slot == id.slot && c->id.generation == id.generation ? c : NULL;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	struct ps_bridge_link *l = ctx;
	struct ps_bridge_conn *c = conn_of(l, id);

	(void)peer;
	if (c == NULL)
		return;
	c->up = true;
	c->up_ns = c->kept_ns = l->bridge->now_ns;
	l->bridge->stats.opened++;
	if (l->bridge->n_up++ == 0)
		ps_log(PS_LOG_INFO, "connected to %s", l->bridge->conf.bridge.target);
}

static void
on_acked(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	struct ps_bridge_link *l = ctx;
	struct ps_bridge_conn *c = conn_of(l, id);

	if (c != NULL) {
		c->under_way--;
		c->heard_ns = l->bridge->now_ns;
	}
	ps_bridge_delivered(l->bridge, (uint32_t)user);
}

static void
on_lost(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	struct ps_bridge_link *l = ctx;
	struct ps_bridge_conn *c = conn_of(l, id);

	if (c != NULL)
		c->under_way--;
	ps_bridge_lost(l->bridge, (uint32_t)user);
}

static void
on_stopped(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	struct ps_bridge_link *l = ctx;
	struct ps_bridge_conn *c = conn_of(l, id);

	if (c != NULL)
		c->under_way--;
	ps_bridge_rejected(l->bridge, (uint32_t)user);
}

static void
on_closed(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why)
{
	struct ps_bridge_link *l = ctx;
	struct ps_bridge *b = l->bridge;
	struct ps_bridge_conn *c = conn_of(l, id);
	const bool was_up = c != NULL && c->up;

	if (c == NULL)
		return; /* one of long ago */
	if (was_up && b->now_ns - c->up_ns >= STEADY_NS)
		c->wait_ns = BACKOFF_NS;
	c->alive = c->up = false;
	c->retry_ns = b->now_ns + c->wait_ns;
	c->wait_ns = 2 * c->wait_ns < BACKOFF_MAX ? 2 * c->wait_ns : BACKOFF_MAX;
	b->n_up -= was_up;
	if (b->stopping)
		return;
	b->stats.failed++;
	if (was_up && b->n_up == 0)
		ps_log(PS_LOG_WARN,
			"no connection to %s any more (%s code %llu%s%s); holds what comes and "
			"tries again",
			b->conf.bridge.target,
			why->by_peer ? "it closed:" : "closed:", (unsigned long long)why->code,
			why->reason[0] != '\0' ? ", " : "", why->reason);
}

/* -- open -- */

/* Larger datagrams where the way to the validator has room for them. */
static uint16_t
datagram_bytes(int fd)
{
	int mtu = 0;
	socklen_t len = sizeof(mtu);

	if (getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len) == 0 && mtu >= PS_UDP_PAYLOAD_MAX + 28)
		return PS_UDP_PAYLOAD_MAX;
	return PS_UDP_PAYLOAD_MIN;
}

static int
open_endpoint(struct ps_bridge_link *l, const uint8_t seed[32], struct ps_err *e)
{
	const uint32_t conns = l->bridge->conf.bridge.connections;
	struct ps_tls_config tls = {.sessions = conns, .alpn = "solana-tpu"};
	struct ps_quic_limits limits;
	struct ps_quic_config c;
	uint8_t key[64];

	ps_ed25519_key(key, seed);
	memcpy(l->key, key + 32, sizeof(l->key));
	explicit_bzero(key, sizeof(key));
	memcpy(tls.seed, seed, sizeof(tls.seed));
	ps_quic_defaults(&limits, &c);
	limits.conns = 2 * conns; /* some may be closing */
	limits.handshakes = conns;
	limits.streams = 16;
	limits.send_streams = SEND_STREAMS;
	limits.sent_packets = 2048;
	limits.key_cache = 64;
	ps_random(&c.keys, sizeof(c.keys));
	c.server = false;
	c.idle_timeout_ms = IDLE_MS;
	c.datagram_bytes = datagram_bytes(l->fd);
	c.events =
		(struct ps_quic_events){l, on_connected, on_acked, on_lost, on_closed, on_stopped};
	c.drops = &l->drops;
	c.tls = l->tls = ps_tls_new(&tls, e);
	explicit_bzero(&tls, sizeof(tls));
	if (l->tls == NULL)
		return -EINVAL;
	l->mem = aligned_alloc(64, (ps_quic_footprint(&limits) + 63) & ~(size_t)63);
	l->tx_bytes = calloc(PS_BRIDGE_BURST, sizeof(*l->tx_bytes));
	if (l->mem == NULL || l->tx_bytes == NULL)
		return ps_fail(e, ENOMEM,
			"no memory for %u connections; lower [bridge] connections", conns);
	l->quic = ps_quic_new(l->mem, &limits, &c, e);
	return l->quic == NULL ? -EINVAL : 0;
}

int
ps_bridge_quic_open(struct ps_bridge *b, struct ps_err *e)
{
	uint8_t seed[PS_BRIDGE_KEYS][32];
	unsigned int n;
	int rc = ps_bridge_keys(b, seed, &n, e);

	for (unsigned int k = 0; rc == 0 && k < n; k++) {
		struct ps_bridge_link *l = &b->link[b->n_links++];

		l->bridge = b;
		for (unsigned int i = 0; i < PS_BRIDGE_CONNS; i++)
			l->conn[i].wait_ns = BACKOFF_NS;
		l->fd = ps_bridge_socket(b, &l->flow, e);
		rc = l->fd < 0 ? l->fd : open_endpoint(l, seed[k], e);
	}
	explicit_bzero(seed, sizeof(seed));
	return rc;
}

/* -- in -- */

static struct {
	struct mmsghdr msg[PS_BRIDGE_BURST];
	struct iovec iov[PS_BRIDGE_BURST];
	_Alignas(struct cmsghdr) char control[PS_BRIDGE_BURST][CONTROL_BYTES];
	uint8_t bytes[PS_BRIDGE_BURST][2048];
	struct ps_datagram dg[PS_BRIDGE_BURST];
	struct ps_datagram *in[PS_BRIDGE_BURST];
} rx;

static uint8_t
ecn_of(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);

	return c != NULL && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS
		       ? *CMSG_DATA(c) & 3
		       : 0;
}

static int
receive(struct ps_bridge_link *l)
{
	int n;

	for (unsigned int i = 0; i < PS_BRIDGE_BURST; i++) {
		rx.iov[i] = (struct iovec){rx.bytes[i], sizeof(rx.bytes[i])};
		rx.msg[i].msg_hdr = (struct msghdr){.msg_iov = &rx.iov[i],
			.msg_iovlen = 1,
			.msg_control = rx.control[i],
			.msg_controllen = CONTROL_BYTES};
	}
	n = recvmmsg(l->fd, rx.msg, PS_BRIDGE_BURST, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return 0; /* nothing there, or the port is closed: timers will tell */
	for (int i = 0; i < n; i++) {
		rx.dg[i] = (struct ps_datagram){.data = rx.bytes[i],
			.len = (uint16_t)rx.msg[i].msg_len,
			.ecn = ecn_of(&rx.msg[i].msg_hdr),
			.flow = ps_flow4_reverse(l->flow)};
		rx.in[i] = &rx.dg[i];
	}
	l->bridge->now_ns = ps_now_ns();
	ps_quic_rx_burst(l->quic, rx.in, (unsigned int)n, l->bridge->now_ns);
	return n;
}

static void
open_connections(struct ps_bridge_link *l)
{
	const struct ps_bridge *b = l->bridge;

	for (uint32_t i = 0; i < b->conf.bridge.connections; i++) {
		struct ps_bridge_conn *c = &l->conn[i];

		if (c->alive || c->retry_ns > b->now_ns)
			continue;
		if (ps_quic_connect(l->quic, l->flow, 0, b->now_ns, &c->id) != 0)
			return; /* as many as may be half-open are */
		l->of_slot[c->id.slot] = i;
		c->alive = true;
		c->under_way = 0;
	}
}

static bool
is_silent(const struct ps_bridge *b, const struct ps_bridge_conn *c, uint64_t for_ns)
{
	return c->under_way > 0 && b->now_ns - c->heard_ns > for_ns;
}

/* A validator that was killed tells nobody, and the idle timeout is long. A connection without
 * transactions is kept: Agave takes few new ones a minute. */
static void
care_for(struct ps_bridge_link *l)
{
	const struct ps_bridge *b = l->bridge;

	for (uint32_t i = 0; i < b->conf.bridge.connections; i++) {
		struct ps_bridge_conn *c = &l->conn[i];

		if (!c->up)
			continue;
		if (is_silent(b, c, DEAD_NS))
			ps_quic_close(l->quic, c->id, 0, "no answer", b->now_ns);
		else if (b->now_ns - c->kept_ns >= KEEP_NS) {
			c->kept_ns = b->now_ns;
			ps_quic_keep_alive(l->quic, c->id);
		}
	}
}

bool
ps_bridge_quic_work(struct ps_bridge *b)
{
	bool busy = false;

	for (unsigned int k = 0; k < b->n_links; k++) {
		struct ps_bridge_link *l = &b->link[k];
		int n, rounds = RX_ROUNDS;

		do {
			n = receive(l);
			busy |= n > 0;
		} while (n == PS_BRIDGE_BURST && --rounds > 0);
		ps_quic_service(l->quic, b->now_ns);
		care_for(l);
		if (!b->stopping)
			open_connections(l);
	}
	return busy;
}

/* -- out -- */

int
ps_bridge_quic_send(struct ps_bridge *b, uint32_t item)
{
	const struct penstock_feed_record *r = b->queue.item[item].record;
	const unsigned int per_key = b->conf.bridge.connections, n = b->n_links * per_key;
	bool too_long = false;

	for (unsigned int tries = 0; tries < n; tries++) {
		struct ps_bridge_link *l = &b->link[b->next_conn / per_key];
		struct ps_bridge_conn *c = &l->conn[b->next_conn % per_key];
		int rc;

		b->next_conn = b->next_conn + 1 < n ? b->next_conn + 1 : 0;
		if (!c->up || c->under_way >= b->conf.bridge.streams || is_silent(b, c, STALL_NS))
			continue;
		rc = ps_quic_send_stream(
			l->quic, c->id, penstock_feed_payload(r), r->payload_bytes, item);
		if (rc == 0) {
			if (c->under_way++ == 0)
				c->heard_ns = b->now_ns;
			return 0;
		}
		too_long |= rc == -EMSGSIZE;
	}
	return too_long ? -EMSGSIZE : -EAGAIN;
}

static bool
give_kernel(struct ps_bridge_link *l)
{
	struct mmsghdr msg[PS_BRIDGE_BURST] = {0};
	struct iovec iov[PS_BRIDGE_BURST];
	_Alignas(struct cmsghdr) char control[PS_BRIDGE_BURST][CONTROL_BYTES];
	unsigned int done = 0;

	for (unsigned int i = 0; i < l->n_ready; i++) {
		const int tos = l->tx[i].ecn;

		iov[i] = (struct iovec){l->tx[i].data, l->tx[i].len};
		msg[i].msg_hdr = (struct msghdr){
			.msg_iov = &iov[i], .msg_iovlen = 1, .msg_control = control[i]};
		if (tos != 0)
			ps_ip_control_put(&msg[i].msg_hdr, IP_TOS, &tos, sizeof(tos));
	}
	while (done < l->n_ready) {
		const int n = sendmmsg(l->fd, msg + done, l->n_ready - done, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
			break;
		if (n < 0 && errno == ECONNREFUSED) {
			l->bridge->stats.refused++;
			continue; /* of an earlier one; that error is told once */
		}
		/* what cannot be sent at all is lost as on a wire */
		done += n > 0 ? (unsigned int)n : 1;
	}
	for (unsigned int i = done; done > 0 && i < l->n_ready; i++) {
		memcpy(l->tx_bytes[i - done], l->tx[i].data, l->tx[i].len);
		l->tx[i - done].len = l->tx[i].len;
		l->tx[i - done].ecn = l->tx[i].ecn;
	}
	l->n_ready -= done;
	return l->n_ready == 0;
}

void
ps_bridge_quic_flush(struct ps_bridge *b)
{
	for (unsigned int k = 0; k < b->n_links; k++) {
		struct ps_bridge_link *l = &b->link[k];
		struct ps_datagram *out[PS_BRIDGE_BURST];

		for (int rounds = 0; rounds < TX_ROUNDS && give_kernel(l); rounds++) {
			for (unsigned int i = 0; i < PS_BRIDGE_BURST; i++) {
				l->tx[i].data = l->tx_bytes[i];
				l->tx[i].len = PS_UDP_PAYLOAD_MAX;
				out[i] = &l->tx[i];
			}
			l->n_ready = ps_quic_tx_burst(l->quic, out, PS_BRIDGE_BURST, b->now_ns);
			if (l->n_ready == 0)
				break;
		}
	}
}

void
ps_bridge_quic_close(struct ps_bridge *b)
{
	for (unsigned int k = 0; k < b->n_links; k++)
		if (b->link[k].quic != NULL)
			ps_quic_close_all(b->link[k].quic, 0, "", b->now_ns);
	if (b->n_links > 0 && b->link[b->n_links - 1].quic != NULL)
		ps_bridge_quic_flush(b);
	for (unsigned int k = 0; k < b->n_links; k++) {
		struct ps_bridge_link *l = &b->link[k];

		if (l->tls != NULL)
			ps_tls_free(l->tls);
		if (l->quic != NULL)
			ps_quic_stop(l->quic);
		if (l->fd >= 0)
			close(l->fd);
		free(l->tx_bytes);
		free(l->mem);
	}
}
