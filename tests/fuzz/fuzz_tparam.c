/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* One block of transport parameters, as of a client and as of a server. */

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "tparam.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ps_tparam client, server, again;
	int as_client = ps_tparam_parse(&client, data, size, true);
	int as_server = ps_tparam_parse(&server, data, size, false);
	uint8_t out[PS_TPARAM_MAX_BYTES];
	size_t n;

	FUZZ_CHECK(as_client == 0 || as_client == -EPROTO);
	FUZZ_CHECK(as_server == 0 || as_server == -EPROTO);
	/* A server may send all that a client may. */
	FUZZ_CHECK(as_client != 0 || as_server == 0);
	if (as_server != 0)
		return 0;
	if (as_client == 0) {
		FUZZ_CHECK(memcmp(&client, &server, sizeof(client)) == 0);
		FUZZ_CHECK(!server.has_original_dcid && !server.has_retry_scid &&
			   !server.has_reset_token);
	}
	FUZZ_CHECK(server.ack_delay_exponent <= 20 && server.max_ack_delay_ms < 1 << 14);
	FUZZ_CHECK(server.max_udp_payload_size >= PS_UDP_PAYLOAD_MIN);
	FUZZ_CHECK(server.initial_max_streams_uni <= PS_UNI_STREAM_MAX);
	FUZZ_CHECK(server.active_connection_id_limit >= 2);

	n = ps_tparam_put(&server, out, sizeof(out));
	FUZZ_CHECK(ps_tparam_parse(&again, out, n, false) == 0);
	FUZZ_CHECK(memcmp(&again, &server, sizeof(again)) == 0);
	return 0;
}
