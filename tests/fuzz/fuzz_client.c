/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The client role against a server that sends anything: as fuzz_rx.c, with ciphers and TLS
 * replaced (fake_protect.h). TLS takes as ServerHello one byte, and at the Handshake level one byte
 * and the server's transport parameters; 0xff in the place of either byte is an alert. What must
 * hold: every stream sent is acknowledged or given up once, nothing is left after the end.
 *
 * Input: an option byte, then steps. A step is an op byte and
 *   op & 3 == 0, 1  a datagram: two bytes of length, then its bytes; op >> 3 & 3: from the server's
 *                   address (0) or another; op & 32: it comes in one burst with the next one
 *   op & 3 == 2     one byte: so many ms pass, 64 times as many with op & 4
 *   op & 3 == 3     op & 4: another connection; else a stream of (op >> 3) * 40 bytes for all
 * Options: 1: no idle timeout of ours; 2: a key of ours changes early. */

#include <string.h>

#include "engine.h"
#include "fake_protect.h"
#include "fake_tls.h"
#include "fuzz.h"
#include "ps_time.h"

#define CONNS       3
#define STREAMS     40 /* of a run */
#define BURST       8
#define REPLIES_MAX 512 /* to one step: far more than anything allows */

static struct {
	struct ps_quic *q;
	const struct ps_quic_stats *stats;
	struct ps_drops drops;
	uint64_t now_ns;
	struct fake_tls tls;
	struct ps_datagram datagram[BURST]; /* that wait for the rest of their burst */
	unsigned int held;
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

	if (w.n_conns < CONNS && ps_quic_connect(w.q, to, 0, w.now_ns, &w.conn[w.n_conns]) == 0)
		w.n_conns++;
}

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
	fake_tls_start(&w.tls, CONNS, step);
	ps_quic_defaults(&l, &c);
	l = (struct ps_quic_limits){.conns = CONNS,
		.handshakes = CONNS,
		.streams = 1,
		.send_streams = 12,
		.sent_packets = 16,
		.key_cache = 4};
	c.server = false;
	c.idle_timeout_ms = options & 1 ? 0 : c.idle_timeout_ms;
	c.tls = (struct ps_tls *)&w.tls;
	c.drops = &w.drops;
	c.events = (struct ps_quic_events){NULL, on_connected, on_end, on_end, on_closed};
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
	q->cfg = c;
	w.q = q;
	w.stats = ps_quic_stats(q);
	open_conn();
	if (options & 2)
		q->conns[0].app.tx_next = UINT64_C(1) << 22;
}

static void
send_streams(size_t len)
{
	static const uint8_t bytes[32 * 40];

	for (unsigned int i = 0; i < w.n_conns && w.n_streams < STREAMS; i++)
		w.n_streams += ps_quic_send_stream(w.q, w.conn[i], bytes, len, w.n_streams) == 0;
}

/* Takes everything there is to send. */
static void
drain(void)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct ps_datagram d, *out = &d;

	for (unsigned int n = 0;; n++) {
		d = (struct ps_datagram){.data = buf, .len = sizeof(buf)};
		if (ps_quic_tx_burst(w.q, &out, 1, w.now_ns) == 0)
			break;
		FUZZ_CHECK(d.len > 0 && d.len <= PS_UDP_PAYLOAD_MAX && n < REPLIES_MAX);
		/* others get stateless resets and nothing else */
		w.to_others += d.flow.daddr_be != 1;
		FUZZ_CHECK(d.flow.saddr_be == 9 && w.to_others <= w.stats->resets_tx);
		fuzz_note(w.now_ns ^ d.len);
	}
	FUZZ_CHECK(w.stats->conns_open + w.stats->half_open <= CONNS);
	FUZZ_CHECK(w.tls.sessions <= CONNS && w.stats->streams_open == 0);
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
	uint8_t *copy = malloc(len > 0 ? len : 1);

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, bytes, len);
	w.datagram[w.held++] = (struct ps_datagram){.data = copy,
		.len = (uint16_t)len,
		.ecn = op >> 6,
		.flow = {.saddr_be = 1u + (op >> 3 & 3),
			.daddr_be = 9,
			.sport_be = 9,
			.dport_be = 9}};
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
	FUZZ_CHECK(w.ended == w.n_streams);
	pass(60 * PS_SEC_NS);
	FUZZ_CHECK(ps_quic_service(w.q, w.now_ns) == PS_NEVER);
	FUZZ_CHECK(w.tls.sessions == 0);
	for (unsigned int i = 0; i < sizeof(*w.stats) / sizeof(uint64_t); i++)
		fuzz_note(((const uint64_t *)w.stats)[i]);
	ps_quic_stop(w.q);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p = data + 1, *end = data + size;

	if (size == 0)
		return 0;
	start(data[0]);
	drain();
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
		} else if (op & 4) {
			open_conn();
		} else {
			send_streams((op >> 3) * 40);
		}
		ps_quic_service(w.q, w.now_ns);
		drain();
	}
	flush();
	finish();
	return 0;
}
