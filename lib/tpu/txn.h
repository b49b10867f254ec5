/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The little of a serialized Solana transaction that decides its size limit and names it. Nothing
 * is verified here; the validator does that. Any caller, no state.
 *
 * legacy, v0   compact-u16 number of signatures, signatures of 64 bytes, message; the message of
 *              v0 starts with 0x80, a legacy one with its number of required signatures (< 0x80)
 * v1           0x81, number of required signatures, ..., signatures at the end (SIMD-0385)
 *
 * A legacy transaction that started with 0x81 would have at least 129 signatures, 8,256 bytes, so
 * the first byte tells v1 apart. */
#ifndef PS_TXN_H
#define PS_TXN_H

#include <stddef.h>
#include <stdint.h>

#define PS_TXN_SIGNATURE_BYTES 64
#define PS_TXN_NO_SIGNATURE    UINT32_MAX

enum ps_txn_version {
	PS_TXN_LEGACY, /* also what is not recognised */
	PS_TXN_V0,
	PS_TXN_V1,
};

struct ps_txn {
	enum ps_txn_version version;
	uint32_t signature_offset; /* of the first, PS_TXN_NO_SIGNATURE when there is none */
};

struct ps_txn ps_txn_look(const uint8_t *bytes, size_t len);

#endif
