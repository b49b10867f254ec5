/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Paths: RFC 9000 sections 8.2 and 9. A peer whose address changes (a NAT rebinding; it may not
 * migrate) is answered at the new one once it has proven to be there, and not before. */

#include "engine.h"

#define CHALLENGES     3  /* sent before a new address is given up */
#define PATH_MIN_BYTES 64 /* of a datagram with nothing but a challenge */

static bool
same_flow(const struct ps_flow4 *a, const struct ps_flow4 *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* A verified 1-RTT packet came from another address than the one we send to. */
void
path_seen(struct ps_quic *q, struct conn *c, const struct ps_datagram *dg, bool newest,
	uint64_t now_ns)
{
	struct ps_flow4 flow = ps_flow4_reverse(dg->flow);
	struct path *p = &c->path;

	if (p->probing && same_flow(&p->flow, &flow)) {
		p->rx_bytes += dg->len;
		return;
	}
	/* section 9.3: an old packet that someone sends again moves nothing */
	if (!newest || (p->probing && now_ns < p->due_ns))
		return;
	p->flow = flow;
	p->link = dg->link;
	p->rx_bytes = dg->len;
	p->tx_bytes = 0;
	p->probing = true;
	p->left = CHALLENGES;
	p->due_ns = now_ns;
	ps_protect_random(q->protect, p->challenge, sizeof(p->challenge));
	conn_ready(q, c);
}

void
path_challenged(struct ps_quic *q, struct conn *c, const struct ps_frame *f)
{
	struct path_answer *a;

	if (c->path.n_answers == PATH_ANSWERS)
		return; /* a flood of challenges costs no memory */
	a = &c->path.answer[c->path.n_answers++];
	memcpy(a->data, f->path, sizeof(a->data));
	a->flow = ps_flow4_reverse(q->packet.dg->flow);
	a->link = q->packet.dg->link;
	conn_ready(q, c);
}

void
path_response(struct ps_quic *q, struct conn *c, const struct ps_frame *f)
{
	struct path *p = &c->path;

	if (!p->probing || !ps_equal(p->challenge, f->path, sizeof(p->challenge)))
		return;                           /* unasked, or late: section 19.18 lets us */
	if (p->flow.daddr_be != c->flow.daddr_be) /* another address, not only another port */
		rtt_init(&c->rtt);
	c->flow = p->flow;
	c->link = p->link;
	c->peer.addr_be = p->flow.daddr_be;
	c->peer.port_be = p->flow.dport_be;
	p->probing = false;
	q->stats.paths_moved++;
}

uint64_t
path_due(const struct conn *c)
{
	return c->path.probing ? c->path.due_ns : PS_NEVER;
}

bool
path_wants_tx(const struct conn *c, uint64_t now_ns)
{
	return c->path.n_answers > 0 || path_due(c) <= now_ns;
}

/* Nothing can be sent now: the peer may ask again, and so may we. */
void
path_defer(struct conn *c, uint64_t now_ns)
{
	c->path.n_answers = 0;
	c->path.due_ns = now_ns + pto_ns(c, PS_LEVEL_APP);
}

/* One PATH_RESPONSE each for the challenges that came from the address of the oldest one. */
static size_t
answers(struct conn *c, uint8_t *p, size_t cap, struct path_out *out)
{
	struct path *path = &c->path;
	struct ps_flow4 flow = path->answer[0].flow;
	unsigned int kept = 0;
	size_t n = 0;

	out->flow = flow;
	out->link = path->answer[0].link;
	for (unsigned int i = 0; i < path->n_answers; i++) {
		const struct path_answer *a = &path->answer[i];

		if (same_flow(&a->flow, &flow))
			n += ps_frame_path_put(p + n, cap - n, PS_FRAME_PATH_RESPONSE, a->data);
		else
			path->answer[kept++] = *a;
	}
	path->n_answers = kept;
	return n;
}

/* Fills p with the path frames that are due and says where they go and how large the datagram may
 * get: section 8.1 holds for a new address as for a new connection. */
size_t
path_frame(struct conn *c, uint8_t *p, size_t cap, struct path_out *out, uint64_t now_ns)
{
	struct path *path = &c->path;
	uint64_t left = 3 * path->rx_bytes - min_u64(3 * path->rx_bytes, path->tx_bytes);

	if (path->n_answers > 0) {
		size_t n = answers(c, p, cap, out);
		bool proven = same_flow(&out->flow, &c->flow);
		bool probed = path->probing && same_flow(&out->flow, &path->flow);

		out->limit = proven || probed ? PS_UDP_PAYLOAD_MIN : 0;
		if (probed) { /* what asked for it was larger than the answer need be */
			out->limit = min_u64(left, out->limit);
			path->tx_bytes += out->limit;
		}
		return n;
	}
	if (path->left == 0 || left < PATH_MIN_BYTES) {
		path->probing = false;
		return 0;
	}
	out->flow = path->flow;
	out->link = path->link;
	out->limit = min_u64(left, PS_UDP_PAYLOAD_MIN);
	path->tx_bytes += out->limit;
	path->left--;
	path->due_ns = now_ns + pto_ns(c, PS_LEVEL_APP);
	return ps_frame_path_put(p, cap, PS_FRAME_PATH_CHALLENGE, path->challenge);
}
