/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Writes UDP payloads as a classic pcap file with nanosecond times (link type Ethernet). The
 * Ethernet, IPv4 and UDP headers are made up from the addresses; the UDP checksum is left 0, which
 * says that there is none. Errors show in ferror() of the file. */
#ifndef PS_APP_PCAP_H
#define PS_APP_PCAP_H

#include "ps_datagram.h"

#include <stdio.h>

#define PS_PCAP_MAX_PAYLOAD 65507 /* what an IPv4 UDP datagram can carry */

void ps_pcap_begin(FILE *out);

/* wall_ns: since 1970. len is at most PS_PCAP_MAX_PAYLOAD. */
void ps_pcap_packet(
	FILE *out, uint64_t wall_ns, struct ps_flow4 flow, const uint8_t *payload, uint32_t len);

#endif
