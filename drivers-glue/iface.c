/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "iface.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nl.h"

static void
copy_mac(const struct nlattr *a, uint8_t mac[PS_IFACE_ADDR])
{
	if (a != NULL && mnl_attr_get_payload_len(a) == PS_IFACE_ADDR)
		memcpy(mac, mnl_attr_get_payload(a), PS_IFACE_ADDR);
}

static void
copy_name(const struct nlattr *a, char *to, size_t size)
{
	if (a != NULL && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) == 0)
		snprintf(to, size, "%s", mnl_attr_get_str(a));
}

/* veth and netkit name their peer where a stacked interface names what it stands on. */
static bool
is_stacked(const char *kind)
{
	return kind[0] != 0 && strcmp(kind, "veth") != 0 && strcmp(kind, "netkit") != 0;
}

void
ps_iface_read(const struct nlmsghdr *h, struct ps_iface *out)
{
	const struct nlattr *tb[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1], *xdp[IFLA_XDP_MAX + 1];
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(h);

	memset(out, 0, sizeof(*out));
	if (mnl_nlmsg_get_payload_len(h) < sizeof(*link))
		return;
	ps_nl_attrs(h, sizeof(*link), tb, IFLA_MAX);
	ps_nl_nest(tb[IFLA_LINKINFO], info, IFLA_INFO_MAX);
	ps_nl_nest(tb[IFLA_XDP], xdp, IFLA_XDP_MAX);
	out->index = (uint32_t)link->ifi_index;
	out->up = (link->ifi_flags & IFF_UP) != 0;
	out->carrier = (link->ifi_flags & IFF_RUNNING) != 0;
	out->promisc = (link->ifi_flags & IFF_PROMISC) != 0;
	copy_name(tb[IFLA_IFNAME], out->name, sizeof(out->name));
	copy_name(info[IFLA_INFO_KIND], out->kind, sizeof(out->kind));
	out->master = ps_nl_u32(tb[IFLA_MASTER]);
	/* An index in another network namespace means nothing here. */
	if (is_stacked(out->kind) && tb[IFLA_LINK_NETNSID] == NULL)
		out->lower = ps_nl_u32(tb[IFLA_LINK]);
	out->mtu = ps_nl_u32(tb[IFLA_MTU]);
	out->max_mtu = ps_nl_u32(tb[IFLA_MAX_MTU]);
	out->n_vfs = ps_nl_u32(tb[IFLA_NUM_VF]);
	out->xdp_mode = ps_nl_u8(xdp[IFLA_XDP_ATTACHED]);
	out->prog_id = ps_nl_u32(xdp[IFLA_XDP_PROG_ID]);
	/* In both modes at once: the driver's is the one that sees the packets first. */
	if (out->prog_id == 0)
		out->prog_id = ps_nl_u32(xdp[IFLA_XDP_DRV_PROG_ID]);
	copy_mac(tb[IFLA_ADDRESS], out->mac);
	copy_mac(tb[IFLA_PERM_ADDRESS], out->perm_mac);
}

static int
read_link(const struct nlmsghdr *h, void *arg)
{
	ps_iface_read(h, arg);
	return 0;
}

/* A request about one interface by name; flags of IFF_* that are set or cleared by it. */
static void
put_link(struct ps_nl *nl, uint16_t type, const char *name, unsigned int flags, unsigned int mask)
{
	struct ifinfomsg *link = ps_nl_route(nl, type, 0, sizeof(*link));

	link->ifi_flags = flags;
	link->ifi_change = mask;
	mnl_attr_put_strz(nl->head, IFLA_IFNAME, name);
}

static bool
is_name(const char *name)
{
	return name[0] != 0 && strlen(name) < IF_NAMESIZE;
}

static int
fail_name(const char *name, struct ps_err *err)
{
	return ps_fail(err, ENODEV, "%.64s: there is no such interface: see ip link", name);
}

int
ps_iface_get(const char *name, struct ps_iface *out, struct ps_err *err)
{
	struct ps_nl nl;
	char what[64];
	int ret;

	memset(out, 0, sizeof(*out));
	if (!is_name(name))
		return fail_name(name, err);
	put_link(&nl, RTM_GETLINK, name, 0, 0);
	mnl_attr_put_u32(nl.head, IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
	snprintf(what, sizeof(what), "%s: reading the link", name);
	ret = ps_nl_talk(&nl, read_link, out, what, err);
	return ret == -ENODEV ? fail_name(name, err) : ret;
}

struct list {
	struct ps_iface *links;
	unsigned int n;
};

static int
add_link(const struct nlmsghdr *h, void *arg)
{
	struct list *l = arg;
	struct ps_iface *grown = realloc(l->links, (l->n + 1) * sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	l->links = grown;
	ps_iface_read(h, &l->links[l->n++]);
	return 0;
}

int
ps_iface_list(struct ps_iface **list, unsigned int *n, struct ps_err *err)
{
	struct list l = {0};
	int ret = -EINTR;

	for (int tries = 0; tries < 5 && ret == -EINTR; tries++) {
		struct ps_nl nl;

		free(l.links);
		l = (struct list){0};
		ps_nl_route(&nl, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
		mnl_attr_put_u32(nl.head, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
		ret = ps_nl_talk(&nl, add_link, &l, "reading the list of interfaces", err);
	}
	if (ret < 0) {
		free(l.links);
		return ret;
	}
	*list = l.links;
	*n = l.n;
	return 0;
}

const struct ps_iface *
ps_iface_by_index(const struct ps_iface *list, unsigned int n, uint32_t index)
{
	for (unsigned int i = 0; i < n; i++)
		if (list[i].index == index)
			return &list[i];
	return NULL;
}

static bool
carries(const struct ps_iface *list, unsigned int n, uint32_t lower, uint32_t upper,
	unsigned int depth)
{
	/* Deeper than the kernel nests: a circle of names that changed while listed. */
	if (lower == upper || depth > 8)
		return lower == upper;
	for (unsigned int i = 0; i < n; i++) {
		bool above = list[i].lower == lower;

		if (list[i].index == lower && list[i].master != 0 &&
			carries(list, n, list[i].master, upper, depth + 1))
			return true;
		if (above && list[i].index != lower &&
			carries(list, n, list[i].index, upper, depth + 1))
			return true;
	}
	return false;
}

bool
ps_iface_carries(const struct ps_iface *list, unsigned int n, uint32_t lower, uint32_t upper)
{
	return lower != 0 && carries(list, n, lower, upper, 0);
}

static int
change(struct ps_nl *nl, const char *name, const char *to, struct ps_err *err)
{
	char what[96];

	snprintf(what, sizeof(what), "%s: setting %s", name, to);
	return ps_nl_talk(nl, NULL, NULL, what, err);
}

int
ps_iface_set_mtu(const char *name, uint32_t mtu, struct ps_err *err)
{
	struct ps_iface now;
	struct ps_nl nl;
	char to[32];
	int ret = ps_iface_get(name, &now, err);

	if (ret < 0 || now.mtu == mtu)
		return ret;
	put_link(&nl, RTM_SETLINK, name, 0, 0);
	mnl_attr_put_u32(nl.head, IFLA_MTU, mtu);
	snprintf(to, sizeof(to), "mtu %u", mtu);
	return change(&nl, name, to, err);
}

int
ps_iface_set_up(const char *name, bool up, struct ps_err *err)
{
	struct ps_nl nl;

	if (!is_name(name))
		return fail_name(name, err);
	put_link(&nl, RTM_SETLINK, name, up ? IFF_UP : 0, IFF_UP);
	return change(&nl, name, up ? "up" : "down", err);
}

int
ps_iface_set_mac(const char *name, const uint8_t mac[PS_IFACE_ADDR], struct ps_err *err)
{
	struct ps_nl nl;

	if (!is_name(name))
		return fail_name(name, err);
	put_link(&nl, RTM_SETLINK, name, 0, 0);
	mnl_attr_put(nl.head, IFLA_ADDRESS, PS_IFACE_ADDR, mac);
	return change(&nl, name, "its MAC address", err);
}

void
ps_mac_text(const uint8_t mac[PS_IFACE_ADDR], char text[PS_MAC_TEXT])
{
	snprintf(text, PS_MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
}

bool
ps_mac_parse(const char *text, uint8_t mac[PS_IFACE_ADDR])
{
	char again[PS_MAC_TEXT];
	unsigned int b[PS_IFACE_ADDR];

	if (strlen(text) != PS_MAC_TEXT - 1 || sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1],
						       &b[2], &b[3], &b[4], &b[5]) != 6)
		return false;
	for (int i = 0; i < PS_IFACE_ADDR; i++)
		mac[i] = (uint8_t)b[i];
	ps_mac_text(mac, again);
	return strcasecmp(text, again) == 0;
}

/* -- virtual functions -- */

struct vf_lookup {
	uint32_t vf;
	struct ps_vf *out;
	bool found;
};

static int
read_vf(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[IFLA_MAX + 1], *a;
	struct vf_lookup *l = arg;

	ps_nl_attrs(h, sizeof(struct ifinfomsg), tb, IFLA_MAX);
	if (tb[IFLA_VFINFO_LIST] == NULL)
		return 0;
	mnl_attr_for_each_nested(a, tb[IFLA_VFINFO_LIST])
	{
		const struct nlattr *vf[IFLA_VF_MAX + 1];
		const struct ifla_vf_mac *mac;
		const struct ifla_vf_spoofchk *spoofchk;
		const struct ifla_vf_trust *trust;

		ps_nl_nest(a, vf, IFLA_VF_MAX);
		if (vf[IFLA_VF_MAC] == NULL ||
			mnl_attr_get_payload_len(vf[IFLA_VF_MAC]) < sizeof(*mac))
			continue;
		mac = mnl_attr_get_payload(vf[IFLA_VF_MAC]);
		if (mac->vf != l->vf)
			continue;
		memcpy(l->out->mac, mac->mac, PS_IFACE_ADDR);
		if (vf[IFLA_VF_SPOOFCHK]) {
			spoofchk = mnl_attr_get_payload(vf[IFLA_VF_SPOOFCHK]);
			l->out->spoofchk = spoofchk->setting == 1;
		}
		if (vf[IFLA_VF_TRUST]) {
			trust = mnl_attr_get_payload(vf[IFLA_VF_TRUST]);
			l->out->trust = trust->setting == 1;
		}
		l->found = true;
	}
	return 0;
}

int
ps_vf_get(const char *name, uint32_t vf, struct ps_vf *out, struct ps_err *err)
{
	struct vf_lookup l = {.vf = vf, .out = out};
	struct ps_nl nl;
	char what[64];
	int ret;

	memset(out, 0, sizeof(*out));
	if (!is_name(name))
		return fail_name(name, err);
	put_link(&nl, RTM_GETLINK, name, 0, 0);
	mnl_attr_put_u32(nl.head, IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
	snprintf(what, sizeof(what), "%s: reading virtual functions", name);
	ret = ps_nl_talk(&nl, read_vf, &l, what, err);
	if (ret == 0 && !l.found)
		return ps_fail(err, ENOENT,
			"%s: has no virtual function %u: echo %u > "
			"/sys/class/net/%s/device/sriov_numvfs",
			name, vf, vf + 1, name);
	return ret;
}

static int
set_vf(const char *name, uint32_t vf, uint16_t attr, const void *value, size_t bytes,
	const char *what, struct ps_err *err)
{
	struct nlattr *list, *one;
	struct ps_nl nl;
	struct ps_vf now;
	char to[64];
	int ret = ps_vf_get(name, vf, &now, err);

	if (ret < 0)
		return ret;
	put_link(&nl, RTM_SETLINK, name, 0, 0);
	list = mnl_attr_nest_start(nl.head, IFLA_VFINFO_LIST);
	one = mnl_attr_nest_start(nl.head, IFLA_VF_INFO);
	mnl_attr_put(nl.head, attr, bytes, value);
	mnl_attr_nest_end(nl.head, one);
	mnl_attr_nest_end(nl.head, list);
	snprintf(to, sizeof(to), "vf %u %s", vf, what);
	return change(&nl, name, to, err);
}

int
ps_vf_set_mac(const char *name, uint32_t vf, const uint8_t mac[PS_IFACE_ADDR], struct ps_err *err)
{
	struct ifla_vf_mac value = {.vf = vf};
	char text[PS_MAC_TEXT], what[32];

	memcpy(value.mac, mac, PS_IFACE_ADDR);
	ps_mac_text(mac, text);
	snprintf(what, sizeof(what), "mac %s", text);
	return set_vf(name, vf, IFLA_VF_MAC, &value, sizeof(value), what, err);
}

int
ps_vf_set_spoofchk(const char *name, uint32_t vf, bool on, struct ps_err *err)
{
	struct ifla_vf_spoofchk value = {.vf = vf, .setting = on};

	return set_vf(name, vf, IFLA_VF_SPOOFCHK, &value, sizeof(value),
		on ? "spoofchk on" : "spoofchk off", err);
}

int
ps_vf_set_trust(const char *name, uint32_t vf, bool on, struct ps_err *err)
{
	struct ifla_vf_trust value = {.vf = vf, .setting = on};

	return set_vf(
		name, vf, IFLA_VF_TRUST, &value, sizeof(value), on ? "trust on" : "trust off", err);
}
