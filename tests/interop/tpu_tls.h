/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The TLS sessions of the ngtcp2 interop client, on GnuTLS. Single-threaded. All functions return 0
 * or an error of GnuTLS. */
#ifndef PS_TPU_TLS_H
#define PS_TPU_TLS_H

#include "tpu_conn.h"

#include <ngtcp2/ngtcp2_crypto.h>

/* A session as Solana's own clients have it, for the connection that ref leads to; the caller frees
 * it also after an error. With cl->ticket it tries to send early data. */
int tpu_tls_open(gnutls_session_t *tls, const struct client *cl, ngtcp2_crypto_conn_ref *ref);

/* A ticket, good for early data, of a server in this process; the caller frees it. */
int tpu_tls_ticket(gnutls_certificate_credentials_t cred, gnutls_datum_t *ticket);

#endif
