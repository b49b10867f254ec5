/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The configuration: one table of options (conf_options.c) that parser, -o and help read, and the
 * plain struct that the rest of the program reads. Files are INI, through rte_cfgfile; a value
 * holds 255 bytes.
 *
 * Main thread, before EAL; nothing here touches the machine. Every failure is one line naming file,
 * section, key, cause and remedy. */
#ifndef PS_APP_CONF_H
#define PS_APP_CONF_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ps_err.h"

#define PS_CONF_NAME     32 /* with the final zero, of ports and services */
#define PS_CONF_STRING   192
#define PS_CONF_PORTS    8
#define PS_CONF_SERVICES 32
#define PS_CONF_ADDRS    256 /* per service */
#define PS_WORKERS_MAX   64

enum ps_memory { PS_MEMORY_HUGE, PS_MEMORY_NO_HUGE };
enum ps_idle { PS_IDLE_POLL, PS_IDLE_SLEEP };
enum ps_path { PS_PATH_AUTO, PS_PATH_PMD, PS_PATH_AF_XDP, PS_PATH_SOCKET };
enum ps_zero_copy { PS_ZERO_COPY_REQUIRE, PS_ZERO_COPY_PREFER, PS_ZERO_COPY_OFF };
enum ps_xdp_mode { PS_XDP_MODE_AUTO, PS_XDP_MODE_DRIVER, PS_XDP_MODE_GENERIC };
enum ps_layout { PS_LAYOUT_SIMPLE, PS_LAYOUT_DEDICATED };
enum ps_no_consumer { PS_NO_CONSUMER_WAIT, PS_NO_CONSUMER_KERNEL };
enum ps_bridge_protocol { PS_BRIDGE_QUIC, PS_BRIDGE_UDP };
enum ps_service_kind { PS_SERVICE_UDP, PS_SERVICE_TPU_QUIC, PS_SERVICE_TPU_QUIC_VOTE };

struct ps_conf_port {
	char name[PS_CONF_NAME];
	char device[PS_CONF_STRING];
	uint32_t path, zero_copy, xdp_mode; /* enum ps_path, ps_zero_copy, ps_xdp_mode */
	uint32_t queues, first_queue, mbufs, descriptors;
	uint32_t layout;         /* enum ps_layout */
	char pf[PS_CONF_STRING]; /* interface of which device is VF number vf; "": no VF */
	char vf_mac[PS_CONF_STRING];
	uint32_t vf, vf_trust, vf_spoofchk;
	char deny[PS_CONF_STRING]; /* file of source prefixes; "": none */
	char addresses[PS_CONF_STRING];
};

struct ps_conf_service {
	char name[PS_CONF_NAME];
	uint32_t kind; /* enum ps_service_kind */
	uint32_t port;
	bool any;
	uint32_t n_addrs;
	uint32_t addr_be[PS_CONF_ADDRS];
	bool all_workers;
	cpu_set_t workers; /* numbers of workers, not of processors */
};

struct ps_conf {
	char name[PS_CONF_STRING];
	char lcores[PS_CONF_STRING];
	uint32_t memory, idle, log; /* enum ps_memory, ps_idle, ps_log_level */
	uint32_t memory_mb;
	uint32_t watch_ms, on_rule_loss;   /* enum ps_on_rule_loss */
	char contact_info[PS_CONF_STRING]; /* file; "": none */
	struct {
		uint32_t retry, connections, handshakes, handshakes_per_s, source_per_min;
		uint32_t streams, key_cache;
		uint32_t stream_window, stream_deadline_ms, conn_window_kb;
		uint32_t idle_timeout_ms, handshake_timeout_ms;
	} quic;
	struct {
		char dir[PS_CONF_STRING], group[PS_CONF_STRING];
		uint32_t size_mb;
		uint32_t no_consumer; /* enum ps_no_consumer */
	} feed;
	struct {
		char keypair[PS_CONF_STRING], key_log[PS_CONF_STRING];
		uint32_t backend; /* 0: our own, 1: GnuTLS */
	} tls;
	struct {
		char feeds[PS_CONF_STRING], target[PS_CONF_STRING], keys[PS_CONF_STRING];
		char stakes[PS_CONF_STRING], telemetry[PS_CONF_STRING];
		uint32_t protocol; /* enum ps_bridge_protocol */
		uint32_t connections, streams, max_age_ms, hold, duplicates, unstaked_percent;
	} bridge;
	unsigned int n_ports, n_services;
	struct ps_conf_port port[PS_CONF_PORTS];
	struct ps_conf_service service[PS_CONF_SERVICES];
};

/* Defaults, then the file (NULL: none), then n overrides "section.key=value" or
 * "section.NAME.key=value" in order. -EDOM: an override is wrong. Does not check the whole:
 * ps_conf_check() does. */
int ps_conf_load(struct ps_conf *c, const char *file, const char *const overrides[], unsigned int n,
	struct ps_err *e);

/* --port: keeps the named ports only. What names no port is a device, and becomes one. */
int ps_conf_select_ports(
	struct ps_conf *c, const char *const ports[], unsigned int n, struct ps_err *e);

/* What no single option can tell: required keys, and ports used twice. */
int ps_conf_check(const struct ps_conf *c, struct ps_err *e);

/* "0,2-5" into a set of numbers below max (at most CPU_SETSIZE); false when it is anything else. */
bool ps_conf_list(const char *text, unsigned int max, cpu_set_t *set);

/* The addresses of a port's option addresses; addr_be has room for PS_CONF_ADDRS. */
int ps_conf_addresses(
	const struct ps_conf_port *p, uint32_t *addr_be, uint32_t *n, struct ps_err *e);

/* Seed of the keypair file of [tls], a JSON array of 64 numbers; keypair must be set. */
int ps_conf_keypair(const struct ps_conf *c, uint8_t seed[32], struct ps_err *e);
/* The same of any file; option names it in messages. */
int ps_conf_keypair_file(const char *option, const char *file, uint8_t seed[32], struct ps_err *e);

const char *ps_service_kind_name(uint32_t kind);

/* Every option with range, default and help. */
void ps_conf_help(FILE *out);

/* -- the table, for the parser -- */

enum ps_option_type { PS_OPT_STRING, PS_OPT_NUMBER, PS_OPT_CHOICE, PS_OPT_ADDRS, PS_OPT_WORKERS };

struct ps_option {
	const char *section, *key;
	enum ps_option_type type;
	uint32_t offset;   /* in struct ps_conf, or in the port or service */
	uint32_t min, max; /* NUMBER */
	bool power_of_two; /* NUMBER */
	const char *choices[5];
	const char *def; /* NULL: none, must be given; "": none, may be left out */
	const char *help;
};

extern const struct ps_option ps_options[];
extern const unsigned int ps_n_options;

/* Sections of this kind come as "port NAME", any number of them. */
bool ps_section_named(const char *section);

#endif
