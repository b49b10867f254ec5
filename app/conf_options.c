/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "conf.h"

#include <stddef.h>
#include <string.h>

#define GLOBAL(field)  offsetof(struct ps_conf, field)
#define PORT(field)    offsetof(struct ps_conf_port, field)
#define SERVICE(field) offsetof(struct ps_conf_service, field)

#define STRING(sec, k, off, d, h)                                                                  \
	{                                                                                          \
		.section = sec, .key = k, .type = PS_OPT_STRING, .offset = off, .def = d,          \
		.help = h                                                                          \
	}
#define NUMBER(sec, k, off, lo, hi, d, h)                                                          \
	{                                                                                          \
		.section = sec, .key = k, .type = PS_OPT_NUMBER, .offset = off, .min = lo,         \
		.max = hi, .def = d, .help = h                                                     \
	}
#define POWER(sec, k, off, lo, hi, d, h)                                                           \
	{                                                                                          \
		.section = sec, .key = k, .type = PS_OPT_NUMBER, .offset = off, .min = lo,         \
		.max = hi, .power_of_two = true, .def = d, .help = h                               \
	}
#define CHOICE(sec, k, off, d, h, ...)                                                             \
	{                                                                                          \
		.section = sec, .key = k, .type = PS_OPT_CHOICE, .offset = off,                    \
		.choices = {__VA_ARGS__}, .def = d, .help = h                                      \
	}

/* Choices are in the order of their enum. */
/* clang-format off */
const struct ps_option ps_options[] = {
	STRING("penstock", "name", GLOBAL(name), "penstock",
		"names this instance: telemetry is found under the file prefix penstock-NAME"),
	STRING("penstock", "lcores", GLOBAL(lcores), "",
		"processors of the workers, such as 2,4-6; the control thread takes the others. "
		"Default: the last one. -l sets it too"),
	CHOICE("penstock", "memory", GLOBAL(memory), "huge",
		"packet buffers in huge pages, or in ordinary ones", "huge", "no-huge"),
	NUMBER("penstock", "memory_mb", GLOBAL(memory_mb), 32, 65536, "128",
		"memory for packet buffers in MB, with memory = no-huge"),
	CHOICE("penstock", "idle", GLOBAL(idle), "poll",
		"a worker without traffic polls on, or sleeps a few microseconds between polls; "
		"sleep is for machines with fewer processors than work", "poll", "sleep"),
	CHOICE("penstock", "log", GLOBAL(log), "info",
		"lines below this level are not printed", "error", "warning", "info", "debug"),
	NUMBER("penstock", "watch_ms", GLOBAL(watch_ms), 100, 60000, "1000",
		"how often rules, XDP programs, their lists and the settings that they depend on are "
		"looked at; a loss is seen within twice this"),
	CHOICE("penstock", "on_rule_loss", GLOBAL(on_rule_loss), "reinstall",
		"what follows the loss of a rule or XDP program: put it back (at most three times "
		"in a row), or end; the traffic is the kernel's then, where it has the device too",
		"reinstall", "stop"),
	STRING("penstock", "contact_info", GLOBAL(contact_info), "",
		"file with what agave-validator contact-info --output json prints, read again when it "
		"changes: an alarm when the validator's ports are no longer those of the services"),

	STRING("port", "device", PORT(device), NULL,
		"network interface, PCI address, or name of a --vdev given after --"),
	CHOICE("port", "path", PORT(path), "auto",
		"how frames are received: a DPDK driver, AF_XDP, kernel sockets, or the first of "
		"these that the device has; announced at start and in top",
		"auto", "pmd", "af_xdp", "socket"),
	CHOICE("port", "zero_copy", PORT(zero_copy), "prefer",
		"AF_XDP: refuse to start without zero-copy, announce what was obtained, or copy "
		"always", "require", "prefer", "off"),
	CHOICE("port", "xdp_mode", PORT(xdp_mode), "auto",
		"AF_XDP: the program is in the card's driver, in the kernel behind it (generic, which "
		"copies), or in the driver where that can; refused when it cannot be had",
		"auto", "driver", "generic"),
	NUMBER("port", "queues", PORT(queues), 1, PS_WORKERS_MAX, "1",
		"receive and transmit queues; queue N belongs to worker N"),
	NUMBER("port", "first_queue", PORT(first_queue), 0, 63, "0",
		"first queue of the interface that is used (AF_XDP)"),
	CHOICE("port", "layout", PORT(layout), "simple",
		"AF_XDP: RSS spreads over all queues, or over those that are not ours, and an ntuple "
		"rule for each service leads to ours (penstock init sets and run verifies it)",
		"simple", "dedicated"),
	NUMBER("port", "mbufs", PORT(mbufs), 4096, 1048576, "8192",
		"packet buffers per queue, 2.6 KB each"),
	POWER("port", "descriptors", PORT(descriptors), 64, 4096, "2048",
		"length of a receive or transmit queue"),
	STRING("port", "deny", PORT(deny), "",
		"file of IPv4 source prefixes, one a line, whose datagrams to the services are "
		"dropped in the XDP program (AF_XDP only); SIGHUP reads it again"),
	STRING("port", "addresses", PORT(addresses), "",
		"its IPv4 addresses, comma-separated, beside those that its interface or pf has: what "
		"address = any becomes where a card needs exact addresses"),
	STRING("port", "pf", PORT(pf), "",
		"interface of which device is a virtual function, for penstock init to make it"),
	NUMBER("port", "vf", PORT(vf), 0, 255, "0", "number of that virtual function"),
	STRING("port", "vf_mac", PORT(vf_mac), "",
		"its MAC address, or pf for that of the interface; default: as it is"),
	CHOICE("port", "vf_trust", PORT(vf_trust), "off",
		"trust of the virtual function", "off", "on"),
	CHOICE("port", "vf_spoofchk", PORT(vf_spoofchk), "on",
		"its check of source addresses; off where it shares its MAC address", "off", "on"),

	CHOICE("service", "kind", SERVICE(kind), NULL,
		"what is spoken there", "udp", "tpu-quic", "tpu-quic-vote"),
	{.section = "service", .key = "address", .type = PS_OPT_ADDRS, .def = NULL,
		.help = "IPv4 destination addresses, comma-separated, or any; "
			"a long list goes on in address1, address2, ..."},
	NUMBER("service", "port", SERVICE(port), 1, 65535, NULL, "UDP destination port"),
	{.section = "service", .key = "workers", .type = PS_OPT_WORKERS, .def = "all",
		.help = "workers that serve it, numbered from 0, such as 0,2-3; each has a feed"},

	CHOICE("quic", "retry", GLOBAL(quic.retry), "auto",
		"answer a client's first packet with Retry, to prove its address; auto: while many "
		"handshakes are under way",
		"off", "always", "auto"),
	NUMBER("quic", "connections", GLOBAL(quic.connections), 1, 1048576, "4096",
		"connections per worker, half-open ones included"),
	NUMBER("quic", "handshakes", GLOBAL(quic.handshakes), 1, 4096, "1024",
		"half-open connections at once, per worker"),
	NUMBER("quic", "handshakes_per_s", GLOBAL(quic.handshakes_per_s), 0, 1000000, "2000",
		"handshakes begun per second and worker; 0: no limit"),
	NUMBER("quic", "source_per_min", GLOBAL(quic.source_per_min), 0, 100000, "240",
		"connections per source address, minute and worker, of which four minutes can be "
		"saved up; more are closed with code 2. 0: no limit"),
	NUMBER("quic", "streams", GLOBAL(quic.streams), 1, 1048576, "4096",
		"transactions of which a part is missing, per worker; 4 KB each"),
	POWER("quic", "key_cache", GLOBAL(quic.key_cache), 16, 262144, "8192",
		"expanded packet keys held per worker, one for each connection; 1 KB each"),
	NUMBER("quic", "stream_window", GLOBAL(quic.stream_window), 1, 512, "512",
		"streams that a client may have open at once"),
	NUMBER("quic", "stream_deadline_ms", GLOBAL(quic.stream_deadline_ms), 10, 60000, "2000",
		"a stream ends within this time of its first byte, or is given up"),
	NUMBER("quic", "conn_window_kb", GLOBAL(quic.conn_window_kb), 8, 65536, "2048",
		"bytes in flight that a client is allowed, in KB"),
	NUMBER("quic", "idle_timeout_ms", GLOBAL(quic.idle_timeout_ms), 1000, 600000, "30000",
		"a connection without packets is forgotten after this time"),
	NUMBER("quic", "handshake_timeout_ms", GLOBAL(quic.handshake_timeout_ms), 100, 60000, "5000",
		"a handshake is complete within this time, or is given up"),

	STRING("feed", "dir", GLOBAL(feed.dir), "/dev/shm/penstock",
		"directory of the feeds, named SERVICE.WORKER, in /dev/shm or a hugetlbfs mount"),
	POWER("feed", "size_mb", GLOBAL(feed.size_mb), 1, 65536, "64",
		"capacity of each feed in MB"),
	STRING("feed", "group", GLOBAL(feed.group), "",
		"group that may read the feeds; default: that of the process"),
	CHOICE("feed", "no_consumer", GLOBAL(feed.no_consumer), "wait",
		"when a feed's consumer has not polled for a second: keep what comes for it, or leave "
		"the worker's queues to the kernel until it is back (AF_XDP)",
		"wait", "kernel"),

	STRING("tls", "keypair", GLOBAL(tls.keypair), "",
		"Solana keypair file (JSON array of 64 numbers); default: a key made at start"),
	CHOICE("tls", "backend", GLOBAL(tls.backend), "builtin",
		"who makes handshakes: our own TLS server, or GnuTLS, which is slower", "builtin",
		"gnutls"),
	STRING("tls", "key_log", GLOBAL(tls.key_log), "",
		"for analysing captures: the secrets of every connection are appended to this file, "
		"by the workers; anyone who reads it reads the traffic"),

	STRING("bridge", "feeds", GLOBAL(bridge.feeds), "",
		"feeds that penstock bridge reads: paths or patterns such as "
		"/dev/shm/penstock/tpu.*, comma-separated; looked for again each second"),
	STRING("bridge", "target", GLOBAL(bridge.target), "",
		"ADDRESS:PORT of the validator: its TPU or forward port"),
	CHOICE("bridge", "protocol", GLOBAL(bridge.protocol), "quic",
		"how it takes transactions: TPU QUIC, or a UDP datagram of up to 1232 bytes for each",
		"quic", "udp"),
	STRING("bridge", "keys", GLOBAL(bridge.keys), "",
		"Solana keypair files, comma-separated, each the identity of connections of its own; "
		"default: one made at start, which the validator sees as unstaked"),
	NUMBER("bridge", "connections", GLOBAL(bridge.connections), 1, 16, "4",
		"connections of each key; Agave takes 16 with stake, 8 without"),
	NUMBER("bridge", "streams", GLOBAL(bridge.streams), 1, 512, "128",
		"transactions of a connection that are under way at most: what is lost when the "
		"validator dies"),
	NUMBER("bridge", "max_age_ms", GLOBAL(bridge.max_age_ms), 0, 600000, "2000",
		"what could not be sent for so long is discarded, the oldest first; 0: never"),
	NUMBER("bridge", "hold", GLOBAL(bridge.hold), 64, 1048576, "16384",
		"records that wait or are under way at most; more stay in the feeds, until those are "
		"full and the senders get no more credit"),
	POWER("bridge", "duplicates", GLOBAL(bridge.duplicates), 0, 16777216, "65536",
		"the last so many transactions are known, and not delivered again; 0: none"),
	STRING("bridge", "stakes", GLOBAL(bridge.stakes), "",
		"file of stakes in the form of Agave's staked-nodes-overrides, SIGHUP reads it again; "
		"while the validator throttles, the sender with the most stake is served first"),
	NUMBER("bridge", "unstaked_percent", GLOBAL(bridge.unstaked_percent), 0, 90, "20",
		"share of the turns that senders without stake have while it throttles"),
	STRING("bridge", "telemetry", GLOBAL(bridge.telemetry), "",
		"path of its telemetry socket, for penstock top --bridge; default: where DPDK has that "
		"of the file prefix penstock-NAME-bridge"),
};
/* clang-format on */

const unsigned int ps_n_options = sizeof(ps_options) / sizeof(ps_options[0]);

bool
ps_section_named(const char *section)
{
	return strcmp(section, "port") == 0 || strcmp(section, "service") == 0;
}

static void
print_value(FILE *out, const struct ps_option *o)
{
	switch (o->type) {
	case PS_OPT_NUMBER:
		fprintf(out, "%u..%u%s", o->min, o->max, o->power_of_two ? ", a power of two" : "");
		break;
	case PS_OPT_CHOICE:
		for (int i = 0; o->choices[i] != NULL; i++)
			fprintf(out, "%s%s", i > 0 ? "|" : "", o->choices[i]);
		break;
	case PS_OPT_ADDRS:
		fputs("any | ADDRESS,...", out);
		break;
	case PS_OPT_WORKERS:
		fputs("all | LIST", out);
		break;
	case PS_OPT_STRING:
		fputs("TEXT", out);
		break;
	}
}

void
ps_conf_help(FILE *out)
{
	const char *section = "";

	for (unsigned int i = 0; i < ps_n_options; i++) {
		const struct ps_option *o = &ps_options[i];

		if (o->section != section)
			fprintf(out, "%s[%s%s]\n", i > 0 ? "\n" : "", o->section,
				ps_section_named(o->section) ? " NAME" : "");
		section = o->section;
		fprintf(out, "  %-22s ", o->key);
		print_value(out, o);
		if (o->def == NULL)
			fputs(" (required)", out);
		else if (o->def[0] != '\0')
			fprintf(out, " (default %s)", o->def);
		fprintf(out, "\n  %-22s %s\n", "", o->help);
	}
}
