/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The contract between a transport that receives streams (lib/quic) and the side that takes their
 * bytes (lib/tpu): two-phase, exactly once.
 *
 *   reserve  asks for room for every STREAM frame of one packet, all or none. It changes nothing a
 *            second reserve would notice; room is promised only until the frames of that packet
 *            were given to data() or reserve is called again.
 *   data     takes one frame of the packet that was reserved for, in packet order. It cannot fail
 *            for want of room. The bytes are copied before it returns.
 *   abandon  the stream of that slot will never finish (reset, deadline, connection gone).
 *
 * The transport has authenticated the packet, checked stream and flow-control limits, and drops
 * frames of streams that already finished. Frames of one stream may come in any order and overlap.
 * All calls of one sink come from one thread. */
#ifndef PS_BASE_SINK_H
#define PS_BASE_SINK_H

#include <stdbool.h>
#include <stdint.h>

struct ps_peer {
	uint32_t addr_be;
	uint16_t port_be;
	bool has_key; /* key is the peer's Ed25519 key, proven by its TLS signature */
	uint8_t key[32];
};

#define PS_SLOT_NONE UINT32_MAX

struct ps_stream_frame {
	const uint8_t *data;
	uint64_t stream_id;
	uint32_t offset; /* bytes from the start of the stream; offset + len is within the limit */
	uint16_t len;
	bool fin;      /* this frame ends the stream */
	uint32_t slot; /* the sink's handle of the stream, PS_SLOT_NONE before its first frame */
};

enum ps_sink_result {
	PS_SINK_MORE, /* kept; f->slot was set and is passed with the stream's next frame */
	PS_SINK_DONE, /* the stream is complete: delivered, or refused and counted; slot is free */
};

struct ps_sink {
	void *ctx;
	bool (*reserve)(void *ctx, const struct ps_stream_frame *frames, unsigned int n);
	enum ps_sink_result (*data)(
		void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f);
	void (*abandon)(void *ctx, uint32_t slot);
	/* Streams the sink could take now, over all connections: what stream credit is made from.
	 */
	uint32_t (*room)(void *ctx);
};

#endif
