/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Which path a port takes. What the configuration asks for is taken or refused; with path = auto
 * the first that the device has: a DPDK driver, AF_XDP, kernel sockets. A device that somebody else
 * holds, or that is set up wrongly, is no reason to take the next one. */

#include "port.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_version.h>

/* The AF_XDP driver stocks its fill ring with so many frames, whatever the queue's length. */
#define AF_XDP_FILL 2048

static bool
is_pci(const char *device)
{
	unsigned int domain, bus, dev, fn;
	char end;

	return sscanf(device, "%4x:%2x:%2x.%1u%c", &domain, &bus, &dev, &fn, &end) == 4 ||
	       sscanf(device, "%2x:%2x.%1u%c", &bus, &dev, &fn, &end) == 3;
}

/* The last part of where a link in sysfs leads, or "". */
static void
read_link(char *text, size_t cap, const char *fmt, const char *name)
{
	char path[PS_CONF_STRING + 64], target[PATH_MAX];
	const char *last;
	ssize_t n;

	text[0] = '\0';
	snprintf(path, sizeof(path), fmt, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	last = strrchr(target, '/');
	snprintf(text, cap, "%.*s", (int)cap - 1, last != NULL ? last + 1 : target);
}

/* The kernel's interface of a PCI device, or "". */
static void
interface_of(const char *pci, char ifname[IF_NAMESIZE])
{
	char path[PS_CONF_STRING + 64];
	struct dirent *d;
	DIR *dir;

	ifname[0] = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/net", pci);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while (ifname[0] == '\0' && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			snprintf(ifname, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1, d->d_name);
	closedir(dir);
}

static int
interface_node(const char *ifname)
{
	char path[128];
	int node = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/numa_node", ifname);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

static bool
is_on(const char *path)
{
	FILE *f = fopen(path, "re");
	int value = 0;

	if (f == NULL)
		return false;
	if (fscanf(f, "%d", &value) != 1)
		value = 0;
	fclose(f);
	return value != 0;
}

void
ps_port_fall_back(struct ps_port *p, const char *fmt, ...)
{
	char text[PS_PORT_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A port that is reset comes by here again. */
	for (unsigned int i = 0; i < p->n_fallbacks; i++)
		if (strcmp(p->fallback[i], text) == 0)
			return;
	if (p->n_fallbacks < PS_PORT_FALLBACKS)
		strcpy(p->fallback[p->n_fallbacks++], text);
}

/* -- each path -- */

static int
plan_socket(struct ps_port *p)
{
	p->kind = PS_PORT_SOCKET;
	p->node = interface_node(p->ifname);
	return 0;
}

/* No hardware behind it: lo, veth, TAP. Its frames are brought by whoever sends them, in softirq,
 * so that to run its NAPI from the worker, a system call in each empty round, gains nothing
 * (performance.md). Such an interface copies; only there may the driver do without: with zero-copy
 * its polls would sleep. */
static bool
is_virtual(const char *ifname)
{
	char device[64];

	read_link(device, sizeof(device), "/sys/class/net/%s/device", ifname);
	return device[0] == '\0';
}

/* Answers that leave by lo come back in from there with an address of this host as source. */
static int
check_loopback(const struct ps_port *p, struct ps_err *e)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/accept_local", p->ifname);
	if (!p->loopback || is_on(path) || is_on("/proc/sys/net/ipv4/conf/all/accept_local"))
		return 0;
	return ps_fail(e, EINVAL,
		"[port %s] the kernel drops our answers on %s; `sysctl "
		"net.ipv4.conf.%s.accept_local=1`",
		p->conf->name, p->ifname, p->ifname);
}

/* What of xdp_mode a driver that attaches the program itself can be asked; it is read back anyway.
 */
static const char *
mode_devarg(const struct ps_conf_port *c)
{
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
	static const char *const arg[] = {"", ",mode=drv", ",mode=skb"};

	return arg[c->xdp_mode];
#else
	(void)c;
	return "";
#endif
}

/* The program is ours to hold where the driver takes a pinned map; older ones load it themselves,
 * and take whatever is there off at their end. */
static void
load_program(struct ps_port *p)
{
#if RTE_VERSION >= RTE_VERSION_NUM(24, 7, 0, 0)
	struct ps_err e;

	if (ps_xdp_load(&p->xdp, &e) < 0)
		ps_port_fall_back(p, "bpf_link -> program attached by DPDK: %.256s", e.text);
#else
	(void)p;
#endif
}

static int
plan_af_xdp(struct ps_port *p, struct ps_err *e)
{
	static const uint32_t xdp_flags[] = {
		[PS_XDP_MODE_AUTO] = 0,
		[PS_XDP_MODE_DRIVER] = XDP_FLAGS_DRV_MODE,
		[PS_XDP_MODE_GENERIC] = XDP_FLAGS_SKB_MODE,
	};
	const struct ps_conf_port *c = p->conf;
	struct ps_err cause;
	int rc;

	p->kind = PS_PORT_AF_XDP;
	snprintf(p->eal_name, sizeof(p->eal_name), "net_af_xdp%u", p->index);
	if (c->mbufs < AF_XDP_FILL + 2 * c->descriptors)
		return ps_fail(e, EINVAL,
			"[port %s] mbufs: %u are too few for AF_XDP; give at least %u", c->name,
			c->mbufs, AF_XDP_FILL + 2 * c->descriptors);
	rc = check_loopback(p, e);
	if (rc < 0)
		return rc;
	p->node = interface_node(p->ifname);
	rc = ps_xdp_prepare(
		&p->xdp, p->ifname, (uint16_t)c->first_queue, (uint16_t)c->queues, &cause);
	if (rc == 0 && c->zero_copy == PS_ZERO_COPY_REQUIRE)
		rc = ps_xdp_try_zero_copy(&p->xdp, &cause);
	if (rc < 0)
		return ps_fail(e, -rc, "[port %s] %.480s", c->name, cause.text);
	p->xdp.mode = xdp_flags[c->xdp_mode];
	p->xdp.busy = c->zero_copy == PS_ZERO_COPY_REQUIRE || !is_virtual(p->ifname);
	load_program(p);
	return 0;
}

/* What a device or this process does not have, as against what somebody else holds. */
static bool
is_lack(int rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -EOPNOTSUPP || rc == -EAFNOSUPPORT ||
	       rc == -EPROTONOSUPPORT || rc == -ENOPROTOOPT || rc == -ENOSYS;
}

static int
plan_interface(struct ps_port *p, struct ps_err *e)
{
	int rc;

	if (p->conf->path == PS_PATH_SOCKET)
		return plan_socket(p);
	rc = plan_af_xdp(p, e);
	if (p->conf->path == PS_PATH_AF_XDP || !is_lack(rc) ||
		p->conf->zero_copy == PS_ZERO_COPY_REQUIRE)
		return rc;
	ps_port_fall_back(p, "AF_XDP -> sockets: %.256s", e->text);
	return plan_socket(p);
}

static int
plan_pmd(struct ps_port *p, const char *pci)
{
	p->kind = PS_PORT_PCI;
	snprintf(p->eal_name, sizeof(p->eal_name), "%s", pci);
	return 0;
}

/* mlx5 is the one driver that DPDK and kernel share a device through. */
static int
plan_pci(struct ps_port *p, struct ps_err *e)
{
	const struct ps_conf_port *c = p->conf;
	char pci[PS_CONF_STRING + 8], driver[64];

	snprintf(pci, sizeof(pci), "%s%s", strlen(c->device) < 12 ? "0000:" : "", c->device);
	read_link(driver, sizeof(driver), "/sys/bus/pci/devices/%s/driver", pci);
	interface_of(pci, p->ifname);
	if (c->path == PS_PATH_PMD || p->ifname[0] == '\0' || strcmp(driver, "mlx5_core") == 0) {
		if (c->path == PS_PATH_AUTO || c->path == PS_PATH_PMD)
			return plan_pmd(p, pci);
		if (p->ifname[0] == '\0')
			return ps_fail(e, ENODEV,
				"[port %s] path: %s has no network interface; bind it to its "
				"kernel driver (dpdk-devbind.py), or set path = pmd",
				c->name, pci);
	}
	if (c->path == PS_PATH_AUTO)
		ps_port_fall_back(p,
			"DPDK driver -> AF_XDP: the kernel's %s has %s (%s); dpdk-devbind.py "
			"-b vfio-pci %s gives it to DPDK",
			driver, pci, p->ifname, pci);
	return plan_interface(p, e);
}

static int
plan_named(struct ps_port *p, struct ps_err *e)
{
	const struct ps_conf_port *c = p->conf;
	char driver[64], pci[64];

	if (strlen(c->device) >= IF_NAMESIZE || if_nametoindex(c->device) == 0)
		return ps_fail(e, ENODEV,
			"[port %s] device: there is no interface %s, nor a --vdev of this name; "
			"`ip link show` lists the interfaces here",
			c->name, c->device);
	snprintf(p->ifname, sizeof(p->ifname), "%.*s", IF_NAMESIZE - 1, c->device);
	if (c->path != PS_PATH_PMD)
		return plan_interface(p, e);
	read_link(driver, sizeof(driver), "/sys/class/net/%s/device/driver", p->ifname);
	read_link(pci, sizeof(pci), "/sys/class/net/%s/device", p->ifname);
	if (strcmp(driver, "mlx5_core") == 0 && is_pci(pci))
		return plan_pmd(p, pci);
	return ps_fail(e, EINVAL,
		"[port %s] path = pmd: the kernel has interface %s; bind its PCI device to "
		"vfio-pci (dpdk-devbind.py) and give that as device",
		c->name, c->device);
}

static int
plan_eal(struct ps_port *p, struct ps_err *e)
{
	const struct ps_conf_port *c = p->conf;

	p->kind = PS_PORT_EAL;
	snprintf(p->eal_name, sizeof(p->eal_name), "%s", c->device);
	if (c->path == PS_PATH_AUTO || c->path == PS_PATH_PMD)
		return 0;
	return ps_fail(e, EINVAL,
		"[port %s] path: %s is a device of EAL, which has no interface; set path = auto",
		c->name, c->device);
}

/* Only the XDP program can drop by source. Not to do so, and go on, is no choice for us to make. */
static int
load_deny(struct ps_port *p, struct ps_err *e)
{
	struct ps_err cause;
	int rc;

	if (p->conf->deny[0] == '\0')
		return 0;
	if (p->kind != PS_PORT_AF_XDP)
		return ps_fail(e, EOPNOTSUPP,
			"[port %s] deny: only AF_XDP has deny lists, and this port takes path %s; "
			"set path = af_xdp, or remove deny",
			p->conf->name, ps_port_path(p));
	rc = ps_deny_load(&p->deny, p->conf->deny, &cause);
	return rc == 0 ? 0 : ps_fail(e, -rc, "[port %s] %.480s", p->conf->name, cause.text);
}

int
ps_port_plan(struct ps_port *p, const struct ps_conf_port *conf, unsigned int index,
	bool has_eal_device, struct ps_err *e)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->conf = conf;
	p->index = index;
	p->node = -1;
	p->loopback = strcmp(conf->device, "lo") == 0;
	if (has_eal_device && !is_pci(conf->device))
		rc = plan_eal(p, e);
	else
		rc = is_pci(conf->device) ? plan_pci(p, e) : plan_named(p, e);
	return rc < 0 ? rc : load_deny(p, e);
}

int
ps_port_eal_arg(const struct ps_port *p, char *arg, size_t cap, struct ps_err *e)
{
	char program[96];

	arg[0] = '\0';
	if (p->kind == PS_PORT_PCI) {
		snprintf(arg, cap, "--allow=%s", p->eal_name);
	} else if (p->kind == PS_PORT_AF_XDP) {
		const char *object = ps_xdp_object_path(e);
		const bool copies = !p->xdp.busy || p->conf->zero_copy == PS_ZERO_COPY_OFF ||
				    p->conf->xdp_mode == PS_XDP_MODE_GENERIC;

		if (object == NULL)
			return -ENOMEM;
		if (p->xdp.pin[0] != '\0')
			snprintf(program, sizeof(program), "use_pinned_map=1,dp_path=%s",
				p->xdp.pin);
		else
			snprintf(program, sizeof(program), "xdp_prog=%s%s", object,
				mode_devarg(p->conf));
		snprintf(arg, cap, "--vdev=%s,iface=%s,start_queue=%u,queue_count=%u,%s%s%s",
			p->eal_name, p->ifname, p->conf->first_queue, p->conf->queues, program,
			copies ? ",force_copy=1" : "", p->xdp.busy ? "" : ",busy_budget=0");
	}
	return 0;
}
