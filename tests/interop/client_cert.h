/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Client certificates as Solana's clients send them, and the kinds a server must tell from them.
 * Called once by the ngtcp2 client; the credentials belong to the caller. */
#ifndef PS_CLIENT_CERT_H
#define PS_CLIENT_CERT_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

enum client_cert {
	CLIENT_CERT_NONE,
	CLIENT_CERT_ED25519, /* one certificate with Solana's 249-byte layout */
	CLIENT_CERT_CHAIN2,  /* the same, followed by a second one: names no peer key */
	CLIENT_CERT_RSA,     /* self-signed: names no peer key */
	CLIENT_CERT_ECDSA,
};

bool client_cert_parse(const char *name, enum client_cert *kind);

/* The Ed25519 keys follow from seed. Returns a GnuTLS error code. */
int client_cert_load(gnutls_certificate_credentials_t cred, enum client_cert kind, uint64_t seed);

#endif
