/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "leak.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAGMENT   0x3fff /* more fragments, or an offset */
#define HEAD_INSNS 12
#define EACH_INSNS 5

/* Offsets are from the IP header on. Jumps count the instructions to leave out: if true, if not. */
static uint16_t
build(struct sock_filter *f, const struct ps_rule *rule, uint32_t n)
{
	const struct sock_filter head[HEAD_INSNS] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 2),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FRAGMENT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
		BPF_STMT(BPF_ST, 0),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_STMT(BPF_ST, 1),
	};
	uint16_t at = HEAD_INSNS;

	memcpy(f, head, sizeof(head));
	for (uint32_t i = 0; i < n; i++) {
		const bool any = rule[i].addr_be == 0;
		const struct sock_filter each[EACH_INSNS] = {
			BPF_STMT(BPF_LD | BPF_MEM, 1),
			BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, ntohs(rule[i].dport_be), any ? 2 : 0, 3),
			BPF_STMT(BPF_LD | BPF_MEM, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(rule[i].addr_be), 0, 1),
			BPF_STMT(BPF_RET | BPF_K, 1),
		};

		memcpy(&f[at], each, sizeof(each));
		at += EACH_INSNS;
	}
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return at;
}

/* The filter before the interface: nothing else is ever counted. */
static int
attach(int fd, const char *ifname, const struct ps_rule *rule, uint32_t n)
{
	struct sock_filter *f = calloc(HEAD_INSNS + n * EACH_INSNS + 1, sizeof(*f));
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex(ifname)};
	struct sock_fprog prog = {.filter = f};
	const int least = 0; /* room for what nobody reads; packets without room count too */
	int rc = 0;

	if (f == NULL)
		return -ENOMEM;
	prog.len = build(f, rule, n);
	if (addr.sll_ifindex == 0 ||
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) < 0 ||
		bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		rc = -errno;
	free(f);
	return rc;
}

int
ps_leak_open(struct ps_leak *l, const char *ifname, const struct ps_rule *rule, uint32_t n,
	struct ps_err *err)
{
	int rc;

	l->fd = -1;
	if (n > PS_LEAK_RULES)
		return ps_fail(err, E2BIG, "%u addresses and ports, at most %u", n, PS_LEAK_RULES);
	l->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = l->fd < 0 ? -errno : attach(l->fd, ifname, rule, n);
	if (rc == 0)
		return 0;
	ps_leak_close(l);
	return ps_fail(err, -rc, "packet socket: %s%s", strerror(-rc),
		rc == -EPERM ? "; it needs CAP_NET_RAW" : "");
}

/* Reading sets the kernel's count to zero. */
int
ps_leak_read(struct ps_leak *l, uint32_t *packets, struct ps_err *err)
{
	struct tpacket_stats s = {0};
	socklen_t len = sizeof(s);

	*packets = 0;
	if (getsockopt(l->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) < 0)
		return ps_fail(err, errno, "packet socket: %s", strerror(errno));
	*packets = s.tp_packets;
	return 0;
}

void
ps_leak_close(struct ps_leak *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
