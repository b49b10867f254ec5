/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The client role against a server that sends anything: as fuzz_rx.c, with ciphers and TLS
 * replaced (fake_protect.h). TLS takes as ServerHello one byte, and at the Handshake level one byte
 * and the server's transport parameters; 0xff in the place of either byte is an alert. What must
 * hold: every stream sent is acknowledged or given up once, nothing is left after the end.
 *
 * Input: an option byte, then the steps of script.h, of which
 *   op & 3 == 0, 1  op >> 3 & 3: from the server's address (0) or another
 *   op & 3 == 3     op & 4: another connection; else a stream of (op >> 3) * 40 bytes for all
 * Options: 1: no idle timeout of ours; 2: a key of ours changes early. */

#include <string.h>

#include "engine.h"
#include "fake_tls.h"
#include "fuzz.h"
#include "ps_time.h"
#include "script.h"

#define CONNS       3
#define STREAMS     40  /* of a run */
#define REPLIES_MAX 512 /* to one step: far more than anything allows */

static struct {
	struct script s;
	unsigned int n_conns, n_streams, ended, to_others;
	struct ps_quic_conn_id conn[CONNS];
	bool closed[CONNS], connected[CONNS], over[STREAMS];
} w;

/* -- fake_tls.h -- */

static void
step(struct fake_session *s)
{
	struct ps_tls_io *io = s->io;

	if (io->in_len == 0) {
		memset(io->out, 0x5a, sizeof(io->out));
		io->out_len[PS_LEVEL_INITIAL] = 300;
	} else if (io->in[0] == 0xff) {
		io->result = PS_TLS_ALERT;
		io->alert = 120;
	} else if (io->in_level == PS_LEVEL_INITIAL) {
		io->secret[PS_LEVEL_HANDSHAKE].ready = true;
	} else {
		io->peer_tp_len =
			io->in_len - 1 < PS_TPARAM_MAX_BYTES ? io->in_len - 1 : PS_TPARAM_MAX_BYTES;
		memcpy(io->peer_tp, io->in + 1, io->peer_tp_len);
		io->out_len[PS_LEVEL_HANDSHAKE] = 52;
		io->secret[PS_LEVEL_APP].ready = true;
		io->result = PS_TLS_DONE;
	}
}

/* -- events -- */

static unsigned int
index_of(struct ps_quic_conn_id id)
{
	for (unsigned int i = 0; i < w.n_conns; i++)
		if (w.conn[i].slot == id.slot && w.conn[i].generation == id.generation)
			return i;
	FUZZ_CHECK(false);
	return 0;
}

static void
on_connected(void *ctx, struct ps_quic_conn_id id, const struct ps_peer *peer)
{
	unsigned int i = index_of(id);

	(void)ctx;
	(void)peer;
	FUZZ_CHECK(!w.connected[i] && !w.closed[i]);
	w.connected[i] = true;
}

static void
on_end(void *ctx, struct ps_quic_conn_id id, uint64_t user)
{
	(void)ctx;
	FUZZ_CHECK(w.connected[index_of(id)] && user < w.n_streams && !w.over[user]);
	w.over[user] = true;
	w.ended++;
}

static void
on_closed(void *ctx, struct ps_quic_conn_id id, const struct ps_quic_close *why)
{
	unsigned int i = index_of(id);

	(void)ctx;
	FUZZ_CHECK(!w.closed[i] && memchr(why->reason, '\0', sizeof(why->reason)) != NULL);
	w.closed[i] = true;
	fuzz_note(why->code);
}

/* -- the run -- */

static void
open_conn(void)
{
	struct ps_flow4 to = {.saddr_be = 9, .daddr_be = 1, .sport_be = 9, .dport_be = 9};

	if (w.n_conns < CONNS && ps_quic_connect(w.s.q, to, 0, w.s.now_ns, &w.conn[w.n_conns]) == 0)
		w.n_conns++;
}

static void
send_streams(size_t len)
{
	static const uint8_t bytes[32 * 40];

	for (unsigned int i = 0; i < w.n_conns && w.n_streams < STREAMS; i++)
		w.n_streams += ps_quic_send_stream(w.s.q, w.conn[i], bytes, len, w.n_streams) == 0;
}

/* Takes everything there is to send. */
static void
drain(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;

	for (unsigned int n = 0;; n++) {
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(w.s.q, &out, 1, w.s.now_ns) == 0)
			break;
		FUZZ_CHECK(d.len > 0 && d.len <= PS_UDP_PAYLOAD_MAX && n < REPLIES_MAX);
		/* others get stateless resets and nothing else */
		w.to_others += d.flow.daddr_be != 1;
		FUZZ_CHECK(d.flow.saddr_be == 9 && w.to_others <= w.s.stats->resets_tx);
		fuzz_note(w.s.now_ns ^ d.len);
	}
	FUZZ_CHECK(w.s.stats->conns_open + w.s.stats->half_open <= CONNS);
	FUZZ_CHECK(w.s.tls.sessions <= CONNS && w.s.stats->streams_open == 0);
}

static struct ps_datagram
make(uint8_t op, const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, bytes, len);
	return (struct ps_datagram){.data = copy,
		.len = (uint16_t)len,
		.ecn = op >> 6,
		.flow = {.saddr_be = 1u + (op >> 3 & 3),
			.daddr_be = 9,
			.sport_be = 9,
			.dport_be = 9}};
}

static void
other(uint8_t op)
{
	if (op & 4)
		open_conn();
	else
		send_streams((op >> 3) * 40);
}

static void
start(uint8_t options)
{
	struct ps_quic_limits l;
	struct ps_quic_config c;
	struct ps_quic *q;

	memset(&w, 0, sizeof(w));
	w.s = (struct script){.drain = drain, .make = make, .other = other};
	fake_tls_start(&w.s.tls, CONNS, step);
	ps_quic_defaults(&l, &c);
	l = (struct ps_quic_limits){.conns = CONNS,
		.handshakes = CONNS,
		.streams = 1,
		.send_streams = 12,
		.sent_packets = 16,
		.key_cache = 4};
	c.server = false;
	c.idle_timeout_ms = options & 1 ? 0 : c.idle_timeout_ms;
	c.events = (struct ps_quic_events){NULL, on_connected, on_end, on_end, on_closed};
	q = script_start(&w.s, &l, &c);
	open_conn();
	if (options & 2)
		q->conns[0].app.tx_next = UINT64_C(1) << 22;
}

static void
judge(void)
{
	FUZZ_CHECK(w.ended == w.n_streams);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	start(data[0]);
	drain();
	script_run(&w.s, data + 1, data + size);
	script_end(&w.s, judge);
	return 0;
}
