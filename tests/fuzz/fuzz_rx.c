/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The whole receive path of a small server endpoint, with ciphers and TLS replaced so that the
 * input reaches frames and states: packets are as fake_protect.h says, and TLS takes as ClientHello
 * one byte (0xff: alert) and the peer's transport parameters, and any byte at the Handshake level
 * as Finished.
 *
 * Input: an option byte, then steps. A step is an op byte and
 *   op & 3 == 0, 1  a datagram: two bytes of length, then its bytes; op & 4: zeros follow up to
 *                   1200; op >> 3 & 3: from which of four clients; op & 32: it comes in one
 *                   burst with the next one; op >> 6: its ECN mark
 *   op & 3 == 2     one byte: so many ms pass, 64 times as many with op & 4
 *   op & 3 == 3     op & 4: the sink has no room from now on; op & 8: no credit either */

#include <string.h>

#include "engine.h"
#include "fake_protect.h"
#include "fake_tls.h"
#include "fuzz.h"
#include "ps_time.h"

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
#define BURST        8
#define REPLIES_MAX  512 /* to one step: far more than anything allows */

static struct {
	struct ps_quic *q;
	const struct ps_quic_stats *stats;
	struct ps_drops drops;
	uint64_t now_ns, rx_bytes, tx_bytes;
	bool no_room, no_credit;
	struct fake_tls tls;
	struct ps_datagram datagram[BURST]; /* that wait for the rest of their burst */
	unsigned int held;
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

static void
start(uint8_t options)
{
	static void *mem, *fresh;
	static size_t size;
	static struct ps_quic *q;
	struct ps_quic_limits l;
	struct ps_quic_config c;
	struct ps_err e;

	memset(&w, 0, sizeof(w));
	w.now_ns = 1000 * PS_SEC_NS;
	fake_tls_start(&w.tls, HANDSHAKES - !!(options & OPT_SESSIONS), step);
	w.tls.slow = (options & OPT_PENDING) != 0;
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
	c.tls = (struct ps_tls *)&w.tls;
	c.drops = &w.drops;
	c.sink = (struct ps_sink){NULL, sink_reserve, sink_data, sink_abandon, sink_room};
	if (mem == NULL) {
		size = ps_quic_footprint(&l);
		mem = aligned_alloc(64, size);
		fresh = malloc(size);
		FUZZ_CHECK(mem != NULL && fresh != NULL);
		memset(mem, 0xa5, size);
		q = ps_quic_new(mem, &l, &c, &e);
		FUZZ_CHECK(q != NULL);
		memcpy(fresh, mem, size);
	}
	memcpy(mem, fresh, size);
	memset(&fake_protect, 0, sizeof(fake_protect)); /* creation took random bytes */
	w.q = q;
	q->cfg = c;
	w.stats = ps_quic_stats(w.q);
}

/* Takes everything there is to send. */
static void
drain(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;
	unsigned int n = 0;

	for (;;) {
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(w.q, &out, 1, w.now_ns) == 0)
			break;
		FUZZ_CHECK(d.len > 0 && d.len <= PS_UDP_PAYLOAD_MIN && ++n < REPLIES_MAX);
		w.tx_bytes += d.len;
		fuzz_note(w.now_ns ^ d.len);
	}
	FUZZ_CHECK(fake_protect.validated || w.tx_bytes <= 3 * w.rx_bytes);
	FUZZ_CHECK(w.stats->conns_open + w.stats->half_open <= CONNS);
	FUZZ_CHECK(w.stats->half_open <= HANDSHAKES && w.tls.sessions <= HANDSHAKES);
	FUZZ_CHECK(w.stats->streams_open <= STREAMS);
}

static void
flush(void)
{
	struct ps_datagram *burst[BURST];

	for (unsigned int i = 0; i < w.held; i++)
		burst[i] = &w.datagram[i];
	ps_quic_rx_burst(w.q, burst, w.held, w.now_ns);
	while (w.held > 0)
		free(w.datagram[--w.held].data);
}

static void
receive(uint8_t op, const uint8_t *bytes, size_t len)
{
	size_t padded = op & 4 && len < PS_UDP_PAYLOAD_MIN ? PS_UDP_PAYLOAD_MIN : len;
	uint8_t *copy = calloc(1, padded > 0 ? padded : 1);

	FUZZ_CHECK(copy != NULL);
	if (len > 0)
		memcpy(copy, bytes, len);
	w.rx_bytes += padded;
	w.datagram[w.held++] = (struct ps_datagram){.data = copy,
		.len = (uint16_t)padded,
		.ecn = op >> 6,
		.flow = {.saddr_be = 1u + (op >> 3 & 3), .daddr_be = 9, .dport_be = 9}};
	if (!(op & 32) || w.held == BURST)
		flush();
}

static void
pass(uint64_t ns)
{
	uint64_t end_ns = w.now_ns + ns;

	while (w.now_ns < end_ns) {
		uint64_t next = ps_quic_service(w.q, w.now_ns);

		drain();
		FUZZ_CHECK(next > w.now_ns);
		w.now_ns = next < end_ns ? next : end_ns;
	}
}

static void
finish(void)
{
	ps_quic_close_all(w.q, 1, "end", w.now_ns);
	drain();
	FUZZ_CHECK(w.stats->conns_open == 0 && w.stats->half_open == 0);
	FUZZ_CHECK(w.stats->streams_open == 0);
	for (unsigned int i = 0; i < SLOTS; i++)
		FUZZ_CHECK(!w.slot[i]);
	pass(60 * PS_SEC_NS);
	FUZZ_CHECK(ps_quic_service(w.q, w.now_ns) == PS_NEVER);
	for (unsigned int i = 0; i < sizeof(*w.stats) / sizeof(uint64_t); i++)
		fuzz_note(((const uint64_t *)w.stats)[i]);
	FUZZ_CHECK(w.tls.sessions == 0);
	ps_quic_stop(w.q);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p = data + 1, *end = data + size;

	if (size == 0)
		return 0;
	start(data[0]);
	while (end - p >= 2) {
		uint8_t op = *p++;

		if ((op & 3) < 2) {
			size_t len = end - p < 2 ? 0 : (size_t)(p[0] | p[1] << 8) % 1500;

			p += end - p < 2 ? end - p : 2;
			len = len < (size_t)(end - p) ? len : (size_t)(end - p);
			receive(op, p, len);
			p += len;
			if (w.held > 0)
				continue;
		} else if ((op & 3) == 2) {
			flush();
			pass(*p++ * PS_MS_NS * (op & 4 ? 64 : 1));
		} else {
			w.no_room = (op & 4) != 0;
			w.no_credit = (op & 8) != 0;
		}
		ps_quic_service(w.q, w.now_ns);
		drain();
	}
	flush();
	finish();
	return 0;
}
