/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tpu_tls.h"

#include <arpa/inet.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS_MAX 64

/* The server name is that of Solana's own clients. */
int
tpu_tls_open(gnutls_session_t *tls, const struct client *cl, ngtcp2_crypto_conn_ref *ref)
{
	char priority[256];
	gnutls_datum_t alpn = {(unsigned char *)cl->alpn, (unsigned)strlen(cl->alpn)};
	char addr[INET_ADDRSTRLEN], name[64];
	int rc = gnutls_init(tls, GNUTLS_CLIENT | (cl->ticket ? GNUTLS_ENABLE_EARLY_DATA : 0));

	snprintf(priority, sizeof(priority),
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:%s:-GROUP-ALL:+GROUP-X25519:"
		"%%DISABLE_TLS13_COMPAT_MODE",
		cl->ciphers);
	if (rc == 0)
		rc = gnutls_priority_set_direct(*tls, priority, NULL);
	if (rc == 0 && ngtcp2_crypto_gnutls_configure_client_session(*tls) != 0)
		rc = GNUTLS_E_INTERNAL_ERROR;
	if (rc == 0)
		rc = gnutls_alpn_set_protocols(*tls, &alpn, 1, 0);
	if (rc == 0)
		rc = gnutls_credentials_set(*tls, GNUTLS_CRD_CERTIFICATE, cl->cred);
	if (rc == 0 && cl->ticket)
		rc = gnutls_session_set_data(*tls, cl->ticket->data, cl->ticket->size);
	if (rc != 0)
		return rc;
	inet_ntop(AF_INET, &cl->peer.sin_addr, addr, sizeof(addr));
	snprintf(name, sizeof(name), "%s.%u.sol", addr, ntohs(cl->peer.sin_port));
	gnutls_session_set_ptr(*tls, ref);
	return gnutls_server_name_set(*tls, GNUTLS_NAME_DNS, name, strlen(name));
}

/* One end of a plain TLS connection over a socket. */
static int
open_end(gnutls_session_t *end, unsigned role, gnutls_certificate_credentials_t cred, int fd)
{
	int rc = gnutls_init(end, role | GNUTLS_ENABLE_EARLY_DATA | GNUTLS_NONBLOCK);

	if (rc == 0)
		rc = gnutls_priority_set_direct(
			*end, "NORMAL:-VERS-ALL:+VERS-TLS1.3:%DISABLE_TLS13_COMPAT_MODE", NULL);
	if (rc == 0)
		rc = gnutls_credentials_set(*end, GNUTLS_CRD_CERTIFICATE, cred);
	if (rc == 0)
		gnutls_transport_set_int(*end, fd);
	return rc;
}

/* The client's last read takes the ticket, which comes after the handshake. */
static int
talk(gnutls_session_t client, gnutls_session_t server)
{
	int a = GNUTLS_E_AGAIN, b = GNUTLS_E_AGAIN;
	uint8_t byte;

	for (int i = 0; i < TURNS_MAX && (a == GNUTLS_E_AGAIN || b == GNUTLS_E_AGAIN); i++) {
		if (a == GNUTLS_E_AGAIN)
			a = gnutls_handshake(client);
		if (b == GNUTLS_E_AGAIN)
			b = gnutls_handshake(server);
	}
	if (a != 0 || b != 0)
		return a != 0 ? a : b;
	gnutls_record_recv(client, &byte, 1);
	return gnutls_session_get_flags(client) & GNUTLS_SFLAGS_SESSION_TICKET
		       ? 0
		       : GNUTLS_E_INTERNAL_ERROR;
}

int
tpu_tls_ticket(gnutls_certificate_credentials_t cred, gnutls_datum_t *ticket)
{
	gnutls_session_t client = NULL, server = NULL;
	gnutls_datum_t key = {NULL, 0};
	int fd[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) < 0)
		return GNUTLS_E_INTERNAL_ERROR;
	rc = open_end(&client, GNUTLS_CLIENT, cred, fd[0]);
	if (rc == 0)
		rc = open_end(&server, GNUTLS_SERVER, cred, fd[1]);
	if (rc == 0)
		rc = gnutls_session_ticket_key_generate(&key);
	if (rc == 0)
		rc = gnutls_session_ticket_enable_server(server, &key);
	if (rc == 0)
		rc = gnutls_record_set_max_early_data_size(server, UINT32_MAX);
	if (rc == 0)
		rc = talk(client, server);
	if (rc == 0)
		rc = gnutls_session_get_data2(client, ticket);
	if (client)
		gnutls_deinit(client);
	if (server)
		gnutls_deinit(server);
	gnutls_free(key.data);
	close(fd[0]);
	close(fd[1]);
	return rc;
}
