/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* 1-RTT keys: RFC 9001 sections 5 and 6. Header protection keys never change. */

#include "engine.h"

#define SEAL_MAX (2 * UPDATE_PACKETS - 64) /* some are left to say that it is over */

/* The key after k, which next may be; header protection stays. */
static void
derive_next(struct ps_pkt_key *next, const struct ps_pkt_key *k, uint8_t *secret)
{
	struct ps_pkt_key made;

	ps_secret_update(k->suite, secret);
	ps_pkt_key_derive(&made, k->suite, secret);
	memcpy(made.hp, k->hp, sizeof(made.hp));
	*next = made;
	ps_pkt_key_wipe(&made);
}

void
keys_install(struct conn *c, const struct ps_tls_secret *s)
{
	memcpy(c->rx_secret, s->rx, sizeof(c->rx_secret));
	memcpy(c->tx_secret, s->tx, sizeof(c->tx_secret));
	ps_pkt_key_derive(&c->rx, s->suite, c->rx_secret);
	ps_pkt_key_derive(&c->tx, s->suite, c->tx_secret);
	derive_next(&c->rx_next, &c->rx, c->rx_secret);
	c->keys = true;
}

static void
turn(struct conn *c)
{
	c->rx_old = c->rx;
	c->rx = c->rx_next;
	derive_next(&c->rx_next, &c->rx, c->rx_secret);
	derive_next(&c->tx, &c->tx, c->tx_secret);
	c->phase = !c->phase;
	c->phase_tx_pn = c->app.tx_next;
}

/* The peer's packet verified under the next keys: so do ours from now on (section 6.2). */
static void
update(struct conn *c, uint64_t pn, uint64_t now_ns)
{
	turn(c);
	c->phase_pn = pn;
	c->old_until_ns = now_ns + 3 * pto_ns(c, PS_LEVEL_APP); /* section 6.5 */
}

bool
keys_open(struct ps_quic *q, struct conn *c, uint64_t pn, uint8_t *pkt, size_t aad_len,
	size_t text_len, uint64_t now_ns)
{
	bool phase = (pkt[0] & 0x04) != 0;
	uint8_t copy[PS_UDP_PAYLOAD_MAX];

	if (phase == c->phase) {
		if (!ps_open(q->protect, &c->rx, pn, pkt, aad_len, text_len))
			return false;
		if (c->phase_pn == PS_NEVER) /* the answer to an update of ours */
			c->old_until_ns = now_ns + 3 * pto_ns(c, PS_LEVEL_APP);
		c->phase_pn = min_u64(c->phase_pn, pn);
		return true;
	}
	if (pn < c->phase_pn) /* sent before the update; never under newer keys */
		return now_ns < c->old_until_ns &&
		       ps_open(q->protect, &c->rx_old, pn, pkt, aad_len, text_len);
	if (!c->confirmed || aad_len + text_len + PS_AEAD_TAG > sizeof(copy))
		return false;
	memcpy(copy, pkt, aad_len + text_len + PS_AEAD_TAG);
	if (!ps_open(q->protect, &c->rx_next, pn, pkt, aad_len, text_len)) {
		/* section 6.4: newer than what came under newer keys, and yet under the old ones */
		if (now_ns < c->old_until_ns &&
			ps_open(q->protect, &c->rx_old, pn, copy, aad_len, text_len))
			conn_close(q, c, false, PS_QUIC_KEY_UPDATE_ERROR, 0, "", now_ns);
		return false;
	}
	update(c, pn, now_ns);
	q->stats.key_updates++;
	return true;
}

void
keys_refresh(struct ps_quic *q, struct conn *c, uint64_t now_ns)
{
	uint64_t sealed = c->app.tx_next - c->phase_tx_pn;

	if (sealed >= SEAL_MAX)
		conn_close(q, c, false, PS_QUIC_AEAD_LIMIT_REACHED, 0, "", now_ns);
	if (!c->confirmed || !keys_worn(c))
		return;
	/* Section 6.1: not before the peer has our packets of this phase and uses its keys, whoever
	 * began it, or it would have to skip a phase. */
	if (c->phase_pn == PS_NEVER || c->app.tx_acked <= c->phase_tx_pn)
		return;
	turn(c);
	c->phase_pn = c->old_until_ns = PS_NEVER;
	q->stats.key_updates++;
}

void
keys_wipe(struct conn *c)
{
	ps_pkt_key_wipe(&c->rx);
	ps_pkt_key_wipe(&c->tx);
	ps_pkt_key_wipe(&c->rx_next);
	ps_pkt_key_wipe(&c->rx_old);
	ps_wipe(c->rx_secret, sizeof(c->rx_secret));
	ps_wipe(c->tx_secret, sizeof(c->tx_secret));
}
