/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The names of ngtcp2 1.x, in which tpu_conn.c is written, for ngtcp2 0.12 of Debian 12 too. */
#ifndef PS_NGTCP2_API_H
#define PS_NGTCP2_API_H

#include <ngtcp2/ngtcp2.h>
#include <stdint.h>

#if NGTCP2_VERSION_NUM < 0x010000

#define ngtcp2_ccerr                       ngtcp2_connection_close_error
#define NGTCP2_CCERR_TYPE_APPLICATION      NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION
#define ngtcp2_ccerr_default               ngtcp2_connection_close_error_default
#define ngtcp2_ccerr_set_liberr            ngtcp2_connection_close_error_set_transport_error_liberr
#define ngtcp2_ccerr_set_tls_alert         ngtcp2_connection_close_error_set_transport_error_tls_alert
#define ngtcp2_ccerr_set_application_error ngtcp2_connection_close_error_set_application_error

#define ngtcp2_conn_tls_early_data_rejected ngtcp2_conn_early_data_rejected
#define ngtcp2_conn_decode_and_set_remote_transport_params                                         \
	ngtcp2_conn_decode_remote_transport_params
#define ngtcp2_transport_params_decode(params, data, len)                                          \
	ngtcp2_decode_transport_params(                                                            \
		params, NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, data, len)
#define ngtcp2_transport_params_encode(dst, len, params)                                           \
	ngtcp2_encode_transport_params(                                                            \
		dst, len, NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, params)

static inline ngtcp2_ccerr
peer_close(ngtcp2_conn *conn)
{
	ngtcp2_ccerr e;

	ngtcp2_conn_get_connection_close_error(conn, &e);
	return e;
}

static inline int
set_early(ngtcp2_conn *conn, const ngtcp2_transport_params *params)
{
	ngtcp2_conn_set_early_remote_transport_params(conn, params);
	return 0;
}

#else

static inline ngtcp2_ccerr
peer_close(ngtcp2_conn *conn)
{
	return *ngtcp2_conn_get_ccerr(conn);
}

static inline int
set_early(ngtcp2_conn *conn, const ngtcp2_transport_params *params)
{
	uint8_t buf[256];
	ngtcp2_ssize n = ngtcp2_transport_params_encode(buf, sizeof(buf), params);

	return n < 0 ? (int)n
		     : ngtcp2_conn_decode_and_set_0rtt_transport_params(conn, buf, (size_t)n);
}

#endif

#endif
