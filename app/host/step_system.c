/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <string.h>

#include "contact.h"
#include "hostnet.h"
#include "netfilter.h"
#include "text.h"

#define SOCKETS_SHOWN 8

/* -- sysctl -- */

static const struct {
	const char *name, *value;
	enum ps_step_state state;
	const char *why;
} sysctls[] = {
	{"net/core/bpf_jit_enable", "1", PS_STEP_PARTIAL, "the XDP program would be interpreted"},
	{"kernel/numa_balancing", "0", PS_STEP_PARTIAL,
		"workers would fault on their own memory from time to time"},
};

/* Answers that leave by lo come in again from there, with an address of this host as source. */
static void
look_at_loopback(struct ps_host *h)
{
	static const char name[] = "net/ipv4/conf/lo/accept_local";
	const struct ps_knob k = {
		.kind = "file", .target = "/proc/sys/net/ipv4/conf/lo/accept_local"};
	int64_t all = 0;

	ps_text_number("/proc/sys/net/ipv4/conf/all/accept_local", &all);
	if (all != 0)
		ps_row_add(h, PS_STEP_OK, name, "", "on for all interfaces");
	else
		ps_host_want(h, PS_STEP_NOT, name, &k, "1", "the kernel would drop answers on lo");
}

void
ps_step_sysctl(struct ps_host *h)
{
	for (unsigned int i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++) {
		struct ps_knob k = {.kind = "file"};

		snprintf(k.target, sizeof(k.target), "/proc/sys/%s", sysctls[i].name);
		if (ps_text_exists(k.target))
			ps_host_want(h, sysctls[i].state, sysctls[i].name, &k, sysctls[i].value,
				sysctls[i].why);
		else
			ps_row_add(h, PS_STEP_SKIP, sysctls[i].name, "",
				"not in this kernel or network namespace");
	}
	for (unsigned int i = 0; i < h->conf->n_ports; i++)
		if (ps_host_is_loopback(&h->conf->port[i]) &&
			h->conf->port[i].path != PS_PATH_SOCKET)
			look_at_loopback(h);
}

/* -- sockets -- */

static void
look_at_service(struct ps_host *h, const struct ps_conf_service *s)
{
	struct ps_udp_socket found[SOCKETS_SHOWN];
	char owner[64];
	struct ps_err e;
	int n = ps_udp_bound((uint16_t)s->port, found, SOCKETS_SHOWN, &e);

	if (n < 0)
		ps_row_add(h, PS_STEP_SKIP, s->name, "", "%s", e.text);
	if (n == 0)
		ps_row_add(h, PS_STEP_OK, s->name, "", "no socket on UDP port %u", s->port);
	for (int i = 0; i < n && i < SOCKETS_SHOWN; i++) {
		if (found[i].pid != 0)
			snprintf(owner, sizeof(owner), "%.16s (pid %d)", found[i].comm,
				(int)found[i].pid);
		else
			snprintf(owner, sizeof(owner), "a process that cannot be seen from here");
		ps_row_add(h, PS_STEP_PARTIAL, s->name,
			"meant so only as fall-back; else give the service or that process another "
			"port",
			"UDP port %u is also bound by %s: it gets nothing while penstock serves it",
			s->port, owner);
	}
}

void
ps_step_sockets(struct ps_host *h)
{
	for (unsigned int i = 0; i < h->conf->n_services; i++)
		look_at_service(h, &h->conf->service[i]);
}

/* -- netfilter -- */

static unsigned int
show_chains(struct ps_host *h, const struct ps_filter_chain *c, int n)
{
	unsigned int shown = 0;

	for (int i = 0; i < n && i < PS_FILTER_CHAINS; i++) {
		if (c[i].rules == 0 && !c[i].drops)
			continue;
		shown++;
		ps_row_add(h, PS_STEP_PARTIAL, c[i].name, c[i].command,
			"%u rules%s at %s that the services' packets will not meet", c[i].rules,
			c[i].drops ? " and policy drop" : "", c[i].hook);
	}
	return shown;
}

void
ps_step_netfilter(struct ps_host *h)
{
	static struct ps_filter_chain chain[PS_FILTER_CHAINS];
	unsigned int shown = 0;
	struct ps_err e;
	int n = ps_filter_nft(chain, &e);

	if (n < 0)
		ps_row_add(h, PS_STEP_SKIP, "nftables", "nft list ruleset", "%s", e.text);
	shown += show_chains(h, chain, n);
	n = ps_filter_iptables(chain, &e);
	if (n < 0)
		ps_row_add(h, PS_STEP_SKIP, "iptables", "iptables-save", "%s", e.text);
	shown += show_chains(h, chain, n);
	if (shown == 0)
		ps_row_add(h, PS_STEP_OK, "", "", "no rules that packets to this host would meet");
}

/* -- contact -- */

static void
compare(struct ps_host *h, const struct ps_contact *c, const struct ps_conf_service *s)
{
	static const enum ps_step_state state[] = {
		[PS_CONTACT_SAME] = PS_STEP_OK,
		[PS_CONTACT_OTHER] = PS_STEP_NOT,
		[PS_CONTACT_UNTOLD] = PS_STEP_SKIP,
		[PS_CONTACT_UNKNOWN] = PS_STEP_PARTIAL,
		[PS_CONTACT_KERNEL] = PS_STEP_PARTIAL,
	};
	char why[200], remedy[128] = "";
	enum ps_contact_verdict v = ps_contact_compare(c, s, why, sizeof(why));

	if (v != PS_CONTACT_SAME && v != PS_CONTACT_UNTOLD)
		snprintf(remedy, sizeof(remedy),
			v == PS_CONTACT_KERNEL ? "remove [service %s]"
					       : "set port and address of [service %s] so",
			s->name);
	ps_row_add(h, state[v], s->name, remedy, "%s", why);
}

void
ps_step_contact(struct ps_host *h)
{
	const char *file = h->contact_file;
	struct ps_contact c;
	struct ps_err e;

	if (file == NULL && h->conf->contact_info[0] != '\0')
		file = h->conf->contact_info;
	if (file == NULL) {
		ps_row_add(h, PS_STEP_SKIP, "", "", "compared with --contact-info FILE");
		return;
	}
	if (ps_contact_load(&c, file, &e) < 0) {
		ps_row_add(h, PS_STEP_NOT, "", "agave-validator contact-info --output json", "%s",
			e.text);
		return;
	}
	for (unsigned int i = 0; i < h->conf->n_services; i++)
		compare(h, &c, &h->conf->service[i]);
}
