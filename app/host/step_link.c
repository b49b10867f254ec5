/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dedicated.h"
#include "ethtool.h"
#include "hostnet.h"
#include "text.h"

#define MTU_MIN 1308 /* QUIC's 1,280 bytes over IPv4 and UDP */
#define MTU_MAX 2030 /* an Ethernet frame with VLAN tag in a buffer of 2,048 bytes */

typedef void look_at(struct ps_host *h, const struct ps_conf_port *p, const char *ifname);

/* Those whose queues are, or may be, ours. */
static void
each_interface(struct ps_host *h, look_at *look)
{
	char ifname[16];
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];

		if (ps_host_interface(p, ifname) == NULL)
			continue;
		if (p->path == PS_PATH_SOCKET)
			ps_row_add(h, PS_STEP_SKIP, ifname, "", PS_HOST_SOCKETS);
		else
			look(h, p, ifname);
		n++;
	}
	if (n == 0)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no port is a network interface");
}

/* A VF has the cable, the bond and the largest frame of its physical function. */
static void
each_link(struct ps_host *h, look_at *look)
{
	char ifname[16];
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];

		if (ps_host_interface(p, ifname) != NULL) {
			look(h, p, ifname);
			n++;
		}
		if (p->pf[0] != '\0' && ps_text_existsf("/sys/class/net/%s", p->pf)) {
			look(h, p, p->pf);
			n++;
		}
	}
	if (n == 0)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no port is or has a network interface");
}

/* -- link, stacked, mtu -- */

static void
look_link(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	struct ps_iface i;
	char remedy[64];
	struct ps_err e;

	(void)p;
	snprintf(remedy, sizeof(remedy), "ip link set dev %.15s up", ifname);
	if (ps_iface_get(ifname, &i, &e) < 0)
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
	else if (!i.up)
		ps_row_add(h, PS_STEP_NOT, ifname, remedy, "it is down");
	else if (!i.carrier)
		ps_row_add(h, PS_STEP_PARTIAL, ifname, "look at cable and switch", "no carrier");
	else
		ps_row_add(h, PS_STEP_OK, ifname, "", "up");
}

void
ps_step_link(struct ps_host *h)
{
	each_link(h, look_link);
}

static void
look_stacked(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	struct ps_iface_uses u;
	struct ps_err e;

	(void)p;
	if (ps_iface_uses(ifname, getenv("SSH_CONNECTION"), &u, &e) < 0)
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
	else if (u.bond || u.bridge)
		ps_row_add(h, PS_STEP_NOT, ifname, "use a port outside of it, or take it out first",
			"%s: its traffic comes by other ports too, or is the bridge's", u.why);
	else if (u.stacked)
		ps_row_add(h, PS_STEP_PARTIAL, ifname,
			"services' addresses on the VLAN stay with the kernel",
			"a VLAN or the like lies on top of it");
	else
		ps_row_add(h, PS_STEP_OK, ifname, "", "nothing on top");
}

void
ps_step_stacked(struct ps_host *h)
{
	each_link(h, look_stacked);
}

static void
look_mtu(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	const struct ps_knob k = ps_knob_setting(ifname, "mtu");
	const bool is_pf = strcmp(ifname, p->pf) == 0;
	char remedy[64];
	struct ps_iface i;
	struct ps_err e;
	int rc = ps_iface_get(ifname, &i, &e);

	snprintf(remedy, sizeof(remedy), "ip link set dev %.15s mtu 1500", ifname);
	if (rc == 0 && ps_host_is_loopback(p))
		ps_row_add(h, PS_STEP_OK, ifname, "",
			"%u, which stays: what does not fit into a buffer is dropped", i.mtu);
	else if (rc == 0 && i.mtu >= MTU_MIN && i.mtu <= MTU_MAX)
		ps_row_add(h, PS_STEP_OK, ifname, "", "%u", i.mtu);
	else if (rc == 0 && is_pf && i.mtu > MTU_MAX)
		ps_row_add(h, PS_STEP_PARTIAL, ifname, remedy,
			"%u: larger frames do not fit into the VF's buffers, and some cards "
			"(ixgbe) stop a VF then",
			i.mtu);
	else
		ps_host_want(h, PS_STEP_NOT, ifname, &k, "1500",
			"a frame must fit into one buffer, and QUIC's into one frame");
}

void
ps_step_mtu(struct ps_host *h)
{
	each_link(h, look_mtu);
}

/* -- offloads -- */

/* clang-format off */
static const struct {
	const char *name;
	enum ps_step_state state;
	const char *why;
	bool on_lo; /* there only, and no other there */
} offloads[] = {
	{"rx-lro", PS_STEP_NOT, "merged frames do not reach XDP as they were sent"},
	{"rx-gro-hw", PS_STEP_NOT, "merged frames do not reach XDP as they were sent"},
	{"rx-udp-gro-forwarding", PS_STEP_NOT, "QUIC datagrams would be merged"},
	{"rx-gro-list", PS_STEP_NOT, "QUIC datagrams would be merged"},
	{"tx-gre-segmentation", PS_STEP_PARTIAL, "GRE frames of the kernel leave unfinished beside XDP"},
	{"tx-gre-csum-segmentation", PS_STEP_PARTIAL, "GRE frames of the kernel leave unfinished beside XDP"},
	{"tx-udp-segmentation", PS_STEP_PARTIAL, "several datagrams of a client would come as one, and be dropped", true},
};
/* clang-format on */

static void
look_offloads(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	unsigned int wrong = 0;
	struct ps_feature f;
	struct ps_err e;
	char subject[64];

	for (unsigned int i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++) {
		struct ps_knob k;

		if (offloads[i].on_lo != ps_host_is_loopback(p) ||
			ps_feature_get(ifname, offloads[i].name, &f, &e) < 0 || !f.active)
			continue;
		wrong++;
		snprintf(subject, sizeof(subject), "feature.%s", offloads[i].name);
		k = ps_knob_setting(ifname, subject);
		snprintf(subject, sizeof(subject), "%.15s %s", ifname, offloads[i].name);
		if (f.changeable)
			ps_host_want(h, offloads[i].state, subject, &k, "off", offloads[i].why);
		else
			ps_row_add(h, PS_STEP_PARTIAL, subject, "", "on and fixed: %s",
				offloads[i].why);
	}
	if (wrong == 0)
		ps_row_add(h, PS_STEP_OK, ifname, "", "none that merges or splits frames");
}

void
ps_step_offloads(struct ps_host *h)
{
	each_interface(h, look_offloads);
}

/* -- channels, rings, rss -- */

static bool
number(const char *ifname, enum ps_params group, const char *name, uint32_t *n)
{
	struct ps_err unused;

	return ps_params_get(ifname, group, name, n, &unused) == 0;
}

/* A wish for one of the numbers in "combined=4 rx=0", the others as they are. */
static void
want_number(struct ps_host *h, enum ps_step_state state, const char *ifname, const char *key,
	const char *name, uint32_t n, const char *why)
{
	const struct ps_knob k = ps_knob_setting(ifname, key);
	char now[PS_KNOB_VALUE], value[256] = "", subject[64], *rest = now, *word;
	size_t used = 0, len = strlen(name);

	if (ps_knob_get(&k, now) < 0)
		return;
	while ((word = strsep(&rest, " ")) != NULL && used < sizeof(value)) {
		const char *space = used > 0 ? " " : "";

		if (strncmp(word, name, len) == 0 && word[len] == '=')
			used += (size_t)snprintf(
				value + used, sizeof(value) - used, "%s%s=%u", space, name, n);
		else
			used += (size_t)snprintf(
				value + used, sizeof(value) - used, "%s%s", space, word);
	}
	snprintf(subject, sizeof(subject), "%.15s %s", ifname, name);
	ps_host_want(h, state, subject, &k, value, why);
}

/* More queues than ours would take packets away, fewer are not enough. With a layout of the
 * operator's own (first_queue) or a dedicated one there may be more. */
static void
want_channels(struct ps_host *h, const struct ps_conf_port *p, const char *ifname, const char *name)
{
	const struct ps_queues ours = {p->first_queue, p->queues};
	const bool dedicated = p->layout == PS_LAYOUT_DEDICATED;
	uint32_t need = p->first_queue + p->queues, now, max;
	char max_name[24], subject[64];

	snprintf(subject, sizeof(subject), "%.15s %s", ifname, name);
	snprintf(max_name, sizeof(max_name), "%s-max", name);
	if (!number(ifname, PS_CHANNELS, name, &now))
		return;
	if (dedicated)
		need = ps_dedicated_total(ours, now);
	if (now == need || (p->first_queue > 0 && now > need))
		ps_row_add(h, PS_STEP_OK, subject, "", "%u", now);
	else if (number(ifname, PS_CHANNELS, max_name, &max) && max < need)
		ps_row_add(h, PS_STEP_NOT, subject, "lower queues in [port]",
			"it has at most %u, and %u are needed%s", max, need,
			dedicated ? ", one of them for the kernel" : "");
	else
		want_number(h, PS_STEP_NOT, ifname, "channels", name, need,
			dedicated ? "ours, and at least one for the kernel"
				  : "each queue has a worker, and each worker a queue");
}

static void
look_channels(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	uint32_t n;

	if (number(ifname, PS_CHANNELS, "combined-max", &n) && n > 0)
		want_channels(h, p, ifname, "combined");
	else if (number(ifname, PS_CHANNELS, "rx-max", &n) && n > 0)
		want_channels(h, p, ifname, "rx");
	else
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "its channels cannot be set");
}

void
ps_step_channels(struct ps_host *h)
{
	each_interface(h, look_channels);
}

static void
look_rings(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	uint32_t now, max;

	if (!number(ifname, PS_RINGS, "rx", &now) || !number(ifname, PS_RINGS, "rx-max", &max) ||
		max == 0)
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "it has no rings to set");
	else if (now >= p->descriptors || now == max)
		ps_row_add(h, PS_STEP_OK, ifname, "", "%u", now);
	else
		want_number(h, PS_STEP_PARTIAL, ifname, "rings", "rx",
			p->descriptors < max ? p->descriptors : max,
			"a burst needs room until the worker comes round");
}

void
ps_step_rings(struct ps_host *h)
{
	each_interface(h, look_rings);
}

/* The table so that it spreads evenly; hash and key stay. */
static void
look_table(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	const struct ps_knob k = ps_knob_setting(ifname, "rss");
	static char now[PS_KNOB_VALUE], even[PS_KNOB_VALUE];
	char *table;

	if (ps_knob_get(&k, now) < 0 || (table = strstr(now, "table=")) == NULL) {
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "it has no indirection table");
		return;
	}
	if (p->first_queue > 0) {
		ps_row_add(h, PS_STEP_SKIP, ifname, "",
			"with first_queue and layout = simple, the table is the operator's");
		return;
	}
	snprintf(even, sizeof(even), "%.*stable=even", (int)(table - now), now);
	ps_host_want(h, PS_STEP_NOT, ifname, &k, even, "every queue gets its share");
}

static void
look_rss(struct ps_host *h, const struct ps_conf_port *p, const char *ifname)
{
	const struct ps_knob k = ps_knob_setting(ifname, "flow-hash-udp4");

	if (p->layout == PS_LAYOUT_DEDICATED)
		ps_look_dedicated_rss(h, p, ifname);
	if (p->layout == PS_LAYOUT_DEDICATED && p->queues == 1)
		return;
	if (p->queues == 1) {
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "one queue needs none");
		return;
	}
	if (p->layout == PS_LAYOUT_SIMPLE)
		look_table(h, p, ifname);
	ps_host_want(h, PS_STEP_PARTIAL, ifname, &k, "sdfn",
		"without ports in the hash, a relayer's connections all meet one worker");
}

void
ps_step_rss(struct ps_host *h)
{
	each_interface(h, look_rss);
}

/* -- ntuple -- */

void
ps_step_ntuple(struct ps_host *h)
{
	char ifname[16];
	bool any = false;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];
		struct ps_knob k;

		if (p->layout == PS_LAYOUT_DEDICATED && ps_host_interface(p, ifname) != NULL) {
			ps_look_dedicated_ntuple(h, ifname);
			any = true;
			continue;
		}
		if (!ps_host_shares_mac(p))
			continue;
		any = true;
		k = ps_knob_setting(p->pf, "feature.rx-ntuple-filter");
		ps_host_want(h, PS_STEP_NOT, p->pf, &k, "on",
			"VF and PF share an address: rules keep the kernel from answering too");
	}
	if (!any)
		ps_row_add(h, PS_STEP_SKIP, "", "",
			"no VF shares its PF's address, and no port is dedicated");
}
