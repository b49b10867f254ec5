/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What the ngtcp2 interop client does to transport parameters. Single-threaded. */
#ifndef PS_TPU_PARAMS_H
#define PS_TPU_PARAMS_H

#include <ngtcp2/ngtcp2.h>

#define EARLY_STREAMS 4 /* fill the first datagrams */

/* The peer's real stream window in bytes; set when its transport parameters arrive. */
extern uint64_t peer_stream_window;

/* By so many bytes are the peer's windows taken as larger than they are. */
extern uint64_t window_excess;

/* Sets what a server that gave a ticket would have allowed; 0 or an error of ngtcp2. */
int tpu_params_set_early(ngtcp2_conn *conn);

#endif
