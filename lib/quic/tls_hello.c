/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* ClientHello: RFC 8446 sections 4.1.2 and 4.2. Unknown extensions are skipped, and so are SNI,
 * which names nothing here, and what asks for resumption: pre_shared_key and early_data. */

#include "tls_server.h"

#include <string.h>

#include "tls_read.h"

/* What the message held; the checks that need all of it come at its end. */
struct found {
	bool version_1_3;
	bool groups, group_x25519;
	bool schemes, scheme_ed25519;
	bool shares, alpn_ours;
	bool psk, psk_modes;
	uint64_t seen[65536 / 64]; /* bit of each extension type */
};

/* A list of 16-bit values that fills its extension, behind a length of n bytes. */
static uint8_t
read_values(struct ps_tls_read *r, unsigned int n, uint32_t wanted, bool *there)
{
	struct ps_tls_read list;
	uint32_t v;

	if (!read_vector(r, n, &list) || r->left > 0 || list.left == 0 || list.left % 2 != 0)
		return PS_TLS_ALERT_DECODE_ERROR;
	while (read_int(&list, 2, &v))
		*there = *there || v == wanted;
	return 0;
}

static uint8_t
read_alpn(struct ps_tls_read *r, const char *alpn, bool *ours)
{
	struct ps_tls_read list, name;

	if (!read_vector(r, 2, &list) || r->left > 0 || list.left == 0)
		return PS_TLS_ALERT_DECODE_ERROR;
	while (list.left > 0) {
		if (!read_vector(&list, 1, &name) || name.left == 0)
			return PS_TLS_ALERT_DECODE_ERROR;
		if (name.left == strlen(alpn) && memcmp(name.p, alpn, name.left) == 0)
			*ours = true;
	}
	return 0;
}

static uint8_t
read_shares(struct ps_tls_read *r, const uint8_t **x25519)
{
	struct ps_tls_read list, share;
	uint32_t group;

	if (!read_vector(r, 2, &list) || r->left > 0)
		return PS_TLS_ALERT_DECODE_ERROR;
	while (list.left > 0) {
		if (!read_int(&list, 2, &group) || !read_vector(&list, 2, &share) ||
			share.left == 0)
			return PS_TLS_ALERT_DECODE_ERROR;
		if (group != TLS_GROUP_X25519)
			continue;
		if (share.left != 32 || *x25519 != NULL)
			return PS_TLS_ALERT_ILLEGAL_PARAMETER;
		*x25519 = share.p;
	}
	return 0;
}

/* RFC 7250 section 4.2: the first of the client's list that we know. */
static uint8_t
read_cert_types(struct ps_tls_read *r, int *chosen)
{
	struct ps_tls_read list;
	uint32_t v;

	if (!read_vector(r, 1, &list) || r->left > 0 || list.left == 0)
		return PS_TLS_ALERT_DECODE_ERROR;
	while (read_int(&list, 1, &v))
		if (*chosen < 0 && (v == TLS_CERT_X509 || v == TLS_CERT_RAW_KEY))
			*chosen = (int)v;
	return *chosen < 0 ? PS_TLS_ALERT_UNSUPPORTED_CERTIFICATE : 0;
}

static uint8_t
read_psk_modes(struct ps_tls_read *r)
{
	struct ps_tls_read list;

	return read_vector(r, 1, &list) && r->left == 0 && list.left > 0
		       ? 0
		       : PS_TLS_ALERT_DECODE_ERROR;
}

static uint8_t
read_tp(struct ps_tls_read *r, struct ps_tls_hello *h)
{
	if (r->left > PS_TPARAM_MAX_BYTES)
		return PS_TLS_ALERT_DECODE_ERROR;
	h->tp = r->p;
	h->tp_len = (uint16_t)r->left;
	return 0;
}

static uint8_t
read_extension(struct ps_tls_hello *h, struct found *f, uint32_t type, struct ps_tls_read *r,
	const char *alpn)
{
	switch (type) {
	case TLS_EXT_SUPPORTED_VERSIONS:
		return read_values(r, 1, TLS_VERSION_1_3, &f->version_1_3);
	case TLS_EXT_SUPPORTED_GROUPS:
		f->groups = true;
		return read_values(r, 2, TLS_GROUP_X25519, &f->group_x25519);
	case TLS_EXT_SIGNATURE_ALGORITHMS:
		f->schemes = true;
		return read_values(r, 2, TLS_SIG_ED25519, &f->scheme_ed25519);
	case TLS_EXT_ALPN:
		return read_alpn(r, alpn, &f->alpn_ours);
	case TLS_EXT_KEY_SHARE:
		f->shares = true;
		return read_shares(r, &h->share);
	case TLS_EXT_CLIENT_CERTIFICATE_TYPE:
		return read_cert_types(r, &h->client_cert_type);
	case TLS_EXT_SERVER_CERTIFICATE_TYPE:
		return read_cert_types(r, &h->server_cert_type);
	case TLS_EXT_PRE_SHARED_KEY:
		f->psk = true;
		return 0;
	case TLS_EXT_PSK_KEY_EXCHANGE_MODES:
		f->psk_modes = true;
		return read_psk_modes(r);
	case TLS_EXT_QUIC_TRANSPORT_PARAMETERS:
		return read_tp(r, h);
	default:
		return 0;
	}
}

static uint8_t
read_extensions(struct ps_tls_hello *h, struct found *f, struct ps_tls_read *list, const char *alpn)
{
	while (list->left > 0) {
		struct ps_tls_read body;
		uint32_t type;
		uint8_t alert;

		if (f->psk) /* it must be the last, section 4.2.11 */
			return PS_TLS_ALERT_ILLEGAL_PARAMETER;
		if (!read_int(list, 2, &type) || !read_vector(list, 2, &body))
			return PS_TLS_ALERT_DECODE_ERROR;
		if ((f->seen[type / 64] >> type % 64 & 1) != 0)
			return PS_TLS_ALERT_ILLEGAL_PARAMETER;
		f->seen[type / 64] |= UINT64_C(1) << type % 64;
		alert = read_extension(h, f, type, &body, alpn);
		if (alert != 0)
			return alert;
	}
	return 0;
}

/* Sections 4.1.1, 4.2 and 9.2. */
static uint8_t
check(const struct ps_tls_hello *h, const struct found *f)
{
	if (!f->alpn_ours)
		return PS_TLS_ALERT_NO_APPLICATION_PROTOCOL; /* RFC 9001 section 8.1 */
	if (h->tp_len == 0)
		return PS_TLS_ALERT_MISSING_EXTENSION; /* RFC 9001 section 8.2 */
	if (!f->schemes || !f->groups || !f->shares || (f->psk && !f->psk_modes))
		return PS_TLS_ALERT_MISSING_EXTENSION;
	if (!f->scheme_ed25519 || !f->group_x25519)
		return PS_TLS_ALERT_HANDSHAKE_FAILURE;
	return 0;
}

/* The fields before the extensions, most of them remains of older versions. */
struct legacy {
	struct ps_tls_read session_id, ciphers, compression, extensions;
};

static bool
read_legacy(struct ps_tls_hello *h, struct legacy *l, struct ps_tls_read *r)
{
	uint32_t version;

	if (!read_int(r, 2, &version) || !read_bytes(r, TLS_RANDOM_BYTES, &h->random) ||
		!read_vector(r, 1, &l->session_id) || l->session_id.left > 32 ||
		!read_vector(r, 2, &l->ciphers) || l->ciphers.left == 0 ||
		l->ciphers.left % 2 != 0 || !read_vector(r, 1, &l->compression) ||
		l->compression.left == 0)
		return false;
	l->extensions = (struct ps_tls_read){0};
	/* A hello of TLS 1.2 may end here. */
	return r->left == 0 || (read_vector(r, 2, &l->extensions) && r->left == 0);
}

/* Ours first, whatever the client's order: AES-128 is the cheapest to open, ChaCha20 costs some
 * four times as much. */
static uint8_t
choose_suite(struct ps_tls_read ciphers, enum ps_suite *suite)
{
	uint32_t v, best = PS_SUITES;

	while (read_int(&ciphers, 2, &v))
		if (v >= TLS_FIRST_SUITE && v - TLS_FIRST_SUITE < best)
			best = v - TLS_FIRST_SUITE;
	*suite = best;
	return best == PS_SUITES ? PS_TLS_ALERT_HANDSHAKE_FAILURE : 0;
}

static uint8_t
check_legacy(const struct legacy *l)
{
	if (l->session_id.left > 0) /* there is no middlebox to please, RFC 9001 section 8.4 */
		return PS_TLS_ALERT_SESSION_ID;
	if (l->compression.left != 1 || l->compression.p[0] != 0)
		return PS_TLS_ALERT_ILLEGAL_PARAMETER;
	return 0;
}

uint8_t
ps_tls_hello_read(struct ps_tls_hello *h, const uint8_t *body, size_t len, const char *alpn)
{
	struct ps_tls_read r = {body, len};
	struct found f = {0};
	struct legacy l;
	uint8_t alert;

	*h = (struct ps_tls_hello){.client_cert_type = -1, .server_cert_type = -1};
	if (!read_legacy(h, &l, &r))
		return PS_TLS_ALERT_DECODE_ERROR;
	alert = read_extensions(h, &f, &l.extensions, alpn);
	if (alert != 0)
		return alert;
	if (!f.version_1_3)
		return PS_TLS_ALERT_PROTOCOL_VERSION;
	alert = check_legacy(&l);
	if (alert == 0)
		alert = choose_suite(l.ciphers, &h->suite);
	return alert != 0 ? alert : check(h, &f);
}
