/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Settings, links, uses and announcements on a veth pair, a multi-queue TAP and a bridge in a
 * network namespace that this process makes for itself and that ends with it. Without the right to
 * make one, only what needs no interface is tested. */

#include <CUnit/Basic.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/route.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ethtool.h"
#include "hostnet.h"
#include "iface.h"
#include "linkmon.h"
#include "nl.h"
#include "ntuple.h"
#include "settings.h"

#define VETH   "psk0"
#define PEER   "psk1"
#define TAP    "pst0"
#define BRIDGE "psb0"

static struct ps_err err;
static char text[PS_SETTING_BYTES];
static int tap_fd = -1;
static bool has_bridge;

/* -- the namespace -- */

static int
add_link(const char *name, const char *kind, const char *peer)
{
	struct nlattr *info, *data, *other;
	struct ps_nl nl;

	ps_nl_route(&nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nl.head, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(nl.head, IFLA_LINKINFO);
	mnl_attr_put_strz(nl.head, IFLA_INFO_KIND, kind);
	if (peer != NULL) {
		data = mnl_attr_nest_start(nl.head, IFLA_INFO_DATA);
		other = mnl_attr_nest_start(nl.head, VETH_INFO_PEER);
		mnl_nlmsg_put_extra_header(nl.head, sizeof(struct ifinfomsg));
		mnl_attr_put_strz(nl.head, IFLA_IFNAME, peer);
		mnl_attr_nest_end(nl.head, other);
		mnl_attr_nest_end(nl.head, data);
	}
	mnl_attr_nest_end(nl.head, info);
	return ps_nl_talk(&nl, NULL, NULL, name, &err);
}

static int
set_master(const char *name, uint32_t master)
{
	struct ps_nl nl;

	ps_nl_route(&nl, RTM_SETLINK, 0, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nl.head, IFLA_IFNAME, name);
	mnl_attr_put_u32(nl.head, IFLA_MASTER, master);
	return ps_nl_talk(&nl, NULL, NULL, name, &err);
}

static int
add_tap(void)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE};

	strcpy(ifr.ifr_name, TAP);
	tap_fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	return tap_fd < 0 || ioctl(tap_fd, TUNSETIFF, &ifr) < 0 ? -errno : 0;
}

/* The address with a /24 network. */
static int
set_addr(const char *name, const char *addr)
{
	struct ifreq ifr = {0};
	struct sockaddr_in sin = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	inet_pton(AF_INET, addr, &sin.sin_addr);
	memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
	ret = ioctl(fd, SIOCSIFADDR, &ifr);
	inet_pton(AF_INET, "255.255.255.0", &sin.sin_addr);
	memcpy(&ifr.ifr_netmask, &sin, sizeof(sin));
	ret |= ioctl(fd, SIOCSIFNETMASK, &ifr);
	close(fd);
	return ret;
}

static int
add_default_route(char *name)
{
	struct rtentry r = {.rt_flags = RTF_UP, .rt_dev = name};
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	memcpy(&r.rt_dst, &any, sizeof(any));
	memcpy(&r.rt_genmask, &any, sizeof(any));
	ret = ioctl(fd, SIOCADDRT, &r);
	close(fd);
	return ret;
}

/* NULL, or why there is none. */
static const char *
make_namespace(void)
{
	if (geteuid() != 0)
		return "not root";
	if (unshare(CLONE_NEWNET) < 0)
		return "no right to make a network namespace";
	if (add_link(VETH, "veth", PEER) < 0)
		return "no veth in this kernel";
	if (add_tap() < 0)
		return "no TAP in this kernel";
	has_bridge = add_link(BRIDGE, "bridge", NULL) == 0;
	if (!has_bridge)
		printf("no bridge in this kernel: detection of masters is not tested\n");
	return NULL;
}

/* -- settings -- */

/* Changes it, sees it changed, and puts back what was saved. */
static void
round_trip(const char *ifname, const char *key, const char *other)
{
	char saved[256], now[256];

	CU_ASSERT_EQUAL_FATAL(ps_setting_get(ifname, key, saved, sizeof(saved), &err), 0);
	CU_ASSERT_STRING_NOT_EQUAL(saved, other);
	if (ps_setting_set(ifname, key, other, &err) != 0)
		CU_FAIL(err.text);
	CU_ASSERT_EQUAL(ps_setting_get(ifname, key, now, sizeof(now), &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(now, other));
	CU_ASSERT_EQUAL(ps_setting_set(ifname, key, other, &err), 0);
	CU_ASSERT_EQUAL(ps_setting_set(ifname, key, saved, &err), 0);
	CU_ASSERT_EQUAL(ps_setting_get(ifname, key, now, sizeof(now), &err), 0);
	CU_ASSERT_STRING_EQUAL(now, saved);
}

static void
test_round_trips(void)
{
	round_trip(VETH, "mtu", "1400");
	round_trip(TAP, "mtu", "9000");
	round_trip(VETH, "up", "on");
	round_trip(VETH, "mac", "02:00:00:00:00:07");
	round_trip(VETH, "channels", "rx=2");
	round_trip(TAP, "feature.generic-receive-offload", "off");
	round_trip(VETH, "feature.rx-gro", "on");
	round_trip(VETH, "feature.rx-udp-gro-forwarding", "on");
	round_trip(VETH, "feature.tx-gre-segmentation", "off");
	round_trip(TAP, "coalesce", "rx-frames=16");
}

/* tx-checksum-ip-generic of a TAP stays off, whatever is asked, until its owner allows it. */
static void
test_requested(void)
{
	static const char key[] = "feature.tx-checksum-ip-generic",
			  name[] = "tx-checksum-ip-generic";
	struct ps_feature f;

	CU_ASSERT_EQUAL(ps_setting_get(TAP, key, text, sizeof(text), &err), 0);
	CU_ASSERT_STRING_EQUAL_FATAL(text, "off [requested on]");
	CU_ASSERT_EQUAL(ps_setting_set(TAP, key, "off", &err), 0);
	CU_ASSERT_EQUAL(ps_setting_get(TAP, key, text, sizeof(text), &err), 0);
	CU_ASSERT_STRING_EQUAL(text, "off");
	/* A set that does not come true leaves no request behind. */
	CU_ASSERT_EQUAL(ps_feature_set(TAP, name, true, &err), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(ps_feature_get(TAP, name, &f, &err), 0);
	CU_ASSERT(!f.active && !f.wanted && f.changeable);
	CU_ASSERT_EQUAL(ps_setting_set(TAP, key, "off [requested on]", &err), 0);
	CU_ASSERT_EQUAL(ps_setting_get(TAP, key, text, sizeof(text), &err), 0);
	CU_ASSERT_STRING_EQUAL(text, "off [requested on]");
	/* Fixed: restoring what it is does nothing, anything else is refused. */
	CU_ASSERT_EQUAL(
		ps_setting_get(VETH, "feature.ntuple-filters", text, sizeof(text), &err), 0);
	CU_ASSERT_STRING_EQUAL(text, "off [fixed]");
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "feature.ntuple-filters", text, &err), 0);
	CU_ASSERT_EQUAL(ps_feature_set(VETH, "ntuple-filters", true, &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "fixed off"));
}

static void
test_refusals(void)
{
	struct ps_ntuple_table t;
	struct ps_driver d;
	struct ps_vf vf;
	uint32_t n;

	CU_ASSERT_EQUAL(ps_setting_set(VETH, "channels", "rx=999", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "channels", "rx=1 wings=2", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "channels", "rx=1x", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "channels", "rx-max=4", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "mtu", "12x", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "mac", "02:00:00:00:00:0g", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_get(VETH, "wings", text, sizeof(text), &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_get(VETH, "feature.wings", text, sizeof(text), &err), -ENOENT);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "feature.rx-gro", "maybe", &err), -EINVAL);
	CU_ASSERT_EQUAL(ps_setting_get("nosuch0", "mtu", text, sizeof(text), &err), -ENODEV);
	CU_ASSERT_EQUAL(ps_setting_get("nosuch0", "channels", text, sizeof(text), &err), -ENODEV);
	CU_ASSERT_EQUAL(ps_setting_get(TAP, "rss", text, sizeof(text), &err), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(
		ps_setting_get(TAP, "flow-hash-udp4", text, sizeof(text), &err), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(ps_setting_get(TAP, "vf.0.mac", text, sizeof(text), &err), -ENOENT);
	CU_ASSERT_EQUAL(ps_vf_get(VETH, 3, &vf, &err), -ENOENT);
	CU_ASSERT_EQUAL(ps_ntuple_list(VETH, &t, &err), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(ps_params_text(VETH, PS_CHANNELS, text, 6, &err), -ENOSPC);
	CU_ASSERT_EQUAL(ps_driver_get(VETH, &d, &err), 0);
	CU_ASSERT_STRING_EQUAL(d.name, "veth");
	CU_ASSERT_EQUAL(ps_driver_get(TAP, &d, &err), 0);
	CU_ASSERT_STRING_EQUAL(d.bus, "tap");
	CU_ASSERT_EQUAL(ps_params_get(TAP, PS_CHANNELS, "combined-max", &n, &err), 0);
	CU_ASSERT(n >= 2);
	CU_ASSERT_EQUAL(ps_params_get(TAP, PS_CHANNELS, "rx", &n, &err), -ENOENT);
	CU_ASSERT_EQUAL(ps_params_get(TAP, PS_LINKMODES, "speed", &n, &err), 0);
}

/* -- links and their uses -- */

static void
test_link(void)
{
	struct ps_iface i, *list;
	unsigned int n;

	CU_ASSERT_EQUAL_FATAL(ps_iface_get(VETH, &i, &err), 0);
	CU_ASSERT_STRING_EQUAL(i.name, VETH);
	CU_ASSERT_STRING_EQUAL(i.kind, "veth");
	CU_ASSERT(i.index == if_nametoindex(VETH) && i.mtu == 1500);
	CU_ASSERT(i.lower == 0 && i.master == 0 && i.prog_id == 0 && i.n_vfs == 0);
	CU_ASSERT_EQUAL_FATAL(ps_iface_list(&list, &n, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(ps_iface_by_index(list, n, if_nametoindex(TAP)));
	CU_ASSERT_PTR_NULL(ps_iface_by_index(list, n, 4711));
	/* The ends of a veth pair do not stand on each other. */
	CU_ASSERT(!ps_iface_carries(list, n, i.index, if_nametoindex(PEER)));
	free(list);
}

static void
test_carries(void)
{
	/* 1 serves the bond 2, on which the VLAN 3 stands, which serves the bridge 4. */
	static const struct ps_iface list[] = {{.index = 1, .master = 2},
		{.index = 2, .kind = "bond"}, {.index = 3, .kind = "vlan", .lower = 2, .master = 4},
		{.index = 4, .kind = "bridge"}, {.index = 5, .master = 6},
		{.index = 6, .master = 5}};

	for (uint32_t upper = 1; upper <= 4; upper++)
		CU_ASSERT(ps_iface_carries(list, 6, 1, upper));
	CU_ASSERT(!ps_iface_carries(list, 6, 3, 1));
	CU_ASSERT(!ps_iface_carries(list, 6, 1, 5));
	CU_ASSERT(!ps_iface_carries(list, 6, 5, 1)); /* and ends, in a circle */
}

static void
test_bridge(void)
{
	struct ps_iface_uses u;
	struct ps_iface i;
	uint32_t bridge = if_nametoindex(BRIDGE);

	if (!has_bridge)
		return;
	CU_ASSERT_EQUAL(ps_iface_uses(PEER, NULL, &u, &err), 0);
	CU_ASSERT(!u.bridge && !u.bond && u.why[0] == 0);
	CU_ASSERT_EQUAL_FATAL(set_master(PEER, bridge), 0);
	CU_ASSERT_EQUAL(ps_iface_get(PEER, &i, &err), 0);
	CU_ASSERT_EQUAL(i.master, bridge);
	CU_ASSERT_EQUAL(ps_iface_uses(PEER, NULL, &u, &err), 0);
	CU_ASSERT(u.bridge && !u.bond);
	CU_ASSERT_PTR_NOT_NULL(strstr(u.why, "bridge"));
	/* The default route through the bridge is one through its port. */
	CU_ASSERT_EQUAL_FATAL(ps_iface_set_up(BRIDGE, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(set_addr(BRIDGE, "10.9.2.1"), 0);
	CU_ASSERT_EQUAL_FATAL(add_default_route((char *)BRIDGE), 0);
	CU_ASSERT_EQUAL(ps_iface_uses(PEER, "10.9.2.9 5000 10.9.2.1 22", &u, &err), 0);
	CU_ASSERT(u.default_route && u.ssh);
	CU_ASSERT_EQUAL(ps_iface_uses(VETH, "10.9.2.9 5000 10.9.2.1 22", &u, &err), 0);
	CU_ASSERT(!u.default_route && !u.ssh && !u.bridge);
	CU_ASSERT_EQUAL(set_master(PEER, 0), 0);
	CU_ASSERT_EQUAL(ps_iface_set_up(BRIDGE, false, &err), 0);
}

static void
test_routes(void)
{
	struct ps_iface_uses u;
	struct ps_ip ip;
	uint32_t index;

	CU_ASSERT_EQUAL(ps_iface_set_up(VETH, true, &err), 0);
	CU_ASSERT_EQUAL(ps_iface_set_up(PEER, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(set_addr(VETH, "10.9.1.1"), 0);
	CU_ASSERT(ps_ip_parse("10.9.1.7", &ip));
	CU_ASSERT_EQUAL(ps_route_to(&ip, &index, &err), 0);
	CU_ASSERT_EQUAL(index, if_nametoindex(VETH));
	CU_ASSERT(ps_ip_parse("192.0.2.1", &ip));
	CU_ASSERT_EQUAL(ps_route_to(&ip, &index, &err), -ENETUNREACH);
	CU_ASSERT_EQUAL(ps_iface_uses(VETH, "10.9.1.7 5000 10.9.1.1 22", &u, &err), 0);
	CU_ASSERT(u.ssh && !u.default_route);
	CU_ASSERT_EQUAL(ps_iface_uses(VETH, NULL, &u, &err), 0);
	CU_ASSERT(!u.ssh);
	CU_ASSERT_EQUAL_FATAL(add_default_route((char *)VETH), 0);
	CU_ASSERT_EQUAL(ps_iface_uses(VETH, NULL, &u, &err), 0);
	CU_ASSERT(u.default_route);
	CU_ASSERT_EQUAL(ps_iface_uses(TAP, NULL, &u, &err), 0);
	CU_ASSERT(!u.default_route);
}

/* An established connection of port 22, known from the kernel's table alone. */
static void
test_ssh_socket(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(22)};
	struct ps_iface_uses u;
	int server, client, session;

	CU_ASSERT_EQUAL_FATAL(ps_iface_set_up("lo", true, &err), 0);
	inet_pton(AF_INET, "127.0.0.1", &sin.sin_addr);
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(server, (void *)&sin, sizeof(sin)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(server, 1), 0);
	CU_ASSERT_EQUAL(ps_iface_uses("lo", NULL, &u, &err), 0);
	CU_ASSERT(!u.ssh); /* listening is no session */
	CU_ASSERT_EQUAL_FATAL(connect(client, (void *)&sin, sizeof(sin)), 0);
	session = accept(server, NULL, NULL);
	CU_ASSERT_EQUAL(ps_iface_uses("lo", NULL, &u, &err), 0);
	CU_ASSERT(u.ssh);
	CU_ASSERT_EQUAL(ps_iface_uses(TAP, NULL, &u, &err), 0);
	CU_ASSERT(!u.ssh);
	close(session);
	close(client);
	close(server);
}

static void
test_udp_bound(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(8009)};
	struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(8010)};
	struct ps_udp_socket found[2];
	struct ps_ip lo;
	int a, b;

	CU_ASSERT_EQUAL(ps_udp_bound(8009, found, 2, &err), 0);
	inet_pton(AF_INET, "127.0.0.1", &sin.sin_addr);
	a = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(a, (void *)&sin, sizeof(sin)), 0);
	CU_ASSERT_EQUAL_FATAL(ps_udp_bound(8009, found, 2, &err), 1);
	CU_ASSERT(ps_ip_parse("127.0.0.1", &lo));
	CU_ASSERT_EQUAL(memcmp(&found[0].addr, &lo, sizeof(lo)), 0);
	CU_ASSERT_EQUAL(found[0].pid, getpid());
	CU_ASSERT(found[0].comm[0] != 0 && !found[0].ipv6);
	close(a);
	b = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (b >= 0 && bind(b, (void *)&sin6, sizeof(sin6)) == 0) {
		CU_ASSERT_EQUAL(ps_udp_bound(8010, found, 2, &err), 1);
		CU_ASSERT(found[0].ipv6);
	}
	close(b);
}

/* -- XDP and announcements -- */

static int
load_pass(void)
{
	struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, 2, NULL);
}

/* Waits for an announcement, so that a slow machine only takes longer. */
static int
changes_of(struct ps_linkmon *m)
{
	struct pollfd p[2] = {{.events = POLLIN}, {.events = POLLIN}};
	int fds[2], all = 0;

	ps_linkmon_fds(m, fds);
	p[0].fd = fds[0];
	p[1].fd = fds[1];
	for (int wait_ms = 5000; poll(p, 2, wait_ms) > 0; wait_ms = 100) {
		int ret = ps_linkmon_poll(m, &err);

		CU_ASSERT_FATAL(ret >= 0);
		all |= ret;
	}
	return all;
}

static void
test_xdp(void)
{
	struct ps_linkmon m;
	struct ps_iface i;
	int prog = load_pass();

	if (prog < 0) {
		printf(" skipped: no right to load a BPF program ");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(ps_linkmon_open(&m, VETH, &err), 0);
	CU_ASSERT_EQUAL_FATAL(
		bpf_xdp_attach((int)if_nametoindex(VETH), prog, XDP_FLAGS_SKB_MODE, NULL), 0);
	CU_ASSERT_EQUAL(ps_iface_get(VETH, &i, &err), 0);
	CU_ASSERT(i.prog_id != 0);
	CU_ASSERT_EQUAL(i.xdp_mode, XDP_ATTACHED_SKB);
	CU_ASSERT(changes_of(&m) & PS_LINK_XDP);
	CU_ASSERT_EQUAL(bpf_xdp_detach((int)i.index, XDP_FLAGS_SKB_MODE, NULL), 0);
	CU_ASSERT_EQUAL(ps_iface_get(VETH, &i, &err), 0);
	CU_ASSERT_EQUAL(i.prog_id, 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_XDP);
	ps_linkmon_close(&m);
	close(prog);
}

static void
test_announcements(void)
{
	static const uint8_t other[PS_IFACE_ADDR] = {2, 0, 0, 0, 0, 9};
	struct ps_linkmon m;
	struct ps_iface i;

	CU_ASSERT_EQUAL(ps_iface_set_up(VETH, true, &err), 0);
	CU_ASSERT_EQUAL(ps_iface_set_up(PEER, true, &err), 0);
	CU_ASSERT_EQUAL_FATAL(ps_linkmon_open(&m, VETH, &err), 0);
	CU_ASSERT_EQUAL(ps_linkmon_poll(&m, &err) & ~PS_LINK_UP, 0);
	/* There and back again before anyone looks: told all the same. */
	CU_ASSERT_EQUAL(ps_iface_get(VETH, &i, &err), 0);
	CU_ASSERT_EQUAL(ps_iface_set_mac(VETH, other, &err), 0);
	CU_ASSERT_EQUAL(ps_iface_set_mac(VETH, i.mac, &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_MAC);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "mtu", "1300", &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_MTU);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "channels", "rx=2", &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_CHANNELS);
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "feature.tx-gre-segmentation", "off", &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_FEATURES);
	CU_ASSERT_EQUAL(ps_iface_set_up(PEER, false, &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_DOWN);
	/* Of other interfaces nothing is told. */
	CU_ASSERT_EQUAL(ps_setting_set(TAP, "mtu", "1300", &err), 0);
	CU_ASSERT_EQUAL(changes_of(&m) & PS_LINK_MTU, 0);
	ps_linkmon_close(&m);
	/* A setting that has no name here: told all the same. */
	CU_ASSERT_EQUAL_FATAL(ps_linkmon_open(&m, TAP, &err), 0);
	CU_ASSERT_EQUAL(ps_setting_set(TAP, "coalesce", "rx-frames=9", &err), 0);
	CU_ASSERT_EQUAL(changes_of(&m), PS_LINK_SETTINGS);
	ps_linkmon_close(&m);
}

static void
test_removal(void)
{
	struct ps_linkmon m;
	struct ps_nl nl;

	CU_ASSERT_EQUAL_FATAL(ps_linkmon_open(&m, VETH, &err), 0);
	/* The feature is fixed on veth: as if it had been on. */
	m.ntuple = true;
	CU_ASSERT_EQUAL(ps_setting_set(VETH, "feature.tx-gre-segmentation", "on", &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_NTUPLE_OFF);
	ps_nl_route(&nl, RTM_DELLINK, 0, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nl.head, IFLA_IFNAME, VETH);
	CU_ASSERT_EQUAL(ps_nl_talk(&nl, NULL, NULL, "removing", &err), 0);
	CU_ASSERT(changes_of(&m) & PS_LINK_GONE);
	CU_ASSERT(m.gone);
	ps_linkmon_close(&m);
	CU_ASSERT_EQUAL(ps_linkmon_open(&m, VETH, &err), -ENODEV);
}

static void
test_texts(void)
{
	uint8_t mac[PS_IFACE_ADDR];
	struct ps_ip ip;

	CU_ASSERT(ps_mac_parse("02:aB:00:00:00:ff", mac) && mac[1] == 0xab && mac[5] == 0xff);
	CU_ASSERT(!ps_mac_parse("02:ab:00:00:00:f", mac));
	CU_ASSERT(!ps_mac_parse("02-ab-00-00-00-ff", mac));
	CU_ASSERT(ps_ip_parse("fe80::1%lo", &ip) && ip.b[0] == 0xfe && ip.b[15] == 1);
	CU_ASSERT(ps_ip_parse("10.1.2.3", &ip) && ip.b[11] == 0xff && ip.b[15] == 3);
	CU_ASSERT(!ps_ip_parse("10.1.2", &ip));
	ps_link_change_text(PS_LINK_MAC | PS_LINK_NTUPLE_OFF, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "MAC address changed, ntuple-filters turned off");
	ps_link_change_text(PS_LINK_MISSED, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "some announcements lost");
}

static bool
add_tests(void)
{
	const char *why = make_namespace();
	CU_pSuite s = CU_add_suite("ethtool", NULL, NULL);

	if (s == NULL || !CU_add_test(s, "texts", test_texts) ||
		!CU_add_test(s, "what carries what", test_carries))
		return false;
	if (why != NULL) {
		printf("skipped, all that needs interfaces: %s\n", why);
		return true;
	}
	return CU_add_test(s, "settings are set and put back", test_round_trips) &&
	       CU_add_test(s, "features that do not follow", test_requested) &&
	       CU_add_test(s, "refusals", test_refusals) && CU_add_test(s, "links", test_link) &&
	       CU_add_test(s, "a bridge", test_bridge) && CU_add_test(s, "routes", test_routes) &&
	       CU_add_test(s, "an SSH session", test_ssh_socket) &&
	       CU_add_test(s, "bound UDP ports", test_udp_bound) &&
	       CU_add_test(s, "XDP programs", test_xdp) &&
	       CU_add_test(s, "announcements", test_announcements) &&
	       CU_add_test(s, "removal", test_removal);
}

int
main(void)
{
	unsigned int failed = 1;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	if (add_tests()) {
		CU_basic_set_mode(CU_BRM_VERBOSE);
		CU_basic_run_tests();
		failed = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	return failed != 0;
}
