/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Transport parameters (RFC 9000 section 18, RFC 9001 section 8.2). */
#ifndef PS_QUIC_TPARAM_H
#define PS_QUIC_TPARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define PS_TPARAM_MAX_BYTES 512 /* of one encoded block, ours or a peer's */

struct ps_tparam {
	uint64_t max_idle_timeout_ms; /* 0: none; larger than 2^40 is read as 2^40 */
	uint64_t max_udp_payload_size;
	uint64_t initial_max_data;
	uint64_t initial_max_stream_data_bidi_local, initial_max_stream_data_bidi_remote;
	uint64_t initial_max_stream_data_uni;
	uint64_t initial_max_streams_bidi, initial_max_streams_uni;
	uint64_t ack_delay_exponent, max_ack_delay_ms;
	uint64_t active_connection_id_limit;
	bool disable_active_migration;
	bool has_original_dcid, has_initial_scid, has_retry_scid, has_reset_token;
	struct ps_cid original_dcid, initial_scid, retry_scid;
	uint8_t reset_token[16];
};

/* The values that hold when a parameter is absent (section 18.2). */
void ps_tparam_defaults(struct ps_tparam *t);
/* Decodes a peer's block. from_client: parameters only a server may send are an error. Duplicates,
 * values out of range, truncated integers: -EPROTO, to be sent as TRANSPORT_PARAMETER_ERROR.
 * Unknown parameters are skipped. */
int ps_tparam_parse(struct ps_tparam *t, const uint8_t *p, size_t len, bool from_client);
/* Encodes values that differ from the defaults and every has_* one; bytes, 0 if cap is too small.
 */
size_t ps_tparam_put(const struct ps_tparam *t, uint8_t *p, size_t cap);

#endif
