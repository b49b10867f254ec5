/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A client of bare GnuTLS against a ps_tls server, for what ps_tls cannot be made to send. */
#ifndef PS_TEST_TLS_RAW_H
#define PS_TEST_TLS_RAW_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "tls_ends.h"

struct raw {
	gnutls_session_t gs;
	gnutls_certificate_credentials_t cred;
	struct end to; /* the server */
	uint8_t out[2][8192];
	size_t out_len[2], given[2]; /* given: to the server */
	bool transport_parameters, complete;
};

static unsigned int raw_flags; /* further flags of gnutls_init() */

static inline int
raw_out(gnutls_session_t gs, gnutls_record_encryption_level_t level,
	gnutls_handshake_description_t type, const void *data, size_t size)
{
	struct raw *r = gnutls_session_get_ptr(gs);
	int l = level == GNUTLS_ENCRYPTION_LEVEL_INITIAL ? 0 : 1;

	(void)type;
	CU_ASSERT_FATAL(size <= sizeof(r->out[l]) - r->out_len[l]);
	memcpy(r->out[l] + r->out_len[l], data, size);
	r->out_len[l] += size;
	return 0;
}

static inline int
raw_tp_in(gnutls_session_t gs, const unsigned char *data, size_t size)
{
	(void)gs;
	(void)data;
	(void)size;
	return 0;
}

static inline int
raw_tp_out(gnutls_session_t gs, gnutls_buffer_t out)
{
	struct raw *r = gnutls_session_get_ptr(gs);

	if (!r->transport_parameters)
		return 0;
	gnutls_buffer_append_data(out, "\x04\x01\x20", 3);
	return 3;
}

static inline int
raw_alert(gnutls_session_t gs, gnutls_record_encryption_level_t level,
	gnutls_alert_level_t severity, gnutls_alert_description_t alert)
{
	(void)gs;
	(void)level;
	(void)severity;
	(void)alert;
	return 0;
}

/* P-256 first, so that there is no share of X25519 in the first hello. */
#define RAW_TWO_GROUPS                                                                             \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-SECP256R1:+GROUP-X25519:"                 \
	"%DISABLE_TLS13_COMPAT_MODE"

static inline void
raw_open_with(struct raw *r, bool alpn, bool transport_parameters, bool share_p256,
	const struct ps_tls_config *s)
{
	const char *priority = share_p256
				       ? RAW_TWO_GROUPS
				       : "NORMAL:-VERS-ALL:+VERS-TLS1.3:%DISABLE_TLS13_COMPAT_MODE";
	gnutls_datum_t name = {(unsigned char *)"solana-tpu", 10};

	memset(r, 0, sizeof(*r));
	end_open(&r->to, s);
	r->transport_parameters = transport_parameters;
	gnutls_certificate_allocate_credentials(&r->cred);
	gnutls_init(&r->gs, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_FORCE_CLIENT_CERT |
				    (share_p256 ? GNUTLS_KEY_SHARE_TOP : 0) | raw_flags);
	gnutls_session_set_ptr(r->gs, r);
	CU_ASSERT_EQUAL_FATAL(gnutls_priority_set_direct(r->gs, priority, NULL), 0);
	gnutls_credentials_set(r->gs, GNUTLS_CRD_CERTIFICATE, r->cred);
	if (alpn)
		gnutls_alpn_set_protocols(r->gs, &name, 1, 0);
	gnutls_handshake_set_read_function(r->gs, raw_out);
	gnutls_alert_set_read_function(r->gs, raw_alert);
	gnutls_session_ext_register(r->gs, "tp", 0x39, GNUTLS_EXT_TLS, raw_tp_in, raw_tp_out, NULL,
		NULL, NULL,
		GNUTLS_EXT_FLAG_TLS | GNUTLS_EXT_FLAG_CLIENT_HELLO | GNUTLS_EXT_FLAG_EE);
}

static inline void
raw_open(struct raw *r, bool alpn, bool transport_parameters, bool share_p256)
{
	struct ps_tls_config s = config(true, false);

	raw_open_with(r, alpn, transport_parameters, share_p256, &s);
}

static inline void
raw_close(struct raw *r)
{
	gnutls_deinit(r->gs);
	gnutls_certificate_free_credentials(r->cred);
	end_close(&r->to);
}

static inline gnutls_x509_crt_t
certify(gnutls_x509_privkey_t key, const char *name, gnutls_x509_crt_t issuer,
	gnutls_x509_privkey_t issuer_key)
{
	gnutls_digest_algorithm_t digest =
		gnutls_x509_privkey_get_pk_algorithm(issuer_key) == GNUTLS_PK_EDDSA_ED25519
			? GNUTLS_DIG_SHA512
			: GNUTLS_DIG_SHA256;
	gnutls_x509_crt_t crt;
	gnutls_datum_t der;

	gnutls_x509_crt_init(&crt);
	gnutls_x509_crt_set_version(crt, 3);
	gnutls_x509_crt_set_serial(crt, "\x01", 1);
	gnutls_x509_crt_set_activation_time(crt, 0);
	gnutls_x509_crt_set_expiration_time(crt, 2000000000);
	gnutls_x509_crt_set_dn(crt, name, NULL);
	gnutls_x509_crt_set_key(crt, key);
	CU_ASSERT_EQUAL_FATAL(
		gnutls_x509_crt_sign2(crt, issuer ? issuer : crt, issuer_key, digest, 0), 0);
	/* Read back, or GnuTLS does not see the names when it orders a chain. */
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_DER, &der), 0);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_crt_init(&crt);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_crt_import(crt, &der, GNUTLS_X509_FMT_DER), 0);
	gnutls_free(der.data);
	return crt;
}

/* Gives the client a certificate of this kind, self-signed or the second of a chain. */
static inline void
raw_certificate(struct raw *r, gnutls_pk_algorithm_t pk, unsigned int bits, unsigned int count)
{
	gnutls_x509_privkey_t key, root_key;
	gnutls_x509_crt_t root, chain[2];

	gnutls_x509_privkey_init(&key);
	gnutls_x509_privkey_init(&root_key);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_privkey_generate(key, pk, bits, 0), 0);
	CU_ASSERT_EQUAL_FATAL(gnutls_x509_privkey_generate(root_key, pk, bits, 0), 0);
	/* GnuTLS would not send the self-signed end of a chain. */
	root = certify(root_key, "CN=root", NULL, root_key);
	chain[1] = certify(root_key, "CN=between", root, root_key);
	chain[0] = count == 2 ? certify(key, "CN=leaf", chain[1], root_key)
			      : certify(key, "CN=self", NULL, key);
	CU_ASSERT_EQUAL_FATAL(gnutls_certificate_set_x509_key(r->cred, chain, count, key), 0);
	gnutls_x509_crt_deinit(root);
	gnutls_x509_crt_deinit(chain[0]);
	gnutls_x509_crt_deinit(chain[1]);
	gnutls_x509_privkey_deinit(root_key);
	gnutls_x509_privkey_deinit(key);
}

/* Gives the client the certificate that Solana validators present: fixed but for the key, no
 * subject, and a signature that is none. */
static inline void
raw_solana_certificate(struct raw *r, const uint8_t seed[32], const uint8_t key[32])
{
	static const char before[] = "\x30\x81\xf6\x30\x81\xa9\xa0\x03\x02\x01\x02" /* version 3 */
				     "\x02\x08\x01\x01\x01\x01\x01\x01\x01\x01"     /* serial */
				     "\x30\x05\x06\x03\x2b\x65\x70"                 /* Ed25519 */
				     "\x30\x16\x31\x14\x30\x12\x06\x03\x55\x04\x03\x0c\x0b"
				     "Solana node" /* issuer CN */
				     "\x30\x20\x17\x0d"
				     "700101000000Z\x18\x0f"
				     "40960101000000Z"                               /* validity */
				     "\x30\x00"                                      /* subject */
				     "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21"; /* key */
	static const char after[] =
		"\xa3\x29\x30\x27\x30\x17\x06\x03\x55\x1d\x11\x01\x01\xff\x04\x0d\x30\x0b\x82\x09"
		"localhost" /* subjectAltName, critical */
		"\x30\x0c\x06\x03\x55\x1d\x13\x01\x01\xff\x04\x02\x30\x00" /* basicConstraints */
		"\x30\x05\x06\x03\x2b\x65\x70\x03\x41";                    /* signature */
	const char pkcs8_before[] =
		"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
	uint8_t der[sizeof(before) + 32 + sizeof(after) + 64], pkcs8[16 + 32];
	gnutls_datum_t crt = {der, sizeof(der)}, k = {pkcs8, sizeof(pkcs8)};

	/* The terminating zeros are the unused-bits bytes of the BIT STRINGs. */
	memcpy(der, before, sizeof(before));
	memcpy(der + sizeof(before), key, 32);
	memcpy(der + sizeof(before) + 32, after, sizeof(after));
	memset(der + sizeof(before) + 32 + sizeof(after), 0xff, 64);
	CU_ASSERT_EQUAL_FATAL(sizeof(der), 249);
	memcpy(pkcs8, pkcs8_before, 16);
	memcpy(pkcs8 + 16, seed, 32);
	CU_ASSERT_EQUAL_FATAL(
		gnutls_certificate_set_x509_key_mem(r->cred, &crt, &k, GNUTLS_X509_FMT_DER), 0);
}

static inline void
raw_step(struct raw *r)
{
	/* Once complete, another call would ask for a key update. */
	if (!r->complete)
		r->complete = gnutls_handshake(r->gs) == 0;
}

/* Gives the client what the server has said since; true if there was any. */
static inline bool
raw_answer(struct raw *r)
{
	struct end *to = &r->to;
	bool any = false;

	for (int l = 0; l < 2; l++) {
		size_t n = to->io.out_len[l] - to->given[l];

		if (n == 0)
			continue;
		gnutls_handshake_write(r->gs,
			l == 0 ? GNUTLS_ENCRYPTION_LEVEL_INITIAL
			       : GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE,
			to->io.out[l] + to->given[l], n);
		raw_step(r);
		to->given[l] += n;
		any = true;
	}
	return any;
}

/* Gives the server all there is at a level, and does not wait for it. */
static inline enum ps_tls_result
raw_give(struct raw *r, enum ps_level level)
{
	struct ps_tls_io *io = &r->to.io;

	io->in_level = level;
	io->in = r->out[level] + r->given[level];
	io->in_len = r->out_len[level] - r->given[level];
	r->given[level] = r->out_len[level];
	return ps_tls_step(r->to.tls, io);
}

static inline void
raw_handshake(struct raw *r)
{
	struct end *to = &r->to;
	bool any = true;

	while (any && to->result != PS_TLS_ALERT) {
		any = false;
		raw_step(r);
		for (int l = 0; l < 2 && to->result != PS_TLS_ALERT; l++) {
			size_t n = r->out_len[l] - r->given[l];

			if (n == 0)
				continue;
			end_step(to, l, r->out[l] + r->given[l], n);
			r->given[l] += n;
			any = true;
		}
		any |= raw_answer(r);
	}
}

#endif
