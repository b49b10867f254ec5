/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* From a certificate (RFC 5280 section 4.1) or a raw key to the public key: plain DER, definite
 * lengths in their shortest form, every element inside the one around it. No recursion; each byte
 * is passed once. */

#include "tls_server.h"

#include <string.h>

#include "tls_read.h"

enum {
	DER_INTEGER = 0x02,
	DER_BIT_STRING = 0x03,
	DER_OID = 0x06,
	DER_SEQUENCE = 0x30,
	DER_VERSION = 0xa0, /* [0] EXPLICIT */
};

#define RSA_BITS_MIN     2048 /* what ring, and so Agave, takes */
#define RSA_BITS_MAX     8192
#define RSA_EXPONENT_MAX 4 /* bytes: verifying costs as much as the exponent is long */

static bool
der_any(struct ps_tls_read *r, uint8_t *tag, struct ps_tls_read *content)
{
	struct ps_tls_read at = *r;
	uint32_t first, len;

	if (!read_bytes(&at, 1, &content->p))
		return false;
	*tag = *content->p;
	if ((*tag & 0x1f) == 0x1f) /* numbers of more than a byte: none in a certificate */
		return false;
	if (!read_int(&at, 1, &first))
		return false;
	len = first;
	if (first >= 0x80) {
		unsigned int n = first & 0x7f;

		if (n == 0 || n > 3 || !read_int(&at, n, &len) || len < 0x80 ||
			len >> 8 * (n - 1) == 0)
			return false;
	}
	if (!read_bytes(&at, len, &content->p))
		return false;
	content->left = len;
	*r = at;
	return true;
}

static bool
der_is(struct ps_tls_read *r, uint8_t wanted, struct ps_tls_read *content)
{
	struct ps_tls_read at = *r;
	uint8_t tag;

	if (!der_any(&at, &tag, content) || tag != wanted)
		return false;
	*r = at;
	return true;
}

/* A positive INTEGER, without the zero byte that keeps it from being negative. */
static bool
der_positive(struct ps_tls_read *r, struct ps_tls_read *v)
{
	if (!der_is(r, DER_INTEGER, v) || v->left == 0 || (v->p[0] & 0x80) != 0)
		return false;
	if (v->p[0] == 0) {
		v->p++;
		v->left--;
		return v->left > 0 && (v->p[0] & 0x80) != 0;
	}
	return true;
}

static bool
same(const struct ps_tls_read *a, const void *b, size_t len)
{
	return a->left == len && memcmp(a->p, b, len) == 0;
}

static uint8_t
read_rsa(struct ps_tls_read key)
{
	struct ps_tls_read both, n, e;
	size_t bits;

	if (!der_is(&key, DER_SEQUENCE, &both) || key.left > 0 || !der_positive(&both, &n) ||
		!der_positive(&both, &e) || both.left > 0)
		return PS_TLS_ALERT_BAD_CERTIFICATE;
	bits = n.left * 8 - (unsigned int)(__builtin_clz(n.p[0]) - 24);
	if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX || e.left > RSA_EXPONENT_MAX)
		return PS_TLS_ALERT_UNSUPPORTED_CERTIFICATE;
	return 0;
}

static uint8_t
read_curve(struct ps_tls_peer_key *k, struct ps_tls_read algorithm)
{
	static const uint8_t p256[] = {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
	static const uint8_t p384[] = {0x2b, 0x81, 0x04, 0x00, 0x22};
	static const uint8_t p521[] = {0x2b, 0x81, 0x04, 0x00, 0x23};
	struct ps_tls_read curve;

	if (!der_is(&algorithm, DER_OID, &curve) || algorithm.left > 0)
		return PS_TLS_ALERT_BAD_CERTIFICATE;
	if (same(&curve, p256, sizeof(p256)))
		k->kind = PS_TLS_KEY_P256;
	else if (same(&curve, p384, sizeof(p384)))
		k->kind = PS_TLS_KEY_P384;
	else if (same(&curve, p521, sizeof(p521)))
		k->kind = PS_TLS_KEY_P521;
	else
		return PS_TLS_ALERT_UNSUPPORTED_CERTIFICATE;
	return 0;
}

/* algorithm: behind its OID. key: the BIT STRING's content, whole bytes. */
static uint8_t
read_key(struct ps_tls_peer_key *k, const struct ps_tls_read *oid, struct ps_tls_read algorithm,
	struct ps_tls_read key)
{
	static const uint8_t ed25519[] = {0x2b, 0x65, 0x70}; /* RFC 8410 section 3 */
	static const uint8_t rsa[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01};
	static const uint8_t pss[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a};
	static const uint8_t ec[] = {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01};

	if (same(oid, ed25519, sizeof(ed25519))) {
		if (algorithm.left > 0 || key.left != 32)
			return PS_TLS_ALERT_BAD_CERTIFICATE;
		k->kind = PS_TLS_KEY_ED25519;
		k->ed25519 = key.p;
		return 0;
	}
	if (same(oid, ec, sizeof(ec)))
		return read_curve(k, algorithm);
	if (same(oid, rsa, sizeof(rsa)))
		k->kind = PS_TLS_KEY_RSA;
	else if (same(oid, pss, sizeof(pss)))
		k->kind = PS_TLS_KEY_RSA_PSS;
	else
		return PS_TLS_ALERT_UNSUPPORTED_CERTIFICATE;
	return read_rsa(key);
}

uint8_t
ps_tls_spki_key(struct ps_tls_peer_key *k, const uint8_t *der, size_t len)
{
	struct ps_tls_read r = {der, len}, spki, algorithm, oid, key;

	*k = (struct ps_tls_peer_key){.spki = der, .spki_len = (uint16_t)len};
	if (len > PS_TLS_IN_MAX || !der_is(&r, DER_SEQUENCE, &spki) || r.left > 0 ||
		!der_is(&spki, DER_SEQUENCE, &algorithm) || !der_is(&spki, DER_BIT_STRING, &key) ||
		spki.left > 0 || !der_is(&algorithm, DER_OID, &oid))
		return PS_TLS_ALERT_BAD_CERTIFICATE;
	if (key.left == 0 || key.p[0] != 0) /* unused bits of the last byte */
		return PS_TLS_ALERT_BAD_CERTIFICATE;
	key.p++;
	key.left--;
	return read_key(k, &oid, algorithm, key);
}

uint8_t
ps_tls_cert_key(struct ps_tls_peer_key *k, const uint8_t *der, size_t len)
{
	/* after the version: serialNumber, signature, issuer, validity, subject */
	static const uint8_t before[] = {
		DER_INTEGER, DER_SEQUENCE, DER_SEQUENCE, DER_SEQUENCE, DER_SEQUENCE};
	struct ps_tls_read r = {der, len}, cert, tbs, skipped;
	const uint8_t *spki;

	if (!der_is(&r, DER_SEQUENCE, &cert) || r.left > 0 || !der_is(&cert, DER_SEQUENCE, &tbs) ||
		!der_is(&cert, DER_SEQUENCE, &skipped) ||
		!der_is(&cert, DER_BIT_STRING, &skipped) || cert.left > 0)
		return PS_TLS_ALERT_BAD_CERTIFICATE;
	der_is(&tbs, DER_VERSION, &skipped); /* absent: version 1 */
	for (size_t i = 0; i < sizeof(before); i++)
		if (!der_is(&tbs, before[i], &skipped))
			return PS_TLS_ALERT_BAD_CERTIFICATE;
	spki = tbs.p;
	if (!der_is(&tbs, DER_SEQUENCE, &skipped))
		return PS_TLS_ALERT_BAD_CERTIFICATE;
	return ps_tls_spki_key(k, spki, (size_t)(tbs.p - spki));
}

bool
ps_tls_scheme_fits(uint16_t scheme, enum ps_tls_key_kind kind)
{
	switch (kind) {
	case PS_TLS_KEY_ED25519:
		return scheme == TLS_SIG_ED25519;
	case PS_TLS_KEY_RSA:
		return scheme >= TLS_SIG_RSA_PSS_RSAE_SHA256 &&
		       scheme <= TLS_SIG_RSA_PSS_RSAE_SHA512;
	case PS_TLS_KEY_RSA_PSS:
		return scheme >= TLS_SIG_RSA_PSS_PSS_SHA256 && scheme <= TLS_SIG_RSA_PSS_PSS_SHA512;
	case PS_TLS_KEY_P256:
		return scheme == TLS_SIG_ECDSA_P256_SHA256;
	case PS_TLS_KEY_P384:
		return scheme == TLS_SIG_ECDSA_P384_SHA384;
	case PS_TLS_KEY_P521:
		return scheme == TLS_SIG_ECDSA_P521_SHA512;
	}
	return false;
}
