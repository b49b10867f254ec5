/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tpu_params.h"

#include "ngtcp2_api.h"
#include "txgen.h"

#include <dlfcn.h>
#include <ngtcp2/ngtcp2_crypto.h>

#define VARINT_MAX ((1ull << 62) - 1)
#define QUOTE(x)   #x
#define STR(x)     QUOTE(x) /* of what the name expands to */

uint64_t peer_stream_window;
uint64_t window_excess;

/* Stands in front of the library's function for its crypto helper, to make an endpoint that honours
 * flow control break it: the window is raised by what --bytes-beyond-window asks for. */
int
ngtcp2_conn_decode_and_set_remote_transport_params(
	ngtcp2_conn *conn, const uint8_t *data, size_t datalen)
{
	int (*real)(ngtcp2_conn *, const uint8_t *, size_t);
	ngtcp2_transport_params params;
	uint8_t buf[512];
	ngtcp2_ssize n;

	*(void **)&real = dlsym(RTLD_NEXT, STR(ngtcp2_conn_decode_and_set_remote_transport_params));
	if (!real)
		return NGTCP2_ERR_INTERNAL;
	if (ngtcp2_transport_params_decode(&params, data, datalen) != 0)
		return real(conn, data, datalen);
	peer_stream_window = params.initial_max_stream_data_uni;
	if (window_excess == 0)
		return real(conn, data, datalen);
	params.initial_max_stream_data_uni += window_excess;
	if (params.initial_max_data <= VARINT_MAX - window_excess)
		params.initial_max_data += window_excess;
	n = ngtcp2_transport_params_encode(buf, sizeof(buf), &params);
	return n < 0 ? (int)n : real(conn, buf, (size_t)n);
}

int
tpu_params_set_early(ngtcp2_conn *conn)
{
	ngtcp2_transport_params params;

	ngtcp2_transport_params_default(&params);
	params.initial_max_streams_uni = EARLY_STREAMS;
	params.initial_max_stream_data_uni = PS_TXGEN_LARGE_SIZE_MAX;
	params.initial_max_data = EARLY_STREAMS * PS_TXGEN_LARGE_SIZE_MAX;
	return set_early(conn, &params);
}
