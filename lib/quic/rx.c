/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "engine.h"

#define VERSION_INTERVAL_NS (100 * PS_US_NS) /* between two Version Negotiations */

/* Packets of one connection that may fail to verify: integrity limits of RFC 9001 section 6.6. */
#define FORGED_MAX_GCM    (UINT64_C(1) << 52)
#define FORGED_MAX_CHACHA (UINT64_C(1) << 36)

#define SHORT_MIN_BYTES (1 + PS_OUR_CID_LEN + 4 + PS_HP_SAMPLE)

/* A short-header packet of the burst, in stages. */
struct short_packet {
	struct conn *c;
	struct ps_datagram *dg;
	uint8_t *pkt;
	uint16_t size, aad_len;
	uint32_t generation; /* of the connection, and */
	uint32_t id;         /* sequence number of our id, as the packet has them */
	bool other_path;
	uint64_t pn;
};

/* An Initial of no connection, at the start of its datagram. */
struct late {
	struct ps_datagram *dg;
	struct ps_pkt_hdr h;
};

struct burst {
	unsigned int n, n_touched, n_late;
	bool established_served, begun; /* begun: a connection */
	struct short_packet p[PS_QUIC_BURST];
	struct late late[PS_QUIC_BURST];
	struct conn *touched[PS_QUIC_BURST];
};

/* At the end of the burst the connection is asked what it wants to send and when to be woken. Not
 * worth it for a packet that only brings transactions: ack.c has its acknowledgement. */
static void
touch(struct burst *b, struct conn *c)
{
	if (c->touched || b->n_touched == PS_QUIC_BURST)
		return;
	c->touched = true;
	b->touched[b->n_touched++] = c;
}

/* The place an id of ours names, whatever became of the connection; NULL: it names none. A datagram
 * with an id of another worker is passed on, *passed: it was dealt with. All its packets have that
 * id, so that none was opened before. */
static struct conn *
cid_place(struct ps_quic *q, const struct ps_datagram *dg, const uint8_t *dcid,
	struct ps_cid_parts *parts, bool *passed)
{
	const struct ps_quic_others *others = &q->cfg.others;

	*passed = false;
	if (!ps_cid_read(q->protect, dcid, parts))
		return NULL;
	if (parts->worker == q->cfg.worker)
		return parts->slot < q->limits.conns ? &q->conns[parts->slot] : NULL;
	if (others->give == NULL)
		return NULL;
	*passed = true;
	if (others->give(others->ctx, parts->worker, dg))
		q->stats.handed_over++;
	else
		ps_drop(q->drops, PS_DROP_QUIC_OTHER_WORKER);
	return NULL;
}

static bool
cid_live(const struct conn *c, uint32_t generation, uint32_t id)
{
	return c->state != CONN_FREE && c->generation == generation && ids_live(c, id);
}

static bool
same_path(const struct conn *c, const struct ps_datagram *dg)
{
	return c->flow.daddr_be == dg->flow.saddr_be && c->flow.dport_be == dg->flow.sport_be &&
	       c->flow.saddr_be == dg->flow.daddr_be && c->flow.sport_be == dg->flow.dport_be;
}

/* Removes header protection, with the mask known; returns the truncated packet number's size. */
static unsigned int
unmask(uint8_t *pkt, size_t pn_offset, uint8_t first_bits, const uint8_t mask[5], uint64_t *pn)
{
	unsigned int pn_len;

	pkt[0] ^= mask[0] & first_bits;
	pn_len = (pkt[0] & 3u) + 1;
	*pn = 0;
	for (unsigned int i = 0; i < pn_len; i++) {
		pkt[pn_offset + i] ^= mask[1 + i];
		*pn = *pn << 8 | pkt[pn_offset + i];
	}
	return pn_len;
}

uint8_t *
packet_open(struct ps_quic *q, struct ps_pkt_key *k, uint64_t next, uint8_t *pkt,
	const struct ps_pkt_hdr *h, uint64_t *pn, size_t *text_len)
{
	const uint8_t *sample = pkt + h->pn_offset + 4;
	const struct ps_pkt_key *key = k;
	uint8_t mask[1][5];
	size_t aad_len;

	ps_hp_masks(q->protect_long, &key, &sample, mask, 1);
	aad_len = h->pn_offset + unmask(pkt, h->pn_offset, 0x0f, mask[0], pn);
	*pn = ps_pn_decode(next, *pn, (pkt[0] & 3u) + 1);
	*text_len = h->size - aad_len - PS_AEAD_TAG;
	if (!ps_open(q->protect_long, k, *pn, pkt, aad_len, *text_len))
		return NULL;
	return pkt + aad_len;
}

/* A long-header packet of a connection we know. */
static void
long_receive(struct ps_quic *q, struct conn *c, struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	uint8_t *pkt, uint64_t now_ns)
{
	struct handshake *hs = conn_handshake(q, c);
	enum ps_level level = h->type == PS_PKT_INITIAL ? PS_LEVEL_INITIAL : PS_LEVEL_HANDSHAKE;
	struct space *s;
	uint8_t *text;
	size_t len;
	uint64_t pn;

	if (hs == NULL || (level == PS_LEVEL_INITIAL ? hs->initial_gone : !hs->handshake_keys)) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_KEY);
		return;
	}
	if (q->cfg.server && level == PS_LEVEL_INITIAL && dg->len < PS_UDP_PAYLOAD_MIN) {
		ps_drop(q->drops, PS_DROP_QUIC_INITIAL_SMALL);
		return;
	}
	q->packet.dg = dg;
	q->packet.id = 0;
	s = &hs->space[level];
	text = packet_open(q, &hs->rx[level], s->rx_next, pkt, h, &pn, &len);
	if (text == NULL) {
		ps_drop(q->drops, PS_DROP_QUIC_DECRYPT);
		return;
	}
	packet_verified(q, c, level, h, pkt, pn, text, len, now_ns);
	/* at once: the next packet of this datagram may need the keys that come out of it */
	if (c->handshake != NONE)
		handshake_input(q, c, now_ns);
}

void
packet_verified(struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_pkt_hdr *h,
	const uint8_t *pkt, uint64_t pn, const uint8_t *text, size_t len, uint64_t now_ns)
{
	struct space *s = conn_space(q, c, level);

	if (ps_ranges_contains(&s->rx, pn)) {
		ps_drop(q->drops, PS_DROP_QUIC_DUPLICATE);
		return;
	}
	q->stats.packets_rx++;
	if (c->state == CONN_CLOSING || c->state == CONN_DRAINING) {
		conn_closing_rx(q, c);
		return;
	}
	if ((pkt[0] & (level == PS_LEVEL_APP ? 0x18 : 0x0c)) != 0) { /* RFC 9000 section 17.2 */
		conn_close(q, c, false, PS_QUIC_PROTOCOL_VIOLATION, 0, "reserved bits", now_ns);
		return;
	}
	if (level != PS_LEVEL_APP && !handshake_packet(q, c, level, h))
		return;
	frames_receive(q, c, h->type, pn, text, len, now_ns);
}

static void
version_reply(struct ps_quic *q, const struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	uint64_t now_ns)
{
	struct reply *r;
	uint8_t random;

	ps_drop(q->drops, PS_DROP_QUIC_VERSION);
	/* RFC 9000 section 6.1; not often, so that Retry has the room for answers */
	if (!q->cfg.server || dg->len < PS_UDP_PAYLOAD_MIN || now_ns < q->version_due_ns)
		return;
	r = reply_alloc(q, dg);
	if (r == NULL)
		return;
	ps_protect_random(q->protect, &random, 1);
	r->len = (uint16_t)ps_pkt_vn_put(
		r->bytes, sizeof(r->bytes), h->scid, h->scid_len, h->dcid, h->dcid_len, random);
	q->stats.version_tx++;
	q->version_due_ns = now_ns + VERSION_INTERVAL_NS;
}

/* A stateless reset has no id of ours in it: the server's address and the token tell whose it is. A
 * client has few connections. */
static void
client_reset(struct ps_quic *q, const struct ps_datagram *dg, uint64_t now_ns)
{
	for (uint32_t i = 0; i < q->limits.conns; i++) {
		struct conn *c = &q->conns[i];

		if (c->state == CONN_ESTABLISHED && same_path(c, dg) &&
			reset_received(c, dg->data, dg->len))
			conn_reset(q, c, now_ns);
	}
}

/* A short-header packet: it waits for the rest of the burst, and what its connection holds is on
 * its way meanwhile. */
static void
short_arrived(struct ps_quic *q, struct burst *b, struct ps_datagram *dg, uint8_t *pkt, size_t size,
	uint64_t now_ns)
{
	struct short_packet *s = &b->p[b->n];
	struct ps_cid_parts parts;
	bool passed;

	s->c = cid_place(q, dg, pkt + 1, &parts, &passed);
	if (passed)
		return;
	if (s->c == NULL) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_CONN);
		if (!q->cfg.server)
			client_reset(q, dg, now_ns);
		return;
	}
	for (size_t i = 0; i < CONN_HOT_BYTES; i += 64)
		__builtin_prefetch((const char *)s->c + i);
	s->generation = parts.generation;
	s->id = parts.nonce;
	s->dg = dg;
	s->pkt = pkt;
	s->size = (uint16_t)size;
	b->n++;
}

/* The connection of a long-header packet; NULL when it has none (yet), or was passed on. */
static struct conn *
long_find(struct ps_quic *q, struct ps_datagram *dg, const struct ps_pkt_hdr *h, bool *passed)
{
	struct ps_cid_parts parts;
	struct conn *c = NULL;
	struct handshake *hs;

	*passed = false;
	if (h->dcid_len == PS_OUR_CID_LEN)
		c = cid_place(q, dg, h->dcid, &parts, passed);
	if (*passed || (c != NULL && cid_live(c, parts.generation, parts.nonce)))
		return c;
	hs = handshake_find(q, &dg->flow, h->dcid, h->dcid_len);
	return hs == NULL ? NULL : &q->conns[hs->conn];
}

/* An Initial of no connection. It waits until the established ones are served; one admission, and
 * one answer, per datagram: RFC 9000 section 17.2.5.1. */
static bool
long_unknown(struct ps_quic *q, struct burst *b, struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	uint8_t *pkt, uint64_t now_ns)
{
	struct conn *c;

	if (h->type != PS_PKT_INITIAL || !q->cfg.server || pkt != dg->data) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_CONN);
		return false;
	}
	if (!b->established_served) {
		b->late[b->n_late++] = (struct late){dg, *h};
		return false;
	}
	c = initial_receive(q, dg, h, pkt, now_ns);
	if (c != NULL)
		touch(b, c);
	return c != NULL;
}

/* One packet of a datagram. Returns false when the rest of the datagram is not to be looked at. */
static bool
packet_dispatch(struct ps_quic *q, struct burst *b, struct ps_datagram *dg, struct ps_pkt_hdr *h,
	uint8_t *pkt, uint64_t now_ns)
{
	struct conn *c;
	bool passed;

	switch (h->type) {
	case PS_PKT_1RTT:
		short_arrived(q, b, dg, pkt, h->size, now_ns);
		return true;
	case PS_PKT_OTHER_VERSION:
		version_reply(q, dg, h, now_ns);
		return false;
	case PS_PKT_0RTT:
		ps_drop(q->drops, PS_DROP_QUIC_TYPE);
		return true;
	case PS_PKT_RETRY:
	case PS_PKT_VERSION_NEGOTIATION:
		if (q->cfg.server) {
			ps_drop(q->drops, PS_DROP_QUIC_TYPE);
			return false;
		}
		break;
	default:
		break;
	}
	c = long_find(q, dg, h, &passed);
	if (passed)
		return false;
	if (c == NULL)
		return long_unknown(q, b, dg, h, pkt, now_ns);
	if (!same_path(c, dg)) {
		/* A client that moved before HANDSHAKE_DONE reached it repeats its Finished, whose
		 * keys are gone. It is asked to prove the new address; nothing else follows. */
		if (q->cfg.server && c->state == CONN_ESTABLISHED && !c->done_acked)
			path_seen(q, c, dg, true, now_ns);
		ps_drop(q->drops, PS_DROP_QUIC_PATH);
		return true;
	}
	touch(b, c);
	if (pkt == dg->data && c->handshake != NONE)
		q->handshakes[c->handshake].rx_bytes += dg->len;
	if (h->type == PS_PKT_RETRY || h->type == PS_PKT_VERSION_NEGOTIATION)
		client_answered(q, c, h, pkt, now_ns);
	else
		long_receive(q, c, dg, h, pkt, now_ns);
	return true;
}

/* RFC 9000 section 12.2: the coalesced packets from p on, all with the id of the first, which has a
 * long header when there are several. Long headers are done at once, so that a Finished is seen
 * before the 1-RTT packets that came with it. */
static void
packets_receive(
	struct ps_quic *q, struct burst *b, struct ps_datagram *dg, uint8_t *p, uint64_t now_ns)
{
	const uint8_t *end = dg->data + dg->len, *first = dg->data + 5;
	struct ps_pkt_hdr h;

	for (; p < end; p += h.size) {
		enum ps_drop why = ps_pkt_hdr_parse(&h, p, (size_t)(end - p), PS_OUR_CID_LEN);

		if (why != PS_DROP_COUNT) {
			ps_drop(q->drops, why);
			return;
		}
		if (p != dg->data &&
			(h.dcid_len != first[0] || memcmp(h.dcid, first + 1, first[0]) != 0))
			return;
		if (!packet_dispatch(q, b, dg, &h, p, now_ns))
			return;
	}
}

static void
datagram_receive(struct ps_quic *q, struct burst *b, struct ps_datagram *dg, uint64_t now_ns)
{
	if (dg->len == 0 || dg->len > PS_UDP_PAYLOAD_MAX)
		ps_drop(q->drops, dg->len == 0 ? PS_DROP_QUIC_SHORT : PS_DROP_QUIC_OVERSIZED);
	else if ((dg->data[0] & 0xc0) == 0x40 && dg->len >= SHORT_MIN_BYTES) /* the common case */
		short_arrived(q, b, dg, dg->data, dg->len, now_ns);
	else
		packets_receive(q, b, dg, dg->data, now_ns);
}

/* An Initial that had to wait, and what is coalesced with it. It may have a connection by now if
 * another one of the burst began it. */
static void
late_receive(struct ps_quic *q, struct burst *b, struct late *l, uint64_t now_ns)
{
	struct conn *c;

	if (b->begun) {
		packets_receive(q, b, l->dg, l->dg->data, now_ns);
		return;
	}
	c = initial_receive(q, l->dg, &l->h, l->dg->data, now_ns);
	if (c == NULL)
		return;
	b->begun = true;
	touch(b, c);
	packets_receive(q, b, l->dg, l->dg->data + l->h.size, now_ns);
}

/* Whether the packet may be looked into. Asked when all of the burst has arrived: long headers
 * among it may have ended its connection, or brought its keys. */
static bool
short_admit(struct ps_quic *q, struct burst *b, struct short_packet *s, uint64_t now_ns)
{
	struct conn *c = s->c;

	if (!cid_live(c, s->generation, s->id)) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_CONN);
		reset_reply(q, s->dg, s->pkt + 1, now_ns);
		return false;
	}
	/* only a server's peer may turn up elsewhere, and only once it is established */
	s->other_path = !same_path(c, s->dg);
	if (s->other_path && (!q->cfg.server || c->state != CONN_ESTABLISHED)) {
		ps_drop(q->drops, PS_DROP_QUIC_PATH);
		return false;
	}
	if (c->handshake != NONE) {
		touch(b, c);
		if (s->pkt == s->dg->data)
			q->handshakes[c->handshake].rx_bytes += s->dg->len;
	}
	if (!c->keys) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_KEY);
		return false;
	}
	__builtin_prefetch(&c->done[c->done_base % DONE_BITS / 64]);
	__builtin_prefetch(&c->peer);
	return true;
}

static void
short_select(struct ps_quic *q, struct burst *b, uint64_t now_ns)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < b->n; i++)
		if (short_admit(q, b, &b->p[i], now_ns) && n++ != i)
			b->p[n - 1] = b->p[i];
	b->n = n;
}

static void
short_unprotect(struct ps_quic *q, struct burst *b)
{
	const struct ps_pkt_key *keys[PS_QUIC_BURST];
	const uint8_t *samples[PS_QUIC_BURST];
	uint8_t masks[PS_QUIC_BURST][5];
	const size_t pn_offset = 1 + PS_OUR_CID_LEN;

	for (unsigned int i = 0; i < b->n; i++) {
		keys[i] = &b->p[i].c->rx;
		samples[i] = b->p[i].pkt + pn_offset + 4;
	}
	ps_hp_masks(q->protect, keys, samples, masks, b->n);
	for (unsigned int i = 0; i < b->n; i++) {
		struct short_packet *s = &b->p[i];
		unsigned int pn_len = unmask(s->pkt, pn_offset, 0x1f, masks[i], &s->pn);

		s->aad_len = (uint16_t)(pn_offset + pn_len);
		s->pn = ps_pn_decode(s->c->app.rx_next, s->pn, pn_len);
	}
}

#define PREFETCH_AHEAD 6

static void
not_verified(struct ps_quic *q, struct short_packet *s, uint64_t now_ns)
{
	struct conn *c = s->c;
	uint64_t forged_max =
		c->rx.suite == PS_CHACHA20_POLY1305_SHA256 ? FORGED_MAX_CHACHA : FORGED_MAX_GCM;

	ps_drop(q->drops, PS_DROP_QUIC_DECRYPT);
	if (reset_received(c, s->dg->data, s->dg->len))
		conn_reset(q, c, now_ns);
	else if (++c->forged >= forged_max) /* RFC 9001 section 6.6 */
		conn_close(q, c, false, PS_QUIC_AEAD_LIMIT_REACHED, 0, "", now_ns);
}

static void
short_open(struct ps_quic *q, struct burst *b, struct short_packet *s, uint64_t now_ns)
{
	static const struct ps_pkt_hdr h = {.type = PS_PKT_1RTT};
	size_t len = s->size - s->aad_len - PS_AEAD_TAG;
	const uint8_t *text = s->pkt + s->aad_len;
	struct conn *c = s->c;
	bool act = true;

	if (!keys_open(q, c, s->pn, s->pkt, s->aad_len, len, now_ns)) {
		touch(b, c);
		not_verified(q, s, now_ns);
		return;
	}
	q->packet.dg = s->dg;
	q->packet.id = s->id;
	if (s->other_path) {
		touch(b, c);
		path_seen(q, c, s->dg, s->pn >= c->app.rx_next, now_ns);
	} else if (s->pn >= c->app.rx_next) { /* not one that someone sends again */
		c->link = s->dg->link;
	}
	if (!whole_receive(q, c, s->pkt, s->pn, text, len, now_ns, &act))
		packet_verified(q, c, PS_LEVEL_APP, &h, s->pkt, s->pn, text, len, now_ns);
	if (act)
		touch(b, c);
}

static void
key_fetch(const struct ps_quic *q, const struct short_packet *s)
{
	ps_key_prefetch(q->protect, &s->c->rx, s->size);
}

static void
short_receive(struct ps_quic *q, struct burst *b, uint64_t now_ns)
{
	for (unsigned int i = 0; i < b->n && i < PREFETCH_AHEAD; i++)
		key_fetch(q, &b->p[i]);
	for (unsigned int i = 0; i < b->n; i++) {
		if (i + PREFETCH_AHEAD < b->n)
			key_fetch(q, &b->p[i + PREFETCH_AHEAD]);
		short_open(q, b, &b->p[i], now_ns);
	}
}

void
ps_quic_rx_burst(struct ps_quic *q, struct ps_datagram *const dg[], unsigned int n, uint64_t now_ns)
{
	struct burst b;

	b.n = b.n_touched = b.n_late = 0;
	b.established_served = b.begun = false;
	q->stats.datagrams_rx += n;
	for (unsigned int i = 0; i < n; i++)
		datagram_receive(q, &b, dg[i], now_ns);
	short_select(q, &b, now_ns);
	if (b.n > 0) {
		short_unprotect(q, &b);
		short_receive(q, &b, now_ns);
	}
	b.established_served = true;
	for (unsigned int i = 0; i < b.n_late; i++)
		late_receive(q, &b, &b.late[i], now_ns);
	for (unsigned int i = 0; i < b.n_touched; i++) {
		struct conn *c = b.touched[i];

		c->touched = false;
		if (c->state == CONN_FREE)
			continue;
		if (conn_wants_tx(q, c, now_ns))
			conn_ready(q, c);
		conn_rearm(q, c);
	}
}
