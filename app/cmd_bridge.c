/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "cmd.h"

#define OVERRIDES_MAX 32

const char ps_help_bridge[] =
	"usage: penstock bridge -c FILE [--json] [-o SECTION.KEY=VALUE]...\n"
	"\n"
	"Reads the feeds of a running penstock as their consumer and delivers to a validator that "
	"was\n"
	"never modified: over TPU QUIC to its TPU or forward port, or over plain UDP. Needs no "
	"root and\n"
	"no EAL. A line each second on standard error.\n"
	"\n"
	"  -c FILE    configuration, section [bridge] (penstock help config); it may be that of\n"
	"             penstock run\n"
	"  --json     the lines as JSON objects on standard output\n"
	"  -o S.K=V   an option, instead of the file's\n"
	"\n"
	"SIGHUP reads the stakes again. SIGINT and SIGTERM end it: what is under way is waited "
	"for,\n"
	"what was not sent stays in the feeds.\n";

/* -- configuration -- */

static bool
read_target(const char *text, struct ps_flow4 *to)
{
	char addr[INET_ADDRSTRLEN], *end;
	const char *colon = strchr(text, ':');
	struct in_addr a;
	unsigned long port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(addr))
		return false;
	memcpy(addr, text, (size_t)(colon - text));
	addr[colon - text] = '\0';
	if (colon[1] < '1' || colon[1] > '9')
		return false;
	port = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || port > UINT16_MAX || inet_pton(AF_INET, addr, &a) != 1)
		return false;
	to->daddr_be = a.s_addr;
	to->dport_be = htons((uint16_t)port);
	return true;
}

int
ps_bridge_keys(const struct ps_bridge *b, uint8_t seed[][32], unsigned int *n, struct ps_err *e)
{
	char copy[PS_CONF_STRING], *rest = copy, *word;
	int rc = 0;

	*n = 0;
	strcpy(copy, b->conf.bridge.keys);
	if (copy[0] == '\0') {
		ps_random(seed[(*n)++], 32);
		return 0;
	}
	while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
		word += strspn(word, " \t");
		word[strcspn(word, " \t")] = '\0';
		if (*n == PS_BRIDGE_KEYS)
			return ps_fail(e, EINVAL, "[bridge] keys: more than %d; name fewer",
				PS_BRIDGE_KEYS);
		rc = ps_conf_keypair_file("[bridge] keys", word, seed[(*n)++], e);
	}
	return rc;
}

static int
configure(struct ps_bridge *b, struct ps_err *e)
{
	if (b->conf.bridge.feeds[0] == '\0')
		return ps_fail(e, EINVAL,
			"[bridge] feeds is missing; name feeds or a pattern such "
			"as feeds = /dev/shm/penstock/tpu.*");
	if (!read_target(b->conf.bridge.target, &b->to))
		return ps_fail(e, EINVAL,
			"[bridge] target: '%s' is not ADDRESS:PORT; give the validator's port, "
			"such as 127.0.0.1:8009",
			b->conf.bridge.target);
	return 0;
}

/* -- the command -- */

int
ps_cmd_bridge(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct ps_bridge b;
	const char *file = NULL, *override[OVERRIDES_MAX];
	unsigned int n = 0;
	struct ps_err e;
	int opt, rc;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:c:o:h", longs, NULL)) != -1) {
		if (opt == 'h')
			return ps_print_help(ps_help_bridge);
		if (opt == 'c')
			file = optarg;
		else if (opt == 'j')
			b.json = true;
		else if (opt != 'o')
			return ps_usage_option("bridge", opt, argv);
		else if (n == OVERRIDES_MAX)
			return ps_usage("bridge", "too many -o");
		else
			override[n++] = optarg;
	}
	if (optind < argc)
		return ps_usage("bridge", "unexpected '%s'", argv[optind]);
	if (file == NULL)
		return ps_usage("bridge", "no configuration; give -c FILE");
	rc = ps_conf_load(&b.conf, file, override, n, &e);
	if (rc == -EDOM)
		return ps_usage("bridge", "%s", e.text);
	ps_log_level = b.conf.log;
	if (rc == 0)
		rc = configure(&b, &e);
	if (rc == 0)
		rc = ps_bridge_run(&b, &e);
	if (rc == 0)
		return 0;
	ps_log(PS_LOG_ERROR, "%s", e.text);
	return 1;
}
