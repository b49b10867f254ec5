/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What to do with an Initial that belongs to no connection (server role). Nothing is kept for a
 * client until its packet verified, and with Retry on not before its address did. */

#include "engine.h"

/* Retry goes on by itself at a quarter of the half-open pool or of the handshakes begun per second,
 * and off when both stayed below an eighth for a second. */
#define AUTO_ON      4
#define AUTO_OFF     8
#define CALM_NS      PS_SEC_NS
#define SOURCE_BURST 4 /* minutes of a source's rate that it may save up */
/* An Initial that is under way for longer than this makes a half-open connection that ends by its
 * deadline. */
#define LATE_NS (5 * PS_SEC_NS)

static void
count_second(struct ps_quic *q, uint64_t now_ns)
{
	if (now_ns - q->admission.second_ns < PS_SEC_NS)
		return;
	q->admission.second_ns = now_ns;
	q->admission.begun = 0;
}

void
retry_update(struct ps_quic *q, uint64_t now_ns)
{
	uint64_t half_open = q->stats.half_open, begun, rate = q->cfg.handshakes_per_s;

	if (q->cfg.retry != PS_RETRY_AUTO) {
		q->stats.retry_on = q->cfg.retry == PS_RETRY_ALWAYS;
		return;
	}
	count_second(q, now_ns);
	begun = q->admission.begun;
	if (half_open * AUTO_ON >= q->limits.handshakes || (rate != 0 && begun * AUTO_ON >= rate))
		q->stats.retry_on = 1;
	if (half_open * AUTO_OFF >= q->limits.handshakes || (rate != 0 && begun * AUTO_OFF >= rate))
		q->admission.calm_ns = now_ns;
	if (now_ns - q->admission.calm_ns >= CALM_NS)
		q->stats.retry_on = 0;
}

static bool
begin_allowed(struct ps_quic *q, uint64_t now_ns)
{
	count_second(q, now_ns);
	return q->cfg.handshakes_per_s == 0 || q->admission.begun++ < q->cfg.handshakes_per_s;
}

bool
source_take(struct ps_quic *q, uint32_t addr_be, uint64_t now_ns)
{
	uint64_t h = (addr_be ^ q->hash_key[1]) * 0x9e3779b97f4a7c15u, earned;
	typeof(&q->admission.source[0]) s = &q->admission.source[(h >> 32) % SOURCES];
	uint64_t full = min_u64((uint64_t)q->cfg.source_per_min * SOURCE_BURST, UINT32_MAX);
	uint64_t token_ns;

	if (q->cfg.source_per_min == 0)
		return true;
	token_ns = 60 * PS_SEC_NS / q->cfg.source_per_min;
	if (s->addr_be != addr_be) {
		s->addr_be = addr_be;
		s->tokens = full;
		s->at_ns = now_ns;
	}
	/* paid out in whole tokens: what is left of the time counts for the next one */
	earned = (now_ns - s->at_ns) / token_ns;
	s->at_ns += earned * token_ns;
	s->tokens = (uint32_t)min_u64(s->tokens + earned, full);
	if (s->tokens == 0)
		return false;
	s->tokens--;
	return true;
}

void
initial_done(struct ps_quic *q, uint64_t hash, uint64_t now_ns)
{
	typeof(&q->admission.done[0]) d = &q->admission.done[hash % DONE_HANDSHAKES];

	d->hash = hash;
	d->until_ns = now_ns + LATE_NS;
}

/* A copy, or a repetition, from a handshake that both ends have behind them. */
static bool
late(const struct ps_quic *q, const struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	uint64_t now_ns)
{
	uint64_t hash = half_open_hash(q, &dg->flow, h->dcid, h->dcid_len);
	typeof(&q->admission.done[0]) d = &q->admission.done[hash % DONE_HANDSHAKES];

	return d->hash == hash && now_ns < d->until_ns;
}

/* In place: an id that is copied right after it was written waits for its bytes to arrive. */
static void
cid_set(struct ps_cid *c, const uint8_t *id, size_t len)
{
	c->len = (uint8_t)len;
	memcpy(c->id, id, len);
}

static void
send_retry(struct ps_quic *q, const struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	uint64_t now_ns)
{
	struct ps_cid odcid, peer, scid = {.len = PS_OUR_CID_LEN};
	uint8_t token[PS_TOKEN_BYTES], random[32]; /* id, nonce, four bits; whole blocks */
	struct reply *r = reply_alloc(q, dg);
	size_t n;

	if (r == NULL)
		return;
	cid_set(&odcid, h->dcid, h->dcid_len);
	cid_set(&peer, h->scid, h->scid_len);
	ps_protect_random(q->protect_long, random, sizeof(random));
	memcpy(scid.id, random, PS_OUR_CID_LEN);
	ps_token_make(q->protect_long, PS_TOKEN_RETRY, token, random + PS_OUR_CID_LEN, &dg->flow,
		&odcid, &scid, now_ns);
	n = ps_pkt_retry_put(
		r->bytes, &peer, &scid, token, sizeof(token), random[sizeof(random) - 1]);
	ps_retry_tag(q->protect_long, &odcid, r->bytes, n, r->bytes + n);
	r->len = (uint16_t)(n + PS_AEAD_TAG);
	q->stats.retries_tx++;
	ps_drop(q->drops, PS_DROP_QUIC_RETRIED);
}

/* An Initial that carries only CONNECTION_CLOSE, for a client that gets no state here. */
static void
send_close(struct ps_quic *q, const struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	struct ps_pkt_key *key, uint64_t error)
{
	struct ps_cid peer, scid = {.len = PS_OUR_CID_LEN};
	struct reply *r = reply_alloc(q, dg);
	size_t hdr, n, length_at;

	if (r == NULL)
		return;
	cid_set(&peer, h->scid, h->scid_len);
	ps_protect_random(q->protect_long, scid.id, scid.len);
	hdr = ps_pkt_long_put(r->bytes, PS_PKT_INITIAL, &peer, &scid, NULL, 0, 0, 1, &length_at);
	n = ps_frame_close_put(r->bytes + hdr, REPLY_BYTES - hdr - PS_AEAD_TAG, false, error,
		PS_FRAME_PADDING, "");
	ps_pkt_long_finish(r->bytes, length_at, 1, n);
	ps_seal(q->protect_long, key, 0, r->bytes, hdr, 1, n);
	r->len = (uint16_t)(hdr + n + PS_AEAD_TAG);
}

static struct conn *
new_half_open(struct ps_quic *q, const struct ps_datagram *dg, const struct ps_pkt_hdr *h,
	const struct ps_cid *odcid, enum ps_token_kind token, uint64_t now_ns)
{
	struct conn *c = conn_alloc(q);
	struct handshake *hs;

	if (c == NULL)
		return NULL;
	hs = handshake_alloc(q, c, now_ns);
	if (hs == NULL) {
		conn_free(q, c);
		return NULL;
	}
	c->flow = ps_flow4_reverse(dg->flow);
	c->link = dg->link;
	c->peer.addr_be = dg->flow.saddr_be;
	c->peer.port_be = dg->flow.sport_be;
	cid_set(&c->peer_cid, h->scid, h->scid_len);
	hs->odcid = *odcid;
	cid_set(&hs->initial_dcid, h->dcid, h->dcid_len);
	hs->retried = token == PS_TOKEN_RETRY;
	hs->validated = token != 0;
	q->stats.tokens_used += token == PS_TOKEN_NEW;
	hs->rx_bytes = dg->len;
	if (!handshake_begin_tls(q, c, hs)) {
		handshake_undo(q, c);
		return NULL;
	}
	handshake_file(q, hs, &dg->flow);
	q->stats.handshakes_started++;
	return c;
}

/* What an Initial says about who sent it. */
struct claim {
	struct ps_cid dcid, odcid;
	enum ps_token_kind token; /* 0: none that holds */
	bool forged;              /* a Retry token that we did not make for it, or too old */
};

/* Before anything is decrypted; false when it was dropped or answered. */
static bool
admit(struct ps_quic *q, const struct ps_datagram *dg, const struct ps_pkt_hdr *h, struct claim *k,
	uint64_t now_ns)
{
	if (dg->len < PS_UDP_PAYLOAD_MIN || h->dcid_len < 8) { /* RFC 9000 sections 14.1, 7.2 */
		ps_drop(q->drops, dg->len < PS_UDP_PAYLOAD_MIN ? PS_DROP_QUIC_INITIAL_SMALL
							       : PS_DROP_QUIC_CID_LENGTH);
		return false;
	}
	if (late(q, dg, h, now_ns)) {
		ps_drop(q->drops, PS_DROP_QUIC_NO_KEY); /* they are discarded */
		return false;
	}
	cid_set(&k->dcid, h->dcid, h->dcid_len);
	k->token = ps_token_claims(h->token, h->token_len);
	k->forged = false;
	if (k->token != 0 && !ps_token_check(q->protect_long, h->token, h->token_len, &dg->flow,
				     &k->dcid, now_ns, &k->odcid)) {
		/* section 8.1.3: what is no Retry token is as good as none */
		k->forged = k->token == PS_TOKEN_RETRY;
		k->token = 0;
	}
	retry_update(q, now_ns);
	if (k->token == 0 && !k->forged && q->stats.retry_on) {
		send_retry(q, dg, h, now_ns);
		return false;
	}
	if (!k->forged && !begin_allowed(q, now_ns)) {
		ps_drop(q->drops, PS_DROP_QUIC_RATE);
		q->stats.rate_limited++;
		return false;
	}
	if (k->token != PS_TOKEN_RETRY)
		k->odcid = k->dcid;
	return true;
}

/* Keys of the Initial level are not wiped: everybody who sees the packet can make them. */
struct conn *
initial_receive(struct ps_quic *q, struct ps_datagram *dg, const struct ps_pkt_hdr *h, uint8_t *pkt,
	uint64_t now_ns)
{
	struct ps_pkt_key rx, tx;
	struct claim k;
	struct conn *c;
	uint8_t *text;
	size_t len;
	uint64_t pn;

	if (!admit(q, dg, h, &k, now_ns))
		return NULL;
	ps_initial_keys(&rx, &tx, k.dcid.id, k.dcid.len);
	text = packet_open(q, &rx, 0, pkt, h, &pn, &len);
	if (text == NULL) {
		ps_drop(q->drops, PS_DROP_QUIC_DECRYPT);
		return NULL;
	}
	if (k.forged) { /* section 8.1.2 */
		ps_drop(q->drops, PS_DROP_QUIC_TOKEN);
		send_close(q, dg, h, &tx, PS_QUIC_INVALID_TOKEN);
		return NULL;
	}
	c = new_half_open(q, dg, h, &k.odcid, k.token, now_ns);
	if (c == NULL) {
		ps_drop(q->drops, PS_DROP_QUIC_HS_FULL);
		q->stats.refused++;
		send_close(q, dg, h, &tx, PS_QUIC_CONNECTION_REFUSED);
		return NULL;
	}
	q->handshakes[c->handshake].rx[PS_LEVEL_INITIAL] = rx;
	q->handshakes[c->handshake].tx[PS_LEVEL_INITIAL] = tx;
	q->packet.dg = dg;
	q->packet.id = 0;
	packet_verified(q, c, PS_LEVEL_INITIAL, h, pkt, pn, text, len, now_ns);
	handshake_input(q, c, now_ns);
	return c;
}
