/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Half-open connections: RFC 9001 section 4. */

#include "engine.h"

#define DISALLOWED_NS (100 * PS_MS_NS)
#define COLLECT_MAX   64 /* finished TLS steps taken per service call */

static inline uint64_t
mix(const struct ps_quic *q, uint64_t h, uint64_t w)
{
	h = (h ^ w) * (q->hash_key[1] | 1);
	return h ^ h >> 29;
}

uint64_t
half_open_hash(const struct ps_quic *q, const struct ps_flow4 *f, const uint8_t *id, size_t len)
{
	const uint64_t w[2] = {
		(uint64_t)f->saddr_be << 32 | (uint32_t)f->sport_be << 16 | f->dport_be,
		(uint64_t)len << 32 | f->daddr_be};
	uint64_t h = q->hash_key[0], last = 0;

	h = mix(q, mix(q, h, w[0]), w[1]);
	for (; len >= 8; id += 8, len -= 8) {
		memcpy(&last, id, 8);
		h = mix(q, h, last);
	}
	for (last = 0; len > 0; len--)
		last = last << 8 | id[len - 1];
	return mix(q, h, last);
}

struct handshake *
handshake_find(struct ps_quic *q, const struct ps_flow4 *flow, const uint8_t *dcid, size_t dcid_len)
{
	uint64_t hash;
	uint32_t i;

	if (dcid_len > PS_CID_MAX)
		return NULL;
	hash = half_open_hash(q, flow, dcid, dcid_len);
	for (i = q->half_open[hash & q->half_open_mask]; i != NONE;
		i = q->handshakes[i].hash_next) {
		struct handshake *hs = &q->handshakes[i];
		const struct conn *c = &q->conns[hs->conn];

		if (hs->hash == hash && hs->initial_dcid.len == dcid_len &&
			memcmp(hs->initial_dcid.id, dcid, dcid_len) == 0 &&
			c->flow.daddr_be == flow->saddr_be && c->flow.dport_be == flow->sport_be)
			return hs;
	}
	return NULL;
}

void
handshake_file(struct ps_quic *q, struct handshake *hs, const struct ps_flow4 *from_peer)
{
	uint32_t *head;

	hs->hash = half_open_hash(q, from_peer, hs->initial_dcid.id, hs->initial_dcid.len);
	head = &q->half_open[hs->hash & q->half_open_mask];
	hs->hash_next = *head;
	*head = (uint32_t)(hs - q->handshakes);
	hs->filed = true;
}

static void
unfile(struct ps_quic *q, struct handshake *hs)
{
	uint32_t i = (uint32_t)(hs - q->handshakes), *link;

	if (!hs->filed)
		return;
	link = &q->half_open[hs->hash & q->half_open_mask];
	while (*link != i)
		link = &q->handshakes[*link].hash_next;
	*link = hs->hash_next;
	hs->filed = false;
}

static void
spare(struct ps_quic *q, struct handshake *hs)
{
	hs->hash_next = q->handshake_spare;
	q->handshake_spare = (uint32_t)(hs - q->handshakes);
}

struct handshake *
handshake_alloc(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	struct handshake *hs;

	if (q->handshake_spare == NONE)
		return NULL;
	hs = &q->handshakes[q->handshake_spare];
	q->handshake_spare = hs->hash_next;
	c->handshake = (uint32_t)(hs - q->handshakes);
	c->state = CONN_HANDSHAKE;
	c->handshake_due_ns = now_ns + q->cfg.handshake_timeout_ms * PS_MS_NS;
	q->stats.half_open++;
	hs->conn = c->slot;
	hs->hash_next = NONE;
	hs->busy = hs->tls = hs->started = hs->filed = hs->heard = false;
	hs->initial_gone = hs->handshake_keys = false;
	hs->retried = hs->validated = hs->peer_tp_read = false;
	hs->rx_bytes = hs->tx_bytes = 0;
	hs->token_len = 0;
	for (int i = 0; i < PS_LEVELS - 1; i++) {
		hs->crypto_next[i] = hs->crypto_end[i] = 0;
		hs->crypto[i].given = hs->crypto[i].ready = 0;
		memset(hs->crypto[i].have, 0, sizeof(hs->crypto[i].have));
		space_init(&hs->space[i], hs->sent_ring[i], HS_SENT);
		hs->space[i].last_eliciting_ns = now_ns;
	}
	return hs;
}

void
handshake_undo(struct ps_quic *q, struct conn *c)
{
	q->stats.half_open--;
	c->state = CONN_FREE;
	conn_free(q, c);
}

bool
handshake_begin_tls(struct ps_quic *q, struct conn *c, struct handshake *hs)
{
	struct ps_tparam t;

	ps_tparam_defaults(&t);
	t.max_idle_timeout_ms = q->cfg.idle_timeout_ms;
	t.max_udp_payload_size = PS_UDP_PAYLOAD_MAX;
	t.disable_active_migration = true;
	t.has_initial_scid = true;
	t.initial_scid = c->our_cid;
	if (q->cfg.server) {
		/* initial_max_streams_uni stays 0: credit comes with HANDSHAKE_DONE */
		t.initial_max_data = q->cfg.conn_bytes;
		t.initial_max_stream_data_uni = q->cfg.stream_bytes;
		t.has_original_dcid = true;
		t.original_dcid = hs->odcid;
		t.has_retry_scid = hs->retried;
		t.retry_scid = hs->initial_dcid;
		t.has_reset_token = true;
		ps_reset_token(q->protect, c->our_cid.id, t.reset_token);
	}
	c->data_granted = t.initial_max_data;
	if (!ps_tls_begin(q->cfg.tls, &hs->io))
		return false;
	hs->tls = true;
	hs->io.tp_len = (uint16_t)ps_tparam_put(&t, hs->io.tp, sizeof(hs->io.tp));
	return true;
}

/* What follows from a packet of the Initial or Handshake level having verified, before its frames.
 */
bool
handshake_packet(struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_pkt_hdr *h)
{
	struct handshake *hs = conn_handshake(q, c);
	struct ps_cid scid = {.len = h->scid_len};

	memcpy(scid.id, h->scid, h->scid_len);
	if (!q->cfg.server && !hs->heard) { /* RFC 9000 section 7.2: the server's own choice */
		c->peer_cid = scid;
		hs->heard = true;
	}
	if (!ps_cid_equal(&scid, &c->peer_cid)) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_CONN);
		return false;
	}
	if (q->cfg.server && level == PS_LEVEL_HANDSHAKE) {
		hs->validated = true;         /* RFC 9000 section 8.1 */
		handshake_drop_initial(q, c); /* RFC 9001 section 4.9.1 */
	}
	return true;
}

void
handshake_drop_initial(struct ps_quic *q, struct conn *c)
{
	struct handshake *hs = conn_handshake(q, c);

	if (hs->initial_gone)
		return;
	hs->initial_gone = true;
	space_discard(c, &hs->space[PS_LEVEL_INITIAL]);
	ps_pkt_key_wipe(&hs->rx[PS_LEVEL_INITIAL]);
	ps_pkt_key_wipe(&hs->tx[PS_LEVEL_INITIAL]);
}

static void
bits_set(uint64_t *bits, uint32_t from, uint32_t to, uint32_t *next_gap)
{
	for (uint32_t i = from; i < to; i++)
		bits[i / 64] |= UINT64_C(1) << (i % 64);
	while (*next_gap < CRYPTO_RX_BYTES && (bits[*next_gap / 64] >> (*next_gap % 64) & 1) != 0)
		++*next_gap;
}

void
crypto_receive(struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_frame *f,
	uint64_t now_ns)
{
	struct handshake *hs = conn_handshake(q, c);
	struct crypto_rx *rx;
	uint32_t ready;

	if (level == PS_LEVEL_APP) {
		/* A client keeps no session tickets. A server's peer has nothing left to say in
		 * TLS: it can only be a KeyUpdate, unexpected_message (RFC 9001 section 6). */
		if (q->cfg.server)
			conn_close(q, c, false, PS_QUIC_CRYPTO_ERROR + 10, f->type, "", now_ns);
		return;
	}
	rx = &hs->crypto[level];
	if (f->stream.offset + f->len > CRYPTO_RX_BYTES) {
		conn_close(q, c, false, PS_QUIC_CRYPTO_BUFFER_EXCEEDED, f->type, "", now_ns);
		return;
	}
	if (f->stream.offset + f->len <= rx->ready)
		return;
	/* Bytes before ready may be with TLS now: they are not written again. */
	ready = rx->ready;
	if (f->stream.offset < ready)
		memcpy(rx->buf + ready, f->data + (ready - f->stream.offset),
			f->stream.offset + f->len - ready);
	else
		memcpy(rx->buf + f->stream.offset, f->data, f->len);
	bits_set(rx->have, (uint32_t)f->stream.offset, (uint32_t)f->stream.offset + f->len, &ready);
	q->packet.progress += ready > rx->ready;
	rx->ready = (uint16_t)ready;
}

/* RFC 9000 section 7.3: the ids a handshake was made with are authenticated by TLS. */
static bool
peer_params(struct ps_quic *q, struct conn *c, struct handshake *hs)
{
	struct ps_tparam t;
	uint64_t idle_ms;

	if (ps_tparam_parse(&t, hs->io.peer_tp, hs->io.peer_tp_len, q->cfg.server) != 0 ||
		!t.has_initial_scid || !ps_cid_equal(&t.initial_scid, &c->peer_cid))
		return false;
	if (!q->cfg.server &&
		(!t.has_original_dcid || !ps_cid_equal(&t.original_dcid, &hs->odcid) ||
			t.has_retry_scid != hs->retried ||
			(hs->retried && !ps_cid_equal(&t.retry_scid, &hs->initial_dcid))))
		return false;
	idle_ms = q->cfg.idle_timeout_ms;
	if (t.max_idle_timeout_ms != 0 && (idle_ms == 0 || t.max_idle_timeout_ms < idle_ms))
		idle_ms = t.max_idle_timeout_ms;
	c->idle_ns = idle_ms * PS_MS_NS;
	c->peer_ack_delay_ns = t.max_ack_delay_ms * PS_MS_NS;
	c->peer_ack_shift = (uint8_t)t.ack_delay_exponent;
	c->datagram_bytes = (uint16_t)min_u64(c->datagram_bytes, t.max_udp_payload_size);
	c->send.max_data = t.initial_max_data;
	c->send.max_streams = t.initial_max_streams_uni;
	c->send.stream_bytes = t.initial_max_stream_data_uni;
	c->ids.peer_limit = (uint8_t)min_u64(OUR_IDS, t.active_connection_id_limit);
	c->ids.peer[0] = (struct peer_id){.cid = c->peer_cid, .has_token = t.has_reset_token};
	memcpy(c->ids.peer[0].reset_token, t.reset_token, sizeof(t.reset_token));
	c->ids.n_peer = 1;
	hs->peer_tp_read = true;
	return true;
}

/* RFC 9001 section 4.1.2: complete; for a server that is confirmed as well. */
static void
complete(struct ps_quic *q, struct conn *c, struct handshake *hs, uint64_t now_ns)
{
	keys_install(c, &hs->io.secret[PS_LEVEL_APP]);
	c->peer.has_key = hs->io.peer_has_key;
	memcpy(c->peer.key, hs->io.peer_key, sizeof(c->peer.key));
	c->state = CONN_ESTABLISHED;
	c->idle_from_ns = c->done_base_ns = now_ns;
	q->stats.half_open--;
	q->stats.conns_open++;
	q->stats.handshakes_done++;
	if (q->cfg.server) {
		c->confirmed = true;
		c->send_handshake_done = c->send_new_token = true;
		ids_announce(c);
		initial_done(q, hs->hash, now_ns);
		handshake_release(q, c);
		if (!source_take(q, c->peer.addr_be, now_ns)) {
			q->stats.source_limited++;
			conn_close(q, c, true, 2, 0, "disallowed", now_ns);
			/* the slot is not for those who come too often */
			c->close_due_ns = min_u64(c->close_due_ns, now_ns + DISALLOWED_NS);
			conn_rearm(q, c);
			return;
		}
		streams_credit(q, c, now_ns);
	}
	if (q->cfg.events.connected != NULL)
		q->cfg.events.connected(q->cfg.events.ctx, conn_name(c), &c->peer);
	conn_ready(q, c);
}

static void
step_result(struct ps_quic *q, struct conn *c, struct handshake *hs, enum ps_tls_result r,
	uint64_t now_ns)
{
	if (c->state != CONN_HANDSHAKE)
		return; /* closed while TLS was at work */
	if (hs->io.peer_tp_len != 0 && !hs->peer_tp_read && !peer_params(q, c, hs)) {
		conn_close(q, c, false, PS_QUIC_TRANSPORT_PARAMETER_ERROR, PS_FRAME_CRYPTO, "",
			now_ns);
		return;
	}
	if (hs->io.secret[PS_LEVEL_HANDSHAKE].ready && !hs->handshake_keys) {
		const struct ps_tls_secret *s = &hs->io.secret[PS_LEVEL_HANDSHAKE];

		ps_pkt_key_derive(&hs->rx[PS_LEVEL_HANDSHAKE], s->suite, s->rx);
		ps_pkt_key_derive(&hs->tx[PS_LEVEL_HANDSHAKE], s->suite, s->tx);
		hs->space[PS_LEVEL_HANDSHAKE].last_eliciting_ns = now_ns;
		hs->handshake_keys = true;
	}
	for (int i = 0; i < PS_LEVELS - 1; i++)
		hs->crypto_end[i] = hs->io.out_len[i];
	if (r == PS_TLS_ALERT)
		conn_close(q, c, false,
			hs->io.alert == PS_TLS_ALERT_SESSION_ID
				? PS_QUIC_PROTOCOL_VIOLATION
				: PS_QUIC_CRYPTO_ERROR + hs->io.alert,
			PS_FRAME_CRYPTO, "", now_ns);
	else if (r == PS_TLS_DONE)
		complete(q, c, hs, now_ns);
	else
		conn_ready(q, c);
}

void
handshake_input(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	while (c->state == CONN_HANDSHAKE) {
		struct handshake *hs = conn_handshake(q, c);
		struct crypto_rx *rx = &hs->crypto[PS_LEVEL_INITIAL];
		enum ps_tls_result r;

		if (hs->busy)
			return;
		hs->io.in_level = PS_LEVEL_INITIAL;
		if (rx->ready == rx->given) {
			rx = &hs->crypto[PS_LEVEL_HANDSHAKE];
			hs->io.in_level = PS_LEVEL_HANDSHAKE;
		}
		if (rx->ready == rx->given && (q->cfg.server || hs->started))
			return;
		hs->started = true;
		hs->io.in = rx->buf + rx->given;
		hs->io.in_len = rx->ready - rx->given;
		rx->given = rx->ready;
		r = ps_tls_step(q->cfg.tls, &hs->io);
		if (r == PS_TLS_PENDING) {
			hs->busy = true;
			return;
		}
		step_result(q, c, hs, r, now_ns);
	}
}

void
handshake_collect(struct ps_quic *q, uint64_t now_ns)
{
	struct ps_tls_io *io;

	for (int i = 0; i < COLLECT_MAX && (io = ps_tls_completed(q->cfg.tls)) != NULL; i++) {
		struct handshake *hs = (struct handshake *)io; /* its first member */
		struct conn *c;

		hs->busy = false;
		if (io->ended) {
			ps_wipe(io->secret, sizeof(io->secret));
			spare(q, hs);
			continue;
		}
		c = &q->conns[hs->conn];
		step_result(q, c, hs, io->result, now_ns);
		handshake_input(q, c, now_ns);
		conn_rearm(q, c);
	}
}

void
handshake_confirm(struct ps_quic *q, struct conn *c)
{
	if (c->confirmed)
		return;
	c->confirmed = true;
	ids_announce(c);
	handshake_release(q, c);
}

void
handshake_release(struct ps_quic *q, struct conn *c)
{
	struct handshake *hs = conn_handshake(q, c);

	if (hs == NULL)
		return;
	unfile(q, hs);
	for (int i = 0; i < PS_LEVELS - 1; i++) {
		space_discard(c, &hs->space[i]);
		ps_pkt_key_wipe(&hs->rx[i]);
		ps_pkt_key_wipe(&hs->tx[i]);
	}
	c->handshake = NONE;
	hs->conn = NONE;
	if (!hs->tls || ps_tls_end(q->cfg.tls, &hs->io)) {
		ps_wipe(hs->io.secret, sizeof(hs->io.secret));
		spare(q, hs);
	} /* else it comes back through handshake_collect() */
	hs->tls = false;
}
