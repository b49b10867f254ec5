/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* QUIC version 1 on the wire: variable-length integers, packet headers, frames (RFC 9000 sections
 * 16, 17, 19). Pure functions over byte ranges; every bound is checked here and nowhere else.
 * Decoders return 0 or a transport error code to close with (PS_QUIC_*), headers a drop reason. */
#ifndef PS_QUIC_WIRE_H
#define PS_QUIC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ps_be.h"
#include "ps_drops.h"

#define PS_QUIC_V1         0x00000001u
#define PS_CID_MAX         20 /* bytes, RFC 9000 section 17.2 */
#define PS_VARINT_MAX      ((UINT64_C(1) << 62) - 1)
#define PS_UDP_PAYLOAD_MAX 1472 /* largest datagram taken and advertised */
#define PS_UDP_PAYLOAD_MIN 1200 /* RFC 9000 section 14.1 */
#define PS_AEAD_TAG        16
#define PS_HP_SAMPLE       16
#define PS_UNI_STREAM_MAX  (UINT64_C(1) << 60) /* RFC 9000 section 4.6 */

/* Transport error codes, RFC 9000 section 20.1 */
enum ps_quic_error {
	PS_QUIC_NO_ERROR = 0x0,
	PS_QUIC_INTERNAL_ERROR = 0x1,
	PS_QUIC_CONNECTION_REFUSED = 0x2,
	PS_QUIC_FLOW_CONTROL_ERROR = 0x3,
	PS_QUIC_STREAM_LIMIT_ERROR = 0x4,
	PS_QUIC_STREAM_STATE_ERROR = 0x5,
	PS_QUIC_FINAL_SIZE_ERROR = 0x6,
	PS_QUIC_FRAME_ENCODING_ERROR = 0x7,
	PS_QUIC_TRANSPORT_PARAMETER_ERROR = 0x8,
	PS_QUIC_CONNECTION_ID_LIMIT_ERROR = 0x9,
	PS_QUIC_PROTOCOL_VIOLATION = 0xa,
	PS_QUIC_INVALID_TOKEN = 0xb,
	PS_QUIC_APPLICATION_ERROR = 0xc,
	PS_QUIC_CRYPTO_BUFFER_EXCEEDED = 0xd,
	PS_QUIC_KEY_UPDATE_ERROR = 0xe,
	PS_QUIC_AEAD_LIMIT_REACHED = 0xf,
	PS_QUIC_CRYPTO_ERROR = 0x100, /* + TLS alert */
};

struct ps_range;

struct ps_cid {
	uint8_t len; /* 0..PS_CID_MAX */
	uint8_t id[PS_CID_MAX];
};

static inline bool
ps_cid_equal(const struct ps_cid *a, const struct ps_cid *b)
{
	return a->len == b->len && __builtin_memcmp(a->id, b->id, a->len) == 0;
}

/* -- variable-length integers, section 16 -- */

/* Bytes consumed. For input that was checked before: reads 1, 2, 4 or 8 bytes as p[0] says. */
static inline size_t
ps_varint_load(const uint8_t *p, uint64_t *v)
{
	switch (p[0] >> 6) {
	case 0:
		*v = p[0];
		return 1;
	case 1:
		*v = ps_be16_load(p) & 0x3fff;
		return 2;
	case 2:
		*v = ps_be32_load(p) & 0x3fffffff;
		return 4;
	default:
		*v = ps_be64_load(p) & PS_VARINT_MAX;
		return 8;
	}
}

/* Bytes consumed, 0 when the input is too short. */
static inline size_t
ps_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	if (p == end || end - p < 1 << (p[0] >> 6))
		return 0;
	return ps_varint_load(p, v);
}

static inline size_t
ps_varint_size(uint64_t v)
{
	return v < 1 << 6 ? 1 : v < 1 << 14 ? 2 : v < 1 << 30 ? 4 : 8;
}

/* Bytes written (1, 2, 4 or 8) and no more; v <= PS_VARINT_MAX. */
static inline size_t
ps_varint_put(uint8_t *p, uint64_t v)
{
	size_t n = ps_varint_size(v);

	switch (n) {
	case 1:
		p[0] = v;
		break;
	case 2:
		ps_be16_store(p, v | 0x4000);
		break;
	case 4:
		ps_be32_store(p, v | 0x80000000u);
		break;
	default:
		ps_be64_store(p, v | UINT64_C(3) << 62);
		break;
	}
	return n;
}

/* -- packet headers, section 17 -- */

enum ps_pkt_type {
	PS_PKT_INITIAL = 0, /* the two type bits of a long header */
	PS_PKT_0RTT = 1,
	PS_PKT_HANDSHAKE = 2,
	PS_PKT_RETRY = 3,
	PS_PKT_1RTT, /* short header */
	PS_PKT_VERSION_NEGOTIATION,
	PS_PKT_OTHER_VERSION, /* long header of a version we do not speak: only the ids are valid */
};

/* What can be read of one packet before header protection is removed. */
struct ps_pkt_hdr {
	enum ps_pkt_type type;
	uint32_t version;
	const uint8_t *dcid,
		*scid; /* into the packet; scid only in long headers. RFC 8999 allows */
	uint8_t dcid_len, scid_len; /* 255 bytes in other versions; in version 1 at most 20 */
	const uint8_t *token;       /* Initial: the token. Retry: token without the integrity tag */
	uint16_t token_len;
	uint16_t pn_offset; /* from the start of the packet; 0 in Retry, VN, other version */
	uint16_t size;      /* bytes of this packet in the datagram, coalesced rest excluded */
};

/* Reads the packet at p. Short headers carry no length for the id: short_cid_len says it.
 * PS_DROP_COUNT means "fine"; otherwise the reason to drop the rest of the datagram. A packet is
 * refused when too short for a header-protection sample (pn_offset + 4 + 16 > size). */
enum ps_drop ps_pkt_hdr_parse(
	struct ps_pkt_hdr *h, const uint8_t *p, size_t len, uint8_t short_cid_len);

/* Appendix A.3: the full packet number from its truncated form, next = largest received + 1. */
uint64_t ps_pn_decode(uint64_t next, uint64_t truncated, unsigned int pn_len);
/* Appendix A.2, bytes (1..4) for pn when everything below unacked_from is acknowledged. */
unsigned int ps_pn_size(uint64_t pn, uint64_t unacked_from);

/* Writes a long header up to and including the packet number; returns its size. The Length field
 * takes two bytes at *length_at and is filled by ps_pkt_long_finish() once the payload is known.
 * cap >= 7 + 2 * 21 + 2 + token_len + 2 + 4. */
size_t ps_pkt_long_put(uint8_t *p, enum ps_pkt_type type, const struct ps_cid *dcid,
	const struct ps_cid *scid, const uint8_t *token, size_t token_len, uint64_t pn,
	unsigned int pn_len, size_t *length_at);
/* payload_len: clear text of the packet after the packet number, without the tag. */
void ps_pkt_long_finish(uint8_t *p, size_t length_at, unsigned int pn_len, size_t payload_len);
/* First byte without spin and key phase; returns 1 + dcid->len + pn_len. */
size_t ps_pkt_short_put(
	uint8_t *p, const struct ps_cid *dcid, bool key_phase, uint64_t pn, unsigned int pn_len);
/* Version Negotiation offering version 1 and a reserved version; ids as received, swapped by the
 * caller. Returns the size, 0 when it does not fit in cap. */
size_t ps_pkt_vn_put(uint8_t *p, size_t cap, const uint8_t *dcid, size_t dcid_len,
	const uint8_t *scid, size_t scid_len, uint8_t random);
/* Retry without its integrity tag; the caller appends the 16 bytes (protect.h). */
size_t ps_pkt_retry_put(uint8_t *p, const struct ps_cid *dcid, const struct ps_cid *scid,
	const uint8_t *token, size_t token_len, uint8_t random);

/* -- frames, section 19 -- */

enum ps_frame_type {
	PS_FRAME_PADDING = 0x00,
	PS_FRAME_PING = 0x01,
	PS_FRAME_ACK = 0x02,
	PS_FRAME_ACK_ECN = 0x03,
	PS_FRAME_RESET_STREAM = 0x04,
	PS_FRAME_STOP_SENDING = 0x05,
	PS_FRAME_CRYPTO = 0x06,
	PS_FRAME_NEW_TOKEN = 0x07,
	PS_FRAME_STREAM = 0x08, /* 0x08..0x0f: | OFF 4 | LEN 2 | FIN 1 */
	PS_FRAME_MAX_DATA = 0x10,
	PS_FRAME_MAX_STREAM_DATA = 0x11,
	PS_FRAME_MAX_STREAMS_BIDI = 0x12,
	PS_FRAME_MAX_STREAMS_UNI = 0x13,
	PS_FRAME_DATA_BLOCKED = 0x14,
	PS_FRAME_STREAM_DATA_BLOCKED = 0x15,
	PS_FRAME_STREAMS_BLOCKED_BIDI = 0x16,
	PS_FRAME_STREAMS_BLOCKED_UNI = 0x17,
	PS_FRAME_NEW_CONNECTION_ID = 0x18,
	PS_FRAME_RETIRE_CONNECTION_ID = 0x19,
	PS_FRAME_PATH_CHALLENGE = 0x1a,
	PS_FRAME_PATH_RESPONSE = 0x1b,
	PS_FRAME_CONNECTION_CLOSE = 0x1c,
	PS_FRAME_CONNECTION_CLOSE_APP = 0x1d,
	PS_FRAME_HANDSHAKE_DONE = 0x1e,
};

struct ps_ack {
	uint64_t largest, delay, first_range, range_count;
	const uint8_t *ranges; /* range_count encoded (gap, length) pairs, checked by the parser */
	uint64_t ect0, ect1, ce; /* ACK_ECN only */
};

/* One decoded frame. Pointers lead into the packet. */
struct ps_frame {
	uint8_t type;      /* STREAM types folded to PS_FRAME_STREAM; a PADDING run is one frame */
	uint8_t wire_type; /* as it came */
	bool fin;
	uint16_t len; /* bytes at data: STREAM, CRYPTO, NEW_TOKEN, close reason, NCID id */
	const uint8_t *data;
	union {
		struct {
			uint64_t id, offset;
		} stream; /* STREAM; CRYPTO uses offset */
		struct {
			uint64_t id, error, final_size;
		} reset; /* RESET_STREAM; STOP_SENDING without final_size */
		struct {
			uint64_t id, max;
		} limit; /* MAX_*, *_BLOCKED; id only for the STREAM_DATA kinds */
		struct {
			uint64_t seq, retire_prior_to;
			const uint8_t *reset_token; /* 16 bytes */
		} ncid; /* NEW_CONNECTION_ID; RETIRE_CONNECTION_ID uses seq */
		struct {
			uint64_t error, frame_type; /* frame_type only in 0x1c */
		} close;
		uint8_t path[8];
		struct ps_ack ack;
	};
};

/* Decodes the frame at *p and advances *p. Checks, in this order: known type and its shortest
 * encoding (RFC 9000 section 12.4), allowed in this packet type (else PROTOCOL_VIOLATION), length
 * (FRAME_ENCODING_ERROR), and every rule of section 19 that needs no connection state: ACK range
 * underflow, offset + length above 2^62-1, stream counts above 2^60, NEW_CONNECTION_ID lengths and
 * retire_prior_to. Returns 0 or a transport error code; on an error
 * *p stays. end - *p is at most 65535 bytes, and 0 is an error. Which frames a role may send is
 * the connection's business. */
uint64_t ps_frame_parse(
	struct ps_frame *f, enum ps_pkt_type in, const uint8_t **p, const uint8_t *end);

/* Steps through the ranges of a parsed ACK, largest first: i = 0, 1, .. range_count. Keep *cursor
 * and *r between calls, starting with cursor = ack->ranges. */
void ps_ack_range(const struct ps_ack *ack, uint64_t i, const uint8_t **cursor, struct ps_range *r);

/* Encoders: bytes written, 0 when they do not fit in cap. */
struct ps_ranges;
/* As many ranges as fit, largest first; delay already scaled by the exponent. */
size_t ps_frame_ack_put(uint8_t *p, size_t cap, const struct ps_ranges *r, uint64_t delay);
/* Turns the ACK frame of len bytes at p into ACK_ECN with the counts of ECT(0), ECT(1) and CE; its
 * new length, or len with the frame unchanged when they do not fit in cap. */
size_t ps_frame_ack_ecn(uint8_t *p, size_t len, size_t cap, const uint64_t counts[3]);
size_t ps_frame_crypto_put(
	uint8_t *p, size_t cap, uint64_t offset, const uint8_t *data, size_t len);
/* Largest data length that ps_frame_crypto_put / ps_frame_stream_put can place in cap. */
size_t ps_frame_crypto_fit(size_t cap, uint64_t offset, size_t len);
size_t ps_frame_stream_put(uint8_t *p, size_t cap, uint64_t id, uint64_t offset,
	const uint8_t *data, size_t len, bool fin);
size_t ps_frame_stream_fit(size_t cap, uint64_t id, uint64_t offset, size_t len);
/* MAX_DATA, MAX_STREAMS_UNI, RETIRE_CONNECTION_ID: a type and one integer. */
size_t ps_frame_varint_put(uint8_t *p, size_t cap, enum ps_frame_type type, uint64_t v);
size_t ps_frame_stop_put(uint8_t *p, size_t cap, uint64_t id, uint64_t error);
size_t ps_frame_reset_put(uint8_t *p, size_t cap, uint64_t id, uint64_t error, uint64_t final_size);
/* NEW_CONNECTION_ID with Retire Prior To 0. */
size_t ps_frame_ncid_put(uint8_t *p, size_t cap, uint64_t seq, const uint8_t *cid, size_t cid_len,
	const uint8_t reset_token[16]);
/* PATH_CHALLENGE or PATH_RESPONSE. */
size_t ps_frame_path_put(uint8_t *p, size_t cap, enum ps_frame_type type, const uint8_t data[8]);
size_t ps_frame_new_token_put(uint8_t *p, size_t cap, const uint8_t *token, size_t len);
/* frame_type is written for 0x1c only. */
size_t ps_frame_close_put(
	uint8_t *p, size_t cap, bool app, uint64_t error, uint64_t frame_type, const char *reason);

#endif
