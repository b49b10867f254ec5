/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tls_server.h"

#include <string.h>

#include "protect.h"

/* Derive-Secret(HKDF-Extract(0, 0), "derived", ""): the same in every handshake without a
 * pre-shared key. */
static const uint8_t derived_early_256[32] = {0x6f, 0x26, 0x15, 0xa1, 0x08, 0xc7, 0x02, 0xc5, 0x67,
	0x8f, 0x54, 0xfc, 0x9d, 0xba, 0xb6, 0x97, 0x16, 0xc0, 0x76, 0x18, 0x9c, 0x48, 0x25, 0x0c,
	0xeb, 0xea, 0xc3, 0x57, 0x6c, 0x36, 0x11, 0xba};
static const uint8_t derived_early_384[48] = {0x15, 0x91, 0xda, 0xc5, 0xcb, 0xbf, 0x03, 0x30, 0xa4,
	0xa8, 0x4d, 0xe9, 0xc7, 0x53, 0x33, 0x0e, 0x92, 0xd0, 0x1f, 0x0a, 0x88, 0x21, 0x4b, 0x44,
	0x64, 0x97, 0x2f, 0xd6, 0x68, 0x04, 0x9e, 0x93, 0xe5, 0x2f, 0x2b, 0x16, 0xfa, 0xd9, 0x22,
	0xfd, 0xc0, 0x58, 0x44, 0x78, 0x42, 0x8f, 0x28, 0x2b};

static void
derive(uint8_t *out, const uint8_t *secret, const char *label, const struct ps_hash *transcript)
{
	size_t hash = transcript->bytes;
	uint8_t context[PS_HASH_MAX];

	ps_hash_peek(transcript, context);
	ps_hkdf_expand_label_of(hash, out, hash, secret, label, context, hash);
}

void
ps_tls_handshake_secrets(uint8_t *handshake, uint8_t *client, uint8_t *server,
	const uint8_t shared[32], const struct ps_hash *transcript)
{
	size_t hash = transcript->bytes;

	ps_hkdf_extract(hash, handshake,
		hash == sizeof(derived_early_384) ? derived_early_384 : derived_early_256, hash,
		shared, 32);
	derive(client, handshake, "c hs traffic", transcript);
	derive(server, handshake, "s hs traffic", transcript);
}

void
ps_tls_app_secrets(uint8_t *client, uint8_t *server, const uint8_t *handshake,
	const struct ps_hash *transcript)
{
	static const uint8_t zero[PS_HASH_MAX];
	size_t hash = transcript->bytes;
	struct ps_hash nothing;
	uint8_t salt[PS_HASH_MAX], master[PS_HASH_MAX];

	ps_hash_init(&nothing, hash);
	derive(salt, handshake, "derived", &nothing);
	ps_hkdf_extract(hash, master, salt, hash, zero, hash);
	derive(client, master, "c ap traffic", transcript);
	derive(server, master, "s ap traffic", transcript);
	ps_wipe(salt, sizeof(salt));
	ps_wipe(master, sizeof(master));
}

void
ps_tls_finished_key(size_t hash, uint8_t *key, const uint8_t *traffic)
{
	ps_hkdf_expand_label(hash, key, hash, traffic, "finished");
}

void
ps_tls_finished(uint8_t *verify_data, const uint8_t *key, const struct ps_hash *transcript)
{
	size_t hash = transcript->bytes;
	uint8_t context[PS_HASH_MAX];

	ps_hash_peek(transcript, context);
	ps_hkdf_extract(hash, verify_data, key, hash, context, hash);
}

size_t
ps_tls_signed_content(uint8_t out[PS_TLS_SIGNED_MAX], bool server, const struct ps_hash *transcript)
{
	static const char of_server[34] = "TLS 1.3, server CertificateVerify";
	static const char of_client[34] = "TLS 1.3, client CertificateVerify";

	memset(out, ' ', 64);
	memcpy(out + 64, server ? of_server : of_client, 34); /* and a zero byte */
	ps_hash_peek(transcript, out + 98);
	return 98 + transcript->bytes;
}
