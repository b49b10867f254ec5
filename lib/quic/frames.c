/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "engine.h"

/* Parses a whole packet into q->frames; PADDING and PING leave no entry. Returns how many, or -1
 * after closing the connection. */
static int
parse_all(struct ps_quic *q, struct conn *c, enum ps_pkt_type type, const uint8_t *text, size_t len,
	bool *eliciting, uint64_t now_ns)
{
	const uint8_t *p = text, *end = text + len;
	int n = 0;

	*eliciting = false;
	if (len == 0) { /* RFC 9000 section 12.4 */
		conn_close(q, c, false, PS_QUIC_PROTOCOL_VIOLATION, 0, "no frames", now_ns);
		return -1;
	}
	while (p < end) {
		struct ps_frame *f = &q->frames[n];
		const uint8_t *start = p;
		uint64_t error = ps_frame_parse(f, type, &p, end), frame_type;

		if (error != 0) {
			if (ps_varint_get(start, end, &frame_type) == 0)
				frame_type = PS_FRAME_PADDING; /* unknown: it is cut short */
			conn_close(q, c, false, error, frame_type, "", now_ns);
			return -1;
		}
		if (f->type == PS_FRAME_PADDING)
			continue;
		*eliciting |= f->type != PS_FRAME_ACK && f->type != PS_FRAME_ACK_ECN &&
			      f->type != PS_FRAME_CONNECTION_CLOSE &&
			      f->type != PS_FRAME_CONNECTION_CLOSE_APP;
		if (f->type == PS_FRAME_PING)
			continue;
		if (++n == FRAMES_MAX) { /* only one-byte HANDSHAKE_DONEs are that many */
			conn_close(q, c, false, PS_QUIC_PROTOCOL_VIOLATION, f->type, "too many",
				now_ns);
			return -1;
		}
	}
	return n;
}

/* Rules that need the role or the state, before anything is applied. */
static bool
check_all(struct ps_quic *q, struct conn *c, int n, uint64_t now_ns)
{
	for (int i = 0; i < n; i++) {
		const struct ps_frame *f = &q->frames[i];

		/* RFC 9000 sections 19.7 and 19.20 */
		if (q->cfg.server &&
			(f->type == PS_FRAME_NEW_TOKEN || f->type == PS_FRAME_HANDSHAKE_DONE)) {
			conn_close(q, c, false, PS_QUIC_PROTOCOL_VIOLATION, f->type, "", now_ns);
			return false;
		}
		if (!streams_check(q, c, f, now_ns))
			return false;
	}
	return true;
}

static enum ps_level
level_of(enum ps_pkt_type type)
{
	return type == PS_PKT_INITIAL     ? PS_LEVEL_INITIAL
	       : type == PS_PKT_HANDSHAKE ? PS_LEVEL_HANDSHAKE
					  : PS_LEVEL_APP;
}

static void
apply(struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_frame *f,
	uint64_t now_ns)
{
	uint64_t error = 0;

	switch ((enum ps_frame_type)f->type) {
	case PS_FRAME_STREAM:
		stream_data(q, c, f, now_ns);
		break;
	case PS_FRAME_ACK:
	case PS_FRAME_ACK_ECN:
		if (!ack_receive(q, c, level, f, now_ns)) /* RFC 9000 section 13.1 */
			conn_close(q, c, false, PS_QUIC_PROTOCOL_VIOLATION, f->type,
				"acknowledges what was not sent", now_ns);
		break;
	case PS_FRAME_CRYPTO:
		crypto_receive(q, c, level, f, now_ns);
		break;
	case PS_FRAME_RESET_STREAM:
		stream_reset(q, c, f, now_ns);
		break;
	case PS_FRAME_STOP_SENDING:
		send_stopped(q, c, f->reset.id, f->reset.error);
		break;
	case PS_FRAME_MAX_DATA:
		c->send.max_data = max_u64(c->send.max_data, f->limit.max);
		break;
	case PS_FRAME_MAX_STREAMS_UNI:
		c->send.max_streams = max_u64(c->send.max_streams, f->limit.max);
		break;
	case PS_FRAME_HANDSHAKE_DONE:
		handshake_confirm(q, c);
		break;
	case PS_FRAME_NEW_CONNECTION_ID:
		error = ids_received(c, f);
		break;
	case PS_FRAME_RETIRE_CONNECTION_ID:
		error = ids_retired(c, f->ncid.seq, q->packet.id);
		break;
	case PS_FRAME_PATH_CHALLENGE:
		path_challenged(q, c, f);
		break;
	case PS_FRAME_PATH_RESPONSE:
		path_response(q, c, f);
		break;
	case PS_FRAME_CONNECTION_CLOSE:
	case PS_FRAME_CONNECTION_CLOSE_APP:
		conn_peer_closed(q, c, f, now_ns);
		break;
	default: /* valid, and nothing follows from it here */
		break;
	}
	if (error != 0)
		conn_close(q, c, false, error, f->type, "", now_ns);
}

void
packet_count(struct ps_quic *q, struct conn *c, enum ps_level level, uint64_t pn, bool eliciting,
	uint64_t now_ns)
{
	struct space *s = conn_space(q, c, level);
	bool in_order = pn == s->rx_next;
	uint8_t ecn = q->packet.dg->ecn & 3;

	ps_ranges_add(&s->rx, pn);
	q->stats.ecn_ce += ecn == 3;
	if (ecn != 0) /* RFC 3168: 2 is ECT(0), 1 is ECT(1), 3 is CE */
		s->rx_ecn[ecn == 2 ? 0 : ecn == 1 ? 1 : 2]++;
	if (pn >= s->rx_next) {
		s->rx_next = pn + 1;
		s->rx_largest_ns = now_ns;
	}
	c->idle_from_ns = now_ns;
	if (!eliciting)
		return;
	s->unacked_eliciting++;
	if (level == PS_LEVEL_APP)
		ack_owe(q, c, !in_order || ecn == 3, now_ns); /* RFC 9000 section 13.2.1 */
	else
		s->ack_due_ns = now_ns;
}

/* A peer pays for frames that move nothing, and for packets without frames worth keeping; what it
 * spent comes back slowly. No client that has anything to send comes near the end of it: it may put
 * an ACK beside what moves something, news or not (RFC 9000 section 13.2.1). */
static void
charge(struct ps_quic *q, struct conn *c, uint32_t n, bool ack, uint64_t now_ns)
{
	const uint64_t frame_ns = PS_SEC_NS / BUDGET_PER_S;
	uint32_t moved = q->packet.progress + (ack && q->packet.progress > 0);
	uint32_t cost = n > moved ? n - moved : n == 0;
	uint64_t earned = (now_ns - c->budget_ns) / frame_ns;

	if (cost == 0 || c->state > CONN_ESTABLISHED)
		return;
	/* paid out in whole frames: what is left of the time counts for the next one */
	c->budget_ns += earned * frame_ns;
	c->budget = (uint32_t)min_u64(c->budget + earned, BUDGET_FULL);
	if (cost > c->budget) {
		q->stats.closed_no_progress++;
		conn_close(q, c, false, PS_QUIC_PROTOCOL_VIOLATION, 0, "no progress", now_ns);
		return;
	}
	c->budget -= cost;
}

void
frames_receive(struct ps_quic *q, struct conn *c, enum ps_pkt_type type, uint64_t pn,
	const uint8_t *text, size_t len, uint64_t now_ns)
{
	enum ps_level level = level_of(type);
	bool eliciting, ack = false;
	int n = parse_all(q, c, type, text, len, &eliciting, now_ns);

	if (n < 0 || !check_all(q, c, n, now_ns))
		return;
	if (level == PS_LEVEL_APP && !streams_reserve(q, c, (unsigned int)n)) {
		ps_drop(q->drops, PS_DROP_QUIC_SINK_FULL);
		return;
	}
	/* Committed from here on. Counted before the frames: one of them may end the level. */
	q->packet.progress = 0;
	packet_count(q, c, level, pn, eliciting, now_ns);
	for (int i = 0; i < n && c->state <= CONN_ESTABLISHED; i++) {
		ack |= q->frames[i].type == PS_FRAME_ACK || q->frames[i].type == PS_FRAME_ACK_ECN;
		apply(q, c, level, &q->frames[i], now_ns);
	}
	if (q->cfg.server && level == PS_LEVEL_INITIAL && eliciting && q->packet.progress == 0)
		loss_hurry(q, c, now_ns);
	charge(q, c, (uint32_t)n, ack, now_ns);
}
