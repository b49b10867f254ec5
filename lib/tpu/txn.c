/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "txn.h"

#define V0_PREFIX 0x80
#define V1_PREFIX 0x81

static struct ps_txn
look_v1(const uint8_t *bytes, size_t len)
{
	struct ps_txn t = {PS_TXN_V1, PS_TXN_NO_SIGNATURE};
	size_t signatures_bytes;

	if (len < 2)
		return t;
	signatures_bytes = (size_t)bytes[1] * PS_TXN_SIGNATURE_BYTES;
	if (signatures_bytes != 0 && signatures_bytes <= len - 2)
		t.signature_offset = (uint32_t)(len - signatures_bytes);
	return t;
}

/* Seven bits a byte, least significant first, the top bit says that another byte follows. Returns
 * the bytes it takes, 0 when it is cut short or longer than three. */
static size_t
compact_u16(const uint8_t *bytes, size_t len, uint32_t *value)
{
	*value = 0;
	for (size_t i = 0; i < 3 && i < len; i++) {
		*value |= (uint32_t)(bytes[i] & 0x7f) << (7 * i);
		if ((bytes[i] & 0x80) == 0)
			return i + 1;
	}
	return 0;
}

struct ps_txn
ps_txn_look(const uint8_t *bytes, size_t len)
{
	struct ps_txn t = {PS_TXN_LEGACY, PS_TXN_NO_SIGNATURE};
	uint32_t count;
	size_t at, message;

	if (len > 0 && bytes[0] == V1_PREFIX)
		return look_v1(bytes, len);
	at = compact_u16(bytes, len, &count);
	message = at + (size_t)count * PS_TXN_SIGNATURE_BYTES;
	if (at == 0 || message > len)
		return t;
	if (count > 0)
		t.signature_offset = (uint32_t)at;
	if (message < len && bytes[message] == V0_PREFIX)
		t.version = PS_TXN_V0;
	return t;
}
