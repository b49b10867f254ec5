/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "step.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "iface.h"
#include "text.h"
#include "use.h"

const char *
ps_step_state_name(enum ps_step_state state)
{
	static const char *const name[] = {"ok", "not", "partial", "skip"};

	return name[state];
}

bool
ps_host_is_pci(const struct ps_conf_port *p)
{
	unsigned int domain, bus, dev, fn;
	char end;

	return sscanf(p->device, "%4x:%2x:%2x.%1u%c", &domain, &bus, &dev, &fn, &end) == 4 ||
	       sscanf(p->device, "%2x:%2x.%1u%c", &bus, &dev, &fn, &end) == 3;
}

bool
ps_host_is_interface(const struct ps_conf_port *p)
{
	return !ps_host_is_pci(p) && strchr(p->device, '/') == NULL &&
	       ps_text_existsf("/sys/class/net/%s", p->device);
}

char *
ps_host_interface(const struct ps_conf_port *p, char ifname[16])
{
	char path[96], pci[24];
	struct dirent *d;
	DIR *dir;

	ifname[0] = '\0';
	if (ps_host_is_interface(p)) {
		snprintf(ifname, 16, "%.15s", p->device);
		return ifname;
	}
	if (!ps_host_is_pci(p) || (p->path != PS_PATH_AF_XDP && p->path != PS_PATH_SOCKET))
		return NULL;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/net", ps_host_pci(p, pci));
	dir = opendir(path);
	while (dir != NULL && ifname[0] == '\0' && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			snprintf(ifname, 16, "%.15s", d->d_name);
	if (dir != NULL)
		closedir(dir);
	return ifname[0] != '\0' ? ifname : NULL;
}

bool
ps_host_is_loopback(const struct ps_conf_port *p)
{
	return strcmp(p->device, "lo") == 0;
}

bool
ps_host_is_eal(const struct ps_conf_port *p)
{
	return (strncmp(p->device, "net_", 4) == 0 || strncmp(p->device, "eth_", 4) == 0) &&
	       !ps_host_is_interface(p);
}

bool
ps_host_is_shared(const struct ps_conf_port *p)
{
	char path[96], pci[24], driver[64];

	if (!ps_host_is_pci(p))
		return false;
	if (p->path == PS_PATH_AF_XDP || p->path == PS_PATH_SOCKET)
		return true;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", ps_host_pci(p, pci));
	if (ps_text_link(path, driver, sizeof(driver)))
		return strcmp(driver, "mlx5_core") == 0;
	/* A VF that init will make has its PF's kind. */
	return p->pf[0] != '\0' && !ps_text_existsf("/sys/bus/pci/devices/%s", pci) &&
	       strcmp(ps_host_driver(p->pf, driver, sizeof(driver)), "mlx5_core") == 0;
}

bool
ps_host_shares_mac(const struct ps_conf_port *p)
{
	char mac[PS_MAC_TEXT];
	struct ps_iface pf;
	struct ps_err unused;

	if (p->pf[0] == '\0' || strcmp(p->vf_mac, "pf") == 0)
		return p->pf[0] != '\0';
	if (ps_iface_get(p->pf, &pf, &unused) < 0)
		return false;
	ps_mac_text(pf.mac, mac);
	return strcasecmp(p->vf_mac, mac) == 0;
}

char *
ps_host_pci(const struct ps_conf_port *p, char text[24])
{
	snprintf(text, 24, "%s%.18s", strlen(p->device) < 12 ? "0000:" : "", p->device);
	return text;
}

char *
ps_host_driver(const char *ifname, char *text, size_t cap)
{
	char path[PS_CONF_STRING + 64];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/driver", ifname);
	if (!ps_text_link(path, text, cap))
		snprintf(text, cap, "virtual");
	return text;
}

/* -- rows -- */

static void
clear_rows(struct ps_host *h)
{
	for (unsigned int i = 0; i < h->n_rows; i++) {
		free(h->row[i].old);
		free(h->row[i].value);
	}
	h->n_rows = 0;
}

static struct ps_row *
new_row(struct ps_host *h, enum ps_step_state state, const char *subject)
{
	struct ps_row *r;

	if (h->n_rows == PS_ROWS_MAX) {
		/* The last row stands for all that would follow, and never hides a failure. */
		r = &h->row[PS_ROWS_MAX - 1];
		if (r->state == PS_STEP_NOT)
			state = PS_STEP_NOT;
		free(r->old);
		free(r->value);
	} else {
		r = &h->row[h->n_rows++];
	}
	memset(r, 0, sizeof(*r));
	r->step = h->step->name;
	r->state = state;
	snprintf(r->subject, sizeof(r->subject), "%s", subject);
	return r;
}

void
ps_row_add(struct ps_host *h, enum ps_step_state state, const char *subject, const char *remedy,
	const char *why, ...)
{
	struct ps_row *r = new_row(h, state, subject);
	va_list ap;

	snprintf(r->remedy, sizeof(r->remedy), "%s", remedy);
	va_start(ap, why);
	vsnprintf(r->why, sizeof(r->why), why, ap);
	va_end(ap);
}

/* Tables are long: for people, their beginning. */
static void
shorten(char *out, size_t cap, const char *text)
{
	if ((size_t)snprintf(out, cap, "%s", text) >= cap)
		memcpy(out + cap - 4, "...", 4);
}

void
ps_host_want(struct ps_host *h, enum ps_step_state state, const char *subject,
	const struct ps_knob *k, const char *value, const char *why)
{
	char old[PS_KNOB_VALUE], was[48], shall[48];
	int rc = ps_knob_get(k, old);
	struct ps_row *r;

	if (rc < 0) {
		ps_row_add(h, PS_STEP_SKIP, subject, "", "cannot be read here: %s", strerror(-rc));
		return;
	}
	shorten(was, sizeof(was), old);
	shorten(shall, sizeof(shall), value);
	if (strcmp(old, value) == 0) {
		ps_row_add(h, PS_STEP_OK, subject, "", "%s", was);
		return;
	}
	r = new_row(h, state, subject);
	snprintf(r->why, sizeof(r->why), "%s, not %s: %s", was, shall, why);
	ps_knob_command(k, value, r->remedy, sizeof(r->remedy));
	r->wish = true;
	r->knob = *k;
	r->old = strdup(old);
	r->value = strdup(value);
}

/* -- the host -- */

int
ps_host_open(struct ps_host *h, struct ps_conf *conf, const char *file, struct ps_err *e)
{
	int rc;

	memset(h, 0, sizeof(*h));
	h->conf = conf;
	h->file = file;
	rc = ps_conf_load(conf, file, NULL, 0, e);
	if (rc == 0)
		rc = ps_conf_check(conf, e);
	if (rc == 0)
		rc = ps_lcores_choose(&h->lcores, conf->lcores, e);
	if (rc < 0)
		return rc;
	ps_mem_of(&h->mem, conf, &h->lcores);
	h->running = ps_use_running(conf->name);
	return 0;
}

void
ps_host_look(struct ps_host *h)
{
	ps_host_look_at(h, NULL);
}

void
ps_host_look_at(struct ps_host *h, const char *const names[])
{
	clear_rows(h);
	for (unsigned int i = 0; i < ps_n_steps; i++) {
		const char *const *name = names;

		while (name != NULL && *name != NULL && strcmp(*name, ps_steps[i].name) != 0)
			name++;
		if (name != NULL && *name == NULL)
			continue;
		h->step = &ps_steps[i];
		h->step->look(h);
	}
}

void
ps_host_close(struct ps_host *h)
{
	clear_rows(h);
}

unsigned int
ps_host_wishes(const struct ps_host *h)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->n_rows; i++)
		n += h->row[i].wish;
	return n;
}

bool
ps_host_ready(const struct ps_host *h)
{
	for (unsigned int i = 0; i < h->n_rows; i++)
		if (h->row[i].state == PS_STEP_NOT)
			return false;
	return true;
}
