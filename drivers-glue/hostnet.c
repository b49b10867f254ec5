/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "hostnet.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nl.h"

#define MAX_IFACES      256
#define SSH_PORT        22
#define TCP_ESTABLISHED 1

/* A set of interface indexes; full sets forget. */
struct indexes {
	uint32_t at[MAX_IFACES];
	unsigned int n;
};

static void
add_index(struct indexes *s, uint32_t index)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (s->at[i] == index)
			return;
	if (index != 0 && s->n < MAX_IFACES)
		s->at[s->n++] = index;
}

static bool
is_v4(const struct ps_ip *ip)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(ip->b, mapped, sizeof(mapped)) == 0;
}

static struct ps_ip
from_v4(const void *addr)
{
	struct ps_ip ip = {{[10] = 0xff, [11] = 0xff}};

	memcpy(ip.b + 12, addr, 4);
	return ip;
}

bool
ps_ip_parse(const char *text, struct ps_ip *ip)
{
	char plain[INET6_ADDRSTRLEN];
	struct in_addr v4;
	size_t len = strcspn(text, "%"); /* fe80::1%eth0 */

	if (len >= sizeof(plain))
		return false;
	memcpy(plain, text, len);
	plain[len] = 0;
	if (inet_pton(AF_INET, plain, &v4) == 1)
		*ip = from_v4(&v4);
	else if (inet_pton(AF_INET6, plain, ip->b) != 1)
		return false;
	return true;
}

/* -- routes and addresses -- */

static void
add_hops(const struct nlattr *multipath, struct indexes *s)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(multipath);
	int left = mnl_attr_get_payload_len(multipath);

	while (RTNH_OK(hop, left)) {
		add_index(s, (uint32_t)hop->rtnh_ifindex);
		left -= RTNH_ALIGN(hop->rtnh_len);
		hop = RTNH_NEXT(hop);
	}
}

static int
read_default(const struct nlmsghdr *h, void *arg)
{
	const struct rtmsg *r = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[RTA_MAX + 1];

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*r) || r->rtm_dst_len != 0 ||
		r->rtm_type != RTN_UNICAST)
		return 0;
	ps_nl_attrs(h, sizeof(*r), tb, RTA_MAX);
	add_index(arg, ps_nl_u32(tb[RTA_OIF]));
	if (tb[RTA_MULTIPATH])
		add_hops(tb[RTA_MULTIPATH], arg);
	return 0;
}

static int
find_default_routes(struct indexes *s, struct ps_err *err)
{
	static const unsigned char families[] = {AF_INET, AF_INET6};
	int ret = 0;

	for (unsigned int i = 0; i < 2 && ret == 0; i++) {
		ret = -EINTR;
		/* What a broken-off dump found stays: too much is safe, too little is not. */
		for (int tries = 0; tries < 5 && ret == -EINTR; tries++) {
			struct ps_nl nl;
			struct rtmsg *r = ps_nl_route(&nl, RTM_GETROUTE, NLM_F_DUMP, sizeof(*r));

			r->rtm_family = families[i];
			ret = ps_nl_talk(&nl, read_default, s, "reading routes", err);
		}
		if (ret == -EOPNOTSUPP || ret == -EAFNOSUPPORT)
			ret = 0; /* a kernel without IPv6 */
	}
	return ret;
}

static int
read_oif(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[RTA_MAX + 1];

	ps_nl_attrs(h, sizeof(struct rtmsg), tb, RTA_MAX);
	*(uint32_t *)arg = ps_nl_u32(tb[RTA_OIF]);
	return 0;
}

int
ps_route_to(const struct ps_ip *remote, uint32_t *index, struct ps_err *err)
{
	struct ps_nl nl;
	struct rtmsg *r = ps_nl_route(&nl, RTM_GETROUTE, 0, sizeof(*r));
	bool v4 = is_v4(remote);

	*index = 0;
	r->rtm_family = v4 ? AF_INET : AF_INET6;
	r->rtm_dst_len = v4 ? 32 : 128;
	mnl_attr_put(nl.head, RTA_DST, v4 ? 4 : 16, v4 ? remote->b + 12 : remote->b);
	return ps_nl_talk(&nl, read_oif, index, "looking up a route", err);
}

struct owner {
	const struct ps_ip *addr;
	uint32_t index;
};

static int
read_owner(const struct nlmsghdr *h, void *arg)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[IFA_MAX + 1], *a;
	struct owner *o = arg;
	struct ps_ip ip;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return 0;
	ps_nl_attrs(h, sizeof(*m), tb, IFA_MAX);
	a = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
	if (a == NULL)
		return 0;
	if (m->ifa_family == AF_INET && mnl_attr_get_payload_len(a) == 4)
		ip = from_v4(mnl_attr_get_payload(a));
	else if (m->ifa_family == AF_INET6 && mnl_attr_get_payload_len(a) == sizeof(ip))
		memcpy(&ip, mnl_attr_get_payload(a), sizeof(ip));
	else
		return 0;
	if (memcmp(&ip, o->addr, sizeof(ip)) == 0)
		o->index = m->ifa_index;
	return 0;
}

/* The interface that has this address; 0: none. */
static uint32_t
find_owner(const struct ps_ip *local)
{
	struct owner o = {.addr = local};

	for (int tries = 0, ret = -EINTR; tries < 5 && ret == -EINTR; tries++) {
		struct ps_nl nl;
		struct ifaddrmsg *m = ps_nl_route(&nl, RTM_GETADDR, NLM_F_DUMP, sizeof(*m));

		m->ifa_family = is_v4(local) ? AF_INET : AF_INET6;
		ret = ps_nl_talk(&nl, read_owner, &o, "reading addresses", NULL);
	}
	return o.index;
}

/* -- sockets -- */

struct sock_line {
	struct ps_ip local, remote;
	unsigned int local_port, state;
	uint32_t uid;
	uint64_t inode;
};

/* The kernel prints addresses as 32-bit words in this machine's order. */
static bool
parse_addr(const char *hex, struct ps_ip *ip)
{
	size_t len = strspn(hex, "0123456789ABCDEFabcdef");
	uint8_t raw[16];

	if (len != 8 && len != 32)
		return false;
	for (size_t i = 0; i < len / 8; i++) {
		char word[9] = {0};
		uint32_t w;

		memcpy(word, hex + 8 * i, 8);
		w = (uint32_t)strtoul(word, NULL, 16);
		memcpy(raw + 4 * i, &w, 4);
	}
	if (len == 8)
		*ip = from_v4(raw);
	else
		memcpy(ip->b, raw, sizeof(raw));
	return true;
}

static bool
parse_line(const char *line, struct sock_line *s)
{
	char local[33], remote[33];
	unsigned long long inode;
	unsigned int uid;

	if (sscanf(line,
		    " %*d: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u %*u "
		    "%llu",
		    local, &s->local_port, remote, &s->state, &uid, &inode) != 6)
		return false;
	s->uid = uid;
	s->inode = inode;
	return parse_addr(local, &s->local) && parse_addr(remote, &s->remote);
}

/* Calls fn for each socket of /proc/net/<table>; a table that is not there is empty. */
static void
each_socket(const char *table, void (*fn)(const struct sock_line *s, void *arg), void *arg)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/thread-self/net/%s", table);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		struct sock_line s;

		if (parse_line(line, &s))
			fn(&s, arg);
	}
	if (f != NULL)
		fclose(f);
}

struct ssh {
	unsigned int port; /* beside SSH_PORT */
	struct indexes *s;
};

/* In and out may be different interfaces; each cuts the session. */
static void
add_session(struct indexes *s, const struct ps_ip *local, const struct ps_ip *remote)
{
	uint32_t out = 0;

	add_index(s, find_owner(local));
	if (ps_route_to(remote, &out, NULL) == 0)
		add_index(s, out);
}

static void
add_if_ssh(const struct sock_line *line, void *arg)
{
	struct ssh *ssh = arg;

	if (line->state == TCP_ESTABLISHED &&
		(line->local_port == SSH_PORT || line->local_port == ssh->port))
		add_session(ssh->s, &line->local, &line->remote);
}

/* connection is "client port server port". */
static void
find_ssh(const char *connection, struct indexes *s)
{
	struct ssh ssh = {.s = s};
	char client[64], server[64];
	struct ps_ip local, remote;

	if (connection != NULL &&
		sscanf(connection, "%63s %*u %63s %u", client, server, &ssh.port) == 3 &&
		ps_ip_parse(client, &remote) && ps_ip_parse(server, &local))
		add_session(s, &local, &remote);
	each_socket("tcp", add_if_ssh, &ssh);
	each_socket("tcp6", add_if_ssh, &ssh);
}

/* -- uses -- */

struct links {
	struct ps_iface *list;
	unsigned int n;
};

static bool
carries_any(const struct links *l, uint32_t lower, const struct indexes *s)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (ps_iface_carries(l->list, l->n, lower, s->at[i]))
			return true;
	return false;
}

static void
find_masters(const struct links *l, const struct ps_iface *self, struct ps_iface_uses *u)
{
	for (unsigned int i = 0; i < l->n; i++) {
		const struct ps_iface *x = &l->list[i];

		if (x->index != self->index && x->lower == self->index)
			u->stacked = true;
		if (x->index != self->index && x->index != self->master)
			continue;
		if (strcmp(x->kind, "bond") == 0 || strcmp(x->kind, "team") == 0)
			u->bond = true;
		else if (strcmp(x->kind, "bridge") == 0 || x->index == self->master)
			u->bridge = true;
	}
}

static void
put_reasons(struct ps_iface_uses *u)
{
	const char *reasons[] = {u->default_route ? "carries the default route" : NULL,
		u->ssh ? "carries an SSH session" : NULL, u->bond ? "belongs to a bond" : NULL,
		u->bridge ? "belongs to a bridge" : NULL,
		u->stacked ? "has a VLAN or the like on top" : NULL};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i] != NULL && at < sizeof(u->why))
			at += (size_t)snprintf(u->why + at, sizeof(u->why) - at, "%s%s",
				at ? ", " : "", reasons[i]);
}

int
ps_iface_uses(
	const char *name, const char *ssh_connection, struct ps_iface_uses *u, struct ps_err *err)
{
	struct indexes routes = {0}, ssh = {0};
	struct links l = {0};
	struct ps_iface self;
	int ret = ps_iface_get(name, &self, err);

	memset(u, 0, sizeof(*u));
	if (ret == 0)
		ret = ps_iface_list(&l.list, &l.n, err);
	if (ret == 0)
		ret = find_default_routes(&routes, err);
	if (ret == 0) {
		find_ssh(ssh_connection, &ssh);
		u->default_route = carries_any(&l, self.index, &routes);
		u->ssh = carries_any(&l, self.index, &ssh);
		find_masters(&l, &self, u);
		put_reasons(u);
	}
	free(l.list);
	return ret;
}

/* -- UDP ports -- */

struct bound {
	uint16_t port;
	bool ipv6;
	struct ps_udp_socket *out;
	int n, max;
};

static void
add_if_bound(const struct sock_line *line, void *arg)
{
	struct bound *b = arg;

	if (line->local_port != b->port)
		return;
	if (b->n < b->max)
		b->out[b->n] = (struct ps_udp_socket){.addr = line->local,
			.ipv6 = b->ipv6,
			.uid = line->uid,
			.inode = line->inode};
	b->n++;
}

static void
read_comm(pid_t pid, char comm[16])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(comm, 16, f) == NULL)
		comm[0] = 0;
	comm[strcspn(comm, "\n")] = 0;
	fclose(f);
}

static void
match_fds(pid_t pid, struct ps_udp_socket *out, int n)
{
	char path[64], target[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		ssize_t len = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		unsigned long long inode;

		if (len < 0)
			continue;
		target[len] = 0;
		if (sscanf(target, "socket:[%llu]", &inode) != 1)
			continue;
		for (int i = 0; i < n; i++)
			if (out[i].inode == inode && out[i].pid == 0) {
				out[i].pid = pid;
				read_comm(pid, out[i].comm);
			}
	}
	if (d != NULL)
		closedir(d);
}

int
ps_udp_bound(uint16_t port, struct ps_udp_socket *out, int max, struct ps_err *err)
{
	struct bound b = {.port = port, .out = out, .max = max};
	struct dirent *e;
	DIR *d = opendir("/proc");

	if (d == NULL)
		return ps_fail(err, errno, "/proc: %s: mount it", strerror(errno));
	each_socket("udp", add_if_bound, &b);
	b.ipv6 = true;
	each_socket("udp6", add_if_bound, &b);
	while (b.n > 0 && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			match_fds((pid_t)atoi(e->d_name), out, b.n < max ? b.n : max);
	closedir(d);
	return b.n;
}
