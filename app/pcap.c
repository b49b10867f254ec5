/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "pcap.h"
#include "ps_be.h"
#include "ps_time.h"

#define ETHER_BYTES 14
#define IPV4_BYTES  20
#define UDP_BYTES   8
#define HEAD_BYTES  (ETHER_BYTES + IPV4_BYTES + UDP_BYTES)

void
ps_pcap_begin(FILE *out)
{
	static const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snap_bytes, link_type;
	} head = {0xa1b23c4d, 2, 4, 0, 0, UINT16_MAX, 1};

	fwrite(&head, sizeof(head), 1, out);
}

static uint16_t
ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < IPV4_BYTES; i += 2)
		sum += ps_be16_load(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

void
ps_pcap_packet(
	FILE *out, uint64_t wall_ns, struct ps_flow4 flow, const uint8_t *payload, uint32_t len)
{
	/* Locally administered MAC addresses, IPv4 with a time to live of 64, UDP. */
	uint8_t h[HEAD_BYTES] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45};
	uint8_t *ip = h + ETHER_BYTES, *udp = ip + IPV4_BYTES;
	uint32_t record[4] = {(uint32_t)(wall_ns / PS_SEC_NS), (uint32_t)(wall_ns % PS_SEC_NS),
		HEAD_BYTES + len, HEAD_BYTES + len};

	ps_be16_store(ip + 2, (uint16_t)(IPV4_BYTES + UDP_BYTES + len));
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, &flow.saddr_be, 4);
	memcpy(ip + 16, &flow.daddr_be, 4);
	ps_be16_store(ip + 10, ipv4_checksum(ip));
	memcpy(udp, &flow.sport_be, 2);
	memcpy(udp + 2, &flow.dport_be, 2);
	ps_be16_store(udp + 4, (uint16_t)(UDP_BYTES + len));
	fwrite(record, sizeof(record), 1, out);
	fwrite(h, sizeof(h), 1, out);
	fwrite(payload, len, 1, out);
}
