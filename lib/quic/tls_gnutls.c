/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#include "tls_backend.h"

/* Our order of cipher suites, for a server as well, and one group. Every signature scheme of
 * TLS 1.3 stays, because a client may present any certificate; no session id and no
 * ChangeCipherSpec (RFC 9001 section 8.4). */
#define PRIORITY                                                                                   \
	"NONE:+VERS-TLS1.3:+AEAD:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:+GROUP-X25519:"      \
	"+SIGN-ALL:+CTYPE-X509:%SERVER_PRECEDENCE:%DISABLE_TLS13_COMPAT_MODE"

#define QUIC_TRANSPORT_PARAMETERS 0x39 /* extension number, RFC 9001 section 8.2 */

static const struct {
	uint16_t scheme; /* RFC 8446 section 4.2.3 */
	gnutls_sign_algorithm_t gnutls;
} sign_of[] = {
	{0x0403, GNUTLS_SIGN_ECDSA_SECP256R1_SHA256},
	{0x0503, GNUTLS_SIGN_ECDSA_SECP384R1_SHA384},
	{0x0603, GNUTLS_SIGN_ECDSA_SECP521R1_SHA512},
	{0x0804, GNUTLS_SIGN_RSA_PSS_RSAE_SHA256},
	{0x0805, GNUTLS_SIGN_RSA_PSS_RSAE_SHA384},
	{0x0806, GNUTLS_SIGN_RSA_PSS_RSAE_SHA512},
	{0x0809, GNUTLS_SIGN_RSA_PSS_SHA256},
	{0x080a, GNUTLS_SIGN_RSA_PSS_SHA384},
	{0x080b, GNUTLS_SIGN_RSA_PSS_SHA512},
};

struct ps_tls_lib {
	struct ps_tls_config config;
	bool server;
	unsigned int flags; /* of gnutls_init() */
	gnutls_priority_t priority;
	gnutls_certificate_credentials_t cred;
	char alpn[PS_ALPN_MAX + 1];
	char *server_name;
};

struct ps_tls_handshake {
	const struct ps_tls_lib *lib;
	struct ps_tls_io *io;
	gnutls_session_t gs;
	int alert; /* GnuTLS asked for this one; -1: none */
	bool have_rx[PS_LEVELS], have_tx[PS_LEVELS];
};

static const gnutls_record_encryption_level_t level_of[PS_LEVELS] = {
	GNUTLS_ENCRYPTION_LEVEL_INITIAL,
	GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE,
	GNUTLS_ENCRYPTION_LEVEL_APPLICATION,
};

/* Called back by GnuTLS with handshake messages to send. */
static int
take_output(gnutls_session_t gs, gnutls_record_encryption_level_t level,
	gnutls_handshake_description_t type, const void *data, size_t size)
{
	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);
	struct ps_tls_io *io = h->io;
	enum ps_level l;

	if (type == GNUTLS_HANDSHAKE_CHANGE_CIPHER_SPEC)
		return 0; /* a record of TCP's TLS; QUIC has none */
	for (l = PS_LEVEL_INITIAL; l < PS_LEVEL_APP; l++)
		if (level_of[l] == level)
			break;
	if (l == PS_LEVEL_APP || size > (size_t)PS_TLS_OUT_MAX - io->out_len[l])
		return GNUTLS_E_INTERNAL_ERROR;
	memcpy(io->out[l] + io->out_len[l], data, size);
	io->out_len[l] += size;
	return 0;
}

static bool
suite_of(gnutls_session_t gs, enum ps_suite *suite)
{
	switch (gnutls_cipher_get(gs)) {
	case GNUTLS_CIPHER_AES_128_GCM:
		*suite = PS_AES_128_GCM_SHA256;
		return true;
	case GNUTLS_CIPHER_AES_256_GCM:
		*suite = PS_AES_256_GCM_SHA384;
		return true;
	case GNUTLS_CIPHER_CHACHA20_POLY1305:
		*suite = PS_CHACHA20_POLY1305_SHA256;
		return true;
	default: /* a client's own priority string may list more */
		return false;
	}
}

static int
take_secrets(gnutls_session_t gs, gnutls_record_encryption_level_t level, const void *rx,
	const void *tx, size_t size)
{
	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);
	enum ps_level l;
	struct ps_tls_secret *secret;

	if (level == GNUTLS_ENCRYPTION_LEVEL_EARLY)
		return 0; /* 0-RTT is neither offered nor accepted */
	l = level == GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE ? PS_LEVEL_HANDSHAKE : PS_LEVEL_APP;
	secret = &h->io->secret[l];
	if (!suite_of(gs, &secret->suite) || size != ps_suite_hash_bytes(secret->suite))
		return GNUTLS_E_INTERNAL_ERROR;
	if (rx != NULL) {
		memcpy(secret->rx, rx, size);
		h->have_rx[l] = true;
	}
	if (tx != NULL) {
		memcpy(secret->tx, tx, size);
		h->have_tx[l] = true;
	}
	secret->ready = h->have_rx[l] && h->have_tx[l];
	return 0;
}

/* GnuTLS sends some alerts itself in mid-handshake; the first says what went wrong. */
static int
take_alert(gnutls_session_t gs, gnutls_record_encryption_level_t level,
	gnutls_alert_level_t severity, gnutls_alert_description_t alert)
{
	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);

	(void)level;
	if (severity == GNUTLS_AL_FATAL && h->alert < 0)
		h->alert = alert;
	return 0;
}

static int
take_peer_tp(gnutls_session_t gs, const unsigned char *data, size_t size)
{
	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);

	if (size > sizeof(h->io->peer_tp))
		return GNUTLS_E_UNEXPECTED_EXTENSIONS_LENGTH;
	memcpy(h->io->peer_tp, data, size);
	h->io->peer_tp_len = size;
	return 0;
}

static int
give_tp(gnutls_session_t gs, gnutls_buffer_t out)
{
	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);
	int rc = gnutls_buffer_append_data(out, h->io->tp, h->io->tp_len);

	return rc < 0 ? rc : h->io->tp_len;
}

/* GnuTLS itself is content when an extension is not there at all. */
static int
check_extensions(struct ps_tls_handshake *h)
{
	gnutls_datum_t alpn;

	if (gnutls_alpn_get_selected_protocol(h->gs, &alpn) < 0)
		return GNUTLS_E_NO_APPLICATION_PROTOCOL;
	return h->io->peer_tp_len == 0 ? GNUTLS_E_MISSING_EXTENSION : 0;
}

/* Runs when a server has read the ClientHello, before it answers. */
static int
check_client_hello(gnutls_session_t gs, unsigned int type, unsigned int when, unsigned int incoming,
	const gnutls_datum_t *message)
{
	const size_t session_id_len_at = 2 + 32; /* after legacy_version and random */

	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);

	(void)type;
	(void)when;
	(void)incoming;
	if (message->size <= session_id_len_at || message->data[session_id_len_at] != 0) {
		h->alert = PS_TLS_ALERT_SESSION_ID;
		return GNUTLS_E_ILLEGAL_PARAMETER;
	}
	return check_extensions(h);
}

static int
log_secret(gnutls_session_t gs, const char *label, const gnutls_datum_t *secret)
{
	struct ps_tls_handshake *h = gnutls_session_get_ptr(gs);
	gnutls_datum_t client, server;

	gnutls_session_get_random(gs, &client, &server);
	if (client.size == 32 && secret->size <= PS_HASH_MAX)
		ps_tls_key_log_line(
			&h->lib->config, label, client.data, secret->data, secret->size);
	return 0;
}

static int
set_up_hooks(struct ps_tls_handshake *h)
{
	gnutls_session_t gs = h->gs;

	gnutls_session_set_ptr(gs, h);
	gnutls_handshake_set_secret_function(gs, take_secrets);
	gnutls_handshake_set_read_function(gs, take_output);
	gnutls_alert_set_read_function(gs, take_alert);
	gnutls_session_set_keylog_function(gs, log_secret);
	if (h->lib->server)
		gnutls_handshake_set_hook_function(
			gs, GNUTLS_HANDSHAKE_CLIENT_HELLO, GNUTLS_HOOK_POST, check_client_hello);
	return gnutls_session_ext_register(gs, "quic_transport_parameters",
		QUIC_TRANSPORT_PARAMETERS, GNUTLS_EXT_TLS, take_peer_tp, give_tp, NULL, NULL, NULL,
		GNUTLS_EXT_FLAG_TLS | GNUTLS_EXT_FLAG_CLIENT_HELLO | GNUTLS_EXT_FLAG_EE);
}

static int
set_up(struct ps_tls_handshake *h)
{
	const struct ps_tls_lib *lib = h->lib;
	gnutls_datum_t alpn = {(unsigned char *)lib->alpn, strlen(lib->alpn)};
	int rc = set_up_hooks(h);

	if (rc >= 0)
		rc = gnutls_priority_set(h->gs, lib->priority);
	if (rc >= 0)
		rc = gnutls_credentials_set(h->gs, GNUTLS_CRD_CERTIFICATE, lib->cred);
	if (rc >= 0)
		rc = gnutls_alpn_set_protocols(h->gs, &alpn, 1, GNUTLS_ALPN_MANDATORY);
	if (rc >= 0 && lib->server_name != NULL)
		rc = gnutls_server_name_set(
			h->gs, GNUTLS_NAME_DNS, lib->server_name, strlen(lib->server_name));
	if (lib->server)
		gnutls_certificate_server_set_request(h->gs, GNUTLS_CERT_REQUIRE);
	return rc;
}

static void
end(struct ps_tls_handshake *h)
{
	gnutls_deinit(h->gs);
	free(h);
}

static struct ps_tls_handshake *
begin(struct ps_tls_lib *lib, uint32_t slot, struct ps_tls_io *io)
{
	struct ps_tls_handshake *h = calloc(1, sizeof(*h));

	(void)slot;
	if (h == NULL)
		return NULL;
	h->lib = lib;
	h->io = io;
	h->alert = -1;
	if (gnutls_init(&h->gs, lib->flags) < 0) {
		free(h);
		return NULL;
	}
	if (set_up(h) < 0) {
		end(h);
		return NULL;
	}
	return h;
}

/* The peer is who holds this key: its CertificateVerify was checked. A chain or another kind of key
 * is allowed but gives no identity. */
static void
take_peer_key(struct ps_tls_handshake *h)
{
	unsigned int count = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(h->gs, &count);
	gnutls_datum_t x = {NULL, 0};
	gnutls_ecc_curve_t curve;
	gnutls_x509_crt_t crt;

	if (chain == NULL || count != 1 || gnutls_x509_crt_init(&crt) < 0)
		return;
	if (gnutls_x509_crt_import(crt, chain, GNUTLS_X509_FMT_DER) >= 0 &&
		gnutls_x509_crt_get_pk_ecc_raw(crt, &curve, &x, NULL) >= 0) {
		if (curve == GNUTLS_ECC_CURVE_ED25519 && x.size == sizeof(h->io->peer_key)) {
			memcpy(h->io->peer_key, x.data, x.size);
			h->io->peer_has_key = true;
		}
		gnutls_free(x.data);
	}
	gnutls_x509_crt_deinit(crt);
}

static enum ps_tls_result
fail(struct ps_tls_handshake *h, int error)
{
	int severity, alert = h->alert;

	if (alert < 0)
		alert = gnutls_error_to_alert(error, &severity);
	h->io->alert = alert < 0 ? PS_TLS_ALERT_INTERNAL_ERROR : alert;
	return PS_TLS_ALERT;
}

static enum ps_tls_result
step(struct ps_tls_handshake *h, struct ps_tls_work *w)
{
	struct ps_tls_io *io = h->io;
	int rc = 0;

	(void)w;
	if (io->in_len > 0)
		rc = gnutls_handshake_write(h->gs, level_of[io->in_level], io->in, io->in_len);
	if (rc >= 0)
		rc = gnutls_handshake(h->gs);
	if (rc == GNUTLS_E_AGAIN)
		return PS_TLS_MORE;
	if (rc >= 0 && !h->lib->server)
		rc = check_extensions(h);
	if (rc < 0)
		return fail(h, rc);
	take_peer_key(h);
	return PS_TLS_DONE;
}

/* The key as PKCS #8 (RFC 8410 section 7), the form that makes GnuTLS derive the public half. */
static int
import_seed(gnutls_x509_privkey_t key, const uint8_t seed[32])
{
	static const uint8_t prefix[16] = {
		0x30, 0x2e,                               /* SEQUENCE */
		0x02, 0x01, 0x00,                         /* version 0 */
		0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, /* Ed25519, 1.3.101.112 */
		0x04, 0x22, 0x04, 0x20,                   /* the seed, twice an OCTET STRING */
	};
	uint8_t der[sizeof(prefix) + 32];
	gnutls_datum_t d = {der, sizeof(der)};
	int rc;

	memcpy(der, prefix, sizeof(prefix));
	memcpy(der + sizeof(prefix), seed, 32);
	rc = gnutls_x509_privkey_import_pkcs8(
		key, &d, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN);
	gnutls_memset(der, 0, sizeof(der));
	return rc;
}

/* Version 3, fixed serial and dates, a subject alternative name: what the strict parsers among the
 * peers (rustls' webpki) want to see, though nobody verifies it. */
static int
fill_certificate(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
	static const char name[] = "Solana node", dns_name[] = "localhost";
	static const uint8_t serial[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	const time_t until = 3976214400; /* 2096-01-01 */
	int rc = gnutls_x509_crt_set_version(crt, 3);

	if (rc >= 0)
		rc = gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
	if (rc >= 0)
		rc = gnutls_x509_crt_set_dn_by_oid(
			crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, strlen(name));
	if (rc >= 0)
		rc = gnutls_x509_crt_set_activation_time(crt, 0);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_expiration_time(crt, until);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_subject_alt_name(
			crt, GNUTLS_SAN_DNSNAME, dns_name, strlen(dns_name), GNUTLS_FSAN_SET);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_key(crt, key);
	if (rc >= 0)
		rc = gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA512, 0);
	return rc;
}

/* Both are to be freed by the caller, also after an error. */
static int
make_identity(const uint8_t seed[32], gnutls_x509_privkey_t *key, gnutls_x509_crt_t *crt)
{
	int rc;

	*crt = NULL;
	rc = gnutls_x509_privkey_init(key);
	if (rc < 0) {
		*key = NULL;
		return rc;
	}
	rc = import_seed(*key, seed);
	if (rc >= 0)
		rc = gnutls_x509_crt_init(crt);
	if (rc >= 0)
		rc = fill_certificate(*crt, *key);
	return rc;
}

static void
free_identity(gnutls_x509_privkey_t key, gnutls_x509_crt_t crt)
{
	if (crt != NULL)
		gnutls_x509_crt_deinit(crt);
	if (key != NULL)
		gnutls_x509_privkey_deinit(key);
}

size_t
ps_tls_certificate(const uint8_t seed[32], uint8_t *der, size_t cap)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	size_t len = cap;
	int rc = make_identity(seed, &key, &crt);

	if (rc >= 0)
		rc = gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_DER, der, &len);
	free_identity(key, crt);
	return rc < 0 ? 0 : len;
}

static int
load_credentials(struct ps_tls_lib *lib, const struct ps_tls_config *c)
{
	gnutls_x509_privkey_t key = NULL;
	gnutls_x509_crt_t crt = NULL;
	int rc = gnutls_certificate_allocate_credentials(&lib->cred);

	if (rc < 0) {
		lib->cred = NULL;
		return rc;
	}
	if (c->no_certificate)
		return 0;
	rc = make_identity(c->seed, &key, &crt);
	if (rc >= 0)
		rc = gnutls_certificate_set_x509_key(lib->cred, &crt, 1, key);
	free_identity(key, crt);
	return rc;
}

static int
set_up_lib(struct ps_tls_lib *lib, const struct ps_tls_config *c, struct ps_err *e)
{
	int rc;

	lib->config = *c;
	gnutls_memset(lib->config.seed, 0, sizeof(lib->config.seed));
	lib->server = c->server;
	lib->flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS;
	lib->flags |= c->server ? GNUTLS_SERVER : GNUTLS_CLIENT;
	if (!c->server && !c->no_certificate)
		lib->flags |= GNUTLS_FORCE_CLIENT_CERT;
	memcpy(lib->alpn, c->alpn, strlen(c->alpn) + 1);
	if (c->server_name != NULL && (lib->server_name = strdup(c->server_name)) == NULL)
		return ps_fail(e, ENOMEM, "no memory for the TLS server name");
	rc = gnutls_priority_init(&lib->priority, c->priority ? c->priority : PRIORITY, NULL);
	if (rc < 0) {
		lib->priority = NULL;
		return ps_fail(e, EINVAL,
			"GnuTLS refuses TLS 1.3 with AES-128-GCM and X25519 (%s): lift the "
			"restriction in /etc/gnutls/config",
			gnutls_strerror(rc));
	}
	rc = load_credentials(lib, c);
	return rc < 0 ? ps_fail(e, EINVAL, "GnuTLS cannot make an Ed25519 certificate (%s)",
				gnutls_strerror(rc))
		      : 0;
}

static void
lib_free(struct ps_tls_lib *lib)
{
	if (lib == NULL)
		return;
	if (lib->cred != NULL)
		gnutls_certificate_free_credentials(lib->cred);
	if (lib->priority != NULL)
		gnutls_priority_deinit(lib->priority);
	free(lib->server_name);
	free(lib);
}

static struct ps_tls_lib *
lib_new(const struct ps_tls_config *c, struct ps_err *e)
{
	struct ps_tls_lib *lib = calloc(1, sizeof(*lib));

	if (lib == NULL) {
		ps_fail(e, ENOMEM, "no memory for TLS");
		return NULL;
	}
	if (set_up_lib(lib, c, e) < 0) {
		lib_free(lib);
		return NULL;
	}
	return lib;
}

const struct ps_tls_backend ps_tls_gnutls = {
	.lib_new = lib_new,
	.lib_free = lib_free,
	.begin = begin,
	.end = end,
	.step = step,
};

bool
ps_tls_verify_slow(uint16_t scheme, const uint8_t *spki, size_t spki_len, const uint8_t *msg,
	size_t len, const uint8_t *sig, size_t sig_len)
{
	const gnutls_datum_t key_der = {(unsigned char *)spki, (unsigned int)spki_len};
	const gnutls_datum_t m = {(unsigned char *)msg, (unsigned int)len};
	const gnutls_datum_t s = {(unsigned char *)sig, (unsigned int)sig_len};
	gnutls_sign_algorithm_t algorithm = GNUTLS_SIGN_UNKNOWN;
	gnutls_pubkey_t key;
	bool ok;

	for (size_t i = 0; i < sizeof(sign_of) / sizeof(sign_of[0]); i++)
		if (sign_of[i].scheme == scheme)
			algorithm = sign_of[i].gnutls;
	if (algorithm == GNUTLS_SIGN_UNKNOWN || gnutls_pubkey_init(&key) < 0)
		return false;
	ok = gnutls_pubkey_import(key, &key_der, GNUTLS_X509_FMT_DER) >= 0 &&
	     gnutls_pubkey_verify_data2(key, algorithm, 0, &m, &s) >= 0;
	gnutls_pubkey_deinit(key);
	return ok;
}
