/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "linkmon.h"

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "ethtool.h"
#include "nl.h"

/* An announcement of a link with many virtual functions is cut by the kernel below this. */
#define MESSAGE_BYTES 32768

static struct mnl_socket *
subscribe(int bus, unsigned int group)
{
	struct mnl_socket *s = mnl_socket_open2(bus, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (s != NULL && mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) == 0 &&
		mnl_socket_setsockopt(s, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) == 0)
		return s;
	if (s != NULL)
		mnl_socket_close(s);
	return NULL;
}

static int
read_state(struct ps_linkmon *m, const char *ifname, struct ps_iface *link, bool *ntuple,
	struct ps_err *err)
{
	struct ps_feature f;
	int ret = ps_iface_get(ifname, link, err);

	if (ret == 0)
		ret = ps_feature_get(ifname, "rx-ntuple-filter", &f, err);
	if (ret == 0) {
		*ntuple = f.active;
		m->ntuple_bit = f.index;
	}
	return ret;
}

int
ps_linkmon_open(struct ps_linkmon *m, const char *ifname, struct ps_err *err)
{
	uint32_t group = 0;
	int ret;

	memset(m, 0, sizeof(*m));
	ret = ps_nl_ethtool_id(&m->family, &group, err);
	if (ret < 0)
		return ret;
	m->route = subscribe(NETLINK_ROUTE, RTNLGRP_LINK);
	m->ethtool = subscribe(NETLINK_GENERIC, group);
	if (m->route == NULL || m->ethtool == NULL)
		ret = ps_fail(
			err, errno, "%s: no netlink announcements: %s", ifname, strerror(errno));
	else /* Only now, so that nothing falls between. */
		ret = read_state(m, ifname, &m->link, &m->ntuple, err);
	if (ret < 0)
		ps_linkmon_close(m);
	return ret;
}

void
ps_linkmon_close(struct ps_linkmon *m)
{
	if (m->route != NULL)
		mnl_socket_close(m->route);
	if (m->ethtool != NULL)
		mnl_socket_close(m->ethtool);
	m->route = m->ethtool = NULL;
}

void
ps_linkmon_fds(const struct ps_linkmon *m, int fds[2])
{
	fds[0] = mnl_socket_get_fd(m->route);
	fds[1] = mnl_socket_get_fd(m->ethtool);
}

/* Takes over the new state and tells how it differs. */
static int
update_link(struct ps_linkmon *m, const struct ps_iface *now)
{
	const struct ps_iface *was = &m->link;
	bool before = was->up && was->carrier, after = now->up && now->carrier;
	int changes = 0;

	if (before != after)
		changes |= after ? PS_LINK_UP : PS_LINK_DOWN;
	if (memcmp(was->mac, now->mac, sizeof(now->mac)) != 0)
		changes |= PS_LINK_MAC;
	if (was->mtu != now->mtu)
		changes |= PS_LINK_MTU;
	if (was->master != now->master)
		changes |= PS_LINK_MASTER;
	if (was->prog_id != now->prog_id || was->xdp_mode != now->xdp_mode)
		changes |= PS_LINK_XDP;
	if (strcmp(was->name, now->name) != 0)
		changes |= PS_LINK_NAME;
	m->link = *now;
	return changes;
}

static int
update_ntuple(struct ps_linkmon *m, bool on)
{
	bool was = m->ntuple;

	m->ntuple = on;
	return was == on ? 0 : on ? PS_LINK_NTUPLE_ON : PS_LINK_NTUPLE_OFF;
}

static int
on_route(struct ps_linkmon *m, const struct nlmsghdr *h)
{
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);
	struct ps_iface now;

	/* A bridge announces its ports in a family of its own, with less in it. */
	if ((h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK) ||
		mnl_nlmsg_get_payload_len(h) < sizeof(*i) || i->ifi_family != AF_UNSPEC)
		return 0;
	ps_iface_read(h, &now);
	if (now.index != m->link.index)
		return 0;
	if (h->nlmsg_type == RTM_NEWLINK)
		return update_link(m, &now);
	m->gone = true;
	return PS_LINK_GONE;
}

/* Announcements have the bitmap itself, not names. */
static bool
get_bit(const struct nlattr *bitset, uint32_t bit, bool *value)
{
	const struct nlattr *set[ETHTOOL_A_BITSET_MAX + 1];
	uint32_t word;

	ps_nl_nest(bitset, set, ETHTOOL_A_BITSET_MAX);
	if (set[ETHTOOL_A_BITSET_VALUE] == NULL ||
		mnl_attr_get_payload_len(set[ETHTOOL_A_BITSET_VALUE]) < 4 * (bit / 32 + 1))
		return false;
	memcpy(&word,
		(const char *)mnl_attr_get_payload(set[ETHTOOL_A_BITSET_VALUE]) + 4 * (bit / 32),
		sizeof(word));
	*value = (word >> bit % 32) & 1;
	return true;
}

static int
on_features(struct ps_linkmon *m, const struct nlattr *active)
{
	bool on;
	int change;

	if (!get_bit(active, m->ntuple_bit, &on))
		return PS_LINK_FEATURES;
	change = update_ntuple(m, on);
	return change ? change : PS_LINK_FEATURES;
}

static int
on_ethtool(struct ps_linkmon *m, const struct nlmsghdr *h)
{
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[ETHTOOL_A_FEATURES_ACTIVE + 1],
		*head[ETHTOOL_A_HEADER_DEV_INDEX + 1];

	if (h->nlmsg_type != m->family || mnl_nlmsg_get_payload_len(h) < sizeof(*g))
		return 0;
	/* The header is attribute 1 in each of the messages. */
	ps_nl_attrs(h, sizeof(*g), tb, ETHTOOL_A_FEATURES_ACTIVE);
	ps_nl_nest(tb[ETHTOOL_A_FEATURES_HEADER], head, ETHTOOL_A_HEADER_DEV_INDEX);
	if (ps_nl_u32(head[ETHTOOL_A_HEADER_DEV_INDEX]) != m->link.index)
		return 0;
	switch (g->cmd) {
	case ETHTOOL_MSG_FEATURES_NTF:
		return on_features(m, tb[ETHTOOL_A_FEATURES_ACTIVE]);
	case ETHTOOL_MSG_RINGS_NTF:
		return PS_LINK_RINGS;
	case ETHTOOL_MSG_CHANNELS_NTF:
		return PS_LINK_CHANNELS;
	}
	return PS_LINK_SETTINGS;
}

/* Changes, -ENOBUFS when some were lost, or another -errno. */
static int
drain(struct ps_linkmon *m, struct mnl_socket *s,
	int (*on)(struct ps_linkmon *m, const struct nlmsghdr *h))
{
	static _Alignas(struct nlmsghdr) char buf[MESSAGE_BYTES]; /* control thread only */
	int changes = 0;

	for (;;) {
		ssize_t n = mnl_socket_recvfrom(s, buf, sizeof(buf));
		const struct nlmsghdr *h = (const void *)buf;
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		/* Cut off, or the queue was full: what it said must be read. */
		if (n < 0 && (errno == ENOBUFS || errno == ENOSPC)) {
			changes |= PS_LINK_MISSED;
			continue;
		}
		if (n < 0)
			return errno == EAGAIN ? changes : -errno;
		for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left))
			changes |= on(m, h);
	}
}

static int
read_anew(struct ps_linkmon *m)
{
	struct ps_iface now;
	bool ntuple = m->ntuple;
	int ret = read_state(m, m->link.name, &now, &ntuple, NULL);

	if (ret < 0 || now.index != m->link.index) {
		m->gone = true;
		return PS_LINK_GONE;
	}
	return update_link(m, &now) | update_ntuple(m, ntuple);
}

int
ps_linkmon_poll(struct ps_linkmon *m, struct ps_err *err)
{
	int route = drain(m, m->route, on_route);
	int ethtool = drain(m, m->ethtool, on_ethtool);
	int ret = route < 0 ? route : ethtool;

	if (ret < 0)
		return ps_fail(
			err, -ret, "%s: netlink announcements: %s", m->link.name, strerror(-ret));
	ret |= route;
	if ((ret & PS_LINK_MISSED) && !m->gone)
		ret |= read_anew(m);
	return ret;
}

const char *
ps_link_change_text(int changes, char *text, size_t size)
{
	static const char *const words[] = {"interface gone", "link down", "link up",
		"MAC address changed", "MTU changed", "bond or bridge changed",
		"XDP program changed", "ntuple-filters turned off", "ntuple-filters turned on",
		"offloads changed", "rings changed", "channels changed", "renamed",
		"some announcements lost", "other settings changed"};
	size_t at = 0;

	if (size > 0)
		text[0] = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && at < size; i++)
		if (changes & (1 << i))
			at += (size_t)snprintf(
				text + at, size - at, "%s%s", at ? ", " : "", words[i]);
	return text;
}
