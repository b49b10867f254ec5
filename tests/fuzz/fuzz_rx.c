/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The whole receive path of a small server endpoint, with ciphers and TLS replaced so that the
 * input reaches frames and states: packets are as fake_protect.h says, and TLS takes as ClientHello
 * one byte (0xff: alert) and the peer's transport parameters, and any byte at the Handshake level
 * as Finished.
 *
 * Input: an option byte, then the steps of script.h, of which
 *   op & 3 == 0, 1  op & 4: zeros follow up to 1200; op >> 3 & 3: from which of four clients;
 *                   op >> 6: its ECN mark
 *   op & 3 == 3     op & 4: the sink has no room from now on; op & 8: no credit either */

#include <string.h>

#include "engine.h"
#include "fake_protect.h"
#include "fake_tls.h"
#include "fuzz.h"
#include "ps_time.h"
#include "script.h"

#define CONNS        6
#define HANDSHAKES   3
#define STREAMS      8
#define SLOTS        8
#define STREAM_BYTES 300
#define OPT_RETRY    1
#define OPT_PENDING  2
#define OPT_SOURCES  4   /* few connections of an address */
#define OPT_RATE     8   /* few handshakes a second */
#define OPT_NARROW   16  /* a small connection window */
#define OPT_AUTO     32  /* Retry by itself */
#define OPT_SESSIONS 64  /* fewer TLS sessions than handshakes */
#define OPT_OTHERS   128 /* workers 1 and 2 are there, too; 2 takes nothing */
#define REPLIES_MAX  512 /* to one step: far more than anything allows */

static struct {
	struct script s;
	uint64_t rx_bytes, tx_bytes;
	bool no_room, no_credit;
	bool slot[SLOTS];
	uint8_t bytes[STREAM_BYTES];
	unsigned int promised; /* frames the last reserve said yes to */
} w;

/* -- fake_tls.h -- */

static void
step(struct fake_session *s)
{
	struct ps_tls_io *io = s->io;

	if (io->in_len > 0 && io->in[0] == 0xff) {
		io->result = PS_TLS_ALERT;
		io->alert = 120;
	} else if (io->in_level == PS_LEVEL_HANDSHAKE) {
		io->secret[PS_LEVEL_APP].ready = true;
		io->result = PS_TLS_DONE;
	} else if (io->out_len[PS_LEVEL_INITIAL] == 0 && io->in_len > 1) {
		io->peer_tp_len =
			io->in_len - 1 < PS_TPARAM_MAX_BYTES ? io->in_len - 1 : PS_TPARAM_MAX_BYTES;
		memcpy(io->peer_tp, io->in + 1, io->peer_tp_len);
		memset(io->out, 0x5a, sizeof(io->out));
		io->out_len[PS_LEVEL_INITIAL] = 90;
		io->out_len[PS_LEVEL_HANDSHAKE] = 1500;
		io->secret[PS_LEVEL_HANDSHAKE].ready = true;
	}
}

/* -- the sink -- */

static bool
sink_reserve(void *ctx, const struct ps_stream_frame *f, unsigned int n)
{
	unsigned int spare = 0, need = 0;

	(void)ctx;
	for (unsigned int i = 0; i < SLOTS; i++)
		spare += !w.slot[i];
	for (unsigned int i = 0; i < n; i++) {
		FUZZ_CHECK(f[i].offset + f[i].len <= STREAM_BYTES);
		FUZZ_CHECK(f[i].slot == PS_SLOT_NONE || w.slot[f[i].slot]);
		need += f[i].slot == PS_SLOT_NONE;
	}
	w.promised = w.no_room || need > spare ? 0 : n;
	return w.promised == n;
}

/* A stream is complete here when its end comes, whatever is missing. */
static enum ps_sink_result
sink_data(void *ctx, const struct ps_peer *peer, struct ps_stream_frame *f)
{
	(void)ctx;
	(void)peer;
	FUZZ_CHECK(w.promised-- > 0);
	FUZZ_CHECK(f->offset + f->len <= STREAM_BYTES && (f->len > 0 || f->fin));
	memcpy(w.bytes + f->offset, f->data, f->len);
	if (f->slot == PS_SLOT_NONE) {
		if (f->fin)
			return PS_SINK_DONE;
		for (f->slot = 0; w.slot[f->slot]; f->slot++)
			FUZZ_CHECK(f->slot + 1 < SLOTS);
		w.slot[f->slot] = true;
	}
	FUZZ_CHECK(w.slot[f->slot]);
	w.slot[f->slot] = !f->fin;
	return f->fin ? PS_SINK_DONE : PS_SINK_MORE;
}

static void
sink_abandon(void *ctx, uint32_t slot)
{
	(void)ctx;
	FUZZ_CHECK(slot < SLOTS && w.slot[slot]);
	w.slot[slot] = false;
}

static uint32_t
sink_room(void *ctx)
{
	(void)ctx;
	return w.no_credit ? 0 : SLOTS;
}

/* -- the other workers -- */

static bool
give(void *ctx, uint8_t worker, const struct ps_datagram *dg)
{
	(void)ctx;
	FUZZ_CHECK(worker != 0 && dg->len > PS_OUR_CID_LEN);
	return worker == 1;
}

/* -- the run -- */

/* Takes everything there is to send. */
static void
drain(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;
	unsigned int n = 0;

	for (;;) {
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(w.s.q, &out, 1, w.s.now_ns) == 0)
			break;
		FUZZ_CHECK(d.len > 0 && d.len <= PS_UDP_PAYLOAD_MIN && ++n < REPLIES_MAX);
		w.tx_bytes += d.len;
		fuzz_note(w.s.now_ns ^ d.len);
	}
	FUZZ_CHECK(fake_protect.validated || w.tx_bytes <= 3 * w.rx_bytes);
	FUZZ_CHECK(w.s.stats->conns_open + w.s.stats->half_open <= CONNS);
	FUZZ_CHECK(w.s.stats->half_open <= HANDSHAKES && w.s.tls.sessions <= HANDSHAKES);
	FUZZ_CHECK(w.s.stats->streams_open <= STREAMS);
}

static struct ps_datagram
make(uint8_t op, const uint8_t *bytes, size_t len)
{
	size_t padded = op & 4 && len < PS_UDP_PAYLOAD_MIN ? PS_UDP_PAYLOAD_MIN : len;
	uint8_t *copy = calloc(1, padded > 0 ? padded : 1);

	FUZZ_CHECK(copy != NULL);
	if (len > 0)
		memcpy(copy, bytes, len);
	w.rx_bytes += padded;
	return (struct ps_datagram){.data = copy,
		.len = (uint16_t)padded,
		.ecn = op >> 6,
		.flow = {.saddr_be = 1u + (op >> 3 & 3), .daddr_be = 9, .dport_be = 9}};
}

static void
other(uint8_t op)
{
	w.no_room = (op & 4) != 0;
	w.no_credit = (op & 8) != 0;
}

static void
start(uint8_t options)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;

	memset(&w, 0, sizeof(w));
	w.s = (struct script){.drain = drain, .make = make, .other = other};
	fake_tls_start(&w.s.tls, HANDSHAKES - !!(options & OPT_SESSIONS), step);
	w.s.tls.slow = (options & OPT_PENDING) != 0;
	ps_quic_defaults(&l, &c);
	l = (struct ps_quic_limits){.conns = CONNS,
		.handshakes = HANDSHAKES,
		.streams = STREAMS,
		.sent_packets = 16,
		.key_cache = 4};
	c.retry = options & OPT_RETRY  ? PS_RETRY_ALWAYS
		  : options & OPT_AUTO ? PS_RETRY_AUTO
				       : PS_RETRY_OFF;
	c.source_per_min = options & OPT_SOURCES ? 2 : 0;
	c.handshakes_per_s = options & OPT_RATE ? 3 : 0;
	c.stream_bytes = STREAM_BYTES;
	c.conn_bytes = options & OPT_NARROW ? 250 : 1000;
	c.stream_window = 6;
	if (options & OPT_OTHERS)
		c.others = (struct ps_quic_others){.give = give};
	c.sink = (struct ps_sink){NULL, sink_reserve, sink_data, sink_abandon, sink_room};
	script_start(&w.s, &l, &c);
}

static void
judge(void)
{
	FUZZ_CHECK(w.s.stats->streams_open == 0);
	for (unsigned int i = 0; i < SLOTS; i++)
		FUZZ_CHECK(!w.slot[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	start(data[0]);
	script_run(&w.s, data + 1, data + size);
	script_end(&w.s, judge);
	return 0;
}
