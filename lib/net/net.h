/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Ethernet, IPv4 and UDP at both ends of a worker's loop: bursts of frames in, datagrams of known
 * services out, and headers for the datagrams that are sent.
 *
 * Receiving checks everything a protocol must not have to ask again: one buffer, lengths that fit,
 * IPv4 without options and not a fragment, both checksums (RFC 791, RFC 768). A UDP checksum of
 * zero means none was sent and is accepted. Padding behind the IP packet is ignored.
 *
 * Any thread may use these functions; none allocates, and selector tables never change once made:
 * a new list is a new table that the owner swaps in whole. */
#ifndef PS_NET_NET_H
#define PS_NET_NET_H

#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "ps_datagram.h"
#include "ps_drops.h"

#define PS_NET_BURST    64
#define PS_NET_HEADROOM 42 /* Ethernet, IPv4 and UDP header of what we send */

#define PS_NET_ADDR_ANY 0

struct ps_net_selector {
	uint32_t daddr_be; /* PS_NET_ADDR_ANY: every address of this port without one of its own */
	uint16_t dport_be;
	uint16_t service; /* the caller's index, given back with each datagram */
};

struct ps_net_selectors;

/* NULL when out of memory. Of two selectors for the same address and port the first one counts. */
struct ps_net_selectors *ps_net_selectors_new(const struct ps_net_selector *list, unsigned int n);
/* Once no thread can be reading it. */
void ps_net_selectors_free(struct ps_net_selectors *s);

/* What became of one burst: frames are either carried by a datagram or refused, none are lost. */
struct ps_net_rx {
	unsigned int n, n_refused;
	struct ps_datagram dg[PS_NET_BURST]; /* frame: the rte_mbuf; link: see below */
	uint16_t service[PS_NET_BURST];
	struct rte_mbuf *refused[PS_NET_BURST]; /* counted by reason; the caller frees them */
};

/* n <= PS_NET_BURST frames received on port_id. The payloads stay in the frames. */
void ps_net_classify_burst(const struct ps_net_selectors *s, uint16_t port_id,
	struct rte_mbuf *const frames[], unsigned int n, struct ps_net_rx *out,
	struct ps_drops *drops);

/* The link of a datagram is the port and the MAC address its sender is reached at. */
static inline uint16_t
ps_net_link_port(uint64_t link)
{
	return (uint16_t)(link >> 48);
}

static inline uint64_t
ps_net_link(uint16_t port_id, const struct rte_ether_addr *mac)
{
	uint64_t link = port_id;

	for (int i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		link = link << 8 | mac->addr_bytes[i];
	return link;
}

/* Points dg at the place for its payload in an empty frame: data, len (the room) and frame. */
void ps_net_tx_open(struct ps_datagram *dg, struct rte_mbuf *frame);
/* Writes the headers before the payload of dg (flow, link, ecn and len set by its protocol) and
 * makes its frame ready to send: one buffer, don't-fragment, checksums computed here. */
void ps_net_headers(const struct ps_datagram *dg, const struct rte_ether_addr *source);

#endif
