/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "load/load.h"

#define OVERRIDES_MAX   32
#define OVERRIDES_OURS  5
#define SECONDS_DEFAULT 10
#define NUMBER_MAX      100000000

const char ps_help_load[] =
	"usage: penstock load --port NAME --from ADDRESS:PORT --to ADDRESS:PORT [--udp]\n"
	"                     [--count N] [--seconds N] [--rate N] [--size MIN-MAX] [--conns N]\n"
	"                     [--seed N] [--mac MAC] [--json] [-l LCORE] [-o "
	"SECTION.KEY=VALUE]...\n"
	"                     [-- EAL ARGUMENTS]\n"
	"\n"
	"Sends signed transactions to a TPU port from one processor; a line each second on "
	"standard\n"
	"error, a summary at the end that says what limited it.\n"
	"\n"
	"  --port NAME     interface (AF_XDP), PCI address, or EAL device named after --\n"
	"  --from A:P      address and UDP port of ours; what comes there is taken from the "
	"kernel\n"
	"  --to A:P        the service\n"
	"  --udp           plain datagrams; otherwise TPU QUIC, one stream each\n"
	"  --count N       transactions; --seconds N: for so long (10 without --count). From "
	"65,536\n"
	"                  transactions on the same ones come again\n"
	"  --rate N        a second; 0, the default: as many as go\n"
	"  --size MIN-MAX  bytes, 134-1232 by default; larger than 1232: version 1\n"
	"  --conns N       connections (default 1), which take turns\n"
	"  --seed N        of the transactions (default 1)\n"
	"  --mac MAC       of the next hop; without, what the kernel's neighbour table says\n"
	"  -l LCORE        processor to send from; the last one by default\n"
	"  -o S.K=V        an option as for penstock run, of penstock or port.load\n";

struct arguments {
	const char *port, *from, *to, *lcore;
	unsigned int n;
	const char *override[OVERRIDES_MAX + OVERRIDES_OURS];
	char text[OVERRIDES_OURS][PS_CONF_STRING + 48];
};

enum { PORT, FROM, TO, UDP, COUNT, SECONDS, RATE, SIZE, CONNS, SEED, MAC, JSON };

static const struct option longs[] = {
	{"port", required_argument, NULL, 0},
	{"from", required_argument, NULL, 0},
	{"to", required_argument, NULL, 0},
	{"udp", no_argument, NULL, 0},
	{"count", required_argument, NULL, 0},
	{"seconds", required_argument, NULL, 0},
	{"rate", required_argument, NULL, 0},
	{"size", required_argument, NULL, 0},
	{"conns", required_argument, NULL, 0},
	{"seed", required_argument, NULL, 0},
	{"mac", required_argument, NULL, 0},
	{"json", no_argument, NULL, 0},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static bool
number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return *end == '\0' && *out >= min && *out <= max;
}

static bool
endpoint(const char *text, uint32_t *addr_be, uint16_t *port_be)
{
	char addr[INET_ADDRSTRLEN];
	const char *colon = strchr(text, ':');
	struct in_addr a;
	uint64_t port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(addr))
		return false;
	memcpy(addr, text, (size_t)(colon - text));
	addr[colon - text] = '\0';
	if (inet_pton(AF_INET, addr, &a) != 1 || !number(colon + 1, 1, UINT16_MAX, &port))
		return false;
	*addr_be = a.s_addr;
	*port_be = htons((uint16_t)port);
	return true;
}

/* NULL, or what should have been given. */
static const char *
number32(const char *text, uint64_t min, uint32_t *out)
{
	uint64_t n;

	if (!number(text, min, NUMBER_MAX, &n))
		return min == 0 ? "a number from 0 to 100000000" : "a number from 1 to 100000000";
	*out = (uint32_t)n;
	return NULL;
}

/* NULL, or what should have been given. */
static const char *
take(struct arguments *a, struct ps_load_options *o, int which, const char *value)
{
	switch (which) {
	case PORT:
		a->port = value;
		return NULL;
	case FROM:
		a->from = value;
		return endpoint(value, &o->from_be, &o->from_port_be) ? NULL : "ADDRESS:PORT";
	case TO:
		a->to = value;
		return endpoint(value, &o->to_be, &o->to_port_be) ? NULL : "ADDRESS:PORT";
	case UDP:
		o->udp = true;
		return NULL;
	case COUNT:
		return number(value, 1, UINT32_MAX, &o->count) ? NULL : "a number from 1";
	case SECONDS:
		return number32(value, 1, &o->seconds);
	case RATE:
		return number32(value, 0, &o->rate);
	case SIZE:
		return ps_txgen_parse_sizes(&o->gen, value) ? NULL : "MIN-MAX in bytes";
	case CONNS:
		if (number32(value, 1, &o->conns) != NULL || o->conns > PS_LOAD_CONNS_MAX)
			return "a number from 1 to 100000";
		return NULL;
	case SEED:
		return number(value, 0, UINT64_MAX, &o->gen.seed) ? NULL : "a number";
	case MAC:
		o->has_mac = rte_ether_unformat_addr(value, &o->mac) == 0;
		return o->has_mac ? NULL : "six pairs of hexadecimal digits";
	default:
		o->json = true;
		return NULL;
	}
}

/* 0, 2 after a usage line, -1: help. */
static int
parse(int argc, char **argv, struct arguments *a, struct ps_load_options *o)
{
	const char *wanted;
	int opt, which = 0;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+:l:o:h", longs, &which)) != -1) {
		if (opt == 'h')
			return -1;
		if (opt == 'l') {
			a->lcore = optarg;
		} else if (opt == 'o') {
			if (a->n == OVERRIDES_MAX)
				return ps_usage("load", "too many -o");
			a->override[a->n++] = optarg;
		} else if (opt != 0) {
			return ps_usage_option("load", opt, argv);
		} else if ((wanted = take(a, o, which, optarg)) != NULL) {
			return ps_usage(
				"load", "--%s %s: give %s", longs[which].name, optarg, wanted);
		}
	}
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return ps_usage("load", "unexpected '%s'; EAL arguments follow --", argv[optind]);
	if (a->port == NULL || a->from == NULL || a->to == NULL)
		return ps_usage("load", "--port, --from and --to must be given");
	if (o->count == PS_LOAD_ENDLESS && o->seconds == 0)
		o->seconds = SECONDS_DEFAULT;
	o->gen.large = o->gen.min > PS_TXGEN_SIZE_MAX;
	ps_txgen_default_sizes(&o->gen);
	if (!ps_txgen_valid(&o->gen) || (o->gen.max > PS_TXGEN_SIZE_MAX && !o->gen.large))
		return ps_usage("load",
			"--size %u-%u: give sizes within 134-1232 or within 1233-4096", o->gen.min,
			o->gen.max);
	if (o->udp && o->gen.max > PS_TXGEN_SIZE_MAX)
		return ps_usage("load", "--udp takes sizes up to 1232");
	return 0;
}

/* The configuration that penstock run would have: one port, and what comes back as its service. */
static int
configure(struct ps_load *l, struct arguments *a, struct ps_err *e)
{
	struct ps_conf *c = &l->app.conf;
	const char *colon = strchr(a->from, ':');
	unsigned int n = 0;
	int rc;

	/* what is given with -o comes last and counts */
	memmove(a->override + OVERRIDES_OURS, a->override, a->n * sizeof(a->override[0]));
	snprintf(a->text[n++], sizeof(a->text[0]), "penstock.name=load");
	snprintf(a->text[n++], sizeof(a->text[0]), "port.load.device=%s", a->port);
	snprintf(a->text[n++], sizeof(a->text[0]), "service.load.kind=udp");
	snprintf(a->text[n++], sizeof(a->text[0]), "service.load.address=%.*s",
		(int)(colon - a->from), a->from);
	snprintf(a->text[n++], sizeof(a->text[0]), "service.load.port=%s", colon + 1);
	for (unsigned int i = 0; i < n; i++)
		a->override[i] = a->text[i];
	rc = ps_conf_load(c, NULL, a->override, a->n + n, e);
	if (rc == 0)
		rc = ps_conf_check(c, e);
	if (rc == 0)
		rc = ps_lcores_choose(&l->app.lcores, a->lcore != NULL ? a->lcore : "", e);
	if (rc == 0 && l->app.lcores.n > 1)
		return ps_fail(e, EINVAL, "-l %s: one processor sends; name one", a->lcore);
	return rc;
}

int
ps_cmd_load(int argc, char **argv)
{
	static struct ps_load l;
	struct arguments a = {0};
	struct ps_err e;
	int rc;

	l.o = (struct ps_load_options){.count = PS_LOAD_ENDLESS, .conns = 1, .gen = {.seed = 1}};
	rc = parse(argc, argv, &a, &l.o);
	if (rc < 0)
		return ps_print_help(ps_help_load);
	if (rc > 0)
		return rc;
	if (configure(&l, &a, &e) < 0)
		return ps_usage("load", "%s", e.text);
	ps_log_level = l.app.conf.log;
	if (ps_load_run(&l, argc - optind, argv + optind, &e) == 0)
		return PS_EXIT_OK;
	ps_log(PS_LOG_ERROR, "%s", e.text);
	return PS_EXIT_FAILED;
}
