/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "sock_port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "endpoint.h"
#include "ip_control.h"

#define BUFFER_BYTES  2048
#define CONTROL_BYTES 64
#define KERNEL_BYTES  (8 << 20) /* of each socket's receive queue */
#define TX_BURST      32

struct ps_sock_burst {
	struct mmsghdr rx[PS_NET_BURST], tx[TX_BURST];
	struct iovec rx_iov[PS_NET_BURST], tx_iov[TX_BURST];
	struct sockaddr_in rx_name[PS_NET_BURST], tx_name[TX_BURST];
	_Alignas(struct cmsghdr) char rx_control[PS_NET_BURST][CONTROL_BYTES];
	_Alignas(struct cmsghdr) char tx_control[TX_BURST][CONTROL_BYTES];
	uint8_t data[PS_NET_BURST][BUFFER_BYTES];
};

/* The kernel finds the socket by address and port, and knows the worker by the packet's hash. */
const struct ps_family ps_family_socket = {
	.caps =
		{
			.name = "socket",
			.rules = true,
			.mixed = true,
			.subset = PS_SUBSET_LIST,
			.subset_max = PS_PLAN_QUEUES,
			.rest = PS_REST_KERNEL,
			.lost_on = "nothing",
			.unproven = "nothing: the kernel binds a socket or refuses it",
		},
};

/* -- open -- */

static int
fail(struct ps_sock *s, const char *ifname, const struct ps_conf_service *c, const char *what,
	struct ps_err *e)
{
	const int err = errno;

	close(s->fd);
	return ps_fail(e, err, "[service %s] socket on UDP port %u of %s: %s: %s; %s", c->name,
		c->port, ifname, what, strerror(err),
		err == EADDRINUSE ? "stop the program that has it (ss -ulnp)"
				  : "does the address belong to this host?");
}

static int
set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

/* SO_REUSEPORT would share the port with whoever has it already, so the first socket of a service
 * is tried without. */
static int
set_options(struct ps_sock *s, const char *ifname, const struct ps_conf_service *c, bool alone,
	struct ps_err *e)
{
	if (!alone && set(s->fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		return fail(s, ifname, c, "SO_REUSEPORT", e);
	if (setsockopt(s->fd, SOL_SOCKET, SO_BINDTODEVICE, ifname, (socklen_t)strlen(ifname)) < 0)
		return fail(s, ifname, c, "SO_BINDTODEVICE", e);
	if (set(s->fd, IPPROTO_IP, IP_PKTINFO, 1) < 0 ||
		set(s->fd, IPPROTO_IP, IP_RECVTOS, 1) < 0 ||
		set(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) < 0)
		return fail(s, ifname, c, "options", e);
	/* Without the right to pass the system's limit, up to that. */
	if (set(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, KERNEL_BYTES) < 0)
		set(s->fd, SOL_SOCKET, SO_RCVBUF, KERNEL_BYTES);
	return 0;
}

static int
open_socket(struct ps_sock *s, const char *ifname, const struct ps_conf_service *c, bool alone,
	struct ps_err *e)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	int rc;

	s->addr_be = c->n_addrs == 1 ? c->addr_be[0] : INADDR_ANY;
	s->port_be = rte_cpu_to_be_16((uint16_t)c->port);
	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return ps_fail(e, errno, "[service %s] socket: %s", c->name, strerror(errno));
	rc = set_options(s, ifname, c, alone, e);
	if (rc < 0)
		return rc;
	addr.sin_addr.s_addr = s->addr_be;
	addr.sin_port = s->port_be;
	if (bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return fail(s, ifname, c, "bind", e);
	return 0;
}

static int
try_alone(const char *ifname, const struct ps_conf_service *c, unsigned int worker,
	uint64_t workers, struct ps_err *e)
{
	struct ps_sock s;
	int rc;

	if ((workers & ((UINT64_C(1) << worker) - 1)) != 0)
		return 0;
	rc = open_socket(&s, ifname, c, true, e);
	if (rc == 0)
		close(s.fd);
	return rc;
}

static int
make_burst(struct ps_sock_queue *q, struct ps_err *e)
{
	struct ps_sock_burst *b = ps_node_alloc(sizeof(*b), -1);

	if (b == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	q->burst = b;
	for (unsigned int i = 0; i < PS_NET_BURST; i++) {
		b->rx_iov[i] = (struct iovec){b->data[i], BUFFER_BYTES};
		b->rx[i].msg_hdr.msg_iov = &b->rx_iov[i];
		b->rx[i].msg_hdr.msg_iovlen = 1;
		b->rx[i].msg_hdr.msg_name = &b->rx_name[i];
		b->rx[i].msg_hdr.msg_control = b->rx_control[i];
	}
	for (unsigned int i = 0; i < TX_BURST; i++) {
		b->tx_name[i].sin_family = AF_INET;
		b->tx[i].msg_hdr = (struct msghdr){
			.msg_iov = &b->tx_iov[i],
			.msg_iovlen = 1,
			.msg_name = &b->tx_name[i],
			.msg_namelen = sizeof(b->tx_name[i]),
			.msg_control = b->tx_control[i],
		};
	}
	return 0;
}

/* The sockets of one worker. */
static int
open_queue(struct ps_sock_queue *q, const char *ifname, const struct ps_conf *conf,
	const struct ps_selector *sel, unsigned int worker, struct ps_err *e)
{
	const struct ps_steer *steer = q->steer;
	unsigned int n;
	int rc = make_burst(q, e);

	for (unsigned int i = 0; rc == 0 && i < steer->n; i += n) {
		const struct ps_conf_service *c = &conf->service[steer->service[i]];

		for (n = 1; i + n < steer->n && steer->service[i + n] == steer->service[i]; n++)
			;
		if ((sel[i].workers >> worker & 1) == 0)
			continue;
		q->sock[q->n].first = i;
		q->sock[q->n].n = n;
		rc = try_alone(ifname, c, worker, sel[i].workers, e);
		if (rc == 0)
			rc = open_socket(&q->sock[q->n], ifname, c, false, e);
		q->n += rc == 0;
	}
	return rc;
}

int
ps_sock_open(struct ps_sock_port *s, const char *ifname, uint16_t port_id,
	const struct ps_conf *conf, const struct ps_steer *steer, const struct ps_selector *sel,
	unsigned int n_queues, struct ps_err *e)
{
	int rc = 0;

	s->n_queues = n_queues;
	s->queue = calloc(n_queues, sizeof(*s->queue));
	if (s->queue == NULL)
		return ps_fail(e, ENOMEM, "out of memory");
	for (unsigned int w = 0; rc == 0 && w < n_queues; w++) {
		s->queue[w].steer = steer;
		s->queue[w].port_id = port_id;
		rc = open_queue(&s->queue[w], ifname, conf, sel, w, e);
	}
	return rc;
}

void
ps_sock_close(struct ps_sock_port *s)
{
	for (unsigned int w = 0; s->queue != NULL && w < s->n_queues; w++) {
		for (unsigned int i = 0; i < s->queue[w].n; i++)
			close(s->queue[w].sock[i].fd);
		ps_node_free(s->queue[w].burst, sizeof(*s->queue[w].burst));
	}
	free(s->queue);
	memset(s, 0, sizeof(*s));
}

uint64_t
ps_sock_missed(const struct ps_sock_port *s)
{
	uint64_t missed = 0;

	for (unsigned int w = 0; w < s->n_queues; w++) {
		for (unsigned int i = 0; i < s->queue[w].n; i++) {
			uint32_t info[SK_MEMINFO_VARS] = {0};
			socklen_t len = sizeof(info);

			if (getsockopt(s->queue[w].sock[i].fd, SOL_SOCKET, SO_MEMINFO, info,
				    &len) == 0)
				missed += info[SK_MEMINFO_DROPS];
		}
	}
	return missed;
}

/* -- receive -- */

/* What the kernel tells beside the payload: the address it was sent to, and the ECN bits. */
static void
read_control(const struct msghdr *m, struct ps_datagram *dg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
		c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)m, c)) {
		if (c->cmsg_level != IPPROTO_IP)
			continue;
		if (c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			dg->flow.daddr_be = info.ipi_addr.s_addr;
		}
		if (c->cmsg_type == IP_TOS)
			dg->ecn = *CMSG_DATA(c) & 3;
	}
}

/* The id of the selector, or 0. */
static uint16_t
find_selector(const struct ps_steer *steer, const struct ps_sock *s, uint32_t daddr_be)
{
	for (unsigned int i = s->first; i < s->first + s->n; i++)
		if (steer->sel[i].addr_be == daddr_be || steer->sel[i].addr_be == 0)
			return (uint16_t)steer->sel[i].id;
	return 0;
}

static void
take(struct ps_sock_queue *q, const struct ps_sock *s, unsigned int i, struct ps_net_rx *out,
	struct ps_drops *drops)
{
	struct ps_sock_burst *b = q->burst;
	struct ps_datagram *dg = &out->dg[out->n];

	*dg = (struct ps_datagram){
		.data = b->data[i],
		.len = (uint16_t)b->rx[i].msg_len,
		.flow = {.saddr_be = b->rx_name[i].sin_addr.s_addr,
			.sport_be = b->rx_name[i].sin_port,
			.dport_be = s->port_be},
		.link = (uint64_t)q->port_id << 48,
	};
	read_control(&b->rx[i].msg_hdr, dg);
	out->service[out->n] = find_selector(q->steer, s, dg->flow.daddr_be);
	if (b->rx[i].msg_hdr.msg_flags & MSG_TRUNC)
		ps_drop(drops, PS_DROP_RX_SEGMENTED);
	else if (out->service[out->n] == 0)
		ps_drop(drops, PS_DROP_RX_NO_SERVICE);
	else
		out->n++;
}

void
ps_sock_rx(struct ps_sock_queue *q, struct ps_net_rx *out, struct ps_drops *drops)
{
	struct ps_sock_burst *b = q->burst;
	unsigned int used = 0;

	out->n = out->n_refused = 0;
	for (unsigned int k = 0; k < q->n && used < PS_NET_BURST; k++) {
		const struct ps_sock *s = &q->sock[(q->next + k) % q->n];
		int n;

		for (unsigned int i = used; i < PS_NET_BURST; i++) {
			b->rx[i].msg_hdr.msg_namelen = sizeof(b->rx_name[i]);
			b->rx[i].msg_hdr.msg_controllen = CONTROL_BYTES;
		}
		n = recvmmsg(s->fd, &b->rx[used], PS_NET_BURST - used, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			take(q, s, used + (unsigned int)i, out, drops);
		used += n > 0 ? (unsigned int)n : 0;
	}
	q->next = q->n > 0 ? (q->next + 1) % q->n : 0;
}

/* -- send -- */

static void
write_message(struct ps_sock_burst *b, unsigned int i, const struct ps_datagram *dg)
{
	const struct in_pktinfo from = {.ipi_spec_dst.s_addr = dg->flow.saddr_be};
	const int tos = dg->ecn;
	struct msghdr *m = &b->tx[i].msg_hdr;

	b->tx_iov[i] = (struct iovec){dg->data, dg->len};
	b->tx_name[i].sin_addr.s_addr = dg->flow.daddr_be;
	b->tx_name[i].sin_port = dg->flow.dport_be;
	m->msg_controllen = 0;
	ps_ip_control_put(m, IP_PKTINFO, &from, sizeof(from));
	if (tos != 0)
		ps_ip_control_put(m, IP_TOS, &tos, sizeof(tos));
}

/* Any socket of this UDP port will do, since the source address is given with each datagram. */
static int
socket_for(const struct ps_sock_queue *q, uint16_t port_be)
{
	for (unsigned int i = 0; i < q->n; i++)
		if (q->sock[i].port_be == port_be)
			return q->sock[i].fd;
	return -1;
}

unsigned int
ps_sock_tx(struct ps_sock_queue *q, const struct ps_datagram dg[], unsigned int n)
{
	struct ps_sock_burst *b = q->burst;
	unsigned int done = 0;

	while (done < n) {
		const uint16_t port_be = dg[done].flow.sport_be;
		unsigned int many = 0;
		int sent;

		while (done + many < n && many < TX_BURST &&
			dg[done + many].flow.sport_be == port_be) {
			write_message(b, many, &dg[done + many]);
			many++;
		}
		sent = sendmmsg(socket_for(q, port_be), b->tx, many, MSG_DONTWAIT);
		if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS))
			return done;
		/* One that cannot be sent at all (no route, too long, filtered) is lost like on a
		 * wire. */
		done += sent > 0 ? (unsigned int)sent : 1;
	}
	return n;
}
