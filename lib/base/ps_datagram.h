/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A UDP datagram as it passes between the network side (lib/net) and the protocol side (lib/quic,
 * the feeds). Neither side knows the other: both know this. IPv4 only, as Solana's data plane is.
 */
#ifndef PS_BASE_DATAGRAM_H
#define PS_BASE_DATAGRAM_H

#include <stdint.h>

/* Wire order, source and destination as in the packet that is described. */
struct ps_flow4 {
	uint32_t saddr_be, daddr_be;
	uint16_t sport_be, dport_be;
};

struct ps_datagram {
	uint8_t *data;        /* UDP payload; received: may be decrypted in place */
	uint16_t len;         /* bytes of payload; for transmit: capacity in, length out */
	uint8_t ecn;          /* the two ECN bits of the IP header */
	struct ps_flow4 flow; /* of this packet */
	uint64_t link;        /* link-layer return path, opaque to protocols: kept and given back */
	void *frame;          /* the buffer that carries it, opaque to protocols */
};

/* The flow of an answer to a packet of this flow. */
static inline struct ps_flow4
ps_flow4_reverse(struct ps_flow4 f)
{
	return (struct ps_flow4){f.daddr_be, f.saddr_be, f.dport_be, f.sport_be};
}

#endif
