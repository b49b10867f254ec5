/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tls_server.h"

#include <string.h>

#include "protect.h"

/* Derive-Secret(HKDF-Extract(0, 0), "derived", ""): the same in every handshake without a
 * pre-shared key. */
static const uint8_t derived_early[32] = {0x6f, 0x26, 0x15, 0xa1, 0x08, 0xc7, 0x02, 0xc5, 0x67,
	0x8f, 0x54, 0xfc, 0x9d, 0xba, 0xb6, 0x97, 0x16, 0xc0, 0x76, 0x18, 0x9c, 0x48, 0x25, 0x0c,
	0xeb, 0xea, 0xc3, 0x57, 0x6c, 0x36, 0x11, 0xba};

static void
derive(uint8_t out[32], const uint8_t secret[32], const char *label,
	const struct ps_sha256 *transcript)
{
	uint8_t hash[32];

	ps_sha256_peek(transcript, hash);
	ps_hkdf_expand_label_of(out, 32, secret, label, hash, sizeof(hash));
}

void
ps_tls_handshake_secrets(uint8_t handshake[32], uint8_t client[32], uint8_t server[32],
	const uint8_t shared[32], const struct ps_sha256 *transcript)
{
	ps_hkdf_extract(handshake, derived_early, sizeof(derived_early), shared, 32);
	derive(client, handshake, "c hs traffic", transcript);
	derive(server, handshake, "s hs traffic", transcript);
}

void
ps_tls_app_secrets(uint8_t client[32], uint8_t server[32], const uint8_t handshake[32],
	const struct ps_sha256 *transcript)
{
	static const uint8_t zero[32];
	struct ps_sha256 nothing;
	uint8_t salt[32], master[32];

	ps_sha256_init(&nothing);
	derive(salt, handshake, "derived", &nothing);
	ps_hkdf_extract(master, salt, sizeof(salt), zero, sizeof(zero));
	derive(client, master, "c ap traffic", transcript);
	derive(server, master, "s ap traffic", transcript);
	ps_wipe(salt, sizeof(salt));
	ps_wipe(master, sizeof(master));
}

void
ps_tls_finished_key(uint8_t key[32], const uint8_t traffic[32])
{
	ps_hkdf_expand_label(key, 32, traffic, "finished");
}

void
ps_tls_finished(uint8_t verify_data[32], const uint8_t key[32], const struct ps_sha256 *transcript)
{
	uint8_t hash[32];

	ps_sha256_peek(transcript, hash);
	ps_hkdf_extract(verify_data, key, 32, hash, sizeof(hash));
}

void
ps_tls_signed_content(
	uint8_t out[PS_TLS_SIGNED_BYTES], bool server, const struct ps_sha256 *transcript)
{
	static const char of_server[34] = "TLS 1.3, server CertificateVerify";
	static const char of_client[34] = "TLS 1.3, client CertificateVerify";

	memset(out, ' ', 64);
	memcpy(out + 64, server ? of_server : of_client, 34); /* and a zero byte */
	ps_sha256_peek(transcript, out + 98);
}
