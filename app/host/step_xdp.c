/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deny.h"
#include "iface.h"
#include "nl.h"
#include "text.h"
#include "xdp/steer.h"

#define REMEDY "start Agave with --no-xdp, or let penstock use queues behind its own (first_queue)"

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
	struct ps_host *h;
	const struct ps_conf_port *port;
	const struct ps_iface *iface;
	unsigned int found;
};

static void
name_owner(uint32_t inode, char *text, size_t cap)
{
	char socket[32], path[600], name[64];
	DIR *proc = opendir("/proc"), *fds;
	struct dirent *p, *f;

	snprintf(text, cap, "a process that cannot be seen from here");
	snprintf(socket, sizeof(socket), "socket:[%u]", inode);
	while (proc != NULL && (p = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)p->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd", p->d_name);
		fds = opendir(path);
		while (fds != NULL && (f = readdir(fds)) != NULL) {
			snprintf(path, sizeof(path), "/proc/%s/fd/%s", p->d_name, f->d_name);
			if (!ps_text_link(path, name, sizeof(name)) || strcmp(name, socket) != 0)
				continue;
			snprintf(path, sizeof(path), "/proc/%s/comm", p->d_name);
			if (ps_text_read(path, name, sizeof(name)) == 0)
				snprintf(text, cap, "%s (pid %.10s)", name, p->d_name);
		}
		if (fds != NULL)
			closedir(fds);
	}
	if (proc != NULL)
		closedir(proc);
}

static int
take_socket(const struct nlmsghdr *answer, void *arg)
{
	const struct nlattr *tb[XDP_DIAG_MAX + 1];
	const struct xdp_diag_msg *m = mnl_nlmsg_get_payload(answer);
	const struct xdp_diag_info *info;
	struct search *s = arg;
	char owner[96];

	if (mnl_nlmsg_get_payload_len(answer) < sizeof(*m))
		return 0;
	ps_nl_attrs(answer, sizeof(*m), tb, XDP_DIAG_MAX);
	if (tb[XDP_DIAG_INFO] == NULL ||
		mnl_attr_get_payload_len(tb[XDP_DIAG_INFO]) < sizeof(*info))
		return 0;
	info = mnl_attr_get_payload(tb[XDP_DIAG_INFO]);
	if (info->ifindex != s->iface->index || info->queue_id < s->port->first_queue ||
		info->queue_id >= s->port->first_queue + s->port->queues)
		return 0;
	s->found++;
	name_owner(m->xdiag_ino, owner, sizeof(owner));
	ps_row_add(s->h, PS_STEP_NOT, s->iface->name, REMEDY,
		"queue %u is held by an AF_XDP socket of %s", info->queue_id, owner);
	return 0;
}

static void
look_at_sockets(struct ps_host *h, const struct ps_conf_port *p, const struct ps_iface *i)
{
	struct search s = {.h = h, .port = p, .iface = i};
	struct xdp_diag_req *req;
	struct ps_nl nl;
	struct ps_err e;
	int rc;

	if (h->running)
		return;
	req = ps_nl_route(&nl, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*req));
	req->sdiag_family = AF_XDP;
	req->xdiag_show = XDP_SHOW_INFO;
	nl.bus = NETLINK_SOCK_DIAG;
	rc = ps_nl_talk(&nl, take_socket, &s, "AF_XDP sockets", &e);
	if (rc == -ENOENT)
		ps_row_add(h, PS_STEP_SKIP, i->name, "pgrep -a 'agave|fdctl|firedancer'",
			"this kernel does not list AF_XDP sockets (XDP_SOCKETS_DIAG); penstock run "
			"finds a queue that is in use");
	else if (rc < 0)
		ps_row_add(h, PS_STEP_SKIP, i->name, "", "%s", e.text);
	else if (s.found == 0)
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
