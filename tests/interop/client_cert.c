/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "client_cert.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#define CERT_BYTES  249
#define KEY_OFFSET  100
#define PKCS8_BYTES 48

/* DER up to the public key: version 3, serial 0x0101010101010101, Ed25519, issuer CN "Solana node",
 * 1970 to 4096, no subject. */
static const uint8_t cert_head[KEY_OFFSET] = {0x30, 0x81, 0xf6, 0x30, 0x81, 0xa9, 0xa0, 0x03, 0x02,
	0x01, 0x02, 0x02, 0x08, 1, 1, 1, 1, 1, 1, 1, 1, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70,
	0x30, 0x16, 0x31, 0x14, 0x30, 0x12, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, 0x0b, 'S', 'o', 'l',
	'a', 'n', 'a', ' ', 'n', 'o', 'd', 'e', 0x30, 0x20, 0x17, 0x0d, '7', '0', '0', '1', '0',
	'1', '0', '0', '0', '0', '0', '0', 'Z', 0x18, 0x0f, '4', '0', '9', '6', '0', '1', '0', '1',
	'0', '0', '0', '0', '0', '0', 'Z', 0x30, 0x00, 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b,
	0x65, 0x70, 0x03, 0x21, 0x00};
/* After it: critical subjectAltName "localhost", critical empty basicConstraints, and a signature
 * of 64 bytes 0xff that nobody checks. */
static const uint8_t cert_tail[] = {0xa3, 0x29, 0x30, 0x27, 0x30, 0x17, 0x06, 0x03, 0x55, 0x1d,
	0x11, 0x01, 0x01, 0xff, 0x04, 0x0d, 0x30, 0x0b, 0x82, 0x09, 'l', 'o', 'c', 'a', 'l', 'h',
	'o', 's', 't', 0x30, 0x0c, 0x06, 0x03, 0x55, 0x1d, 0x13, 0x01, 0x01, 0xff, 0x04, 0x02, 0x30,
	0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x41, 0x00};
static const uint8_t pkcs8_head[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b,
	0x65, 0x70, 0x04, 0x22, 0x04, 0x20};

bool
client_cert_parse(const char *name, enum client_cert *kind)
{
	static const char *const names[] = {[CLIENT_CERT_NONE] = "none",
		[CLIENT_CERT_ED25519] = "ed25519",
		[CLIENT_CERT_CHAIN2] = "chain2",
		[CLIENT_CERT_RSA] = "rsa",
		[CLIENT_CERT_ECDSA] = "ecdsa"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0) {
			*kind = (enum client_cert)i;
			return true;
		}
	}
	return false;
}

static void
make_solana_cert(const uint8_t seed[32], uint8_t *cert, uint8_t *pkcs8)
{
	uint8_t secret[crypto_sign_SECRETKEYBYTES];

	memset(cert, 0xff, CERT_BYTES);
	memcpy(cert, cert_head, sizeof(cert_head));
	crypto_sign_seed_keypair(cert + KEY_OFFSET, secret, seed);
	memcpy(cert + KEY_OFFSET + 32, cert_tail, sizeof(cert_tail));
	memcpy(pkcs8, pkcs8_head, sizeof(pkcs8_head));
	memcpy(pkcs8 + sizeof(pkcs8_head), seed, 32);
}

/* Not through gnutls_certificate_set_x509_key(), which cuts a chain where a certificate was not
 * issued by the next one. */
static int
load_solana(gnutls_certificate_credentials_t cred, unsigned certs, uint64_t seed)
{
	uint8_t der[CERT_BYTES], pkcs8[2][PKCS8_BYTES], key_seed[32] = {0};
	gnutls_datum_t cert_der = {der, CERT_BYTES}, key_der = {pkcs8[0], PKCS8_BYTES};
	gnutls_pcert_st pcert[2];
	gnutls_privkey_t key = NULL;
	int rc = gnutls_privkey_init(&key);

	memcpy(key_seed, &seed, sizeof(seed));
	for (unsigned i = 0; i < certs && rc == 0; i++) {
		key_seed[31] = (uint8_t)i;
		make_solana_cert(key_seed, der, pkcs8[i]);
		rc = gnutls_pcert_import_x509_raw(&pcert[i], &cert_der, GNUTLS_X509_FMT_DER, 0);
	}
	if (rc == 0)
		rc = gnutls_privkey_import_x509_raw(key, &key_der, GNUTLS_X509_FMT_DER, NULL, 0);
	if (rc == 0)
		rc = gnutls_certificate_set_key(cred, NULL, 0, pcert, (int)certs, key);
	if (rc < 0 && key)
		gnutls_privkey_deinit(key);
	return rc < 0 ? rc : 0;
}

static int
self_sign(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
	static const char name[] = "interop";
	time_t now = time(NULL);
	int rc = gnutls_x509_crt_set_key(crt, key);

	if (rc == 0)
		rc = gnutls_x509_crt_set_version(crt, 3);
	if (rc == 0)
		rc = gnutls_x509_crt_set_serial(crt, "\1", 1);
	if (rc == 0)
		rc = gnutls_x509_crt_set_activation_time(crt, now - 3600);
	if (rc == 0)
		rc = gnutls_x509_crt_set_expiration_time(crt, now + 86400);
	if (rc == 0)
		rc = gnutls_x509_crt_set_dn_by_oid(
			crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, sizeof(name) - 1);
	if (rc == 0)
		rc = gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
	return rc;
}

static int
load_self_signed(gnutls_certificate_credentials_t cred, gnutls_pk_algorithm_t alg, unsigned bits)
{
	gnutls_x509_privkey_t key = NULL;
	gnutls_x509_crt_t crt = NULL;
	int rc = gnutls_x509_privkey_init(&key);

	if (rc == 0)
		rc = gnutls_x509_privkey_generate(key, alg, bits, 0);
	if (rc == 0)
		rc = gnutls_x509_crt_init(&crt);
	if (rc == 0)
		rc = self_sign(crt, key);
	if (rc == 0)
		rc = gnutls_certificate_set_x509_key(cred, &crt, 1, key);
	if (crt)
		gnutls_x509_crt_deinit(crt);
	if (key)
		gnutls_x509_privkey_deinit(key);
	return rc < 0 ? rc : 0;
}

int
client_cert_load(gnutls_certificate_credentials_t cred, enum client_cert kind, uint64_t seed)
{
	switch (kind) {
	case CLIENT_CERT_ED25519:
		return load_solana(cred, 1, seed);
	case CLIENT_CERT_CHAIN2:
		return load_solana(cred, 2, seed);
	case CLIENT_CERT_RSA:
		return load_self_signed(cred, GNUTLS_PK_RSA, 2048);
	case CLIENT_CERT_ECDSA:
		return load_self_signed(
			cred, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
	case CLIENT_CERT_NONE:
		break;
	}
	return 0;
}
