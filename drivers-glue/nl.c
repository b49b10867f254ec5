/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "nl.h"

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A link with 256 virtual functions answers in one message of about 100 KiB. */
#define ANSWER_BYTES (256 * 1024)

void *
ps_nl_route(struct ps_nl *nl, uint16_t type, uint16_t flags, size_t header_bytes)
{
	nl->bus = NETLINK_ROUTE;
	nl->head = mnl_nlmsg_put_header(nl->buf);
	nl->head->nlmsg_type = type;
	nl->head->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(nl->head, header_bytes);
}

static void
put_genl(struct ps_nl *nl, uint16_t family, uint8_t cmd, uint8_t version)
{
	struct genlmsghdr *g;

	nl->bus = NETLINK_GENERIC;
	nl->head = mnl_nlmsg_put_header(nl->buf);
	nl->head->nlmsg_type = family;
	nl->head->nlmsg_flags = NLM_F_REQUEST;
	g = mnl_nlmsg_put_extra_header(nl->head, sizeof(*g));
	g->cmd = cmd;
	g->version = version;
}

int
ps_nl_ethtool(
	struct ps_nl *nl, uint8_t cmd, uint16_t header_attr, const char *ifname, struct ps_err *err)
{
	struct nlattr *nest;
	uint16_t family;
	uint32_t group;
	int ret = ps_nl_ethtool_id(&family, &group, err);

	if (ret < 0)
		return ret;
	put_genl(nl, family, cmd, ETHTOOL_GENL_VERSION);
	nest = mnl_attr_nest_start(nl->head, header_attr);
	mnl_attr_put_strz(nl->head, ETHTOOL_A_HEADER_DEV_NAME, ifname);
	mnl_attr_nest_end(nl->head, nest);
	return 0;
}

struct table {
	const struct nlattr **tb;
	unsigned int max;
};

static int
keep_attr(const struct nlattr *a, void *arg)
{
	struct table *t = arg;

	if (mnl_attr_get_type(a) <= t->max)
		t->tb[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

void
ps_nl_attrs(
	const struct nlmsghdr *h, size_t header_bytes, const struct nlattr **tb, unsigned int max)
{
	struct table t = {tb, max};

	memset(tb, 0, (max + 1) * sizeof(tb[0]));
	if (mnl_nlmsg_get_payload_len(h) >= MNL_ALIGN(header_bytes))
		mnl_attr_parse(h, (unsigned int)header_bytes, keep_attr, &t);
}

void
ps_nl_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max)
{
	struct table t = {tb, max};

	memset(tb, 0, (max + 1) * sizeof(tb[0]));
	if (nest != NULL)
		mnl_attr_parse_nested(nest, keep_attr, &t);
}

uint32_t
ps_nl_u32(const struct nlattr *a)
{
	return a && mnl_attr_get_payload_len(a) >= sizeof(uint32_t) ? mnl_attr_get_u32(a) : 0;
}

uint8_t
ps_nl_u8(const struct nlattr *a)
{
	return a && mnl_attr_get_payload_len(a) >= sizeof(uint8_t) ? mnl_attr_get_u8(a) : 0;
}

/* The error number of an NLMSG_ERROR (0 is an acknowledgement), and the kernel's words if any. */
static int
read_error(const struct nlmsghdr *h, char *words, size_t size)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
	size_t header = sizeof(*e);
	const struct nlattr *tb[NLMSGERR_ATTR_MSG + 1];

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*e))
		return -EBADMSG;
	if ((h->nlmsg_flags & NLM_F_ACK_TLVS) == 0)
		return e->error;
	if ((h->nlmsg_flags & NLM_F_CAPPED) == 0)
		header += MNL_ALIGN(e->msg.nlmsg_len) - MNL_NLMSG_HDRLEN;
	ps_nl_attrs(h, header, tb, NLMSGERR_ATTR_MSG);
	if (tb[NLMSGERR_ATTR_MSG] &&
		mnl_attr_validate(tb[NLMSGERR_ATTR_MSG], MNL_TYPE_NUL_STRING) == 0)
		snprintf(words, size, "%s", mnl_attr_get_str(tb[NLMSGERR_ATTR_MSG]));
	return e->error;
}

struct answers {
	ps_nl_fn *fn;
	void *arg;
	bool done, interrupted;
	char words[256];
};

static int
walk(const char *buf, ssize_t bytes, struct answers *a)
{
	const struct nlmsghdr *h = (const void *)buf;
	int left = (int)bytes, ret = 0;

	for (; ret == 0 && !a->done && mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			a->interrupted = true;
		if (h->nlmsg_type == NLMSG_ERROR) {
			ret = read_error(h, a->words, sizeof(a->words));
			a->done = true;
		} else if (h->nlmsg_type == NLMSG_DONE) {
			if (mnl_nlmsg_get_payload_len(h) >= sizeof(int))
				ret = *(const int *)mnl_nlmsg_get_payload(h);
			a->done = true;
		} else if (a->fn != NULL) {
			ret = a->fn(h, a->arg);
		}
	}
	return ret < 0 ? ret : 0;
}

static int
exchange(struct mnl_socket *s, struct ps_nl *nl, struct answers *a)
{
	char *buf = malloc(ANSWER_BYTES);
	int ret = 0;

	if (buf == NULL)
		return -ENOMEM;
	if (mnl_socket_sendto(s, nl->head, nl->head->nlmsg_len) < 0)
		ret = -errno;
	while (ret == 0 && !a->done) {
		ssize_t n = mnl_socket_recvfrom(s, buf, ANSWER_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		ret = n < 0 ? -errno : n == 0 ? -EPIPE : walk(buf, n, a);
	}
	free(buf);
	return ret == 0 && a->interrupted ? -EINTR : ret;
}

int
ps_nl_talk(struct ps_nl *nl, ps_nl_fn *fn, void *arg, const char *what, struct ps_err *err)
{
	struct answers a = {.fn = fn, .arg = arg};
	struct mnl_socket *s = mnl_socket_open2(nl->bus, SOCK_CLOEXEC);
	int one = 1, ret;

	if (s == NULL)
		return ps_fail(err, errno, "%s: no netlink socket: %s", what, strerror(errno));
	/* Only for better words: older kernels do without. */
	mnl_socket_setsockopt(s, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(s, NETLINK_CAP_ACK, &one, sizeof(one));
	if ((nl->head->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		nl->head->nlmsg_flags |= NLM_F_ACK;
	ret = mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : exchange(s, nl, &a);
	mnl_socket_close(s);
	if (ret == -EPERM)
		return ps_fail(err, EPERM, "%s: not permitted: run as root", what);
	if (ret < 0)
		return ps_fail(err, -ret, "%s: %s%s%s", what, strerror(-ret),
			a.words[0] ? ": " : "", a.words);
	return 0;
}

struct ids {
	uint16_t family;
	uint32_t group;
};

static int
read_family(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[CTRL_ATTR_MCAST_GROUPS + 1], *g;
	struct ids *ids = arg;

	ps_nl_attrs(h, sizeof(struct genlmsghdr), tb, CTRL_ATTR_MCAST_GROUPS);
	if (tb[CTRL_ATTR_FAMILY_ID])
		ids->family = mnl_attr_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	if (tb[CTRL_ATTR_MCAST_GROUPS] == NULL)
		return 0;
	mnl_attr_for_each_nested(g, tb[CTRL_ATTR_MCAST_GROUPS])
	{
		const struct nlattr *one[CTRL_ATTR_MCAST_GRP_ID + 1];

		ps_nl_nest(g, one, CTRL_ATTR_MCAST_GRP_ID);
		if (one[CTRL_ATTR_MCAST_GRP_NAME] &&
			strcmp(mnl_attr_get_str(one[CTRL_ATTR_MCAST_GRP_NAME]),
				ETHTOOL_MCGRP_MONITOR_NAME) == 0)
			ids->group = ps_nl_u32(one[CTRL_ATTR_MCAST_GRP_ID]);
	}
	return 0;
}

int
ps_nl_ethtool_id(uint16_t *family, uint32_t *monitor_group, struct ps_err *err)
{
	struct ids ids = {0};
	struct ps_nl nl;
	int ret;

	put_genl(&nl, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nl.head, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
	ret = ps_nl_talk(&nl, read_family, &ids, "ethtool netlink (kernel 5.6 or later)", err);
	*family = ids.family;
	*monitor_group = ids.group;
	return ret;
}
