/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* RFC 9002. Paced is what the client role sends of streams; a server has at most sent_packets small
 * frames in flight, less than the initial window that section 7.7 lets go at once. */

#include "engine.h"

#define PACKET_THRESHOLD 3
#define INITIAL_RTT_NS   (333 * PS_MS_NS)
/* A round trip is the peer's to make look long, and idle and closing times are multiples of it. */
#define PTO_MAX_NS    (10 * PS_SEC_NS)
#define PTO_SHIFT_MAX 6                /* back-off stops growing at 64 times */
#define HURRY_NS      (100 * PS_MS_NS) /* between two flights sent again on a client's word */
#define PROBE_FRAMES  8                /* frames of the oldest packets that a probe sends again */

void
space_init(struct space *s, struct sent *ring, uint32_t entries)
{
	memset(s, 0, sizeof(*s));
	ps_ranges_init(&s->rx);
	s->ack_due_ns = PS_NEVER;
	s->loss_due_ns = PS_NEVER;
	s->sent = (struct sent_log){.ring = ring, .mask = entries - 1};
}

void
rtt_init(struct rtt *r)
{
	*r = (struct rtt){.smoothed_ns = INITIAL_RTT_NS,
		.variation_ns = INITIAL_RTT_NS / 2,
		.min_ns = PS_NEVER};
}

/* Section 5.3. */
static void
rtt_sample(struct rtt *r, uint64_t sample_ns, uint64_t ack_delay_ns)
{
	uint64_t adjusted, diff;

	r->latest_ns = sample_ns;
	if (!r->sampled) {
		r->sampled = true;
		r->min_ns = r->smoothed_ns = sample_ns;
		r->variation_ns = sample_ns / 2;
		return;
	}
	r->min_ns = min_u64(r->min_ns, sample_ns);
	adjusted = sample_ns >= r->min_ns + ack_delay_ns ? sample_ns - ack_delay_ns : sample_ns;
	diff = r->smoothed_ns > adjusted ? r->smoothed_ns - adjusted : adjusted - r->smoothed_ns;
	r->variation_ns = (3 * r->variation_ns + diff) / 4;
	r->smoothed_ns = (7 * r->smoothed_ns + adjusted) / 8;
}

uint64_t
pto_ns(const struct conn *c, enum ps_level level)
{
	uint64_t pto = c->rtt.smoothed_ns + max_u64(4 * c->rtt.variation_ns, GRANULARITY_NS) +
		       (level == PS_LEVEL_APP ? c->peer_ack_delay_ns : 0);

	return min_u64(pto, PTO_MAX_NS);
}

static uint64_t
loss_delay_ns(const struct rtt *r)
{
	return max_u64(max_u64(r->latest_ns, r->smoothed_ns) * 9 / 8, GRANULARITY_NS);
}

uint32_t
sent_room(const struct space *s)
{
	return s->sent.mask + 1 - (s->sent.head - s->sent.tail);
}

void
sent_add(struct space *s, const struct sent *e)
{
	s->sent.ring[s->sent.head++ & s->sent.mask] = *e;
}

static void
sent_trim(struct sent_log *l)
{
	while (l->tail != l->head && l->ring[l->tail & l->mask].gone)
		l->tail++;
}

/* The content of a lost (or probed) frame is due again; what was overtaken by a later value is not.
 */
static void
frame_again(struct ps_quic *q, struct conn *c, enum ps_level level, const struct sent *e)
{
	switch ((enum sent_kind)e->kind) {
	case SENT_CRYPTO: {
		struct handshake *hs = conn_handshake(q, c);

		if (hs != NULL && level < PS_LEVEL_APP && e->value < hs->crypto_next[level])
			hs->crypto_next[level] = (uint16_t)e->value;
		break;
	}
	case SENT_STREAM:
	case SENT_RESET:
		send_lost(q, c, e);
		break;
	case SENT_HANDSHAKE_DONE:
		c->send_handshake_done = true;
		break;
	case SENT_MAX_STREAMS:
		c->send_max_streams |= e->value == c->streams_granted;
		break;
	case SENT_MAX_DATA:
		c->send_max_data |= e->value == c->data_granted;
		break;
	case SENT_NEW_ID:
	case SENT_RETIRE:
		ids_lost(c, e);
		break;
	case SENT_NEW_TOKEN:
		c->send_new_token = true;
		break;
	case SENT_STOP:
		stream_stop(q, c, e->value);
		break;
	case SENT_PING:
	case SENT_ACK:
		break;
	}
}

/* A packet leaves flight; counts come from its first frame. */
static void
packet_gone(struct conn *c, struct space *s, const struct sent *e)
{
	if (!e->first)
		return;
	s->in_flight--;
	c->send.bytes_in_flight -= e->bytes;
}

/* Section 7.3.2: one reduction per round trip. */
static void
congestion(struct conn *c, uint64_t lost_pn)
{
	if (lost_pn < c->send.recovery_pn)
		return;
	c->send.recovery_pn = c->app.tx_next;
	c->send.threshold = max_u64(c->send.window / 2, 2 * (uint64_t)c->datagram_bytes);
	c->send.window = c->send.threshold;
}

static void
window_grow(struct conn *c, const struct sent *e)
{
	if (e->bytes == 0 || e->pn < c->send.recovery_pn)
		return;
	if (c->send.window < c->send.threshold)
		c->send.window += e->bytes;
	else
		c->send.window += (uint64_t)c->datagram_bytes * e->bytes / c->send.window;
}

bool
window_open(const struct conn *c)
{
	return c->send.bytes_in_flight + c->datagram_bytes <= c->send.window;
}

/* How long so many bytes take at the rate that we send at: a window in half a round trip while it
 * grows fast, in four fifths of one later, so that the pacer is not what holds it back. */
static uint64_t
pace_cost(const struct conn *c, uint64_t bytes)
{
	uint64_t whole = bytes * c->rtt.smoothed_ns / c->send.window;

	return c->send.window < c->send.threshold ? whole / 2 : whole * 4 / 5;
}

bool
pace_open(const struct conn *c, uint64_t now_ns)
{
	return c->send.pace_ns <= now_ns;
}

uint64_t
pace_due(const struct conn *c)
{
	if (c->send.ready_head == NONE || !window_open(c) || sent_room(&c->app) < 2)
		return PS_NEVER;
	return c->send.pace_ns;
}

/* A leaky bucket, kept as the time when it has run dry again. It holds an initial window, or what
 * the rate lets through from one turn of the timers to the next but one. */
void
pace_sent(struct conn *c, uint32_t bytes, uint64_t now_ns)
{
	uint64_t full = (INITIAL_WINDOW_PACKETS - 1) * (uint64_t)c->datagram_bytes;
	uint64_t burst_ns = max_u64(pace_cost(c, full), 2 * TICK_NS);

	c->send.pace_ns = max_u64(c->send.pace_ns, now_ns - burst_ns) + pace_cost(c, bytes);
}

/* Section 7.6.2: nothing came through for so long that what is known of the path is void. */
static void
persistent_congestion(struct conn *c, uint64_t first_ns, uint64_t last_ns)
{
	if (c->rtt.sampled && last_ns - first_ns > 3 * pto_ns(c, PS_LEVEL_APP))
		c->send.window = 2 * (uint64_t)c->datagram_bytes;
}

/* Section 6.1: by packet threshold and by time threshold. */
static void
detect_lost(struct ps_quic *q, struct conn *c, enum ps_level level, uint64_t now_ns)
{
	struct space *s = conn_space(q, c, level);
	struct sent_log *l = &s->sent;
	uint64_t delay_ns = loss_delay_ns(&c->rtt), first_ns = PS_NEVER, last_ns = 0;
	bool any = false;

	s->loss_due_ns = PS_NEVER;
	for (uint32_t i = l->tail; i != l->head; i++) {
		struct sent *e = &l->ring[i & l->mask];

		if (e->pn >= s->tx_acked)
			break;
		if (e->gone)
			continue;
		if (e->pn + PACKET_THRESHOLD >= s->tx_acked && e->sent_ns + delay_ns > now_ns) {
			s->loss_due_ns = min_u64(s->loss_due_ns, e->sent_ns + delay_ns);
			continue;
		}
		e->gone = true;
		packet_gone(c, s, e);
		q->stats.packets_lost += e->first;
		if (level == PS_LEVEL_APP && e->first)
			congestion(c, e->pn);
		first_ns = min_u64(first_ns, e->sent_ns);
		last_ns = max_u64(last_ns, e->sent_ns);
		frame_again(q, c, level, e);
		any = true;
	}
	sent_trim(l);
	if (!any)
		return;
	if (level == PS_LEVEL_APP)
		persistent_congestion(c, first_ns, last_ns);
	conn_ready(q, c);
}

static void
frame_acked(struct ps_quic *q, struct conn *c, struct space *s, struct sent *e)
{
	e->gone = true;
	packet_gone(c, s, e);
	if (e->kind == SENT_STREAM || e->kind == SENT_RESET)
		send_acked(q, c, e);
	else if (e->kind == SENT_HANDSHAKE_DONE)
		c->done_acked = true;
	else if (e->kind == SENT_ACK)
		ps_ranges_forget(&s->rx, e->value);
}

/* RFC 9000 section 13.4.2: marks that the path or the peer loses are not set any more; CE counts as
 * loss does. */
static void
ecn_check(struct conn *c, struct space *s, const struct ps_frame *f, uint32_t ect)
{
	const uint64_t counts[3] = {f->ack.ect0, f->ack.ect1, f->ack.ce};
	uint64_t more = 0;

	if (f->type != PS_FRAME_ACK_ECN) {
		c->ecn_off = true;
		return;
	}
	for (int i = 0; i < 3; i++)
		if (counts[i] > s->acked_ecn[i])
			more += counts[i] - s->acked_ecn[i];
	if (more < ect || counts[1] > 0 || counts[0] + counts[2] > s->tx_next) {
		c->ecn_off = true;
		return;
	}
	if (counts[2] > s->acked_ecn[2] && s == &c->app)
		congestion(c, f->ack.largest);
	for (int i = 0; i < 3; i++)
		s->acked_ecn[i] = (uint32_t)max_u64(s->acked_ecn[i], counts[i]);
}

/* Walks our frames newest first beside the peer's ranges largest first: O(sent + ranges). */
bool
ack_receive(struct ps_quic *q, struct conn *c, enum ps_level level, const struct ps_frame *f,
	uint64_t now_ns)
{
	struct space *s = conn_space(q, c, level);
	const struct ps_ack *ack = &f->ack;
	uint32_t ect = 0;
	const uint8_t *cursor = ack->ranges;
	uint64_t range = 0, delay_ns;
	bool any = false, newer = ack->largest >= s->tx_acked;
	struct ps_range r;

	if (ack->largest >= s->tx_next)
		return false;
	s->tx_acked = max_u64(s->tx_acked, ack->largest + 1);
	ps_ack_range(ack, 0, &cursor, &r);
	for (uint32_t i = s->sent.head; i != s->sent.tail; i--) {
		struct sent *e = &s->sent.ring[(i - 1) & s->sent.mask];

		while (e->pn < r.lo && range < ack->range_count)
			ps_ack_range(ack, ++range, &cursor, &r);
		if (e->pn < r.lo)
			break;
		if (e->gone || e->pn > r.hi)
			continue;
		if (e->pn == ack->largest && !any) {
			delay_ns = min_u64(ack->delay, UINT32_MAX) << c->peer_ack_shift;
			delay_ns = level == PS_LEVEL_APP
					   ? min_u64(delay_ns * PS_US_NS, c->peer_ack_delay_ns)
					   : 0;
			rtt_sample(&c->rtt, now_ns - e->sent_ns, delay_ns);
		}
		if (level == PS_LEVEL_APP)
			window_grow(c, e);
		ect += e->first && e->ect;
		frame_acked(q, c, s, e);
		any = true;
	}
	sent_trim(&s->sent);
	if (ect > 0 && newer) /* only then, RFC 9000 section 13.4.2.1 */
		ecn_check(c, s, f, ect);
	if (any) {
		q->packet.progress++;
		c->pto_count = 0;
		detect_lost(q, c, level, now_ns);
	}
	return true;
}

void
space_discard(struct conn *c, struct space *s)
{
	for (uint32_t i = s->sent.tail; i != s->sent.head; i++)
		if (!s->sent.ring[i & s->sent.mask].gone)
			packet_gone(c, s, &s->sent.ring[i & s->sent.mask]);
	s->sent.tail = s->sent.head;
	s->ack_due_ns = s->loss_due_ns = PS_NEVER;
	s->unacked_eliciting = 0;
	s->probe = false;
}

static bool
level_live(struct ps_quic *q, const struct conn *c, enum ps_level level)
{
	const struct handshake *hs = conn_handshake(q, c);

	if (level == PS_LEVEL_APP)
		return c->keys;
	if (hs == NULL)
		return false;
	return level == PS_LEVEL_INITIAL ? !hs->initial_gone : hs->handshake_keys;
}

/* Section 6.2: when a probe is due and at which level. A server that may not send waits for the
 * peer (6.2.2.1); a client that may have to unblock it probes with nothing in flight. */
static uint64_t
probe_due(struct ps_quic *q, struct conn *c, enum ps_level *which)
{
	const struct handshake *hs = conn_handshake(q, c);
	uint32_t shift = c->pto_count < PTO_SHIFT_MAX ? c->pto_count : PTO_SHIFT_MAX;
	uint64_t due = PS_NEVER;

	if (q->cfg.server && hs != NULL && !hs->validated &&
		hs->tx_bytes + PS_UDP_PAYLOAD_MIN > 3 * hs->rx_bytes)
		return PS_NEVER;
	for (int level = PS_LEVEL_INITIAL; level < PS_LEVELS; level++) {
		struct space *s;
		bool unblock = !q->cfg.server && hs != NULL && level < PS_LEVEL_APP &&
			       (level == PS_LEVEL_HANDSHAKE || !hs->handshake_keys);
		uint64_t at;

		if (!level_live(q, c, level) || (level == PS_LEVEL_APP && !c->confirmed))
			continue;
		s = conn_space(q, c, level);
		if (s->in_flight == 0 && !unblock)
			continue;
		at = s->last_eliciting_ns + (pto_ns(c, level) << shift);
		if (at < due) {
			due = at;
			*which = level;
		}
	}
	return due;
}

uint64_t
loss_due(struct ps_quic *q, struct conn *c)
{
	enum ps_level level;
	uint64_t due = PS_NEVER;

	for (int i = PS_LEVEL_INITIAL; i < PS_LEVELS; i++)
		if (level_live(q, c, i))
			due = min_u64(due, conn_space(q, c, i)->loss_due_ns);
	return due != PS_NEVER ? due : probe_due(q, c, &level);
}

/* The oldest packets of the level are sent again. When the log has no room for that they are given
 * up, or nothing could ever be sent at this level again. */
static void
probe_level(struct ps_quic *q, struct conn *c, enum ps_level level)
{
	struct space *s = conn_space(q, c, level);
	struct sent_log *l = &s->sent;
	bool full = sent_room(s) < PROBE_FRAMES;
	uint32_t n = 0;

	s->probe = true;
	for (uint32_t i = l->tail; i != l->head && n < PROBE_FRAMES; i++) {
		struct sent *e = &l->ring[i & l->mask];

		if (e->gone)
			continue;
		frame_again(q, c, level, e);
		n++;
		if (full) {
			e->gone = true;
			packet_gone(c, s, e);
		}
	}
	sent_trim(l);
}

/* Section 6.2.4: a probe during the handshake carries what is in flight at both levels, since a
 * peer can use neither half of a lost flight without the other. */
static void
probe_both(struct ps_quic *q, struct conn *c, enum ps_level level)
{
	enum ps_level other = level == PS_LEVEL_INITIAL ? PS_LEVEL_HANDSHAKE : PS_LEVEL_INITIAL;

	probe_level(q, c, level);
	if (level != PS_LEVEL_APP && level_live(q, c, other) &&
		conn_space(q, c, other)->in_flight > 0)
		probe_level(q, c, other);
}

static void
probe(struct ps_quic *q, struct conn *c, enum ps_level level)
{
	c->pto_count++;
	q->stats.probes++;
	probe_both(q, c, level);
}

void
loss_hurry(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	const struct space *s;

	if (c->state != CONN_HANDSHAKE || !level_live(q, c, PS_LEVEL_INITIAL))
		return;
	s = conn_space(q, c, PS_LEVEL_INITIAL);
	if (s->in_flight == 0 || now_ns - s->last_eliciting_ns < HURRY_NS)
		return;
	probe_both(q, c, PS_LEVEL_INITIAL);
	conn_ready(q, c);
}

void
loss_timer(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	enum ps_level level = PS_LEVEL_APP;
	bool timed = false;

	for (int i = PS_LEVEL_INITIAL; i < PS_LEVELS; i++) {
		if (!level_live(q, c, i) || conn_space(q, c, i)->loss_due_ns == PS_NEVER)
			continue;
		timed = true;
		if (conn_space(q, c, i)->loss_due_ns <= now_ns)
			detect_lost(q, c, i, now_ns);
	}
	if (!timed && probe_due(q, c, &level) <= now_ns)
		probe(q, c, level);
}
