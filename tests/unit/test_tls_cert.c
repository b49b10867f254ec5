/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Finding the key in a client's certificate, whoever made it. */

#include "cunit_run.h"
#include "curve25519.h"
#include "ps_be.h"
#include "tls_raw.h"
#include "tls_server.h"

#define DER_MAX 4096

/* A self-signed certificate of GnuTLS's making. */
static size_t
make(uint8_t der[DER_MAX], gnutls_pk_algorithm_t pk, unsigned int bits)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	size_t len = DER_MAX;

	gnutls_x509_privkey_init(&key);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_privkey_generate(key, pk, bits, 0), 0);
	crt = certify(key, "CN=a,O=\"name, that is longer than the usual ones are\"", NULL, key);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_DER, der, &len), 0);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
	return len;
}

static void
check_kind(gnutls_pk_algorithm_t pk, unsigned int bits, uint8_t alert, enum ps_tls_key_kind kind)
{
	struct ps_tls_peer_key k;
	uint8_t der[DER_MAX];
	size_t len = make(der, pk, bits);

	CU_ASSERT_EQUAL(ps_tls_cert_key(&k, der, len), alert);
	if (alert == 0) {
		CU_ASSERT_EQUAL(k.kind, kind);
		CU_ASSERT_EQUAL(ps_tls_spki_key(&k, k.spki, k.spki_len), 0);
		CU_ASSERT_EQUAL(k.kind, kind);
	}
}

static void
test_kinds(void)
{
	check_kind(GNUTLS_PK_EDDSA_ED25519, 256, 0, PS_TLS_KEY_ED25519);
	check_kind(GNUTLS_PK_RSA, 2048, 0, PS_TLS_KEY_RSA);
	check_kind(GNUTLS_PK_RSA, 1024, 43, 0);
	check_kind(GNUTLS_PK_RSA_PSS, 2048, 0, PS_TLS_KEY_RSA_PSS);
	check_kind(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0,
		PS_TLS_KEY_P256);
	check_kind(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1), 0,
		PS_TLS_KEY_P384);
	check_kind(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP521R1), 0,
		PS_TLS_KEY_P521);
}

static void
test_key_found(void)
{
	uint8_t der[DER_MAX], seed[32] = {9}, key[64];
	struct ps_tls_peer_key k;
	size_t len = ps_tls_certificate(seed, der, sizeof(der));

	ps_ed25519_key(key, seed);
	CU_ASSERT_EQUAL(ps_tls_cert_key(&k, der, len), 0);
	CU_ASSERT_EQUAL(k.kind, PS_TLS_KEY_ED25519);
	CU_ASSERT_EQUAL(memcmp(k.ed25519, key + 32, 32), 0);
}

/* Every bit and every length of a certificate: what is still taken points into it. */
static void
spoil(const uint8_t *good, size_t len)
{
	struct ps_tls_peer_key k;
	unsigned int refused = 0;
	/* of its own size, so that a sanitizer sees what lies beyond */
	uint8_t *der = malloc(len);

	for (size_t i = 0; i < len * 8; i++) {
		memcpy(der, good, len);
		der[i / 8] ^= (uint8_t)(1U << i % 8);
		if (ps_tls_cert_key(&k, der, len) != 0)
			refused++;
		else
			CU_ASSERT_TRUE(k.spki > der && k.spki + k.spki_len < der + len);
	}
	CU_ASSERT_TRUE(refused > 8 * 10);
	free(der);
	for (size_t i = 0; i < len; i++) {
		der = malloc(i + 1);
		memcpy(der, good, i);
		CU_ASSERT_EQUAL(ps_tls_cert_key(&k, der, i), 42);
		free(der);
	}
}

static void
test_spoiled(void)
{
	uint8_t der[DER_MAX], seed[32] = {9};

	spoil(der, ps_tls_certificate(seed, der, sizeof(der)));
	spoil(der, make(der, GNUTLS_PK_RSA, 2048));
	spoil(der, make(der, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1)));
}

static uint8_t
spki_alert(const void *der, size_t len)
{
	struct ps_tls_peer_key k;

	return ps_tls_spki_key(&k, der, len);
}

#define SPKI(literal) spki_alert(literal, sizeof(literal) - 1)
#define KEY           "01234567890123456789012345678901"

static void
test_der(void)
{
	CU_ASSERT_EQUAL(SPKI("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" KEY), 0);
	/* parameters that must be absent; a length in a form that is not the shortest; one that is
	 * not definite; unused bits; a key too short; a byte behind */
	CU_ASSERT_EQUAL(SPKI("\x30\x2c\x30\x07\x06\x03\x2b\x65\x70\x05\x00\x03\x21\x00" KEY), 42);
	CU_ASSERT_EQUAL(SPKI("\x30\x81\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" KEY), 42);
	CU_ASSERT_EQUAL(SPKI("\x30\x80\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" KEY), 42);
	CU_ASSERT_EQUAL(
		SPKI("\x30\x84\x00\x00\x00\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" KEY), 42);
	CU_ASSERT_EQUAL(SPKI("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x01" KEY), 42);
	CU_ASSERT_EQUAL(SPKI("\x30\x29\x30\x05\x06\x03\x2b\x65\x70\x03\x20\x00"
			     "0123456789012345678901234567890"),
		42);
	CU_ASSERT_EQUAL(SPKI("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" KEY "x"), 42);
	CU_ASSERT_EQUAL(SPKI(""), 42);
	CU_ASSERT_EQUAL(SPKI("\x30\x00"), 42);
	/* X25519 is no key to sign with; Ed448 is one that we know nothing of */
	CU_ASSERT_EQUAL(SPKI("\x30\x2a\x30\x05\x06\x03\x2b\x65\x6e\x03\x21\x00" KEY), 43);
	CU_ASSERT_EQUAL(SPKI("\x30\x2a\x30\x05\x06\x03\x2b\x65\x71\x03\x21\x00" KEY), 43);
}

/* A public exponent is no longer than 4 bytes, or verifying would take as long as signing does. */
static void
test_rsa_exponent(void)
{
	uint8_t der[DER_MAX],
		rsa[300] = {0x30, 0x82, 0x01, 0x12, 0x02, 0x82, 0x01, 0x01, 0x00, 0x80};
	static const uint8_t prefix[] = {0x30, 0x82, 0x01, 0x2a, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86,
		0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00, 0x03, 0x82, 0x01, 0x17, 0x00};

	for (uint8_t e_len = 3; e_len <= 11; e_len += 8) {
		size_t len = 4 + 4 + 257 + 2 + e_len;

		rsa[3] = (uint8_t)(len - 4);
		rsa[265] = 0x02;
		rsa[266] = e_len;
		memset(rsa + 267, 0x01, e_len);
		memcpy(der, prefix, sizeof(prefix));
		memcpy(der + sizeof(prefix), rsa, len);
		ps_be16_store(der + 2, (uint16_t)(sizeof(prefix) + len - 4));
		ps_be16_store(der + 21, (uint16_t)(len + 1));
		CU_ASSERT_EQUAL(spki_alert(der, sizeof(prefix) + len), e_len == 3 ? 0 : 43);
	}
}

/* GnuTLS presents its key bare, and takes ours so. */
static void
test_raw_key_of_gnutls(void)
{
	static const char priority[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CTYPE-ALL:+CTYPE-CLI-RAWPK:"
				       "+CTYPE-SRV-RAWPK:%DISABLE_TLS13_COMPAT_MODE";
	uint8_t pkcs8[16 + 32] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65,
		0x70, 0x04, 0x22, 0x04, 0x20, 5};
	uint8_t spki[PS_TLS_SPKI_BYTES], key[64], server_key[64], seed[32];
	gnutls_datum_t secret = {pkcs8, sizeof(pkcs8)}, public = {spki, sizeof(spki)};
	const gnutls_datum_t *theirs;
	unsigned int n = 0;
	struct raw r;

	ps_ed25519_key(key, pkcs8 + 16);
	ps_tls_put_spki(spki, key + 32);
	memset(seed, SEED_SERVER, sizeof(seed));
	ps_ed25519_key(server_key, seed);
	raw_flags = GNUTLS_ENABLE_RAWPK;
	raw_open(&r, true, true, false);
	raw_flags = 0;
	CU_ASSERT_EQUAL_FATAL(gnutls_priority_set_direct(r.gs, priority, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(gnutls_certificate_set_rawpk_key_mem(r.cred, &public, &secret,
				      GNUTLS_X509_FMT_DER, NULL, 0, NULL, 0, 0),
		0);
	raw_handshake(&r);
	CU_ASSERT_EQUAL(r.to.result, PS_TLS_DONE);
	CU_ASSERT_TRUE(r.complete);
	CU_ASSERT_TRUE(r.to.io.peer_has_key);
	CU_ASSERT_EQUAL(memcmp(r.to.io.peer_key, key + 32, 32), 0);
	theirs = gnutls_certificate_get_peers(r.gs, &n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(theirs);
	CU_ASSERT_EQUAL(theirs->size, PS_TLS_SPKI_BYTES);
	CU_ASSERT_EQUAL(memcmp(theirs->data + 12, server_key + 32, 32), 0);
	raw_close(&r);
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"kinds of keys", test_kinds},
		{"key found", test_key_found},
		{"spoiled certificates", test_spoiled},
		{"DER", test_der},
		{"RSA exponent", test_rsa_exponent},
		{"raw public key of GnuTLS", test_raw_key_of_gnutls},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls certificates", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
