/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A flood on a QUIC server, from the network namespace of a test: Initials whose source address is
 * forged, each with an id of its own, valid protection and a whole ClientHello, and clients with
 * real addresses that finish their handshake and leave at once. It sends nothing faster than asked
 * for, and ends by itself.
 *
 * The forged addresses are of 198.18.0.0/15, which nobody answers for. Those of the clients are
 * HOSTS addresses from 10.78.0.1 on, which must be local: ip route add local 10.78.0.0/16 dev lo */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ps_time.h"
#include "quic.h"

#define RATE_MAX   20000
#define HOSTS_MAX  60000
#define CHURN_PORT 4500
#define CHURN_NET  0x0a4e0001u /* 10.78.0.1 */
#define SPOOF_NET  0xc6120000u /* 198.18.0.0/15 */
#define CONNS      4096
#define BURST      PS_QUIC_BURST
#define HEADERS    28        /* IPv4 and UDP */
#define DRAIN_NS   PS_SEC_NS /* for the last handshakes */
#define RANDOM_AT  6         /* in a ClientHello: type, length, version come first */

struct options {
	struct sockaddr_in to;
	uint64_t spoof, churn, seconds, hosts;
};

struct spoof {
	int fd; /* IP_HDRINCL */
	struct ps_protect *protect;
	struct ps_tls_io io; /* holds the ClientHello */
	struct ps_cid scid;
	uint64_t sent;
};

struct churn {
	int fd;
	struct ps_quic *quic;
	struct ps_drops drops;
	uint64_t now_ns, begun, done;
};

static void *
memory(size_t bytes)
{
	return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

/* -- forged Initials -- */

static bool
spoof_open(struct spoof *s, struct ps_err *e)
{
	const struct ps_tls_config tls = {.sessions = 1, .alpn = "solana-tpu"};
	struct ps_tls *t = ps_tls_new(&tls, e);
	struct ps_tparam tp;
	void *mem = memory(ps_protect_footprint(16));

	s->fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (s->fd < 0 || t == NULL || mem == NULL)
		return false;
	s->protect = ps_protect_new(mem, 16);
	s->scid.len = 8;
	ps_random(s->scid.id, s->scid.len);
	ps_tparam_defaults(&tp);
	tp.max_idle_timeout_ms = 10000;
	tp.has_initial_scid = true;
	tp.initial_scid = s->scid;
	if (s->protect == NULL || !ps_tls_begin(t, &s->io))
		return false;
	s->io.tp_len = (uint16_t)ps_tparam_put(&tp, s->io.tp, sizeof(s->io.tp));
	ps_tls_step(t, &s->io);
	return s->io.out_len[PS_LEVEL_INITIAL] > RANDOM_AT + 32;
}

/* Ones' complement sum of big-endian words. */
static uint32_t
sum(uint32_t s, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 2)
		s += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
	return s;
}

/* The kernel adds the checksum of the IPv4 header. */
static void
put_headers(uint8_t *p, const struct sockaddr_in *to, uint32_t from, uint16_t port)
{
	const uint16_t total = HEADERS + PS_UDP_PAYLOAD_MIN, udp = total - 20;
	const uint8_t head[HEADERS] = {0x45, 0, (uint8_t)(total >> 8), (uint8_t)total, 0, 0, 0x40,
		0, 64, IPPROTO_UDP, 0, 0, (uint8_t)(from >> 24), (uint8_t)(from >> 16),
		(uint8_t)(from >> 8), (uint8_t)from, 0, 0, 0, 0, (uint8_t)(port >> 8),
		(uint8_t)port, 0, 0, (uint8_t)(udp >> 8), (uint8_t)udp, 0, 0};
	uint32_t s;

	memcpy(p, head, sizeof(head));
	memcpy(p + 16, &to->sin_addr, 4);
	memcpy(p + 22, &to->sin_port, 2);
	s = sum(IPPROTO_UDP + udp, p + 12, total - 12);
	while (s >> 16 != 0)
		s = (s & 0xffff) + (s >> 16);
	s = s == 0xffff ? s : ~s & 0xffff;
	p[26] = (uint8_t)(s >> 8);
	p[27] = (uint8_t)s;
}

static void
spoof_one(struct spoof *s, const struct sockaddr_in *to)
{
	const struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr = to->sin_addr};
	uint8_t packet[HEADERS + PS_UDP_PAYLOAD_MIN], *p = packet + HEADERS;
	struct ps_cid dcid = {.len = 8};
	struct ps_pkt_key tx, rx;
	uint32_t r[2];
	size_t head, length_at, text = PS_UDP_PAYLOAD_MIN - PS_AEAD_TAG;

	ps_protect_random(s->protect, dcid.id, dcid.len);
	ps_protect_random(s->protect, r, sizeof(r));
	ps_protect_random(s->protect, s->io.out[PS_LEVEL_INITIAL] + RANDOM_AT, 32);
	ps_initial_keys(&tx, &rx, dcid.id, dcid.len);
	head = ps_pkt_long_put(p, PS_PKT_INITIAL, &dcid, &s->scid, NULL, 0, 0, 4, &length_at);
	text -= head;
	memset(p + head, PS_FRAME_PADDING, text);
	ps_frame_crypto_put(
		p + head, text, 0, s->io.out[PS_LEVEL_INITIAL], s->io.out_len[PS_LEVEL_INITIAL]);
	ps_pkt_long_finish(p, length_at, 4, text);
	ps_seal(s->protect, &tx, 0, p, head, 4, text);
	put_headers(packet, to, SPOOF_NET | (r[0] & 0x1ffff), (uint16_t)(1024 + r[1] % 60000));
	if (sendto(s->fd, packet, sizeof(packet), 0, (const struct sockaddr *)&peer, sizeof(peer)) >
		0)
		s->sent++;
}

/* -- clients that come and go -- */

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	struct churn *c = ctx;

	(void)peer;
	c->done++;
	ps_quic_close(c->quic, id, 0, "done", c->now_ns);
}

static bool
churn_open(struct churn *c, struct ps_err *e)
{
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(CHURN_PORT)};
	struct ps_tls_config tls = {.sessions = CONNS / 2, .alpn = "solana-tpu"};
	struct ps_quic_limits l;
	struct ps_quic_config q;
	void *mem;
	int on = 1;

	ps_random(tls.seed, sizeof(tls.seed));
	ps_quic_defaults(&l, &q);
	l.conns = CONNS;
	l.handshakes = CONNS / 2;
	l.streams = l.send_streams = 16;
	ps_random(&q.keys, sizeof(q.keys));
	q.server = false;
	q.handshake_timeout_ms = 2000;
	q.datagram_bytes = PS_UDP_PAYLOAD_MIN;
	q.events = (struct ps_quic_events){.ctx = c, .connected = on_connected};
	q.drops = &c->drops;
	q.tls = ps_tls_new(&tls, e);
	mem = memory(ps_quic_footprint(&l));
	c->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (q.tls == NULL || mem == NULL || c->fd < 0 ||
		setsockopt(c->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) != 0 ||
		bind(c->fd, (const struct sockaddr *)&any, sizeof(any)) != 0)
		return false;
	c->quic = ps_quic_new(mem, &l, &q, e);
	return c->quic != NULL;
}

static void
churn_one(struct churn *c, const struct options *o)
{
	const struct ps_flow4 flow = {
		.saddr_be = htonl(CHURN_NET + (uint32_t)(c->begun % o->hosts)),
		.daddr_be = o->to.sin_addr.s_addr,
		.sport_be = htons(CHURN_PORT),
		.dport_be = o->to.sin_port};
	struct ps_quic_conn_id id;

	c->begun++; /* one that finds no room is one that failed */
	ps_quic_connect(c->quic, flow, 0, c->now_ns, &id);
}

/* One datagram at a time: these are few. */
static bool
churn_receive(struct churn *c)
{
	uint8_t bytes[2048];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct sockaddr_in from;
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr m = {.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	const ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);
	struct ps_datagram dg = {.data = bytes}, *in = &dg;
	struct in_pktinfo info;

	if (n < 0 || CMSG_FIRSTHDR(&m) == NULL)
		return false;
	memcpy(&info, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(info));
	dg.len = (uint16_t)n;
	dg.flow = (struct ps_flow4){
		from.sin_addr.s_addr, info.ipi_addr.s_addr, from.sin_port, htons(CHURN_PORT)};
	ps_quic_rx_burst(c->quic, &in, 1, c->now_ns);
	return true;
}

static bool
churn_send(struct churn *c)
{
	uint8_t bytes[PS_UDP_PAYLOAD_MAX];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = {0};
	struct ps_datagram dg = {.data = bytes, .len = sizeof(bytes)}, *out = &dg;
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct in_pktinfo info = {0};
	struct iovec iov;
	struct msghdr m = {.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	if (ps_quic_tx_burst(c->quic, &out, 1, c->now_ns) == 0)
		return false;
	to.sin_addr.s_addr = dg.flow.daddr_be;
	to.sin_port = dg.flow.dport_be;
	info.ipi_spec_dst.s_addr = dg.flow.saddr_be;
	iov = (struct iovec){bytes, dg.len};
	*h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(info)),
		.cmsg_level = IPPROTO_IP,
		.cmsg_type = IP_PKTINFO};
	memcpy(CMSG_DATA(h), &info, sizeof(info));
	return sendmsg(c->fd, &m, MSG_DONTWAIT) > 0;
}

/* -- both -- */

static void
flood(struct spoof *s, struct churn *c, const struct options *o)
{
	const uint64_t start = ps_now_ns(), end = start + o->seconds * PS_SEC_NS;
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	for (c->now_ns = start; c->now_ns < end + DRAIN_NS; c->now_ns = ps_now_ns()) {
		const uint64_t at = (c->now_ns < end ? c->now_ns : end) - start;

		for (int n = 0; n < BURST && s->sent < at * o->spoof / PS_SEC_NS; n++)
			spoof_one(s, &o->to);
		if (c->begun < at * o->churn / PS_SEC_NS)
			churn_one(c, o);
		for (int n = 0; n < BURST && churn_receive(c); n++)
			;
		ps_quic_service(c->quic, c->now_ns);
		for (int n = 0; n < BURST && churn_send(c); n++)
			;
		poll(&p, 1, 1);
	}
}

static bool
parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {{"to", 1, NULL, 0}, {"spoof", 1, NULL, 0},
		{"churn", 1, NULL, 0}, {"seconds", 1, NULL, 0}, {"hosts", 1, NULL, 0}, {0}};
	uint64_t *const number[] = {NULL, &o->spoof, &o->churn, &o->seconds, &o->hosts};
	char address[INET_ADDRSTRLEN];
	unsigned int port;
	int at;

	while (getopt_long(argc, argv, "", names, &at) == 0) {
		if (at != 0) {
			*number[at] = strtoull(optarg, NULL, 10);
			continue;
		}
		if (sscanf(optarg, "%15[0-9.]:%u", address, &port) != 2 || port > UINT16_MAX ||
			inet_pton(AF_INET, address, &o->to.sin_addr) != 1)
			return false;
		o->to.sin_port = htons((uint16_t)port);
	}
	return optind == argc && o->to.sin_port != 0 && o->spoof <= RATE_MAX &&
	       o->churn <= RATE_MAX && o->seconds >= 1 && o->seconds <= 3600 && o->hosts >= 1 &&
	       o->hosts <= HOSTS_MAX;
}

int
main(int argc, char **argv)
{
	static struct spoof s;
	static struct churn c;
	struct options o = {.to = {.sin_family = AF_INET}, .seconds = 10, .hosts = 1000};
	struct ps_err e = {0};
	struct rusage used;

	if (!parse(&o, argc, argv)) {
		fprintf(stderr, "usage: quic_flood --to ADDRESS:PORT [--spoof RATE] [--churn RATE] "
				"[--seconds N] [--hosts N]\n");
		return 2;
	}
	if (!spoof_open(&s, &e) || !churn_open(&c, &e)) {
		fprintf(stderr, "quic_flood: %s\n", e.text[0] != '\0' ? e.text : strerror(errno));
		return 1;
	}
	flood(&s, &c, &o);
	getrusage(RUSAGE_SELF, &used);
	printf("{\"spoofed\":%" PRIu64 ",\"churn_begun\":%" PRIu64 ",\"churn_done\":%" PRIu64
	       ",\"cpu_ms\":%ld}\n",
		s.sent, c.begun, c.done,
		(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
			(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
	return 0;
}
