/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Every reason for which something received is not delivered, once: enum, telemetry key, help.
 * A hot-path function returns or counts one of these; it never logs. */
#ifndef PS_BASE_DROPS_H
#define PS_BASE_DROPS_H

#include <stdint.h>

/* clang-format off */
#define PS_DROPS(X) \
	/* lib/net: the frame */ \
	X(RX_SHORT,           "rx_short",           "frame or header cut short, or lengths that disagree") \
	X(RX_NOT_IPV4,        "rx_not_ipv4",        "not IPv4 (IPv6, ARP, VLAN, other)") \
	X(RX_IP_HEADER,       "rx_ip_header",       "bad IPv4 version or header length, or IP options") \
	X(RX_IP_CHECKSUM,     "rx_ip_checksum",     "wrong IPv4 header checksum") \
	X(RX_FRAGMENT,        "rx_fragment",        "IPv4 fragment") \
	X(RX_NOT_UDP,         "rx_not_udp",         "IPv4 but not UDP") \
	X(RX_UDP_CHECKSUM,    "rx_udp_checksum",    "wrong UDP checksum") \
	X(RX_NO_SERVICE,      "rx_no_service",      "no service at this address and UDP port") \
	X(RX_SEGMENTED,       "rx_segmented",       "frame in more than one buffer") \
	X(TX_FULL,            "tx_full",            "transmit queue full") \
	X(TX_NO_BUFFER,       "tx_no_buffer",       "no buffer to send from") \
	/* lib/quic: the datagram */ \
	X(QUIC_SHORT,         "quic_short",         "datagram or packet too short for its header") \
	X(QUIC_OVERSIZED,     "quic_oversized",     "datagram larger than max_udp_payload_size") \
	X(QUIC_FIXED_BIT,     "quic_fixed_bit",     "fixed bit is zero") \
	X(QUIC_VERSION,       "quic_version",       "unknown version, answered with Version Negotiation if large enough") \
	X(QUIC_CID_LENGTH,    "quic_cid_length",    "connection id too long, or too short in an Initial") \
	X(QUIC_INITIAL_SMALL, "quic_initial_small", "Initial in a datagram below 1200 bytes") \
	X(QUIC_TYPE,          "quic_type",          "0-RTT, Retry or Version Negotiation that this role does not take") \
	X(QUIC_NO_CONN,       "quic_no_conn",       "no connection with this connection id") \
	X(QUIC_OTHER_WORKER,  "quic_other_worker",  "connection of another worker, to which it could not be passed") \
	X(QUIC_PATH,          "quic_path",          "established connection, other address") \
	X(QUIC_NO_KEY,        "quic_no_key",        "no key of this level yet, or any more") \
	X(QUIC_DECRYPT,       "quic_decrypt",       "packet protection did not verify") \
	X(QUIC_DUPLICATE,     "quic_duplicate",     "packet number seen before, or below the window") \
	X(QUIC_TOKEN,         "quic_token",         "Retry token forged, expired or of another address") \
	X(QUIC_RETRIED,       "quic_retried",       "Initial answered with Retry") \
	X(QUIC_RATE,          "quic_rate",          "Initial over the handshakes begun per second") \
	X(QUIC_HS_FULL,       "quic_hs_full",       "half-open pool or connection table full") \
	X(QUIC_REPLY_FULL,    "quic_reply_full",    "stateless answer not sent, queue full") \
	X(QUIC_CLOSING,       "quic_closing",       "packet for a connection that is closing or draining") \
	X(QUIC_SINK_FULL,     "quic_sink_full",     "no room in reassembly or feed: packet not acknowledged") \
	X(QUIC_STREAM_DONE,   "quic_stream_done",   "frame of a stream that already ended") \
	X(QUIC_STREAM_RESET,  "quic_stream_reset",  "stream reset by the peer before it ended") \
	X(QUIC_STREAM_LATE,   "quic_stream_late",   "stream not complete within its deadline") \
	/* lib/tpu: the transaction */ \
	X(TPU_OVERSIZED,      "tpu_oversized",      "transaction above the size of its version") \
	X(TPU_UNDERSIZED,     "tpu_undersized",     "transaction below 134 bytes") \
	/* lib/feed: the record */ \
	X(FEED_FULL,          "feed_full",          "feed full, UDP datagram not published")
/* clang-format on */

enum ps_drop {
#define X(sym, key, help) PS_DROP_##sym,
	PS_DROPS(X)
#undef X
		PS_DROP_COUNT
};

/* One per worker; written by it alone, read by the control thread without order. */
struct ps_drops {
	uint64_t n[PS_DROP_COUNT];
};

struct ps_drop_info {
	const char *key, *help;
};

extern const struct ps_drop_info ps_drop_info[PS_DROP_COUNT];

static inline void
ps_drop(struct ps_drops *d, enum ps_drop why)
{
	d->n[why]++;
}

#endif
