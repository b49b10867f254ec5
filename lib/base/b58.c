/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ps_b58.h"

#include <assert.h>

char *
ps_b58_encode(char *out, const uint8_t *bytes, size_t len)
{
	static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
	uint8_t digit[PS_B58_MAX_CHARS]; /* least significant first */
	size_t n = 0, zeros = 0, o = 0;

	assert(len <= PS_B58_MAX_BYTES);
	while (zeros < len && bytes[zeros] == 0)
		zeros++;
	for (size_t i = zeros; i < len; i++) {
		uint32_t carry = bytes[i];

		for (size_t j = 0; j < n; j++) {
			carry += (uint32_t)digit[j] << 8;
			digit[j] = carry % 58;
			carry /= 58;
		}
		for (; carry > 0; carry /= 58)
			digit[n++] = carry % 58;
	}
	while (o < zeros)
		out[o++] = '1';
	while (n > 0)
		out[o++] = alphabet[digit[--n]];
	out[o] = '\0';
	return out;
}
