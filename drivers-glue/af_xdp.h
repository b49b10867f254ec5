/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* AF_XDP interfaces: everything about them that DPDK's net_af_xdp driver does not do itself.
 *
 * The driver binds one AF_XDP socket per queue, and loads our XDP program (given as devarg
 * xdp_prog=), unless it is one that takes a pinned map instead: then we load and attach it. This
 * file looks after the interface before and after, feeds the program's address list and heartbeat,
 * and reads what mode was really obtained. Order of calls, for each interface:
 *
 *   ps_xdp_prepare()        before rte_eal_init(): the interface is fit, a stale program removed
 *   ps_xdp_try_zero_copy()  likewise, where copying will not do
 *   ps_xdp_load()           where the driver has use_pinned_map=: the devargs are that and
 *                           dp_path=x->pin; otherwise, or when this fails:
 *   ps_xdp_object_path()    value of the devarg: "net_af_xdp0,iface=IF,xdp_prog=PATH"
 *   ps_xdp_link()           before the queues are set up; does nothing without ps_xdp_load()
 *   ps_xdp_claim_socket()   after each rte_eth_rx_queue_setup(), in order of the queues
 *   rte_eth_dev_start()
 *   ps_xdp_attach()
 *   ps_xdp_deny()           where there is a deny list, and whenever it changes
 *   ps_xdp_allow()          now, and whenever the list of services changes
 *   ps_xdp_beat()           the worker of each queue, from its loop
 *   ps_xdp_verify(), ps_xdp_verify_deny()   as often as wanted: is our program there, and are its
 *                           lists what they were made?
 *   ps_xdp_reattach(), ps_xdp_seat_sockets()   when it is not
 *   ps_xdp_leave()          before rte_eth_dev_close(), which would detach any program
 *   rte_eth_dev_close()
 *   ps_xdp_close()          also after a failure at any of the steps above
 *
 * Until the list is set and the queue's worker beats, all traffic stays with the kernel; it returns
 * there by itself a second after the last beat. Do not enable promiscuous mode on these ports.
 *
 * All but ps_xdp_beat() belong to the control thread. Owns the descriptors of program and maps and
 * the mapped heartbeat. A struct ps_xdp stays where it is from ps_xdp_claim_socket() to
 * ps_xdp_close(). */
#ifndef PS_GLUE_AF_XDP_H
#define PS_GLUE_AF_XDP_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "af_xdp_prog.h"
#include "deny.h"
#include "ps_err.h"
#include "xdp/steer.h"

struct ps_xdp {
	char ifname[IF_NAMESIZE];
	unsigned int ifindex; /* 0: not prepared */
	uint16_t first_queue, n_queues;
	bool promisc;            /* as found by ps_xdp_prepare() */
	bool replaced;           /* ps_xdp_prepare() removed a stale program of ours */
	bool driver_mode;        /* attached in the driver; false: generic, on the skb */
	bool zero_copy;          /* every queue's socket, read back from the kernel */
	struct ps_xdp_prog prog; /* ours, id 0: not attached yet */
	uint32_t mode;           /* to ask for: XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE or 0 */
	bool busy;               /* the driver's calls run the queue's NAPI; false: softirq alone */
	int own_fd, link_fd;     /* of ps_xdp_load() and ps_xdp_link(), or -1 */
	char pin[48];            /* path of the pinned map of sockets, or "" */
	int xsks_fd, allow_fd, deny_fd, count_fd; /* to find them by id again takes CAP_SYS_ADMIN */
	uint64_t *beat;             /* mapped ps_heartbeat; workers write one entry each */
	int socks[PS_STEER_QUEUES]; /* the driver's sockets by queue, not ours to close */
	uint16_t n_socks;
	struct ps_xdp *next; /* attached interfaces of this process */
};

struct ps_xdp_counts {
	/* packets, counted by the program; elsewhere: those of passed_stale that no queue of ours
	 * had */
	uint64_t redirected, passed, passed_stale, denied, elsewhere;
};

/* Statistics of a queue's socket. */
struct ps_xdp_queue_counts {
	uint64_t rx_dropped, rx_ring_full, rx_fill_empty, rx_invalid, tx_empty, tx_invalid;
};

/* Checks the interface and its queues [first_queue, first_queue + n_queues) and fills *x. Removes
 * a program that a penstock left behind; refuses a running penstock's and a foreign one. Waits up
 * to three seconds for queues (and the beat of a penstock that was just killed) to become free. */
int ps_xdp_prepare(struct ps_xdp *x, const char *ifname, uint16_t first_queue, uint16_t n_queues,
	struct ps_err *err);

/* A path under which this process, and it alone, can open the BPF object; NULL on failure. Valid
 * until the process ends. */
const char *ps_xdp_object_path(struct ps_err *err);

/* Binds each queue once in zero-copy mode with a small umem of our own, its fill ring stocked, and
 * reads the mode back. -EOPNOTSUPP: the kernel's driver only copies. */
int ps_xdp_try_zero_copy(const struct ps_xdp *x, struct ps_err *err);

/* One queue, bound and closed again: 0, or why not. */
int ps_xdp_try_queue(unsigned int ifindex, uint16_t queue, bool zero_copy);

/* -- af_xdp_deny.c -- */

/* Makes the program's deny list equal to deny (sorted, as loaded); new prefixes are added before
 * old ones go, so that nobody who is on both gets in between. */
int ps_xdp_deny(struct ps_xdp *x, const struct ps_deny *deny, struct ps_err *err);
/* 0: it is equal. -ESTALE: it lacks a prefix, or has one that is not deny's. Others: could not be
 * read. */
int ps_xdp_verify_deny(const struct ps_xdp *x, const struct ps_deny *deny, struct ps_err *err);

/* -- af_xdp_link.c -- */

int ps_xdp_load(struct ps_xdp *x, struct ps_err *err);
int ps_xdp_link(struct ps_xdp *x, struct ps_err *err);
/* Is the program held by a link of ours, which nobody else can take off? */
static inline bool
ps_xdp_is_linked(const struct ps_xdp *x)
{
	return x->ifindex != 0 && x->link_fd >= 0;
}

/* For af_xdp.c: a new link in the place of one that was detached, and the end of all. */
int ps_xdp_relink(struct ps_xdp *x);
void ps_xdp_unlink(struct ps_xdp *x);
/* With a pinned map the driver does not ask for busy polling, on which its polls rely. */
int ps_xdp_busy_poll(int fd);

/* Takes note of the socket that the driver just made, and of its mode. */
int ps_xdp_claim_socket(struct ps_xdp *x, struct ps_err *err);
void ps_xdp_disown_sockets(struct ps_xdp *x);
/* Puts them into the program's map again, which nobody can read: somebody may have taken them out.
 */
int ps_xdp_seat_sockets(const struct ps_xdp *x, struct ps_err *err);

/* Finds the program that the driver attached and its maps, maps the heartbeat, fills driver_mode.
 */
int ps_xdp_attach(struct ps_xdp *x, struct ps_err *err);

/* Makes the program's list equal to keys[n]; new ones are added before old ones go. */
int ps_xdp_allow(struct ps_xdp *x, const struct ps_steer_key *keys, uint32_t n, struct ps_err *err);

/* Worker of this queue (as numbered by the interface: first_queue + DPDK's queue). At least ten
 * times a second. */
static inline void
ps_xdp_beat(struct ps_xdp *x, uint16_t queue, uint64_t now_ns)
{
	__atomic_store_n(&x->beat[queue], now_ns, __ATOMIC_RELAXED);
}

/* 0: our program is on the interface, and its list holds keys[n]. -ENOENT: neither it nor another
 * is; -EBUSY: somebody else's is; -ESTALE: the list is not whole. Others: could not be read. */
int ps_xdp_verify(
	const struct ps_xdp *x, const struct ps_steer_key *keys, uint32_t n, struct ps_err *err);

/* Our program onto the interface again, in the mode it had; never in another one's place. */
int ps_xdp_reattach(struct ps_xdp *x, struct ps_err *err);

/* Totals since ps_xdp_attach(). */
int ps_xdp_counts(const struct ps_xdp *x, struct ps_xdp_counts *out);
/* i: DPDK's number of the queue. -ENOENT: there is none. */
int ps_xdp_queue_counts(const struct ps_xdp *x, uint16_t i, struct ps_xdp_queue_counts *out);

/* From here to ps_xdp_close() the driver cannot take a program off, be it ours or another one. */
void ps_xdp_leave(struct ps_xdp *x);

/* Leaves the interface as it was found: our program off if it is still on, promiscuous mode
 * restored. */
void ps_xdp_close(struct ps_xdp *x);

#endif
