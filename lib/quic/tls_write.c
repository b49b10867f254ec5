/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tls_server.h"

#include <string.h>

#include "ps_be.h"

static uint8_t *
put8(uint8_t *p, unsigned int v)
{
	*p = (uint8_t)v;
	return p + 1;
}

static uint8_t *
put16(uint8_t *p, unsigned int v)
{
	ps_be16_store(p, (uint16_t)v);
	return p + 2;
}

static uint8_t *
put24(uint8_t *p, size_t v)
{
	return put16(put8(p, (unsigned int)(v >> 16)), (unsigned int)(v & 0xffff));
}

static uint8_t *
put(uint8_t *p, const void *bytes, size_t len)
{
	memcpy(p, bytes, len);
	return p + len;
}

/* Sets the length of the message that starts at start and ends at p. */
static uint8_t *
finish(uint8_t *start, uint8_t *p)
{
	put24(start + 1, (size_t)(p - start) - TLS_HEADER_BYTES);
	return p;
}

uint8_t *
ps_tls_put_server_hello(
	uint8_t *p, enum ps_suite suite, const uint8_t *random, const uint8_t share[32])
{
	/* SHA-256 of "HelloRetryRequest", RFC 8446 section 4.1.3 */
	static const uint8_t retry_random[TLS_RANDOM_BYTES] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a,
		0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16,
		0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
	uint8_t *start = p;
	bool retry = random == NULL;

	p = put8(p, TLS_SERVER_HELLO);
	p = put24(p, 0);
	p = put16(p, TLS_VERSION_1_2);
	p = put(p, retry ? retry_random : random, TLS_RANDOM_BYTES);
	p = put8(p, 0); /* no session id to echo */
	p = put16(p, TLS_FIRST_SUITE + suite);
	p = put8(p, 0);                             /* compression */
	p = put16(p, 6 + 4 + (retry ? 2 : 4 + 32)); /* of both extensions */
	p = put16(p, TLS_EXT_SUPPORTED_VERSIONS);
	p = put16(p, 2);
	p = put16(p, TLS_VERSION_1_3);
	p = put16(p, TLS_EXT_KEY_SHARE);
	p = put16(p, retry ? 2 : 4 + 32);
	p = put16(p, TLS_GROUP_X25519);
	if (!retry) {
		p = put16(p, 32);
		p = put(p, share, 32);
	}
	return finish(start, p);
}

static uint8_t *
put_cert_type(uint8_t *p, unsigned int extension, int type)
{
	if (type < 0)
		return p;
	p = put16(p, extension);
	p = put16(p, 1);
	return put8(p, (unsigned int)type);
}

uint8_t *
ps_tls_put_extensions(uint8_t *p, const struct ps_tls_io *io, const char *alpn,
	int client_cert_type, int server_cert_type)
{
	uint8_t *start = p, *extensions;
	size_t alpn_len = strlen(alpn);

	p = put8(p, TLS_ENCRYPTED_EXTENSIONS);
	p = put24(p, 0);
	extensions = p;
	p = put16(p, 0);
	p = put16(p, TLS_EXT_ALPN);
	p = put16(p, (unsigned int)alpn_len + 3);
	p = put16(p, (unsigned int)alpn_len + 1);
	p = put8(p, (unsigned int)alpn_len);
	p = put(p, alpn, alpn_len);
	p = put16(p, TLS_EXT_QUIC_TRANSPORT_PARAMETERS);
	p = put16(p, io->tp_len);
	p = put(p, io->tp, io->tp_len);
	p = put_cert_type(p, TLS_EXT_CLIENT_CERTIFICATE_TYPE, client_cert_type);
	p = put_cert_type(p, TLS_EXT_SERVER_CERTIFICATE_TYPE, server_cert_type);
	put16(extensions, (unsigned int)(p - extensions) - 2);
	return finish(start, p);
}

uint8_t *
ps_tls_put_certificate_request(uint8_t *p)
{
	/* Those of PKCS #1 are for the signatures under certificates, which we do not check: some
	 * clients keep back a certificate that is signed otherwise than we list. */
	static const uint16_t schemes[] = {TLS_SIG_ED25519, TLS_SIG_ECDSA_P256_SHA256,
		TLS_SIG_ECDSA_P384_SHA384, TLS_SIG_ECDSA_P521_SHA512, TLS_SIG_RSA_PSS_RSAE_SHA256,
		TLS_SIG_RSA_PSS_RSAE_SHA384, TLS_SIG_RSA_PSS_RSAE_SHA512,
		TLS_SIG_RSA_PSS_PSS_SHA256, TLS_SIG_RSA_PSS_PSS_SHA384, TLS_SIG_RSA_PSS_PSS_SHA512,
		0x0401, 0x0501, 0x0601};
	uint8_t *start = p;

	p = put8(p, TLS_CERTIFICATE_REQUEST);
	p = put24(p, 0);
	p = put8(p, 0); /* context */
	p = put16(p, 4 + 2 + sizeof(schemes));
	p = put16(p, TLS_EXT_SIGNATURE_ALGORITHMS);
	p = put16(p, 2 + sizeof(schemes));
	p = put16(p, sizeof(schemes));
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		p = put16(p, schemes[i]);
	return finish(start, p);
}

uint8_t *
ps_tls_put_certificate(uint8_t *p, const uint8_t *der, size_t len)
{
	uint8_t *start = p;

	p = put8(p, TLS_CERTIFICATE);
	p = put24(p, 0);
	p = put8(p, 0); /* context */
	p = put24(p, 3 + len + 2);
	p = put24(p, len);
	p = put(p, der, len);
	p = put16(p, 0); /* extensions */
	return finish(start, p);
}

uint8_t *
ps_tls_put_certificate_verify(uint8_t *p, const uint8_t sig[64])
{
	uint8_t *start = p;

	p = put8(p, TLS_CERTIFICATE_VERIFY);
	p = put24(p, 0);
	p = put16(p, TLS_SIG_ED25519);
	p = put16(p, 64);
	p = put(p, sig, 64);
	return finish(start, p);
}

uint8_t *
ps_tls_put_finished(uint8_t *p, const uint8_t *verify_data, size_t len)
{
	p = put8(p, TLS_FINISHED);
	p = put24(p, len);
	return put(p, verify_data, len);
}

uint8_t *
ps_tls_put_message_hash(uint8_t *p, const uint8_t *hash, size_t len)
{
	p = put8(p, TLS_MESSAGE_HASH);
	p = put24(p, len);
	return put(p, hash, len);
}

uint8_t *
ps_tls_put_spki(uint8_t *p, const uint8_t public[32])
{
	static const uint8_t prefix[PS_TLS_SPKI_BYTES - 32] = {
		0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

	p = put(p, prefix, sizeof(prefix));
	return put(p, public, 32);
}
