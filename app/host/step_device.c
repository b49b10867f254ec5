/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ethtool.h"
#include "iface.h"
#include "known.h"
#include "text.h"

#define PCI_DIR "/sys/bus/pci/devices"
#define NO_VFIO "no port needs vfio-pci"

static bool
needs_vfio(const struct ps_conf_port *p)
{
	return ps_host_is_pci(p) && !ps_host_is_shared(p);
}

static bool
any_needs_vfio(const struct ps_host *h)
{
	for (unsigned int i = 0; i < h->conf->n_ports; i++)
		if (needs_vfio(&h->conf->port[i]))
			return true;
	return false;
}

/* A device that its physical function does not make before init is run. */
static bool
to_be_made(const struct ps_conf_port *p, const char *pci)
{
	return p->pf[0] != '\0' && !ps_text_existsf(PCI_DIR "/%s", pci);
}

/* -- driver -- */

static void
look_at_interface(struct ps_host *h, const char *ifname)
{
	struct ps_driver d;
	struct ps_err e;

	if (!ps_text_existsf("/sys/class/net/%s", ifname)) {
		ps_row_add(h, PS_STEP_NOT, ifname, "ip link show lists the interfaces here",
			"there is no such interface");
		return;
	}
	if (ps_driver_get(ifname, &d, &e) < 0)
		ps_row_add(h, PS_STEP_SKIP, ifname, "", "%s", e.text);
	else
		ps_row_add(h, PS_STEP_OK, ifname, "", "%s %s, firmware %s", d.name, d.version,
			d.firmware[0] != '\0' ? d.firmware : "not told");
}

/* mlx5 stays with its kernel driver and needs the verbs beside it. */
static void
look_at_modules(struct ps_host *h, const char *pci, const char *driver)
{
	if (strcmp(driver, "mlx5_core") == 0) {
		if (!ps_text_exists("/sys/class/infiniband_verbs"))
			ps_row_add(h, PS_STEP_NOT, pci, "modprobe -a mlx5_ib ib_uverbs",
				"DPDK drives mlx5 through the kernel's verbs, which are missing");
		else
			ps_row_add(h, PS_STEP_OK, pci, "", "mlx5_core with verbs");
		return;
	}
	if (!ps_text_exists("/sys/bus/pci/drivers/vfio-pci"))
		ps_row_add(h, PS_STEP_NOT, pci, "modprobe vfio-pci", "vfio-pci is not loaded");
	else
		ps_row_add(h, PS_STEP_OK, pci, "", "vfio-pci is loaded");
}

static void
look_at_pci(struct ps_host *h, const struct ps_conf_port *p)
{
	char pci[24], path[96], driver[64], ifname[16];

	ps_host_pci(p, pci);
	if (!ps_text_existsf(PCI_DIR "/%s", pci) && !to_be_made(p, pci)) {
		ps_row_add(h, PS_STEP_NOT, pci, "lspci -D lists them; for a VF set pf too",
			"there is no such PCI device");
		return;
	}
	snprintf(path, sizeof(path), PCI_DIR "/%s/driver", pci);
	if (!ps_text_link(path, driver, sizeof(driver)))
		snprintf(driver, sizeof(driver), "none");
	if (p->path != PS_PATH_AF_XDP && p->path != PS_PATH_SOCKET)
		look_at_modules(h, pci, driver);
	else if (ps_host_interface(p, ifname) != NULL)
		look_at_interface(h, ifname);
	else
		ps_row_add(h, PS_STEP_SKIP, pci, "", "it has no interface: see binding");
}

void
ps_step_driver(struct ps_host *h)
{
	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];

		if (p->pf[0] != '\0')
			look_at_interface(h, p->pf);
		if (ps_host_is_pci(p))
			look_at_pci(h, p);
		else if (ps_host_is_eal(p))
			ps_row_add(h, PS_STEP_SKIP, p->device, "",
				"EAL makes it, from the arguments behind -- of penstock run");
		else
			look_at_interface(h, p->device);
	}
}

/* -- vf -- */

static void
want_count(struct ps_host *h, const struct ps_conf_port *p)
{
	struct ps_knob autoprobe = {.kind = "file"}, count = {.kind = "file"};
	char value[16];
	int64_t now;

	snprintf(autoprobe.target, sizeof(autoprobe.target),
		"/sys/class/net/%.15s/device/sriov_drivers_autoprobe", p->pf);
	snprintf(count.target, sizeof(count.target), "/sys/class/net/%.15s/device/sriov_numvfs",
		p->pf);
	if (!ps_text_existsf("/sys/class/net/%s", p->pf)) {
		ps_row_add(h, PS_STEP_SKIP, p->pf, "", "seen once it is there");
		return;
	}
	if (!ps_text_number(count.target, &now)) {
		ps_row_add(h, PS_STEP_NOT, p->pf, "turn SR-IOV on in the firmware's setup",
			"it has no virtual functions (SR-IOV)");
		return;
	}
	if (now > (int64_t)p->vf) {
		ps_row_add(h, PS_STEP_OK, p->pf, "", "%lld virtual functions", (long long)now);
		return;
	}
	if (now > 0) {
		ps_row_add(h, PS_STEP_NOT, p->pf, "set vf = 0, or remove them by hand first",
			"%lld virtual functions are there, and the kernel adds none to them",
			(long long)now);
		return;
	}
	/* So that no kernel driver takes it in between. */
	if (needs_vfio(p) && ps_text_exists(autoprobe.target))
		ps_host_want(h, PS_STEP_NOT, p->pf, &autoprobe, "0",
			"a kernel driver would take the new VF");
	snprintf(value, sizeof(value), "%u", p->vf + 1);
	ps_host_want(h, PS_STEP_NOT, p->pf, &count, value, "the virtual function is to be made");
}

static void
want_vf(struct ps_host *h, const struct ps_conf_port *p, const char *what, const char *value)
{
	struct ps_knob k = {.kind = "setting"};
	char subject[64];

	snprintf(k.target, sizeof(k.target), "%.15s", p->pf);
	snprintf(k.key, sizeof(k.key), "vf.%u.%s", p->vf, what);
	snprintf(subject, sizeof(subject), "%.15s vf %u %s", p->pf, p->vf, what);
	ps_host_want(h, PS_STEP_NOT, subject, &k, value, "as configured");
}

void
ps_step_vf(struct ps_host *h)
{
	char mac[PS_CONF_STRING];
	struct ps_iface pf;
	bool any = false;
	struct ps_err e;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];

		if (p->pf[0] == '\0')
			continue;
		any = true;
		want_count(h, p);
		snprintf(mac, sizeof(mac), "%s", p->vf_mac);
		if (strcmp(mac, "pf") == 0 && ps_iface_get(p->pf, &pf, &e) == 0)
			ps_mac_text(pf.mac, mac);
		if (mac[0] != '\0')
			want_vf(h, p, "mac", mac);
		/* Changing it resets the VF: before a driver starts there. */
		want_vf(h, p, "trust", p->vf_trust ? "on" : "off");
		want_vf(h, p, "spoofchk", p->vf_spoofchk ? "on" : "off");
	}
	if (!any)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no port has a pf");
}

/* -- binding -- */

static void
look_at_binding(struct ps_host *h, const struct ps_conf_port *p)
{
	struct ps_knob k = {.kind = "driver"};
	char path[96], driver[64] = "none", pci[24], remedy[96];

	snprintf(k.target, sizeof(k.target), "%s", ps_host_pci(p, pci));
	snprintf(path, sizeof(path), PCI_DIR "/%s/driver", pci);
	ps_text_link(path, driver, sizeof(driver));
	snprintf(remedy, sizeof(remedy), "dpdk-devbind.py -b KERNEL_DRIVER %s (lspci -k names it)",
		pci);
	if (!ps_text_existsf(PCI_DIR "/%s", pci) && !to_be_made(p, pci))
		ps_row_add(h, PS_STEP_SKIP, pci, "", "there is no such PCI device");
	else if (needs_vfio(p))
		ps_host_want(h, PS_STEP_NOT, pci, &k, "vfio-pci", "DPDK drives it from user space");
	else if (to_be_made(p, pci))
		ps_row_add(h, PS_STEP_OK, pci, "", "left to the kernel's driver once it is made");
	else if (strcmp(driver, "none") == 0 || strcmp(driver, "vfio-pci") == 0 ||
		 strncmp(driver, "uio_", 4) == 0 || strcmp(driver, "igb_uio") == 0)
		ps_row_add(h, PS_STEP_NOT, pci, remedy,
			"driver %s, and path = %s needs the kernel's: it has no interface", driver,
			p->path == PS_PATH_SOCKET ? "socket" : "af_xdp");
	else
		ps_row_add(h, PS_STEP_OK, pci, "", "%s, which stays", driver);
}

void
ps_step_binding(struct ps_host *h)
{
	bool any = false;

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		if (!ps_host_is_pci(&h->conf->port[i]))
			continue;
		any = true;
		look_at_binding(h, &h->conf->port[i]);
	}
	if (!any)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no port is a PCI device");
}

/* -- iommu -- */

static bool
is_bridge(const char *pci)
{
	char path[96], class[32];

	snprintf(path, sizeof(path), PCI_DIR "/%.20s/class", pci);
	return ps_text_read(path, class, sizeof(class)) == 0 && strncmp(class, "0x06", 4) == 0;
}

/* What shares the group must be with vfio-pci, or without driver, too. */
static void
look_at_group(struct ps_host *h, const char *pci)
{
	char path[128], group[16], driver[64], remedy[160];
	unsigned int strangers = 0;
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), PCI_DIR "/%s/iommu_group", pci);
	if (!ps_text_link(path, group, sizeof(group))) {
		ps_row_add(h, PS_STEP_NOT, pci,
			"add intel_iommu=on or amd_iommu=on to the kernel's command line and "
			"restart; turn VT-d or AMD-Vi on in the firmware's setup",
			"it is in no IOMMU group");
		return;
	}
	snprintf(path, sizeof(path), PCI_DIR "/%s/iommu_group/devices", pci);
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.' || strcmp(d->d_name, pci) == 0 || is_bridge(d->d_name))
			continue;
		snprintf(path, sizeof(path), PCI_DIR "/%.20s/driver", d->d_name);
		if (!ps_text_link(path, driver, sizeof(driver)) || strcmp(driver, "vfio-pci") == 0)
			continue;
		strangers++;
		snprintf(remedy, sizeof(remedy),
			"dpdk-devbind.py -u %.20s if it may go; else another slot, or ACS",
			d->d_name);
		ps_row_add(h, PS_STEP_NOT, pci, remedy,
			"group %s also holds %.20s with driver %.32s: \"group is not viable\"",
			group, d->d_name, driver);
	}
	if (dir != NULL)
		closedir(dir);
	if (strangers == 0)
		ps_row_add(h, PS_STEP_OK, pci, "", "alone in group %s", group);
}

void
ps_step_iommu(struct ps_host *h)
{
	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];
		char pci[24];

		if (!needs_vfio(p))
			continue;
		ps_host_pci(p, pci);
		if (ps_text_existsf(PCI_DIR "/%s", pci))
			look_at_group(h, pci);
		else
			ps_row_add(h, PS_STEP_SKIP, pci, "", "seen once init has made it");
	}
	if (!any_needs_vfio(h))
		ps_row_add(h, PS_STEP_SKIP, "", "", NO_VFIO);
}

/* -- vfio -- */

static void
look_at_file(struct ps_host *h, const char *pci)
{
	char path[128], group[16], remedy[192];

	snprintf(path, sizeof(path), PCI_DIR "/%s/iommu_group", pci);
	if (!ps_text_link(path, group, sizeof(group)) || !ps_text_existsf("/dev/vfio/%s", group)) {
		ps_row_add(h, PS_STEP_SKIP, pci, "", "seen once it is bound to vfio-pci");
		return;
	}
	snprintf(path, sizeof(path), "/dev/vfio/%s", group);
	snprintf(remedy, sizeof(remedy), "chown PENSTOCK_USER %s, or a udev rule that lasts", path);
	if (access(path, R_OK | W_OK) != 0)
		ps_row_add(h, PS_STEP_NOT, pci, remedy, "%s may not be opened", path);
	else
		ps_row_add(h, PS_STEP_OK, pci, "", "%s may be opened", path);
}

void
ps_step_vfio(struct ps_host *h)
{
	static const char unsafe[] = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
	char value[8], pci[24];

	if (!any_needs_vfio(h)) {
		ps_row_add(h, PS_STEP_SKIP, "", "", NO_VFIO);
		return;
	}
	if (ps_text_read(unsafe, value, sizeof(value)) == 0 && value[0] == 'Y')
		ps_row_add(h, PS_STEP_NOT, "no-IOMMU mode",
			"echo N > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
			"any device could write anywhere in memory; Penstock does not run so");
	else
		ps_row_add(h, PS_STEP_OK, "no-IOMMU mode", "", "off");
	for (unsigned int i = 0; i < h->conf->n_ports; i++)
		if (needs_vfio(&h->conf->port[i]))
			look_at_file(h, ps_host_pci(&h->conf->port[i], pci));
}

/* -- known -- */

/* What the port needs of its physical function's driver. */
static unsigned int
uses_of_pf(const struct ps_conf_port *p)
{
	return PS_USE_VF | (p->vf_trust ? 0 : PS_USE_UNTRUSTED_VF) |
	       (ps_host_shares_mac(p) ? PS_USE_DROP_RULES : 0);
}

static void
look_at_known(struct ps_host *h, const char *ifname, unsigned int uses)
{
	const struct ps_known *k = NULL;
	unsigned int kernel[2] = {0, 0}, found = 0;
	char driver[64];
	struct utsname u;

	uname(&u);
	sscanf(u.release, "%u.%u", &kernel[0], &kernel[1]);
	ps_host_driver(ifname, driver, sizeof(driver));
	while ((k = ps_known_next(k, driver, kernel, uses)) != NULL) {
		found++;
		ps_row_add(h, k->fatal ? PS_STEP_NOT : PS_STEP_PARTIAL, ifname, k->remedy,
			"%s, kernel %.32s: %s", driver, u.release, k->why);
	}
	if (found == 0)
		ps_row_add(h, PS_STEP_OK, ifname, "", "%s, kernel %.32s: nothing known against it",
			driver, u.release);
}

void
ps_step_known(struct ps_host *h)
{
	char ifname[16];

	for (unsigned int i = 0; i < h->conf->n_ports; i++) {
		const struct ps_conf_port *p = &h->conf->port[i];

		if (p->pf[0] != '\0')
			look_at_known(h, p->pf, uses_of_pf(p));
		if (p->path != PS_PATH_SOCKET && ps_host_interface(p, ifname) != NULL)
			look_at_known(h, ifname,
				p->layout == PS_LAYOUT_DEDICATED ? PS_USE_AF_XDP | PS_USE_UDP_RULES
								 : PS_USE_AF_XDP);
	}
}
