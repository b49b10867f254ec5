/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "use.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "af_xdp.h"
#include "hostnet.h"
#include "step.h"
#include "tel_client.h"
#include "text.h"

/* -- the way in -- */

static int
check_interface(const char *ifname, struct ps_err *e)
{
	struct ps_iface_uses u;
	int rc = ps_iface_uses(ifname, getenv("SSH_CONNECTION"), &u, e);

	if (rc < 0)
		return rc;
	if (!u.default_route && !u.ssh && !u.bond && !u.bridge)
		return 0;
	return ps_fail(e, EBUSY,
		"%s: %s; use another port, or say --i-have-another-way-in when you can reach this "
		"machine without it",
		ifname, u.why);
}

static int
check_pci(const struct ps_conf_port *p, struct ps_err *e)
{
	char path[PS_CONF_STRING + 64];
	struct dirent *d;
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%s/net",
		strlen(p->device) < 12 ? "0000:" : "", p->device);
	dir = opendir(path);
	while (dir != NULL && rc == 0 && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			rc = check_interface(d->d_name, e);
	if (dir != NULL)
		closedir(dir);
	return rc;
}

int
ps_use_way_in(const struct ps_conf *conf, struct ps_err *e)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < conf->n_ports; i++) {
		const struct ps_conf_port *p = &conf->port[i];

		if (p->pf[0] != '\0')
			rc = check_interface(p->pf, e);
		if (rc == 0 && ps_text_existsf("/sys/class/net/%s", p->device))
			rc = check_interface(p->device, e);
		else if (rc == 0)
			rc = check_pci(p, e);
	}
	return rc;
}

/* -- in use -- */

bool
ps_use_running(const char *name)
{
	char prefix[PS_CONF_STRING + 16];
	struct ps_err unused;
	int fd;

	snprintf(prefix, sizeof(prefix), "penstock-%s", name);
	fd = ps_tel_connect(prefix, &unused);
	if (fd >= 0)
		close(fd);
	/* EAGAIN: its socket takes the connection, but nobody greets. */
	return fd >= 0 || fd == -EAGAIN;
}

bool
ps_use_opener(const char *file, char pid[16])
{
	char path[600], link[300];
	DIR *proc = opendir("/proc"), *fds;
	struct dirent *p, *f;
	bool found = false;
	ssize_t n;

	while (proc != NULL && !found && (p = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)p->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd", p->d_name);
		fds = opendir(path);
		while (fds != NULL && !found && (f = readdir(fds)) != NULL) {
			snprintf(path, sizeof(path), "/proc/%s/fd/%s", p->d_name, f->d_name);
			n = readlink(path, link, sizeof(link) - 1);
			link[n > 0 ? n : 0] = '\0';
			found = strcmp(link, file) == 0;
			snprintf(pid, 16, "%.10s", p->d_name);
		}
		if (fds != NULL)
			closedir(fds);
	}
	if (proc != NULL)
		closedir(proc);
	return found;
}

static int
check_device(const char *pci, struct ps_err *e)
{
	char path[PS_CONF_STRING + 64], group[32], file[48], pid[16];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", pci);
	if (!ps_text_link(path, group, sizeof(group)))
		return 0;
	snprintf(file, sizeof(file), "/dev/vfio/%s", group);
	if (!ps_use_opener(file, pid))
		return 0;
	return ps_fail(e, EBUSY, "%s is in use by process %s; stop it first", pci, pid);
}

int
ps_use_busy(const struct ps_conf *conf, const struct ps_state *s, struct ps_err *e)
{
	int rc = 0;

	if (ps_use_running(conf->name))
		return ps_fail(e, EBUSY, "penstock %s is running; stop it first", conf->name);
	for (unsigned int i = 0; rc == 0 && i < s->n; i++)
		if (strcmp(s->change[i].kind, "driver") == 0)
			rc = check_device(s->change[i].target, e);
	return rc;
}

/* -- programs -- */

int
ps_use_stale_programs(const struct ps_conf *conf)
{
	int removed = 0;

	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct ps_conf_port *p = &conf->port[i];
		char ifname[16];
		struct ps_iface iface;
		struct ps_xdp x;
		struct ps_err e;

		if (ps_host_interface(p, ifname) == NULL || ps_iface_get(ifname, &iface, &e) < 0 ||
			iface.prog_id == 0)
			continue;
		if (ps_xdp_prepare(&x, ifname, (uint16_t)p->first_queue, (uint16_t)p->queues, &e) <
			0) {
			ps_log(PS_LOG_WARN, "%s", e.text);
			continue;
		}
		removed += x.replaced;
		ps_xdp_close(&x);
	}
	return removed;
}
