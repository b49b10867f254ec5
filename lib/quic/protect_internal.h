/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The cipher that token.c needs from protect.c, and nobody else: AES-128-GCM under the token key,
 * text encrypted in place, tag apart. aad_len and len in bytes. */
#ifndef PS_QUIC_PROTECT_INTERNAL_H
#define PS_QUIC_PROTECT_INTERNAL_H

#include "protect.h"

void ps_token_seal(struct ps_protect *p, const uint8_t nonce[12], const uint8_t *aad,
	size_t aad_len, uint8_t *text, size_t len, uint8_t tag[PS_AEAD_TAG]);
bool ps_token_open(struct ps_protect *p, const uint8_t nonce[12], const uint8_t *aad,
	size_t aad_len, uint8_t *text, size_t len, const uint8_t tag[PS_AEAD_TAG]);

#endif
