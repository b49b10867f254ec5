/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Inside the purpose-built TLS 1.3 server: what its files share. Cut by step of the handshake:
 *
 *   tls_hello.c     reads a ClientHello and decides whether we can speak to its sender
 *   tls_schedule.c  secrets and Finished, RFC 8446 sections 7.1 and 4.4.4
 *   tls_cert.c      finds the public key in a certificate
 *   tls_write.c     the server's messages
 *   tls_server.c    the order of it all: tls_backend.h
 *
 * Everything but tls_server.c is stateless. Functions that read the peer's bytes answer 0 or the
 * alert to close with. Pointers they give lead into those bytes. */
#ifndef PS_QUIC_TLS_SERVER_H
#define PS_QUIC_TLS_SERVER_H

#include "hkdf.h"
#include "tls_backend.h"

/* HandshakeType, RFC 8446 section 4 */
enum {
	TLS_CLIENT_HELLO = 1,
	TLS_SERVER_HELLO = 2,
	TLS_ENCRYPTED_EXTENSIONS = 8,
	TLS_CERTIFICATE = 11,
	TLS_CERTIFICATE_REQUEST = 13,
	TLS_CERTIFICATE_VERIFY = 15,
	TLS_FINISHED = 20,
	TLS_MESSAGE_HASH = 254,
};

/* ExtensionType, section 4.2 */
enum {
	TLS_EXT_SUPPORTED_GROUPS = 10,
	TLS_EXT_SIGNATURE_ALGORITHMS = 13,
	TLS_EXT_ALPN = 16,
	TLS_EXT_CLIENT_CERTIFICATE_TYPE = 19, /* RFC 7250 */
	TLS_EXT_SERVER_CERTIFICATE_TYPE = 20,
	TLS_EXT_PRE_SHARED_KEY = 41,
	TLS_EXT_SUPPORTED_VERSIONS = 43,
	TLS_EXT_PSK_KEY_EXCHANGE_MODES = 45,
	TLS_EXT_KEY_SHARE = 51,
	TLS_EXT_QUIC_TRANSPORT_PARAMETERS = 57, /* RFC 9001 section 8.2 */
};

enum {
	TLS_VERSION_1_2 = 0x0303,
	TLS_VERSION_1_3 = 0x0304,
	TLS_FIRST_SUITE = 0x1301, /* the others follow as in enum ps_suite */
	TLS_GROUP_X25519 = 29,
};

/* SignatureScheme, section 4.2.3: those whose CertificateVerify we check. */
enum {
	TLS_SIG_ECDSA_P256_SHA256 = 0x0403,
	TLS_SIG_ECDSA_P384_SHA384 = 0x0503,
	TLS_SIG_ECDSA_P521_SHA512 = 0x0603,
	TLS_SIG_RSA_PSS_RSAE_SHA256 = 0x0804,
	TLS_SIG_RSA_PSS_RSAE_SHA384 = 0x0805,
	TLS_SIG_RSA_PSS_RSAE_SHA512 = 0x0806,
	TLS_SIG_ED25519 = 0x0807,
	TLS_SIG_RSA_PSS_PSS_SHA256 = 0x0809,
	TLS_SIG_RSA_PSS_PSS_SHA384 = 0x080a,
	TLS_SIG_RSA_PSS_PSS_SHA512 = 0x080b,
};

/* CertificateType, RFC 7250 section 3 */
enum { TLS_CERT_X509 = 0, TLS_CERT_RAW_KEY = 2 };

#define TLS_HEADER_BYTES 4
#define TLS_RANDOM_BYTES 32

/* -- tls_hello.c -- */

struct ps_tls_hello {
	const uint8_t *random;
	const uint8_t *share; /* X25519; NULL: none sent, but the group is supported */
	const uint8_t *tp;
	enum ps_suite suite; /* the one of the client's list that we like best */
	uint16_t tp_len;
	int client_cert_type, server_cert_type; /* chosen from the client's list; -1: none sent */
};

/* body: the message behind its header. */
uint8_t ps_tls_hello_read(
	struct ps_tls_hello *h, const uint8_t *body, size_t len, const char *alpn);

/* -- tls_schedule.c: no pre-shared key. Secrets, keys and verify_data are as long as the
 * transcript's hash -- */

/* From the X25519 result and the transcript through ServerHello. handshake: the secret that the
 * next function goes on from. */
void ps_tls_handshake_secrets(uint8_t *handshake, uint8_t *client, uint8_t *server,
	const uint8_t shared[32], const struct ps_hash *transcript);
/* With the transcript through the server's Finished. */
void ps_tls_app_secrets(uint8_t *client, uint8_t *server, const uint8_t *handshake,
	const struct ps_hash *transcript);
void ps_tls_finished_key(size_t hash, uint8_t *key, const uint8_t *traffic);
void ps_tls_finished(uint8_t *verify_data, const uint8_t *key, const struct ps_hash *transcript);

/* What a CertificateVerify signs, section 4.4.3; transcript through Certificate. Its length. */
#define PS_TLS_SIGNED_MAX (64 + 33 + 1 + PS_HASH_MAX)
size_t ps_tls_signed_content(
	uint8_t out[PS_TLS_SIGNED_MAX], bool server, const struct ps_hash *transcript);

/* -- tls_cert.c -- */

enum ps_tls_key_kind {
	PS_TLS_KEY_ED25519,
	PS_TLS_KEY_RSA,     /* rsaEncryption */
	PS_TLS_KEY_RSA_PSS, /* id-RSASSA-PSS */
	PS_TLS_KEY_P256,
	PS_TLS_KEY_P384,
	PS_TLS_KEY_P521,
};

struct ps_tls_peer_key {
	const uint8_t *spki; /* SubjectPublicKeyInfo, DER */
	const uint8_t *ed25519;
	uint16_t spki_len;
	enum ps_tls_key_kind kind;
};

/* A certificate, of which only the key matters: nobody's signature under it is checked. */
uint8_t ps_tls_cert_key(struct ps_tls_peer_key *k, const uint8_t *der, size_t len);
/* A raw public key. */
uint8_t ps_tls_spki_key(struct ps_tls_peer_key *k, const uint8_t *der, size_t len);
/* A CertificateVerify of this scheme may go with this kind of key. */
bool ps_tls_scheme_fits(uint16_t scheme, enum ps_tls_key_kind kind);

/* -- tls_write.c: each returns the end of what it wrote; the caller has the room -- */

#define PS_TLS_SPKI_BYTES 44 /* of an Ed25519 key */
#define PS_TLS_CERT_MAX   1024
/* Most bytes of ServerHello or HelloRetryRequest, and of the rest up to CertificateVerify. */
#define PS_TLS_HELLO_MAX 128
#define PS_TLS_AUTH_MAX  (64 + PS_ALPN_MAX + PS_TPARAM_MAX_BYTES + 64 + PS_TLS_CERT_MAX + 32)

/* random NULL: a HelloRetryRequest that asks for an X25519 share. */
uint8_t *ps_tls_put_server_hello(
	uint8_t *p, enum ps_suite suite, const uint8_t *random, const uint8_t share[32]);
/* EncryptedExtensions; certificate types below 0 are left out. */
uint8_t *ps_tls_put_extensions(uint8_t *p, const struct ps_tls_io *io, const char *alpn,
	int client_cert_type, int server_cert_type);
uint8_t *ps_tls_put_certificate_request(uint8_t *p);
uint8_t *ps_tls_put_certificate(uint8_t *p, const uint8_t *der, size_t len);
uint8_t *ps_tls_put_certificate_verify(uint8_t *p, const uint8_t sig[64]);
uint8_t *ps_tls_put_finished(uint8_t *p, const uint8_t *verify_data, size_t len);
/* The ClientHello's stand-in in the transcript after a HelloRetryRequest, section 4.4.1. */
uint8_t *ps_tls_put_message_hash(uint8_t *p, const uint8_t *hash, size_t len);
uint8_t *ps_tls_put_spki(uint8_t *p, const uint8_t public[32]);

#endif
