/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The client side of raw_peer.h. */

#include "raw_peer.h"

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MAX   (PS_UDP_PAYLOAD_MIN - 7 - 2 * 21 - 2 - 4 - PS_AEAD_TAG)
#define KEY_CACHE  16
#define CLIENT_IP  0x0a000001u
#define SERVER_IP  0x0a000002u
#define TPU_PORT   8009
#define FIRST_PORT 20000

struct ps_tls_config
raw_client_tls(void)
{
	struct ps_tls_config c = {.sessions = 1, .alpn = "solana-tpu"};

	memset(c.seed, 0x22, sizeof(c.seed));
	return c;
}

struct raw_peer *
raw_peer_new(struct raw_server *s, const struct ps_tls_config *tls)
{
	struct ps_tls_config plain = raw_client_tls();
	struct raw_peer *p = calloc(1, sizeof(*p));
	struct ps_err e;
	uint8_t n = (uint8_t)s->n_peers;

	CU_ASSERT_TRUE_FATAL(p != NULL && s->n_peers < RAW_PEERS);
	p->s = s;
	s->peer[s->n_peers++] = p;
	p->flow = (struct ps_flow4){.saddr_be = __builtin_bswap32(CLIENT_IP),
		.daddr_be = __builtin_bswap32(SERVER_IP),
		.sport_be = __builtin_bswap16(FIRST_PORT + n),
		.dport_be = __builtin_bswap16(TPU_PORT)};
	p->tls = ps_tls_new(tls == NULL ? &plain : tls, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p->tls);
	p->protect_mem = aligned_alloc(64, (ps_protect_footprint(KEY_CACHE) + 63) & ~(size_t)63);
	p->protect = ps_protect_new(p->protect_mem, KEY_CACHE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p->protect);
	ps_tparam_defaults(&p->tp);
	p->tp.max_idle_timeout_ms = 60000;
	p->odcid.len = 8;
	p->scid.len = 5;
	memset(p->odcid.id, 0x40 + n, p->odcid.len);
	memset(p->scid.id, 0x80 + n, p->scid.len);
	p->dcid = p->odcid;
	for (int i = 0; i < PS_LEVELS; i++)
		ps_ranges_init(&p->got[i]);
	return p;
}

void
raw_peer_free(struct raw_peer *p)
{
	ps_tls_free(p->tls);
	ps_protect_wipe(p->protect);
	free(p->protect_mem);
	free(p);
}

void
raw_move(struct raw_peer *p, uint32_t ip, uint16_t port)
{
	p->was = p->flow;
	if (ip != 0)
		p->flow.saddr_be = __builtin_bswap32(ip);
	p->flow.sport_be = __builtin_bswap16(port);
	p->moved_tx_bytes = p->moved_rx_bytes = 0;
}

void
raw_peer_clear(struct raw_peer *p)
{
	p->n_frames = 0;
	p->text_len = 0;
}

static void
initial_keys(struct raw_peer *p)
{
	ps_initial_keys(
		&p->tx[PS_LEVEL_INITIAL], &p->rx[PS_LEVEL_INITIAL], p->dcid.id, p->dcid.len);
	p->keys[PS_LEVEL_INITIAL] = true;
}

static void
tls_step(struct raw_peer *p, enum ps_level level, const uint8_t *in, size_t len)
{
	p->io.in_level = level;
	p->io.in = in;
	p->io.in_len = (uint16_t)len;
	p->tls_result = ps_tls_step(p->tls, &p->io);
	for (enum ps_level l = PS_LEVEL_HANDSHAKE; l < PS_LEVELS; l++) {
		if (!p->io.secret[l].ready || p->keys[l])
			continue;
		ps_pkt_key_derive(&p->rx[l], p->io.secret[l].suite, p->io.secret[l].rx);
		ps_pkt_key_derive(&p->tx[l], p->io.secret[l].suite, p->io.secret[l].tx);
		p->keys[l] = true;
	}
}

void
raw_hello(struct raw_peer *p)
{
	initial_keys(p);
	CU_ASSERT_TRUE_FATAL(ps_tls_begin(p->tls, &p->io));
	p->tp.has_initial_scid = !p->no_scid;
	p->tp.initial_scid = p->scid;
	p->io.tp_len = (uint16_t)ps_tparam_put(&p->tp, p->io.tp, sizeof(p->io.tp));
	memcpy(p->io.tp + p->io.tp_len, p->tp_more, p->tp_more_len);
	p->io.tp_len += (uint16_t)p->tp_more_len;
	tls_step(p, PS_LEVEL_INITIAL, NULL, 0);
	CU_ASSERT_TRUE_FATAL(p->io.out_len[PS_LEVEL_INITIAL] > 0);
}

void
raw_flush(struct raw_peer *p, size_t chunk)
{
	uint8_t frame[PS_UDP_PAYLOAD_MAX];

	for (enum ps_level l = PS_LEVEL_INITIAL; l < PS_LEVEL_APP; l++) {
		while (p->crypto_sent[l] < p->io.out_len[l]) {
			size_t n = p->io.out_len[l] - p->crypto_sent[l], size;

			n = n < chunk ? n : chunk;
			size = ps_frame_crypto_put(frame, sizeof(frame), p->crypto_sent[l],
				p->io.out[l] + p->crypto_sent[l], n);
			p->crypto_sent[l] += (uint16_t)n;
			raw_send(p, l, frame, size);
		}
	}
}

bool
raw_handshake(struct raw_peer *p)
{
	unsigned int before = p->s->connected;

	raw_hello(p);
	for (int i = 0; i < 6 && p->tls_result != PS_TLS_ALERT; i++)
		raw_flush(p, LONG_MAX - 200);
	return p->tls_result == PS_TLS_DONE && p->s->connected == before + 1;
}

struct raw_peer *
raw_established(struct raw_server *s)
{
	struct raw_peer *p = raw_peer_new(s, NULL);

	CU_ASSERT_TRUE_FATAL(raw_handshake(p));
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	return p;
}

struct raw_peer *
raw_quiet(struct raw_server *s)
{
	struct raw_peer *p = raw_established(s);

	raw_ack(p, PS_LEVEL_APP);
	raw_run(s, 100 * PS_MS_NS);
	raw_peer_clear(p);
	return p;
}

size_t
raw_packet(struct raw_peer *p, enum ps_level level, const void *frames, size_t len,
	const struct raw_how *how, uint8_t *buf)
{
	static const struct raw_how plain;
	uint64_t pn = how != NULL && how->set_pn ? how->pn : p->next_pn[level];
	const unsigned int pn_len = 4;
	size_t hdr, length_at = 0, text = len, pad_to;

	how = how == NULL ? &plain : how;
	if (level == PS_LEVEL_APP)
		hdr = ps_pkt_short_put(buf, &p->dcid, p->phase, pn, pn_len);
	else
		hdr = ps_pkt_long_put(buf,
			level == PS_LEVEL_INITIAL ? PS_PKT_INITIAL : PS_PKT_HANDSHAKE, &p->dcid,
			&p->scid, p->token_len > 0 ? p->token : NULL,
			level == PS_LEVEL_INITIAL ? p->token_len : 0, pn, pn_len, &length_at);
	CU_ASSERT_TRUE_FATAL(hdr + len + PS_AEAD_TAG <= PS_UDP_PAYLOAD_MAX);
	if (len > 0)
		memcpy(buf + hdr, frames, len);
	pad_to = how->pad_to;
	if (hdr + text + PS_AEAD_TAG < pad_to) {
		memset(buf + hdr + text, PS_FRAME_PADDING, pad_to - hdr - text - PS_AEAD_TAG);
		text = pad_to - hdr - PS_AEAD_TAG;
	}
	if (level != PS_LEVEL_APP)
		ps_pkt_long_finish(buf, length_at, pn_len, text);
	buf[0] ^= how->first_byte_xor;
	ps_seal(p->protect, &p->tx[level], pn, buf, hdr, pn_len, text);
	if (pn >= p->next_pn[level])
		p->next_pn[level] = pn + 1;
	return hdr + text + PS_AEAD_TAG;
}

static void
update(struct ps_pkt_key *k, uint8_t *secret)
{
	struct ps_pkt_key next;

	ps_secret_update(k->suite, secret);
	ps_pkt_key_derive(&next, k->suite, secret);
	memcpy(next.hp, k->hp, sizeof(next.hp)); /* that key stays, RFC 9001 section 6.1 */
	*k = next;
}

void
raw_key_update(struct raw_peer *p)
{
	update(&p->tx[PS_LEVEL_APP], p->io.secret[PS_LEVEL_APP].tx);
	update(&p->rx[PS_LEVEL_APP], p->io.secret[PS_LEVEL_APP].rx);
	p->phase = !p->phase;
}

void
raw_send_bytes(struct raw_peer *p, const void *bytes, size_t len)
{
	p->tx_bytes += len;
	p->moved_tx_bytes += len;
	raw_inject(p->s, p->flow, bytes, len);
}

void
raw_send_how(struct raw_peer *p, enum ps_level level, const void *frames, size_t len,
	const struct raw_how *how)
{
	uint8_t buf[PS_UDP_PAYLOAD_MAX];
	struct raw_how h = how == NULL ? (struct raw_how){0} : *how;

	if (level == PS_LEVEL_INITIAL && h.pad_to == 0)
		h.pad_to = PS_UDP_PAYLOAD_MIN;
	raw_send_bytes(p, buf, raw_packet(p, level, frames, len, &h, buf));
	raw_pump(p->s);
}

void
raw_send(struct raw_peer *p, enum ps_level level, const void *frames, size_t len)
{
	raw_send_how(p, level, frames, len, NULL);
}

uint8_t
raw_content(uint64_t id, uint64_t offset)
{
	return (uint8_t)(id * 31 + offset * 7 + offset / 251);
}

void
raw_send_stream(struct raw_peer *p, uint64_t id, uint64_t offset, size_t len, bool fin)
{
	uint8_t data[PS_UDP_PAYLOAD_MAX], frame[PS_UDP_PAYLOAD_MAX];
	size_t n;

	for (size_t i = 0; i < len; i++)
		data[i] = raw_content(id, offset + i);
	n = ps_frame_stream_put(frame, sizeof(frame), id, offset, data, len, fin);
	CU_ASSERT_TRUE_FATAL(n > 0);
	raw_send(p, PS_LEVEL_APP, frame, n);
}

void
raw_ack(struct raw_peer *p, enum ps_level level)
{
	uint8_t frame[512];

	raw_send(p, level, frame, ps_frame_ack_put(frame, sizeof(frame), &p->got[level], 0));
}

/* -- what the server sent -- */

static void
crypto_in(struct raw_peer *p, enum ps_level level, const struct ps_frame *f)
{
	uint64_t end = f->stream.offset + f->len;

	/* The server sends in order; what came before is a retransmission. */
	if (level == PS_LEVEL_APP || end <= p->crypto_got[level] ||
		f->stream.offset > p->crypto_got[level])
		return;
	tls_step(p, level, f->data + (p->crypto_got[level] - f->stream.offset),
		end - p->crypto_got[level]);
	p->crypto_got[level] = (uint16_t)end;
}

static void
reset_token_in(struct raw_peer *p, const struct ps_frame *f)
{
	if (f->ncid.seq != p->n_reset_tokens + 1 || f->ncid.seq > 8)
		return;
	memcpy(p->reset_token[p->n_reset_tokens++], f->ncid.reset_token, 16);
}

static void
frames_in(struct raw_peer *p, enum ps_pkt_type pkt, uint64_t pn, const uint8_t *text, size_t len)
{
	enum ps_level level = pkt == PS_PKT_1RTT        ? PS_LEVEL_APP
			      : pkt == PS_PKT_HANDSHAKE ? PS_LEVEL_HANDSHAKE
							: PS_LEVEL_INITIAL;
	const uint8_t *at;

	CU_ASSERT_TRUE_FATAL(p->text_len + len <= sizeof(p->text));
	at = memcpy(p->text + p->text_len, text, len);
	p->text_len += len;
	CU_ASSERT_TRUE(len > 0); /* never a packet without a frame */
	for (const uint8_t *end = at + len; at < end;) {
		struct raw_frame *r = &p->frame[p->n_frames];

		CU_ASSERT_TRUE_FATAL(p->n_frames < RAW_FRAMES);
		*r = (struct raw_frame){pkt, pn, p->s->now_ns, p->datagrams, p->in.flow, p->in.link,
			p->in.len, p->in.ecn, {0}};
		CU_ASSERT_EQUAL_FATAL(ps_frame_parse(&r->f, pkt, &at, end), 0);
		p->n_frames++;
		if (r->f.type == PS_FRAME_CRYPTO)
			crypto_in(p, level, &r->f);
		else if (r->f.type == PS_FRAME_NEW_CONNECTION_ID)
			reset_token_in(p, &r->f);
	}
}

static void
retry_in(struct raw_peer *p, const struct ps_pkt_hdr *h, const uint8_t *pkt)
{
	uint8_t tag[PS_AEAD_TAG];

	p->retries++;
	ps_retry_tag(p->protect, &p->dcid, pkt, h->size - PS_AEAD_TAG, tag);
	CU_ASSERT_EQUAL(memcmp(tag, pkt + h->size - PS_AEAD_TAG, PS_AEAD_TAG), 0);
	CU_ASSERT_TRUE_FATAL(h->token_len <= sizeof(p->token));
	p->token_len = h->token_len;
	memcpy(p->token, h->token, h->token_len);
	p->dcid.len = h->scid_len;
	memcpy(p->dcid.id, h->scid, h->scid_len);
	p->retry_scid = p->dcid;
	initial_keys(p);
	p->crypto_sent[PS_LEVEL_INITIAL] = 0;
}

static void
packet_in(struct raw_peer *p, const struct ps_pkt_hdr *h, uint8_t *pkt)
{
	enum ps_level level = h->type == PS_PKT_1RTT        ? PS_LEVEL_APP
			      : h->type == PS_PKT_HANDSHAKE ? PS_LEVEL_HANDSHAKE
							    : PS_LEVEL_INITIAL;
	const struct ps_pkt_key *key = &p->rx[level];
	const uint8_t *sample = pkt + h->pn_offset + 4;
	size_t pn_len, hdr, len;
	uint64_t pn = 0, next = p->got[level].n > 0 ? p->got[level].r[0].hi + 1 : 0;
	uint8_t mask[1][5];

	if (!p->keys[level]) {
		p->undecoded++;
		return;
	}
	ps_hp_masks(p->protect, &key, &sample, mask, 1);
	pkt[0] ^= mask[0][0] & (level == PS_LEVEL_APP ? 0x1f : 0x0f);
	pn_len = (pkt[0] & 3u) + 1;
	for (size_t i = 0; i < pn_len; i++)
		pn = pn << 8 | (pkt[h->pn_offset + i] ^= mask[0][1 + i]);
	pn = ps_pn_decode(next, pn, (unsigned int)pn_len);
	hdr = h->pn_offset + pn_len;
	len = h->size - hdr - PS_AEAD_TAG;
	if (level == PS_LEVEL_APP && p->phase != ((pkt[0] & 0x04) != 0)) {
		p->undecoded++;
		return;
	}
	if (!ps_open(p->protect, &p->rx[level], pn, pkt, hdr, len)) {
		p->undecoded++;
		return;
	}
	CU_ASSERT_EQUAL(pkt[0] & (level == PS_LEVEL_APP ? 0x18 : 0x0c), 0);
	CU_ASSERT_TRUE(ps_ranges_add(&p->got[level], pn)); /* a number is never used twice */
	if (level != PS_LEVEL_APP && !p->server_id_known) {
		p->dcid.len = h->scid_len;
		memcpy(p->dcid.id, h->scid, h->scid_len);
		p->server_id_known = true;
	}
	frames_in(p, h->type, pn, pkt + hdr, len);
}

/* RFC 9000 section 10.3.1. */
static bool
stateless_reset(struct raw_peer *p, const uint8_t *data, size_t len)
{
	struct ps_tparam t;

	if (len < 21 || p->io.peer_tp_len == 0)
		return false;
	p->reset_len = (uint16_t)len;
	for (p->reset_of = p->n_reset_tokens; p->reset_of > 0; p->reset_of--)
		if (memcmp(p->reset_token[p->reset_of - 1], data + len - 16, 16) == 0)
			return true;
	return ps_tparam_parse(&t, p->io.peer_tp, p->io.peer_tp_len, false) == 0 &&
	       t.has_reset_token && memcmp(t.reset_token, data + len - 16, 16) == 0;
}

void
raw_datagram_in(struct raw_peer *p, uint8_t *data, size_t len)
{
	struct ps_pkt_hdr h;

	if (stateless_reset(p, data, len)) {
		p->resets++;
		return;
	}

	p->datagrams++;
	p->rx_bytes += len;
	if (p->in.flow.dport_be == p->flow.sport_be && p->in.flow.daddr_be == p->flow.saddr_be)
		p->moved_rx_bytes += len;
	p->last_len = (uint16_t)len;
	if (p->next_pn[PS_LEVEL_HANDSHAKE] == 0 && p->token_len == 0)
		CU_ASSERT_TRUE(p->rx_bytes <= 3 * p->tx_bytes);
	for (uint8_t *at = data; len > 0; at += h.size, len -= h.size) {
		CU_ASSERT_EQUAL_FATAL(ps_pkt_hdr_parse(&h, at, len, p->scid.len), PS_DROP_COUNT);
		CU_ASSERT_TRUE(memcmp(h.dcid, p->scid.id, p->scid.len) == 0 ||
			       memcmp(h.dcid, p->scid_was.id, p->scid.len) == 0);
		if (h.type == PS_PKT_RETRY)
			retry_in(p, &h, at);
		else if (h.type == PS_PKT_VERSION_NEGOTIATION)
			p->versions++;
		else
			packet_in(p, &h, at);
	}
}

unsigned int
raw_count(const struct raw_peer *p, unsigned int type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->n_frames; i++)
		n += p->frame[i].f.type == type;
	return n;
}

const struct raw_frame *
raw_nth(const struct raw_peer *p, unsigned int type, unsigned int n)
{
	for (unsigned int i = 0; i < p->n_frames; i++)
		if (p->frame[i].f.type == type && n-- == 0)
			return &p->frame[i];
	return NULL;
}

const struct raw_frame *
raw_last(const struct raw_peer *p, unsigned int type)
{
	unsigned int n = raw_count(p, type);

	return n == 0 ? NULL : raw_nth(p, type, n - 1);
}

bool
raw_closed_with(const struct raw_peer *p, bool app, uint64_t code, uint64_t frame_type)
{
	const struct raw_frame *f =
		raw_last(p, app ? PS_FRAME_CONNECTION_CLOSE_APP : PS_FRAME_CONNECTION_CLOSE);

	return f != NULL && f->f.close.error == code &&
	       (app || f->f.close.frame_type == frame_type);
}
