/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "conf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

const char *
ps_service_kind_name(uint32_t kind)
{
	static const char *const name[] = {"udp", "tpu-quic", "tpu-quic-vote"};

	return kind < 3 ? name[kind] : "?";
}

static int
missing(const char *kind, const char *name, const char *key, struct ps_err *e)
{
	return ps_fail(e, EINVAL, "[%s %s] %s is missing; add '%s = ...' (penstock help config)",
		kind, name, key, key);
}

/* True when a datagram could belong to both; *addr_be: for which address. */
static bool
overlap(const struct ps_conf_service *a, const struct ps_conf_service *b, uint32_t *addr_be)
{
	*addr_be = INADDR_ANY;
	if (a->port != b->port)
		return false;
	if (a->any || b->any)
		return true;
	for (uint32_t i = 0; i < a->n_addrs; i++) {
		for (uint32_t j = 0; j < b->n_addrs; j++) {
			*addr_be = a->addr_be[i];
			if (a->addr_be[i] == b->addr_be[j])
				return true;
		}
	}
	return false;
}

static int
check_services(const struct ps_conf *c, struct ps_err *e)
{
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct ps_conf_service *s = &c->service[i];
		struct in_addr addr;

		if (s->kind == UINT32_MAX)
			return missing("service", s->name, "kind", e);
		if (s->n_addrs == 0 && !s->any)
			return missing("service", s->name, "address", e);
		if (s->any && s->n_addrs > 0)
			return ps_fail(e, EINVAL,
				"[service %s] address: any already holds the addresses beside it; "
				"remove one or the other",
				s->name);
		if (s->port == 0)
			return missing("service", s->name, "port", e);
		for (unsigned int j = 0; j < i; j++)
			if (overlap(&c->service[j], s, &addr.s_addr))
				return ps_fail(e, EINVAL,
					"[service %s] and [service %s] both use port %u of %s; "
					"give one of them another port",
					c->service[j].name, s->name, s->port,
					addr.s_addr == INADDR_ANY ? "any address"
								  : inet_ntoa(addr));
	}
	return 0;
}

int
ps_conf_addresses(const struct ps_conf_port *p, uint32_t *addr_be, uint32_t *n, struct ps_err *e)
{
	char copy[PS_CONF_STRING], *rest = copy, *word;

	*n = 0;
	strcpy(copy, p->addresses);
	while (rest != NULL && (word = strsep(&rest, ", ")) != NULL) {
		struct in_addr a;

		if (*word == '\0')
			continue;
		if (inet_pton(AF_INET, word, &a) != 1 || a.s_addr == INADDR_ANY)
			return ps_fail(e, EINVAL,
				"[port %s] addresses: '%s' is no address; give IPv4 addresses "
				"separated by commas",
				p->name, word);
		addr_be[(*n)++] = a.s_addr;
	}
	return 0;
}

/* The kernel's loopback has one queue, and nothing of it can be set. */
static int
check_loopback(const struct ps_conf_port *p, struct ps_err *e)
{
	if (strcmp(p->device, "lo") != 0 || p->path == PS_PATH_SOCKET)
		return 0;
	if (p->queues == 1 && p->first_queue == 0 && p->layout == PS_LAYOUT_SIMPLE)
		return 0;
	return ps_fail(e, EINVAL,
		"[port %s] device = lo has one queue, which is worker 0's; remove queues, "
		"first_queue and layout",
		p->name);
}

int
ps_conf_check(const struct ps_conf *c, struct ps_err *e)
{
	if (c->n_services == 0)
		return ps_fail(e, EINVAL,
			"no service is configured; add a [service NAME] section (see "
			"config/af-xdp.ini)");
	if (!isalnum((unsigned char)c->name[0]) || c->name[strspn(c->name, NAME_CHARS)] != '\0')
		return ps_fail(e, EINVAL,
			"[penstock] name: '%s' may hold letters, digits, '.', '-' and '_', and "
			"starts "
			"with a letter or digit",
			c->name);
	if (c->quic.handshakes > c->quic.connections)
		return ps_fail(e, EINVAL,
			"[quic] handshakes: %u is more than connections = %u; lower it",
			c->quic.handshakes, c->quic.connections);
	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct ps_conf_port *p = &c->port[i];
		uint32_t addr_be[PS_CONF_ADDRS], n;

		if (p->device[0] == '\0')
			return missing("port", p->name, "device", e);
		if (ps_conf_addresses(p, addr_be, &n, e) < 0)
			return -EINVAL;
		for (unsigned int j = 0; j < i; j++)
			if (strcmp(c->port[j].device, p->device) == 0)
				return ps_fail(e, EINVAL,
					"[port %s] and [port %s] are both device %s; remove one "
					"of them",
					c->port[j].name, p->name, p->device);
		if (p->xdp_mode == PS_XDP_MODE_GENERIC && p->zero_copy == PS_ZERO_COPY_REQUIRE)
			return ps_fail(e, EINVAL,
				"[port %s] xdp_mode = generic always copies; remove it, or set "
				"zero_copy = prefer",
				p->name);
		if (p->layout == PS_LAYOUT_DEDICATED &&
			(p->path == PS_PATH_PMD || p->path == PS_PATH_SOCKET))
			return ps_fail(e, EINVAL,
				"[port %s] layout = dedicated is for AF_XDP; remove it, or set "
				"path = af_xdp",
				p->name);
		if (check_loopback(p, e) < 0)
			return -EINVAL;
		if (p->mbufs < 3 * p->descriptors)
			return ps_fail(e, EINVAL,
				"[port %s] mbufs: %u are too few for queues of %u; give at least "
				"%u",
				p->name, p->mbufs, p->descriptors, 3 * p->descriptors);
	}
	return check_services(c, e);
}

/* Exactly n numbers below 256 in brackets. */
static bool
parse_bytes(const char *text, uint8_t *out, unsigned int n)
{
	const char *p = text + strspn(text, " \t\r\n");

	if (*p++ != '[')
		return false;
	for (unsigned int i = 0; i < n; i++) {
		unsigned long v;
		char *end;

		p += strspn(p, " \t\r\n");
		if (!isdigit((unsigned char)*p))
			return false;
		v = strtoul(p, &end, 10);
		p = end + strspn(end, " \t\r\n");
		if (v > 255 || *p++ != (i + 1 < n ? ',' : ']'))
			return false;
		out[i] = (uint8_t)v;
	}
	return p[strspn(p, " \t\r\n")] == '\0';
}

int
ps_conf_keypair_file(const char *option, const char *file, uint8_t seed[32], struct ps_err *e)
{
	uint8_t bytes[64];
	char text[1024];
	size_t len;
	FILE *f;

	f = fopen(file, "re");
	if (f == NULL)
		return ps_fail(e, errno,
			"%s: cannot read %s: %s; solana-keygen new -o FILE makes one", option, file,
			strerror(errno));
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	if (strlen(text) != len || !parse_bytes(text, bytes, sizeof(bytes))) {
		explicit_bzero(text, sizeof(text));
		return ps_fail(e, EINVAL,
			"%s: %s is not a JSON array of 64 bytes; solana-keygen new -o FILE makes "
			"one",
			option, file);
	}
	memcpy(seed, bytes, 32);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int
ps_conf_keypair(const struct ps_conf *c, uint8_t seed[32], struct ps_err *e)
{
	return ps_conf_keypair_file("[tls] keypair", c->tls.keypair, seed, e);
}
