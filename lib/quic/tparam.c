/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tparam.h"

#include <errno.h>
#include <string.h>

#define IDLE_TIMEOUT_MAX_MS (UINT64_C(1) << 40)

/* The ids of section 18.2 that the code names; the other integers stand in the table below. */
enum {
	TP_ORIGINAL_DCID = 0x00,
	TP_MAX_IDLE_TIMEOUT = 0x01,
	TP_RESET_TOKEN = 0x02,
	TP_DISABLE_ACTIVE_MIGRATION = 0x0c,
	TP_PREFERRED_ADDRESS = 0x0d,
	TP_INITIAL_SCID = 0x0f,
	TP_RETRY_SCID = 0x10,
	TP_COUNT
};

#define SERVER_ONLY                                                                                \
	(1u << TP_ORIGINAL_DCID | 1u << TP_RESET_TOKEN | 1u << TP_PREFERRED_ADDRESS |              \
		1u << TP_RETRY_SCID)

/* Integer parameters by id; max 0 marks an id that is none. */
struct int_param {
	size_t at; /* in struct ps_tparam */
	uint64_t min, max, absent;
};

#define INT_PARAM(id, field, min, max, absent)                                                     \
	[id] = {offsetof(struct ps_tparam, field), min, max, absent}

static const struct int_param int_params[TP_COUNT] = {
	INT_PARAM(TP_MAX_IDLE_TIMEOUT, max_idle_timeout_ms, 0, PS_VARINT_MAX, 0),
	INT_PARAM(0x03, max_udp_payload_size, PS_UDP_PAYLOAD_MIN, PS_VARINT_MAX, 65527),
	INT_PARAM(0x04, initial_max_data, 0, PS_VARINT_MAX, 0),
	INT_PARAM(0x05, initial_max_stream_data_bidi_local, 0, PS_VARINT_MAX, 0),
	INT_PARAM(0x06, initial_max_stream_data_bidi_remote, 0, PS_VARINT_MAX, 0),
	INT_PARAM(0x07, initial_max_stream_data_uni, 0, PS_VARINT_MAX, 0),
	INT_PARAM(0x08, initial_max_streams_bidi, 0, PS_UNI_STREAM_MAX, 0),
	INT_PARAM(0x09, initial_max_streams_uni, 0, PS_UNI_STREAM_MAX, 0),
	INT_PARAM(0x0a, ack_delay_exponent, 0, 20, 3),
	INT_PARAM(0x0b, max_ack_delay_ms, 0, (1 << 14) - 1, 25),
	INT_PARAM(0x0e, active_connection_id_limit, 2, PS_VARINT_MAX, 2),
};

static uint64_t *
int_field(struct ps_tparam *t, unsigned int id)
{
	return (uint64_t *)((char *)t + int_params[id].at);
}

void
ps_tparam_defaults(struct ps_tparam *t)
{
	memset(t, 0, sizeof(*t));
	for (unsigned int id = 0; id < TP_COUNT; id++) {
		if (int_params[id].max > 0)
			*int_field(t, id) = int_params[id].absent;
	}
}

static bool
parse_int(struct ps_tparam *t, unsigned int id, const uint8_t *p, size_t len)
{
	uint64_t v;

	if (ps_varint_get(p, p + len, &v) != len || len == 0 || v < int_params[id].min ||
		v > int_params[id].max)
		return false;
	if (id == TP_MAX_IDLE_TIMEOUT && v > IDLE_TIMEOUT_MAX_MS)
		v = IDLE_TIMEOUT_MAX_MS;
	*int_field(t, id) = v;
	return true;
}

static bool
parse_cid(struct ps_cid *cid, bool *has, const uint8_t *p, size_t len)
{
	if (len > PS_CID_MAX)
		return false;
	*has = true;
	cid->len = len;
	memcpy(cid->id, p, len);
	return true;
}

/* IPv4 and port, IPv6 and port, id length, id, reset token. Checked, not used: Penstock never
 * leaves the path of the handshake. */
static bool
check_preferred_address(const uint8_t *p, size_t len)
{
	const size_t addresses = 4 + 2 + 16 + 2;

	return len > addresses && p[addresses] >= 1 && p[addresses] <= PS_CID_MAX &&
	       len == addresses + 1 + p[addresses] + 16;
}

static bool
parse_one(struct ps_tparam *t, unsigned int id, const uint8_t *p, size_t len)
{
	switch (id) {
	case TP_ORIGINAL_DCID:
		return parse_cid(&t->original_dcid, &t->has_original_dcid, p, len);
	case TP_INITIAL_SCID:
		return parse_cid(&t->initial_scid, &t->has_initial_scid, p, len);
	case TP_RETRY_SCID:
		return parse_cid(&t->retry_scid, &t->has_retry_scid, p, len);
	case TP_RESET_TOKEN:
		if (len != sizeof(t->reset_token))
			return false;
		t->has_reset_token = true;
		memcpy(t->reset_token, p, len);
		return true;
	case TP_DISABLE_ACTIVE_MIGRATION:
		t->disable_active_migration = true;
		return len == 0;
	case TP_PREFERRED_ADDRESS:
		return check_preferred_address(p, len);
	default:
		return parse_int(t, id, p, len);
	}
}

int
ps_tparam_parse(struct ps_tparam *t, const uint8_t *p, size_t len, bool from_client)
{
	const uint8_t *end = p + len;
	uint32_t seen = 0;

	ps_tparam_defaults(t);
	if (len > PS_TPARAM_MAX_BYTES)
		return -EPROTO;
	while (p < end) {
		uint64_t id, size;
		size_t n = ps_varint_get(p, end, &id);

		p += n;
		if (n == 0)
			return -EPROTO;
		n = ps_varint_get(p, end, &size);
		p += n;
		if (n == 0 || size > (uint64_t)(end - p))
			return -EPROTO;
		if (id < TP_COUNT) {
			if (seen & 1u << id || (from_client && SERVER_ONLY & 1u << id) ||
				!parse_one(t, id, p, size))
				return -EPROTO;
			seen |= 1u << id;
		}
		p += size;
	}
	return 0;
}

struct writer {
	uint8_t *p, *end;
	bool full;
};

static void
put(struct writer *w, unsigned int id, const uint8_t *value, size_t len)
{
	if (w->full || 2 + len > (size_t)(w->end - w->p)) {
		w->full = true;
		return;
	}
	*w->p++ = id; /* below 64, and so is len: both are one-byte integers */
	*w->p++ = len;
	memcpy(w->p, value, len);
	w->p += len;
}

size_t
ps_tparam_put(const struct ps_tparam *t, uint8_t *p, size_t cap)
{
	struct writer w = {p, p + cap, false};

	for (unsigned int id = 0; id < TP_COUNT; id++) {
		uint8_t value[8];
		uint64_t v;

		memcpy(&v, (const char *)t + int_params[id].at, sizeof(v));
		if (int_params[id].max > 0 && v != int_params[id].absent)
			put(&w, id, value, ps_varint_put(value, v));
	}
	if (t->disable_active_migration)
		put(&w, TP_DISABLE_ACTIVE_MIGRATION, p, 0);
	if (t->has_original_dcid)
		put(&w, TP_ORIGINAL_DCID, t->original_dcid.id, t->original_dcid.len);
	if (t->has_initial_scid)
		put(&w, TP_INITIAL_SCID, t->initial_scid.id, t->initial_scid.len);
	if (t->has_retry_scid)
		put(&w, TP_RETRY_SCID, t->retry_scid.id, t->retry_scid.len);
	if (t->has_reset_token)
		put(&w, TP_RESET_TOKEN, t->reset_token, sizeof(t->reset_token));
	return w.full ? 0 : w.p - p;
}
