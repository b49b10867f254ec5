/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "contact.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define TEXT_MAX    65536
#define QUIC_OFFSET 6 /* of a validator's QUIC ports from those it announces for UDP */
/* Agave announces port 1 for what it does not serve. */
#define PLACEHOLDER_PORT 1

#define REMEDY "give what `agave-validator contact-info --output json` prints"

/* "192.0.2.1:8003"; false for IPv6 and for what is not announced. */
static bool
parse_socket(const char *text, uint32_t *addr_be, uint16_t *port)
{
	char addr[INET_ADDRSTRLEN], *end;
	const char *colon = strrchr(text, ':');
	struct in_addr in;
	unsigned long n;

	if (colon == NULL || colon - text >= (ptrdiff_t)sizeof(addr) || colon[1] < '0' ||
		colon[1] > '9')
		return false;
	memcpy(addr, text, (size_t)(colon - text));
	addr[colon - text] = '\0';
	n = strtoul(colon + 1, &end, 10);
	if (inet_pton(AF_INET, addr, &in) != 1 || *end != '\0' || n <= PLACEHOLDER_PORT ||
		n > 65535 || in.s_addr == INADDR_ANY)
		return false;
	*addr_be = in.s_addr;
	*port = (uint16_t)n;
	return true;
}

/* What is shown as it stands in the text. */
static bool
is_word(const char *text)
{
	static const char chars[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return text[0] != '\0' && text[strspn(text, chars)] == '\0';
}

static void
take(struct ps_contact *c, const char *name, const char *text)
{
	uint32_t addr_be;
	uint16_t port;

	if (c->n == PS_CONTACT_SOCKETS || strlen(name) >= sizeof(c->socket[0].name) ||
		!is_word(name) || !parse_socket(text, &addr_be, &port))
		return;
	snprintf(c->socket[c->n].name, sizeof(c->socket[c->n].name), "%s", name);
	c->socket[c->n].addr_be = addr_be;
	c->socket[c->n].port = port;
	c->n++;
}

int
ps_contact_parse(struct ps_contact *c, const char *text, size_t len, struct ps_err *e)
{
	json_error_t at;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at), *value;
	const char *name, *id;

	memset(c, 0, sizeof(*c));
	if (root == NULL)
		return ps_fail(e, EINVAL, "contact info: line %d is not JSON (%.80s); " REMEDY,
			at.line, at.text);
	id = json_string_value(json_object_get(root, "id"));
	if (id != NULL && is_word(id))
		snprintf(c->id, sizeof(c->id), "%s", id);
	json_object_foreach(root, name, value)
	{
		if (json_is_string(value))
			take(c, name, json_string_value(value));
	}
	json_decref(root);
	if (c->id[0] == '\0' || c->n == 0)
		return ps_fail(
			e, EINVAL, "contact info: no id or no sockets with IPv4 in it; " REMEDY);
	return 0;
}

int
ps_contact_load(struct ps_contact *c, const char *file, struct ps_err *e)
{
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
	char *text;
	size_t len;
	int rc;

	if (f == NULL)
		return ps_fail(e, errno, "contact info: cannot read %s: %s; " REMEDY, file,
			strerror(errno));
	text = malloc(TEXT_MAX);
	if (text == NULL) {
		rc = ps_fail(e, ENOMEM, "out of memory");
	} else {
		len = fread(text, 1, TEXT_MAX, f);
		rc = len == TEXT_MAX ? ps_fail(e, E2BIG, "contact info: too long; " REMEDY)
				     : ps_contact_parse(c, text, len, e);
		free(text);
	}
	if (f != stdin)
		fclose(f);
	return rc;
}

static int
find(const struct ps_contact *c, const char *name)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (strcmp(c->socket[i].name, name) == 0)
			return (int)i;
	return -1;
}

static bool
serves(const struct ps_conf_service *s, uint32_t addr_be)
{
	for (uint32_t i = 0; i < s->n_addrs; i++)
		if (s->addr_be[i] == addr_be)
			return true;
	return s->any;
}

/* The output has QUIC sockets under names of their own, or only those of UDP six ports below. */
static enum ps_contact_verdict
compare_quic(const struct ps_contact *c, const struct ps_conf_service *s, const char *quic,
	const char *udp, char *text, size_t cap)
{
	char addr[INET_ADDRSTRLEN];
	int i = find(c, quic);
	unsigned int port;

	if (i >= 0) {
		port = c->socket[i].port;
	} else {
		i = udp != NULL ? find(c, udp) : -1;
		if (i < 0) {
			snprintf(text, cap, "the output has no %s; compare port %u by hand", quic,
				s->port);
			return PS_CONTACT_UNTOLD;
		}
		port = c->socket[i].port + QUIC_OFFSET;
	}
	inet_ntop(AF_INET, &c->socket[i].addr_be, addr, sizeof(addr));
	snprintf(text, cap, "the validator announces %s:%u", addr, port);
	return port == s->port && serves(s, c->socket[i].addr_be) ? PS_CONTACT_SAME
								  : PS_CONTACT_OTHER;
}

static enum ps_contact_verdict
compare_udp(const struct ps_contact *c, const struct ps_conf_service *s, char *text, size_t cap)
{
	static const char *const tested[] = {"gossip", "tvu", "serve_repair", "repair", "tpu_vote"};

	for (unsigned int i = 0; i < c->n; i++) {
		if (c->socket[i].port != s->port || !serves(s, c->socket[i].addr_be))
			continue;
		for (unsigned int t = 0; t < sizeof(tested) / sizeof(tested[0]); t++) {
			if (strcmp(c->socket[i].name, tested[t]) != 0)
				continue;
			snprintf(text, cap,
				"this is the validator's %s, which it must receive itself: Agave "
				"tests that it is reached at start",
				tested[t]);
			return PS_CONTACT_KERNEL;
		}
		snprintf(text, cap, "the validator's %s", c->socket[i].name);
		return PS_CONTACT_SAME;
	}
	snprintf(text, cap, "port %u is none that the validator announces", s->port);
	return PS_CONTACT_UNKNOWN;
}

enum ps_contact_verdict
ps_contact_compare(
	const struct ps_contact *c, const struct ps_conf_service *s, char *text, size_t cap)
{
	switch (s->kind) {
	case PS_SERVICE_TPU_QUIC:
		return compare_quic(c, s, "tpu_quic", "tpu", text, cap);
	case PS_SERVICE_TPU_QUIC_VOTE:
		return compare_quic(c, s, "tpu_vote_quic", NULL, text, cap);
	default:
		return compare_udp(c, s, text, cap);
	}
}
