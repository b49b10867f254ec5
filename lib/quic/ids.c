/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Connection ids after the handshake: RFC 9000 sections 5.1, 10.3, 19.15 and 19.16. */

#include "engine.h"

#define RESET_MIN_BYTES   21 /* section 10.3 */
#define RESET_MAX_BYTES   42
#define RESET_INTERVAL_NS PS_MS_NS /* between two, to whomever */

static void
our_id(const struct ps_quic *q, const struct conn *c, uint32_t seq, uint8_t cid[PS_OUR_CID_LEN])
{
	struct ps_cid_parts parts = {.worker = q->cfg.worker,
		.slot = c->slot,
		.generation = c->generation,
		.nonce = seq};

	ps_cid_make(q->protect, &parts, cid);
}

void
ids_start(struct ps_quic *q, struct conn *c)
{
	for (unsigned int i = 0; i < OUR_IDS; i++)
		c->our_ids[i] = NONE;
	c->our_ids[0] = 0;
	c->ids.our_next = 1;
	c->our_cid.len = PS_OUR_CID_LEN;
	our_id(q, c, 0, c->our_cid.id);
}

bool
ids_live(const struct conn *c, uint32_t seq)
{
	for (unsigned int i = 0; i < OUR_IDS; i++)
		if (c->our_ids[i] == seq)
			return true;
	return false;
}

/* The handshake is over: as many ids as the peer keeps, section 5.1.1. */
void
ids_announce(struct conn *c)
{
	for (unsigned int i = 1; i < OUR_IDS && i < c->ids.peer_limit; i++) {
		c->our_ids[i] = c->ids.our_next++;
		c->ids.announce |= 1u << i;
	}
}

size_t
ids_frame(struct ps_quic *q, struct conn *c, uint8_t *p, size_t cap, struct sent *e)
{
	uint8_t cid[PS_OUR_CID_LEN], token[16];
	unsigned int i;
	size_t n;

	if (c->ids.n_retire > 0) {
		uint64_t seq = c->ids.retire[c->ids.n_retire - 1];

		n = ps_frame_varint_put(p, cap, PS_FRAME_RETIRE_CONNECTION_ID, seq);
		if (n == 0)
			return 0;
		c->ids.n_retire--;
		*e = (struct sent){.kind = SENT_RETIRE, .value = seq};
		return n;
	}
	if (c->ids.announce == 0)
		return 0;
	i = (unsigned int)__builtin_ctz(c->ids.announce);
	our_id(q, c, c->our_ids[i], cid);
	ps_reset_token(q->protect, cid, token);
	n = ps_frame_ncid_put(p, cap, c->our_ids[i], cid, sizeof(cid), token);
	if (n == 0)
		return 0;
	c->ids.announce &= ~(1u << i);
	*e = (struct sent){.kind = SENT_NEW_ID, .value = c->our_ids[i]};
	return n;
}

/* False when so many retirements wait that the peer must be playing, RFC 9000 section 5.1.2. */
static bool
retire(struct conn *c, uint64_t seq)
{
	for (unsigned int i = 0; i < c->ids.n_retire; i++)
		if (c->ids.retire[i] == seq)
			return true;
	if (c->ids.n_retire == RETIRE_MAX)
		return false;
	c->ids.retire[c->ids.n_retire++] = seq;
	return true;
}

void
ids_lost(struct conn *c, const struct sent *e)
{
	if (e->kind == SENT_RETIRE) {
		retire(c, e->value);
		return;
	}
	for (unsigned int i = 0; i < OUR_IDS; i++)
		if (c->our_ids[i] == e->value)
			c->ids.announce |= 1u << i;
}

/* RETIRE_CONNECTION_ID: one new id for the one that goes. */
uint64_t
ids_retired(struct conn *c, uint64_t seq, uint32_t packet_seq)
{
	if (seq >= c->ids.our_next || seq == packet_seq)
		return PS_QUIC_PROTOCOL_VIOLATION;
	for (unsigned int i = 0; i < OUR_IDS; i++)
		if (c->our_ids[i] == seq) {
			c->our_ids[i] = c->ids.our_next++;
			c->ids.announce |= 1u << i;
		}
	return 0;
}

static bool
retire_below(struct conn *c, uint64_t seq)
{
	unsigned int n = 0;
	bool ok = true;

	for (unsigned int i = 0; i < c->ids.n_peer; i++) {
		if (c->ids.peer[i].seq < seq)
			ok = ok && retire(c, c->ids.peer[i].seq);
		else
			c->ids.peer[n++] = c->ids.peer[i];
	}
	c->ids.n_peer = n;
	c->ids.retired_below = seq;
	return ok;
}

/* NEW_CONNECTION_ID, section 19.15. */
uint64_t
ids_received(struct conn *c, const struct ps_frame *f)
{
	struct peer_id id = {.seq = f->ncid.seq, .cid.len = (uint8_t)f->len, .has_token = true};

	if (c->peer_cid.len == 0)
		return PS_QUIC_PROTOCOL_VIOLATION;
	memcpy(id.cid.id, f->data, f->len);
	memcpy(id.reset_token, f->ncid.reset_token, sizeof(id.reset_token));
	for (unsigned int i = 0; i < c->ids.n_peer; i++) {
		bool same = ps_cid_equal(&c->ids.peer[i].cid, &id.cid);

		if (same != (c->ids.peer[i].seq == id.seq))
			return PS_QUIC_PROTOCOL_VIOLATION;
		if (same)
			return 0;
	}
	if (f->ncid.retire_prior_to > c->ids.retired_below &&
		!retire_below(c, f->ncid.retire_prior_to))
		return PS_QUIC_CONNECTION_ID_LIMIT_ERROR;
	if (id.seq < c->ids.retired_below)
		return retire(c, id.seq) ? 0 : PS_QUIC_CONNECTION_ID_LIMIT_ERROR;
	if (c->ids.n_peer == PEER_IDS)
		return PS_QUIC_CONNECTION_ID_LIMIT_ERROR;
	c->ids.peer[c->ids.n_peer++] = id;
	c->peer_cid = c->ids.peer[0].cid;
	return 0;
}

/* Section 10.3: only to ids that we made and that lead nowhere now, always shorter than what it
 * answers, and not often. */
void
reset_reply(struct ps_quic *q, const struct ps_datagram *dg, const uint8_t *cid, uint64_t now_ns)
{
	struct reply *r;
	size_t n;

	if (dg->len <= RESET_MIN_BYTES || now_ns < q->reset_due_ns)
		return;
	r = reply_alloc(q, dg);
	if (r == NULL)
		return;
	n = min_u64(dg->len - 1, RESET_MAX_BYTES);
	ps_protect_random(q->protect_long, r->bytes, n - 16);
	r->bytes[0] = 0x40 | (r->bytes[0] & 0x3f);
	ps_reset_token(q->protect, cid, r->bytes + n - 16);
	r->len = (uint16_t)n;
	q->reset_due_ns = now_ns + RESET_INTERVAL_NS;
	q->stats.resets_tx++;
}

/* A packet that did not verify may end in the token of one of the peer's ids, section 10.3.1. */
bool
reset_received(const struct conn *c, const uint8_t *datagram, size_t len)
{
	bool match = false;

	if (len < RESET_MIN_BYTES)
		return false;
	for (unsigned int i = 0; i < c->ids.n_peer; i++)
		match |= c->ids.peer[i].has_token &&
			 ps_equal(c->ids.peer[i].reset_token, datagram + len - 16, 16);
	return match;
}
