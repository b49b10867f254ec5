/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The end of a connection: RFC 9000 section 10. */

#include "engine.h"

#define CLOSING_MAX_NS (5 * PS_SEC_NS)

/* A live connection stops being one. */
static void
leave(struct ps_quic *q, struct conn *c, enum conn_state to)
{
	if (c->state == CONN_HANDSHAKE)
		q->stats.half_open--;
	else if (c->state == CONN_ESTABLISHED)
		q->stats.conns_open--;
	else
		return;
	c->state = to;
	streams_end(q, c);
	send_end(q, c);
	if (q->cfg.events.closed != NULL)
		q->cfg.events.closed(q->cfg.events.ctx, conn_name(c), &c->close);
}

/* Section 10.2: three probe timeouts, but what a peer makes us believe of its delays must not hold
 * a slot, and a half-open connection ends when it would have ended anyway. */
static uint64_t
closing_ends(const struct conn *c, uint64_t now_ns)
{
	uint64_t end = now_ns + min_u64(3 * pto_ns(c, PS_LEVEL_APP), CLOSING_MAX_NS);

	return c->state == CONN_HANDSHAKE ? min_u64(end, c->handshake_due_ns) : end;
}

void
conn_close(struct ps_quic *q, struct conn *c, bool app, uint64_t code, uint64_t frame_type,
	const char *reason, uint64_t now_ns)
{
	if (c->state != CONN_HANDSHAKE && c->state != CONN_ESTABLISHED)
		return;
	c->close = (struct ps_quic_close){.app = app, .code = code, .frame_type = frame_type};
	strncpy(c->close.reason, reason, sizeof(c->close.reason) - 1);
	q->stats.handshakes_failed += c->state == CONN_HANDSHAKE;
	if (app)
		q->stats.closed_app++;
	else
		q->stats.closed_transport++;
	c->close_due_ns = closing_ends(c, now_ns);
	c->send_close = true;
	leave(q, c, CONN_CLOSING);
	conn_ready(q, c);
	conn_rearm(q, c);
}

void
conn_peer_closed(struct ps_quic *q, struct conn *c, const struct ps_frame *f, uint64_t now_ns)
{
	size_t n = f->len < sizeof(c->close.reason) ? f->len : sizeof(c->close.reason) - 1;

	c->close = (struct ps_quic_close){.by_peer = true,
		.app = f->type == PS_FRAME_CONNECTION_CLOSE_APP,
		.code = f->close.error,
		.frame_type = f->close.frame_type};
	for (size_t i = 0; i < n; i++)
		c->close.reason[i] =
			f->data[i] >= 0x20 && f->data[i] < 0x7f ? (char)f->data[i] : '?';
	q->stats.handshakes_failed += c->state == CONN_HANDSHAKE;
	q->stats.closed_by_peer++;
	c->close_due_ns = closing_ends(c, now_ns);
	leave(q, c, CONN_DRAINING);
	handshake_release(q, c); /* nothing is sent any more */
	conn_rearm(q, c);
}

/* A stateless reset: the peer knows nothing of the connection any more, section 10.3.1. */
void
conn_reset(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	if (c->state != CONN_HANDSHAKE && c->state != CONN_ESTABLISHED)
		return;
	c->close = (struct ps_quic_close){.by_peer = true, .reason = "stateless reset"};
	q->stats.closed_by_peer++;
	c->close_due_ns = closing_ends(c, now_ns);
	leave(q, c, CONN_DRAINING);
	handshake_release(q, c);
	conn_rearm(q, c);
}

/* Answered less and less often, section 10.2.1. */
void
conn_closing_rx(struct ps_quic *q, struct conn *c)
{
	ps_drop(q->drops, PS_DROP_QUIC_CLOSING);
	c->close_rx++;
	if (c->state == CONN_CLOSING && (c->close_rx & (c->close_rx - 1)) == 0) {
		c->send_close = true;
		conn_ready(q, c);
	}
}

void
conn_free(struct ps_quic *q, struct conn *c)
{
	leave(q, c, CONN_FREE);
	c->state = CONN_FREE;
	timer_remove(q, c);
	handshake_release(q, c);
	keys_wipe(c);
	c->generation++;
	conn_spare(q, c);
}

void
ps_quic_close(struct ps_quic *q, struct ps_quic_conn_id id, uint64_t code, const char *reason,
	uint64_t now_ns)
{
	struct conn *c = conn_find(q, id);

	if (c != NULL)
		conn_close(q, c, true, code, 0, reason, now_ns);
}

void
ps_quic_close_all(struct ps_quic *q, uint64_t code, const char *reason, uint64_t now_ns)
{
	for (uint32_t i = 0; i < q->limits.conns; i++)
		conn_close(q, &q->conns[i], true, code, 0, reason, now_ns);
}
