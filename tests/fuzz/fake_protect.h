/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* protect.h without ciphers, for harnesses of the engine: packets are in clear text and verify
 * unless their tag begins with 0xff, connection ids are plain numbers, an odd first byte
 * claims that a token is a Retry's, 0xff and 0xfe that it is forged, a Retry's tag is zeros, random
 * bytes count. The linker puts these functions in
 * the place of the real ones (--wrap). */
#ifndef PS_FUZZ_FAKE_PROTECT_H
#define PS_FUZZ_FAKE_PROTECT_H

#include "protect.h"

extern struct fake_protect {
	uint8_t random;
	bool validated; /* a token or a packet at the Handshake level was taken */
} fake_protect;

#endif
