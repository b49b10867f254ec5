/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge.h"

#define KERNEL_BYTES (4 << 20) /* of the socket's queues */
#define WAIT_MS      1         /* for room in them */

int
ps_bridge_socket(const struct ps_bridge *b, struct ps_flow4 *flow, struct ps_err *e)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				   .sin_addr.s_addr = b->to.daddr_be,
				   .sin_port = b->to.dport_be},
			   from;
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int bytes = KERNEL_BYTES, one = 1, probe = IP_PMTUDISC_DO;
	socklen_t len = sizeof(from);
	int err;

	if (fd < 0)
		return ps_fail(e, errno, "socket: %s", strerror(errno));
	/* as much as the system's limits allow */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one));
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		getsockname(fd, (struct sockaddr *)&from, &len) == 0) {
		*flow = b->to;
		flow->saddr_be = from.sin_addr.s_addr;
		flow->sport_be = from.sin_port;
		return fd;
	}
	err = errno;
	close(fd);
	return ps_fail(e, err, "[bridge] target %s: %s; is there a route to it?",
		b->conf.bridge.target, strerror(err));
}

int
ps_bridge_udp_open(struct ps_bridge *b, struct ps_err *e)
{
	struct ps_bridge_link *l = &b->link[0];

	l->bridge = b;
	l->fd = ps_bridge_socket(b, &l->flow, e);
	if (l->fd < 0)
		return l->fd;
	b->n_links = 1;
	return 0;
}

/* Takes up to a burst from the queue; they count as sent. */
static unsigned int
gather(struct ps_bridge *b, uint32_t item[])
{
	unsigned int n = 0;
	uint32_t i;

	while (n < PS_BRIDGE_BURST && (i = ps_bridge_next(b)) != PS_BRIDGE_NONE) {
		if (b->queue.item[i].record->payload_bytes > PS_BRIDGE_UDP_BYTES) {
			ps_bridge_too_long(b, i);
			continue;
		}
		ps_bridge_queue_sent(&b->queue, i, b->throttled);
		item[n++] = i;
	}
	return n;
}

static void
give_kernel(struct ps_bridge *b, struct mmsghdr *msg, const uint32_t *item, unsigned int n)
{
	const int fd = b->link[0].fd;

	for (unsigned int done = 0; done < n;) {
		const int sent = sendmmsg(fd, msg + done, n - done, 0);

		if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, WAIT_MS);
			continue;
		}
		if (sent < 0 && errno == ECONNREFUSED) {
			b->stats.refused++;
			continue; /* of an earlier one; that error is told once */
		}
		if (sent <= 0) {
			b->stats.sent++;
			ps_bridge_lost(b, item[done++]);
			continue;
		}
		for (int i = 0; i < sent; i++) {
			b->stats.sent++;
			ps_bridge_delivered(b, item[done++]);
		}
	}
}

unsigned int
ps_bridge_udp_send(struct ps_bridge *b)
{
	struct mmsghdr msg[PS_BRIDGE_BURST] = {0};
	struct iovec iov[PS_BRIDGE_BURST];
	uint32_t item[PS_BRIDGE_BURST];
	const unsigned int n = gather(b, item);

	for (unsigned int i = 0; i < n; i++) {
		const struct penstock_feed_record *r = b->queue.item[item[i]].record;

		iov[i] = (struct iovec){
			(void *)(uintptr_t)penstock_feed_payload(r), r->payload_bytes};
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	give_kernel(b, msg, item, n);
	return n;
}
