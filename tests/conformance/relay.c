/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A seeded bad network for the conformance tests: a UDP relay that clients talk to instead of the
 * server. Each client address has a socket of its own towards the server, and gets another one
 * (another port, or the next address) when the relay plays a NAT that forgets. ECN marks pass.
 * What the server sends and is sent is captured. Prints counters as JSON when it is ended. */
#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FLOWS_MAX     2048
#define ADDRESSES_MAX 8
#define EVENTS        64
#define READS         64
#define HEAP_MAX      65536
#define SOCKET_BYTES  (4 << 20)

struct relay {
	int epoll, listen_fd;
	struct sockaddr_in listen, server, from[ADDRESSES_MAX];
	unsigned n_from, next_from;
	struct relay_link link;
	struct relay_dir_state dir[RELAY_DIRS];
	struct relay_flow flow[FLOWS_MAX];
	unsigned n_flows;
	uint64_t seed, rebind_at, rebind_every, rebinds, seq;
	FILE *pcap;
	struct relay_datagram **heap;
	unsigned heap_len;
};

static volatile sig_atomic_t stop;

static const char usage[] =
	"usage: relay --listen ADDR:PORT --to ADDR:PORT --from ADDR [--from ADDR]... [options]\n"
	"  --delay MS --rate KBIT/S --queue N   of each direction\n"
	"  --loss P[:RUN]      each loss takes RUN datagrams (1)\n"
	"  --spoil-max N       of a client never more than N lost or damaged in a row\n"
	"  --corrupt P --reorder P --dup P\n"
	"  --drop FIRST-LAST   drop these datagrams to the server, counted from 1\n"
	"  --blackhole MS:MS   pass for so long, then swallow for so long, and again\n"
	"  --rebind MS:MS      the first time after, and then every\n"
	"  --seed S --pcap FILE\n";

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static bool
before(const struct relay_datagram *a, const struct relay_datagram *b)
{
	return a->arrive != b->arrive ? a->arrive < b->arrive : a->seq < b->seq;
}

static void
heap_push(struct relay *r, struct relay_datagram *g)
{
	unsigned i = r->heap_len++;

	g->seq = r->seq++;
	for (; i > 0 && before(g, r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = g;
}

static struct relay_datagram *
heap_pop(struct relay *r)
{
	struct relay_datagram *top = r->heap[0], *last = r->heap[--r->heap_len];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < r->heap_len) {
		if (child + 1 < r->heap_len && before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r->heap[child], last))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = last;
	return top;
}

static int
open_socket(struct relay *r, struct sockaddr_in *local, void *tag)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = tag};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, size = SOCKET_BYTES;
	socklen_t len = sizeof(*local);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)) < 0 ||
		bind(fd, (struct sockaddr *)local, len) < 0 ||
		getsockname(fd, (struct sockaddr *)local, &len) < 0 ||
		epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Gives the flow a new socket. The old one stays open, so that nobody is told it is gone. */
static bool
bind_flow(struct relay *r, struct relay_flow *f)
{
	struct sockaddr_in local = r->from[r->next_from % r->n_from];
	int fd = open_socket(r, &local, f);

	if (fd < 0) {
		perror("relay: socket towards the server");
		return false;
	}
	if (f->fd >= 0)
		epoll_ctl(r->epoll, EPOLL_CTL_DEL, f->fd, NULL);
	f->fd = fd;
	f->local = local;
	return true;
}

static struct relay_flow *
find_flow(struct relay *r, const struct sockaddr_in *client)
{
	struct relay_flow *f;

	for (unsigned i = 0; i < r->n_flows; i++) {
		f = &r->flow[i];
		if (f->client.sin_port == client->sin_port &&
			f->client.sin_addr.s_addr == client->sin_addr.s_addr)
			return f;
	}
	if (r->n_flows == FLOWS_MAX)
		return NULL;
	f = &r->flow[r->n_flows];
	*f = (struct relay_flow){.client = *client, .fd = -1};
	if (!bind_flow(r, f))
		return NULL;
	r->n_flows++;
	return f;
}

static ssize_t
receive(int fd, struct relay_datagram *g, struct sockaddr_in *from)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {g->data, sizeof(g->data)};
	struct msghdr msg = {.msg_name = from,
		.msg_namelen = sizeof(*from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &msg, 0);

	g->ecn = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); n >= 0 && c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			g->ecn = *(uint8_t *)CMSG_DATA(c) & 3;
	}
	g->len = (uint16_t)(n > 0 ? n : 0);
	return n;
}

static void
deliver(struct relay *r, struct relay_datagram *g)
{
	const struct relay_flow *f = g->flow;
	bool up = g->dir == RELAY_TO_SERVER;
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.align = {.cmsg_len = CMSG_LEN(sizeof(int)),
			     .cmsg_level = IPPROTO_IP,
			     .cmsg_type = IP_TOS}};
	struct sockaddr_in to = up ? r->server : f->client;
	struct iovec iov = {g->data, g->len};
	struct msghdr msg = {.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int tos = g->ecn;

	memcpy(CMSG_DATA(&control.align), &tos, sizeof(tos));
	if (up && r->pcap)
		relay_pcap_write(r->pcap, g, &f->local, &r->server);
	if (sendmsg(up ? f->fd : r->listen_fd, &msg, 0) < 0 && errno != ECONNREFUSED)
		perror("relay: sendmsg");
}

static void
take(struct relay *r, struct relay_datagram *g, uint64_t now)
{
	struct relay_datagram *copy;
	bool again;

	if (r->heap_len + 2 > HEAP_MAX ||
		!relay_link_take(&r->link, &r->dir[g->dir], g, now, &again)) {
		free(g);
		return;
	}
	copy = again ? malloc(sizeof(*copy)) : NULL;
	if (copy)
		*copy = *g;
	heap_push(r, g);
	if (copy)
		heap_push(r, copy);
}

/* Reads what waits on the socket of a flow (towards the server) or, without one, of all clients. */
static void
read_socket(struct relay *r, struct relay_flow *f, uint64_t now)
{
	for (int i = 0; i < READS; i++) {
		struct relay_datagram *g = malloc(sizeof(*g));
		struct sockaddr_in from;

		if (!g)
			return;
		if (receive(f ? f->fd : r->listen_fd, g, &from) < 0) {
			free(g);
			if (errno == EINTR || errno == ECONNREFUSED)
				continue;
			return;
		}
		g->dir = f ? RELAY_TO_CLIENT : RELAY_TO_SERVER;
		g->flow = f ? f : find_flow(r, &from);
		if (f && r->pcap)
			relay_pcap_write(r->pcap, g, &from, &f->local);
		if (g->flow)
			take(r, g, now);
		else
			free(g);
	}
}

static void
rebind(struct relay *r, uint64_t now)
{
	if (now < r->rebind_at)
		return;
	r->next_from++;
	for (unsigned i = 0; i < r->n_flows; i++)
		bind_flow(r, &r->flow[i]);
	r->rebinds++;
	r->rebind_at = r->rebind_every ? now + r->rebind_every : UINT64_MAX;
}

static void
loop(struct relay *r)
{
	struct epoll_event events[EVENTS];

	while (!stop) {
		uint64_t now = clock_ns(), next = r->rebind_at;
		struct timespec wait;
		int n;

		if (r->heap_len > 0 && r->heap[0]->arrive < next)
			next = r->heap[0]->arrive;
		if (next > now + 1000 * RELAY_MS)
			next = now + 1000 * RELAY_MS;
		next = next > now ? next - now : 0;
		wait = (struct timespec){(time_t)(next / 1000000000), (long)(next % 1000000000)};
		n = epoll_pwait2(r->epoll, events, EVENTS, &wait, NULL);
		now = clock_ns();
		rebind(r, now);
		for (int i = 0; i < n; i++)
			read_socket(r, events[i].data.ptr, now);
		while (r->heap_len > 0 && r->heap[0]->arrive <= now) {
			struct relay_datagram *g = heap_pop(r);

			deliver(r, g);
			free(g);
		}
	}
}

static bool
parse_address(const char *arg, struct sockaddr_in *out)
{
	const char *colon = strchr(arg, ':');
	char host[INET_ADDRSTRLEN];
	size_t len = colon ? (size_t)(colon - arg) : strlen(arg);

	if (len >= sizeof(host))
		return false;
	memcpy(host, arg, len);
	host[len] = 0;
	out->sin_family = AF_INET;
	out->sin_port = htons((uint16_t)(colon ? atoi(colon + 1) : 0));
	return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

static bool
parse_ms_pair(const char *arg, uint64_t *first, uint64_t *second)
{
	unsigned long long a, b;

	if (sscanf(arg, "%llu:%llu", &a, &b) != 2)
		return false;
	*first = a * RELAY_MS;
	*second = b * RELAY_MS;
	return true;
}

static bool
apply_option(struct relay *r, const char *name, const char *arg)
{
	struct relay_link *l = &r->link;
	bool ok = true;

	if (!strcmp(name, "listen"))
		ok = parse_address(arg, &r->listen);
	else if (!strcmp(name, "to"))
		ok = parse_address(arg, &r->server);
	else if (!strcmp(name, "from"))
		ok = r->n_from < ADDRESSES_MAX && parse_address(arg, &r->from[r->n_from++]);
	else if (!strcmp(name, "delay"))
		l->delay_ns = strtoull(arg, NULL, 10) * RELAY_MS;
	else if (!strcmp(name, "rate"))
		l->rate_bps = strtoull(arg, NULL, 10) * 1000;
	else if (!strcmp(name, "queue"))
		l->queue = (unsigned)atoi(arg);
	else if (!strcmp(name, "loss"))
		ok = sscanf(arg, "%lf:%u", &l->loss, &l->loss_run) >= 1 && l->loss_run > 0;
	else if (!strcmp(name, "spoil-max"))
		l->spoil_max = (unsigned)atoi(arg);
	else if (!strcmp(name, "corrupt"))
		l->corrupt = atof(arg);
	else if (!strcmp(name, "reorder"))
		l->reorder = atof(arg);
	else if (!strcmp(name, "dup"))
		l->dup = atof(arg);
	else if (!strcmp(name, "drop"))
		ok = sscanf(arg, "%u-%u", &l->drop_first, &l->drop_last) == 2;
	else if (!strcmp(name, "blackhole"))
		ok = parse_ms_pair(arg, &l->blackhole_on_ns, &l->blackhole_off_ns);
	else if (!strcmp(name, "rebind"))
		ok = parse_ms_pair(arg, &r->rebind_at, &r->rebind_every);
	else if (!strcmp(name, "seed"))
		r->seed = strtoull(arg, NULL, 10);
	else if (!strcmp(name, "pcap"))
		ok = (r->pcap = relay_pcap_open(arg)) != NULL;
	return ok;
}

static bool
parse(struct relay *r, int argc, char **argv)
{
	static const struct option options[] = {{"listen", 1, NULL, 1}, {"to", 1, NULL, 1},
		{"from", 1, NULL, 1}, {"delay", 1, NULL, 1}, {"rate", 1, NULL, 1},
		{"queue", 1, NULL, 1}, {"loss", 1, NULL, 1}, {"spoil-max", 1, NULL, 1},
		{"corrupt", 1, NULL, 1}, {"reorder", 1, NULL, 1}, {"dup", 1, NULL, 1},
		{"drop", 1, NULL, 1}, {"blackhole", 1, NULL, 1}, {"rebind", 1, NULL, 1},
		{"seed", 1, NULL, 1}, {"pcap", 1, NULL, 1}, {NULL, 0, NULL, 0}};
	int opt, at;

	r->link.loss_run = 1;
	r->seed = 1;
	while ((opt = getopt_long(argc, argv, "", options, &at)) != -1) {
		if (opt == '?')
			return false;
		if (!apply_option(r, options[at].name, optarg)) {
			fprintf(stderr, "relay: bad --%s %s\n", options[at].name, optarg);
			return false;
		}
	}
	return optind == argc && r->listen.sin_port && r->server.sin_port && r->n_from > 0;
}

static void
report(const struct relay *r)
{
	static const char *const names[] = {"to_server", "to_client"};

	printf("{\"flows\":%u,\"rebinds\":%llu", r->n_flows, (unsigned long long)r->rebinds);
	for (int i = 0; i < RELAY_DIRS; i++) {
		const struct relay_dir_state *d = &r->dir[i];

		printf(",\"%s\":{\"passed\":%llu,\"lost\":%llu,\"overflow\":%llu,\"corrupted\":%"
		       "llu,"
		       "\"reordered\":%llu,\"duplicated\":%llu,\"swallowed\":%llu}",
			names[i], (unsigned long long)d->passed, (unsigned long long)d->lost,
			(unsigned long long)d->overflow, (unsigned long long)d->corrupted,
			(unsigned long long)d->reordered, (unsigned long long)d->duplicated,
			(unsigned long long)d->swallowed);
	}
	puts("}");
}

int
main(int argc, char **argv)
{
	static struct relay r;
	struct sigaction sa = {.sa_handler = on_signal};

	if (!parse(&r, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	r.epoll = epoll_create1(EPOLL_CLOEXEC);
	r.heap = calloc(HEAP_MAX, sizeof(*r.heap));
	r.listen_fd = open_socket(&r, &r.listen, NULL);
	if (r.epoll < 0 || !r.heap || r.listen_fd < 0) {
		perror("relay");
		return 1;
	}
	r.link.start = clock_ns();
	r.rebind_at = r.rebind_at ? r.link.start + r.rebind_at : UINT64_MAX;
	for (int i = 0; i < RELAY_DIRS; i++)
		r.dir[i].random = r.seed * RELAY_DIRS + (uint64_t)i;
	fprintf(stderr, "relay: ready\n");
	loop(&r);
	if (r.pcap)
		fclose(r.pcap);
	report(&r);
	return 0;
}
