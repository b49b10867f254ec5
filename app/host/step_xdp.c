/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "af_xdp.h"
#include "dedicated.h"
#include "deny.h"
#include "iface.h"
#include "nl.h"
#include "text.h"
#include "use.h"
#include "xdp/steer.h"

/* -- programs -- */

static void
name_program(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	snprintf(name, BPF_OBJ_NAME_LEN, "?");
	if (fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0)
		snprintf(name, BPF_OBJ_NAME_LEN, "%s", info.name);
	close(fd);
}

static void
look_at_program(struct ps_host *h, const struct ps_iface *i)
{
	char name[BPF_OBJ_NAME_LEN], remedy[128];

	snprintf(remedy, sizeof(remedy), "ip link set dev %s xdp off", i->name);
	if (i->prog_id == 0) {
		ps_row_add(h, PS_STEP_OK, i->name, "", "no program");
		return;
	}
	name_program(i->prog_id, name);
	if (strcmp(name, PS_STEER_PROG) == 0 && h->running)
		ps_row_add(h, PS_STEP_OK, i->name, "", "the running penstock's program");
	else if (strcmp(name, PS_STEER_PROG) == 0)
		ps_row_add(h, PS_STEP_PARTIAL, i->name, remedy,
			"a killed penstock's program (id %u); the next start removes it",
			i->prog_id);
	else
		ps_row_add(h, PS_STEP_NOT, i->name,
			"start Agave with --no-xdp or choose another port; if it is left over: "
			"ip link set dev IF xdp off",
			"the XDP program \"%s\" (id %u) of someone else", name, i->prog_id);
}

/* -- sockets: Agave 4.2 and later takes queues 0 to N-1 by itself -- */

struct search {
	const struct ps_iface *iface;
	uint64_t taken; /* bit set of queues that a socket holds */
	uint32_t inode[PS_STEER_QUEUES];
};

static void
name_owner(uint32_t inode, char *text, size_t cap)
{
	char socket[32], path[48], name[64], pid[16];

	snprintf(socket, sizeof(socket), "socket:[%u]", inode);
	if (!ps_use_opener(socket, pid)) {
		snprintf(text, cap, "a process that cannot be seen from here");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (ps_text_read(path, name, sizeof(name)) < 0)
		snprintf(name, sizeof(name), "a process");
	snprintf(text, cap, "%s (pid %s)", name, pid);
}

static int
take_socket(const struct nlmsghdr *answer, void *arg)
{
	const struct nlattr *tb[XDP_DIAG_MAX + 1];
	const struct xdp_diag_msg *m = mnl_nlmsg_get_payload(answer);
	const struct xdp_diag_info *info;
	struct search *s = arg;

	if (mnl_nlmsg_get_payload_len(answer) < sizeof(*m))
		return 0;
	ps_nl_attrs(answer, sizeof(*m), tb, XDP_DIAG_MAX);
	if (tb[XDP_DIAG_INFO] == NULL ||
		mnl_attr_get_payload_len(tb[XDP_DIAG_INFO]) < sizeof(*info))
		return 0;
	info = mnl_attr_get_payload(tb[XDP_DIAG_INFO]);
	if (info->ifindex != s->iface->index || info->queue_id >= PS_STEER_QUEUES)
		return 0;
	s->taken |= UINT64_C(1) << info->queue_id;
	s->inode[info->queue_id] = m->xdiag_ino;
	return 0;
}

/* Where the kernel does not list them (no XDP_SOCKETS_DIAG): a queue that is held refuses another
 * socket. In copy mode that one touches nothing of the driver. */
static int
try_queues(struct search *s, uint32_t total)
{
	int rc = 0;

	for (uint32_t q = 0; rc == 0 && q < total && q < PS_STEER_QUEUES; q++) {
		rc = ps_xdp_try_queue(s->iface->index, (uint16_t)q, false);
		if (rc == -EBUSY) {
			s->taken |= UINT64_C(1) << q;
			rc = 0;
		}
	}
	return rc;
}

static int
find_sockets(struct search *s, uint32_t total, struct ps_err *e)
{
	struct xdp_diag_req *req;
	struct ps_nl nl;
	int rc;

	req = ps_nl_route(&nl, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*req));
	req->sdiag_family = AF_XDP;
	req->xdiag_show = XDP_SHOW_INFO;
	nl.bus = NETLINK_SOCK_DIAG;
	rc = ps_nl_talk(&nl, take_socket, s, "AF_XDP sockets", e);
	if (rc != -ENOENT)
		return rc;
	rc = try_queues(s, total);
	return rc == 0 ? 0
		       : ps_fail(e, -rc,
				 "this kernel does not list AF_XDP sockets (XDP_SOCKETS_DIAG), and "
				 "its queues cannot be tried: %s",
				 strerror(-rc));
}

/* Receive queues: what there are, and what there can be. */
static void
count_queues(const char *ifname, uint32_t *now, uint32_t *max)
{
	struct ps_err unused;

	*now = *max = 1;
	if (ps_params_get(ifname, PS_CHANNELS, "combined", now, &unused) == 0 && *now > 0) {
		if (ps_params_get(ifname, PS_CHANNELS, "combined-max", max, &unused) < 0)
			*max = *now;
	} else if (ps_params_get(ifname, PS_CHANNELS, "rx", now, &unused) == 0 && *now > 0) {
		if (ps_params_get(ifname, PS_CHANNELS, "rx-max", max, &unused) < 0)
			*max = *now;
	} else {
		*now = 1;
	}
}

/* Among the queues that there are, or else among those that init can make. */
static void
plan_queues(const struct ps_conf_port *p, const struct search *s, uint32_t now, uint32_t max,
	char *remedy, size_t cap)
{
	struct ps_queues ours;
	struct ps_err e;
	int rc = ps_dedicated_place(&ours, p->queues, now, s->taken, &e);

	if (rc < 0)
		rc = ps_dedicated_place(&ours, p->queues, max, s->taken, &e);
	if (rc < 0)
		snprintf(remedy, cap, "start Agave with --no-xdp, or choose another port: %.120s",
			e.text);
	else
		snprintf(remedy, cap,
			"set first_queue = %u%s in [port %s]: no one holds it, and init leaves the "
			"others to the kernel's RSS; or start Agave with --no-xdp",
			ours.first,
			p->layout == PS_LAYOUT_DEDICATED ? "" : " and layout = dedicated", p->name);
}

static void
look_at_sockets(struct ps_host *h, const struct ps_conf_port *p, const struct ps_iface *i)
{
	struct search s = {.iface = i};
	char owner[96] = "a process that this kernel does not tell", remedy[320];
	unsigned int held = 0;
	uint32_t now, max;
	struct ps_err e;

	if (h->running)
		return;
	count_queues(i->name, &now, &max);
	if (find_sockets(&s, now, &e) < 0) {
		ps_row_add(h, PS_STEP_SKIP, i->name, "pgrep -a 'agave|fdctl|firedancer'", "%s",
			e.text);
		return;
	}
	plan_queues(p, &s, now, max, remedy, sizeof(remedy));
	for (uint32_t q = p->first_queue; q < p->first_queue + p->queues; q++) {
		if (q >= PS_STEER_QUEUES || (s.taken >> q & 1) == 0)
			continue;
		held++;
		if (s.inode[q] != 0)
			name_owner(s.inode[q], owner, sizeof(owner));
		ps_row_add(h, PS_STEP_NOT, i->name, remedy,
			"queue %u is held by an AF_XDP socket of %s", q, owner);
	}
	if (held == 0 && s.taken != 0 && p->layout == PS_LAYOUT_SIMPLE)
		ps_row_add(h, PS_STEP_PARTIAL, i->name, "set layout = dedicated in [port]",
			"others hold queues of it, and RSS leads the services' packets there too");
	else if (held == 0)
		ps_row_add(h, PS_STEP_OK, i->name, "", "no AF_XDP socket on its queues");
}

void
ps_step_xdp(struct ps_host *h)
{
	char ifname[16];
	struct ps_iface i;
	struct ps_err e;

	for (unsigned int n = 0; n < h->conf->n_ports; n++) {
		const struct ps_conf_port *p = &h->conf->port[n];

		if (ps_host_interface(p, ifname) == NULL)
			continue;
		if (ps_iface_get(ifname, &i, &e) < 0) {
			ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
			continue;
		}
		if (p->path == PS_PATH_SOCKET) {
			ps_row_add(h, PS_STEP_SKIP, ifname, "", PS_HOST_SOCKETS);
			continue;
		}
		look_at_program(h, &i);
		look_at_sockets(h, p, &i);
	}
}

/* -- deny lists -- */

static void
look_at_list(struct ps_host *h, const struct ps_conf_port *p)
{
	struct ps_deny d;
	struct ps_err e;

	if ((!ps_host_is_interface(p) && !ps_host_is_pci(p)) || p->path == PS_PATH_SOCKET ||
		p->path == PS_PATH_PMD) {
		ps_row_add(h, PS_STEP_NOT, p->name, "set path = af_xdp, or remove deny",
			"only AF_XDP has deny lists");
		return;
	}
	if (ps_deny_load(&d, p->deny, &e) < 0) {
		ps_row_add(
			h, PS_STEP_NOT, p->name, "mend the file, or remove deny", "%.300s", e.text);
		return;
	}
	ps_row_add(h, PS_STEP_OK, p->name, "", "%u prefix%s in %s%s", d.n, d.n == 1 ? "" : "es",
		p->deny, h->running ? "; SIGHUP has the running penstock read it again" : "");
	ps_deny_free(&d);
}

void
ps_step_deny(struct ps_host *h)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		if (h->conf->port[i].deny[0] == '\0')
			continue;
		look_at_list(h, &h->conf->port[i]);
		n++;
	}
	if (n == 0)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no port has a deny list");
}
