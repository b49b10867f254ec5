/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* penstock feed PATH: a consumer that prints what it reads. */

#include "cmd.h"
#include "pcap.h"
#include "penstock_feed.h"
#include "ps_b58.h"
#include "ps_err.h"
#include "ps_json.h"
#include "ps_time.h"
#include "txn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BURST    64
#define IDLE_NS  500000
#define FAILED   1
#define ADDR_MAX sizeof("255.255.255.255:65535")

struct feed_options {
	const char *path, *pcap_path;
	uint64_t count; /* records to print, UINT64_MAX: no end */
	bool json, once, peek;
};

struct printer {
	FILE *pcap; /* or NULL */
	bool json;
	uint64_t wall_offset_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC, modulo 2^64 */
};

static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static const char help[] =
	"usage: penstock feed [OPTION]... PATH\n"
	"\n"
	"Reads the feed at PATH as its consumer and prints a line for each record: time,\n"
	"source, peer key and first signature in base58, size in bytes. What was printed is\n"
	"released and not seen again.\n"
	"\n"
	"  --json        a JSON object for each record\n"
	"  --count N     stop after N records\n"
	"  --pcap FILE   also write the payloads to FILE as UDP packets\n"
	"  --follow      wait for more records until interrupted (default)\n"
	"  --once        stop when everything there is has been read\n"
	"  --no-release  only look: release nothing, also beside another consumer\n"
	"  --help        this text\n"
	"\n"
	"Exit status: 0 done or interrupted, 1 failed, 2 wrong usage.\n";

static bool
parse_count(const char *s, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(s, &end, 10);
	return errno == 0 && *s >= '0' && *s <= '9' && *end == '\0' && *out > 0;
}

/* 0, or an exit status to end with; -1: help was printed. */
static int
parse_options(struct feed_options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"count", required_argument, NULL, 'c'},
		{"pcap", required_argument, NULL, 'p'},
		{"follow", no_argument, NULL, 'f'},
		{"once", no_argument, NULL, 'o'},
		{"no-release", no_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool follow = false;
	int c;

	*o = (struct feed_options){.count = UINT64_MAX};
	optind = 0; /* main may have used getopt before */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		if (c == 'j')
			o->json = true;
		else if (c == 'c') {
			if (!parse_count(optarg, &o->count))
				return ps_usage(
					"feed", "--count wants a number from 1, not %s", optarg);
		} else if (c == 'p')
			o->pcap_path = optarg;
		else if (c == 'f')
			follow = true;
		else if (c == 'o')
			o->once = true;
		else if (c == 'n')
			o->peek = true;
		else if (c == 'h') {
			ps_print_help(help);
			return -1;
		} else
			return ps_usage_option("feed", c, argv);
	}
	if (follow && o->once)
		return ps_usage("feed", "--follow and --once exclude each other");
	if (optind == argc)
		return ps_usage("feed", "no PATH given");
	if (optind + 1 != argc)
		return ps_usage("feed", "one PATH only, not also %s", argv[optind + 1]);
	o->path = argv[optind];
	return 0;
}

static char *
address(char *out, uint32_t addr_be, uint16_t port_be)
{
	char ip[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &addr_be, ip, sizeof(ip));
	snprintf(out, ADDR_MAX, "%s:%u", ip, ntohs(port_be));
	return out;
}

/* The card's and the processor's clocks have no known relation to wall time: there the time of
 * publishing stands in. */
static uint64_t
wall_ns(const struct printer *p, const struct penstock_feed_record *r)
{
	if (r->clock == PENSTOCK_FEED_CLOCK_WALL)
		return r->received;
	if (r->clock == PENSTOCK_FEED_CLOCK_MONOTONIC)
		return r->received + p->wall_offset_ns;
	return r->published_ns + p->wall_offset_ns;
}

static char *
utc(char *out, size_t size, uint64_t ns)
{
	time_t seconds = (time_t)(ns / PS_SEC_NS);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, size - n, ".%09" PRIu64 "Z", ns % PS_SEC_NS);
	return out;
}

static const char *
clock_name(uint8_t clock)
{
	static const char *const name[] = {
		[PENSTOCK_FEED_CLOCK_MONOTONIC] = "monotonic",
		[PENSTOCK_FEED_CLOCK_WALL] = "wall",
		[PENSTOCK_FEED_CLOCK_NIC] = "nic",
		[PENSTOCK_FEED_CLOCK_TSC] = "tsc",
	};

	return clock < sizeof(name) / sizeof(name[0]) ? name[clock] : "unknown";
}

static void
print_json(const struct penstock_feed_record *r, const char *time, const char *key,
	const char *signature)
{
	struct ps_json j = {.out = stdout};
	char source[ADDR_MAX], destination[ADDR_MAX];

	ps_json_open(&j, NULL, '{');
	ps_json_u64(&j, "sequence", r->sequence);
	ps_json_str(&j, "kind", r->kind == PENSTOCK_FEED_TRANSACTION ? "transaction" : "datagram");
	ps_json_str(&j, "time", time);
	ps_json_u64(&j, "received", r->received);
	ps_json_str(&j, "clock", clock_name(r->clock));
	ps_json_str(&j, "source", address(source, r->saddr_be, r->sport_be));
	ps_json_str(&j, "destination", address(destination, r->daddr_be, r->dport_be));
	ps_json_str(&j, "peer", key);
	ps_json_u64(&j, "stake", r->stake);
	ps_json_u64(&j, "size", r->payload_bytes);
	ps_json_str(&j, "signature", signature);
	ps_json_close(&j, '}');
	putchar('\n');
}

static void
print_record(const struct printer *p, const struct penstock_feed_record *r)
{
	const uint8_t *payload = penstock_feed_payload(r);
	char key[PS_B58_MAX_CHARS] = "", signature[PS_B58_MAX_CHARS] = "";
	char time[64], source[ADDR_MAX];
	uint64_t ns = wall_ns(p, r);

	if (r->flags & PENSTOCK_FEED_HAS_KEY)
		ps_b58_encode(key, r->peer_key, sizeof(r->peer_key));
	if (r->kind == PENSTOCK_FEED_TRANSACTION) {
		struct ps_txn t = ps_txn_look(payload, r->payload_bytes);

		if (t.signature_offset != PS_TXN_NO_SIGNATURE)
			ps_b58_encode(
				signature, payload + t.signature_offset, PS_TXN_SIGNATURE_BYTES);
	}
	utc(time, sizeof(time), ns);
	if (p->json)
		print_json(r, time, key, signature);
	else
		printf("%s  %-21s  %-44s  %5u  %s\n", time,
			address(source, r->saddr_be, r->sport_be), key[0] != '\0' ? key : "-",
			r->payload_bytes, signature[0] != '\0' ? signature : "-");
	if (p->pcap != NULL)
		ps_pcap_packet(p->pcap, ns,
			(struct ps_flow4){r->saddr_be, r->daddr_be, r->sport_be, r->dport_be},
			payload, r->payload_bytes);
}

/* True once poll has nothing more: an empty poll may also have been the step to a generation. */
static bool
drained(const struct penstock_feed *f, uint64_t *generation)
{
	struct penstock_feed_info info;
	bool same;

	penstock_feed_info(f, &info);
	same = info.generation == *generation;
	*generation = info.generation;
	return same && info.unread_bytes == 0;
}

static int
print_all(const struct feed_options *o, const struct printer *p, struct penstock_feed *f)
{
	const struct penstock_feed_record *r[BURST];
	uint64_t left = o->count, generation = 0;

	while (!stop && left > 0) {
		int n = penstock_feed_poll(f, r, left < BURST ? (unsigned int)left : BURST);

		if (n < 0) {
			ps_log(PS_LOG_ERROR, "feed %s: %s", o->path,
				n == -EBUSY ? "another consumer took over"
					    : "damaged; remove it and restart penstock run");
			return FAILED;
		}
		if (n == 0) {
			if (!o->once)
				nanosleep(&(struct timespec){.tv_nsec = IDLE_NS}, NULL);
			else if (drained(f, &generation))
				break;
			continue;
		}
		for (int i = 0; i < n; i++)
			print_record(p, r[i]);
		/* Release only what was written. */
		if (fflush(stdout) != 0)
			return FAILED; /* main() says why */
		if (p->pcap != NULL && fflush(p->pcap) != 0) {
			ps_log(PS_LOG_ERROR, "cannot write %s: %s; choose another --pcap FILE",
				o->pcap_path, strerror(errno));
			return FAILED;
		}
		penstock_feed_release(f, NULL);
		left -= (uint64_t)n;
	}
	return 0;
}

static int
attach_and_print(const struct feed_options *o, const struct printer *p)
{
	struct penstock_feed_options options = {.peek = o->peek};
	char err[PENSTOCK_FEED_ERR_BYTES];
	struct penstock_feed *f;
	int rc = penstock_feed_attach(&f, o->path, &options, err);

	if (rc != 0) {
		ps_log(PS_LOG_ERROR, "%s%s", err,
			strchr(err, ';') ? ""
			: rc == -ENOENT  ? "; start penstock run, its feeds: penstock top --once"
			: rc == -EBUSY   ? "; look beside it with --no-release"
			: rc == -EACCES  ? "; run as root or in the group of [feed] group"
			: rc == -EBADMSG ? "; give the path of a feed: penstock top --once"
					 : "");
		return FAILED;
	}
	if (!o->json) {
		printf("%-30s  %-21s  %-44s  %5s  %s\n", "time", "source", "peer", "size",
			"signature");
		fflush(stdout);
	}
	rc = print_all(o, p, f);
	penstock_feed_detach(f);
	return rc;
}

int
ps_cmd_feed(int argc, char **argv)
{
	struct sigaction on = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
	struct printer p = {
		.wall_offset_ns = ps_clock_ns(CLOCK_REALTIME) - ps_clock_ns(CLOCK_MONOTONIC)};
	struct feed_options o;
	int rc = parse_options(&o, argc, argv);

	if (rc != 0)
		return rc < 0 ? 0 : rc;
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	sigaction(SIGPIPE, &ignore, NULL); /* a closed pipe is an error of fflush */
	p.json = o.json;
	if (o.pcap_path != NULL) {
		p.pcap = fopen(o.pcap_path, "we");
		if (p.pcap == NULL) {
			ps_log(PS_LOG_ERROR, "cannot write %s: %s; choose another --pcap FILE",
				o.pcap_path, strerror(errno));
			return FAILED;
		}
		ps_pcap_begin(p.pcap);
	}
	rc = attach_and_print(&o, &p);
	if (p.pcap != NULL && fclose(p.pcap) != 0 && rc == 0) {
		ps_log(PS_LOG_ERROR, "cannot write %s: %s", o.pcap_path, strerror(errno));
		rc = FAILED;
	}
	return rc;
}
