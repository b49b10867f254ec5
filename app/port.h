/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A port from its name in the configuration to queues that workers poll and selectors that bring
 * packets there. Control thread only.
 *
 *   ps_port_plan()      before EAL: the path it takes, and whether it is fit (port_path.c)
 *   ps_port_claim()     after EAL: queues set up but not started, rules planned
 *   ps_port_install()   started; rules, program or sockets in place and proven, as far as can be
 *   ps_port_hear(), ps_port_verify(), ps_port_reinstall()   while workers run (port_watch.c)
 *   ps_port_stop()      at any point after plan; idempotent
 *
 * Whatever fails leaves nothing behind once ps_port_stop() was called. */
#ifndef PS_APP_PORT_H
#define PS_APP_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include "af_xdp.h"
#include "baseline.h"
#include "conf.h"
#include "events.h"
#include "flow.h"
#include "leak.h"
#include "linkmon.h"
#include "ntuple.h"
#include "sock_port.h"
#include "steer.h"
#include "watch.h"

enum ps_port_kind {
	PS_PORT_AF_XDP, /* a network interface, through its XDP program */
	PS_PORT_PCI,    /* a device that a DPDK driver has */
	PS_PORT_EAL,    /* an EAL device made by the user's own arguments */
	PS_PORT_SOCKET, /* a network interface, through kernel sockets */
};

#define PS_PORT_FALLBACKS 4
#define PS_PORT_TEXT      320

/* A drop in the physical function. */
struct ps_pf_rule {
	struct ps_ntuple_rule ntuple;
	enum ps_rule_state state;
};

struct ps_port_addrs {
	bool more; /* than fit here */
	uint32_t n;
	uint32_t addr_be[PS_CONF_ADDRS];
};

struct ps_port {
	const struct ps_conf_port *conf;
	unsigned int index;
	enum ps_port_kind kind;
	char eal_name[PS_CONF_STRING + 8];
	char ifname[IF_NAMESIZE]; /* of AF_XDP and sockets; the kernel's beside a PCI device; or ""
				   */
	bool loopback;
	uint16_t id; /* EAL port, valid when configured; sockets: a number no EAL port has */
	bool configured, started;
	uint16_t mtu;
	int node; /* NUMA; -1: unknown */
	struct rte_ether_addr mac;
	struct rte_mempool *pool;
	/* What was wanted and not had, for people. */
	unsigned int n_fallbacks;
	char fallback[PS_PORT_FALLBACKS][PS_PORT_TEXT];
	/* Steering. */
	struct ps_selector *sel; /* of all services, with the workers that this port has */
	const struct ps_family *family;
	struct ps_plan plan;
	struct ps_flow flow;      /* rte_flow ports */
	enum ps_rule_state state; /* AF_XDP and sockets: of all rules together */
	/* Those for which address = any has rules, where it needs one for each; otherwise none. */
	struct ps_port_addrs spelled;
	struct ps_port_addrs later; /* came since. control: rw, telemetry: ro */
	struct ps_steer_key *keys;
	uint32_t n_keys;
	struct ps_deny deny;         /* AF_XDP: what the program's list must be */
	uint32_t deny_loads;         /* how often it was read */
	struct ps_xdp xdp;           /* AF_XDP */
	struct ps_baseline baseline; /* AF_XDP: the interface's settings when all was in place */
	struct ps_sock_port sock;    /* sockets */
	/* One for each rule of the plan. control: rw, telemetry: ro; 0: none are needed. */
	struct ps_pf_rule *pf_rule;
	_Atomic uint32_t n_pf_rules;
	/* The watch. */
	struct ps_watch watch;
	struct ps_events events;
	struct ps_linkmon mon;
	struct ps_leak leak; /* of the kernel's interface beside a device of DPDK's */
	bool evented, monitored, counts_leak;
	uint64_t steered, elsewhere, leaked; /* packets, summed over the rounds */
	/* control: rw, as of its last round; telemetry: ro */
	struct ps_xdp_counts counts;
	struct ps_xdp_queue_counts queue_counts[PS_WORKERS_MAX];
	uint64_t missed; /* rte_eth_stats imissed and rx_nombuf, or drops of sockets */
};

/* has_eal_device: true when the user's EAL arguments name a device like this. */
int ps_port_plan(struct ps_port *p, const struct ps_conf_port *conf, unsigned int index,
	bool has_eal_device, struct ps_err *e);
/* Bytes of huge pages or memory that the mempool will take. */
uint64_t ps_port_memory(const struct ps_conf_port *conf);
/* The --vdev or --allow argument to give to EAL; "" when there is none of ours. */
int ps_port_eal_arg(const struct ps_port *p, char *arg, size_t cap, struct ps_err *e);
int ps_port_claim(struct ps_port *p, const struct ps_steer *steer, struct ps_err *e);
int ps_port_install(struct ps_port *p, const struct ps_steer *steer, const struct ps_conf *conf,
	struct ps_err *e);
void ps_port_stop(struct ps_port *p);
/* Path, driver and mode obtained, for people: "af_xdp driver copy", "pmd net_ring", "socket". */
void ps_port_mode(const struct ps_port *p, char *text, size_t cap);
const char *ps_port_path(const struct ps_port *p);
/* Keeps the line, to be printed once EAL lets us. */
void ps_port_fall_back(struct ps_port *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Refreshes counts, queue_counts and missed. */
void ps_port_count(struct ps_port *p);

/* -- port_steer.c, for port.c: rules and the spreading over queues -- */

int ps_port_make_plan(
	struct ps_port *p, const struct ps_steer *steer, const char *driver, struct ps_err *e);
/* After rte_eth_dev_start(): key and indirection table written and read back, where there are any.
 */
int ps_port_spread(struct ps_port *p, struct ps_err *e);
/* AF_XDP with layout = dedicated: are the interface's table and rules as penstock init sets them?
 * -ESTALE when not. Nothing to do otherwise. */
int ps_port_verify_layout(const struct ps_port *p, struct ps_err *e);
int ps_port_mend_layout(const struct ps_port *p, struct ps_err *e);
/* Where address = any has a rule for each address: tells of those that came later. */
void ps_port_look_at_addresses(struct ps_port *p);
enum ps_rule_state ps_port_rule_state(const struct ps_port *p, uint32_t rule);
/* How a rule's presence is shown, for people. */
const char *ps_port_proof(const struct ps_port *p, uint32_t rule);

/* -- port.c, for the watch -- */

/* Stops, resets and brings the device up again, without its rules, here and in the PF. No worker
 * may use it. */
int ps_port_reset(struct ps_port *p, struct ps_err *e);
/* The link's address as it is now. */
int ps_port_read_mac(struct ps_port *p, struct ps_err *e);

/* -- port_pf.c: nothing to do for ports but VFs with their PF's MAC address -- */

/* After ps_port_read_mac(), and once workers serve the port. All of them or none. */
int ps_port_pf_install(struct ps_port *p, struct ps_err *e);
int ps_port_pf_verify(struct ps_port *p, bool *differs, struct ps_err *e);
int ps_port_pf_reinstall(struct ps_port *p, struct ps_err *e);
void ps_port_pf_remove(struct ps_port *p);
/* How a rule's presence is shown, for people. */
const char *ps_port_pf_proof(const struct ps_pf_rule *rule);

/* -- port_watch.c -- */

int ps_port_watch(struct ps_port *p, const struct ps_conf *conf, struct ps_err *e);
void ps_port_unwatch(struct ps_port *p);
/* Reads what netlink announced. */
void ps_port_hear(struct ps_port *p);
/* One round of proof; counts as for ps_flow_verify(). Fills the sample for the watch. */
int ps_port_verify(struct ps_port *p, const struct ps_steer_count *counts, uint32_t n_counts,
	uint64_t now_ns, struct ps_watch_sample *sample, struct ps_err *e);
/* Rules, program and settings in place again. */
int ps_port_reinstall(struct ps_port *p, struct ps_err *e);
/* Reads the deny list anew. A bad file changes nothing. */
int ps_port_reload(struct ps_port *p, struct ps_err *e);
/* Whose the services' packets on this port are once penstock is off it, for people. */
const char *ps_port_heir(const struct ps_port *p);

#endif
