/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A TLS 1.3 client made of single messages, any of which a test may spoil and still sign and
 * authenticate properly. It talks to a server of either backend, never through GnuTLS. */
#ifndef PS_TEST_TLS_CRAFT_H
#define PS_TEST_TLS_CRAFT_H

#include "curve25519.h"
#include "ps_be.h"
#include "tls_ends.h"
#include "tls_server.h"

struct bytes {
	const void *p;
	size_t len;
};

/* Of a string literal: an initializer, and a value. */
#define BYTES(literal)                                                                             \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}
#define bytes(literal) ((struct bytes)BYTES(literal))

/* A ClientHello: what is not set is as it should be. */
struct hello {
	struct bytes session_id, ciphers, compression; /* with their lengths */
	uint16_t drop;                                 /* leave this extension out, not 0 */
	struct bytes extensions;                       /* appended, with their headers */
	struct bytes behind;                           /* bytes behind the last extension */
	uint16_t version;                              /* legacy_version */
	bool no_share;                                 /* an empty key_share */
};

struct craft {
	struct end to;
	uint8_t hello[2][4096], flight[8192];
	uint16_t hello_len[2], flight_len;
	enum ps_suite suite; /* that the server will choose, whose hash it takes to wait for it */
	struct ps_hash transcript;
	uint8_t secret[32], handshake[PS_HASH_MAX], client_hs[PS_HASH_MAX], server_hs[PS_HASH_MAX],
		client_app[PS_HASH_MAX], server_app[PS_HASH_MAX], finished_key[PS_HASH_MAX];
	uint8_t key[64]; /* Ed25519 */
};

static inline uint8_t *
put_bytes(uint8_t *p, struct bytes b)
{
	if (b.len > 0)
		memcpy(p, b.p, b.len);
	return p + b.len;
}

static inline uint8_t *
put_extension(uint8_t *p, const struct hello *o, uint16_t type, struct bytes body)
{
	if (o->drop == type && type != 0)
		return p;
	ps_be16_store(p, type);
	ps_be16_store(p + 2, (uint16_t)body.len);
	return put_bytes(p + 4, body);
}

static inline uint8_t *
put_extensions(uint8_t *p, const struct hello *o, const uint8_t public[32])
{
	uint8_t share[38] = {0x00, 0x24, 0x00, 0x1d, 0x00, 0x20}, *start = p;

	memcpy(share + 6, public, 32);
	p = put_extension(p + 2, o, 0x0a0a, bytes("\x01"));                     /* unknown */
	p = put_extension(p, o, 10, bytes("\x00\x06\x1a\x1a\x00\x1d\x00\x17")); /* groups */
	p = put_extension(p, o, 13, bytes("\x00\x04\x04\x03\x08\x07"));         /* signatures */
	p = put_extension(p, o, 16, bytes("\x00\x0e\x02h3\x0asolana-tpu"));     /* ALPN */
	p = put_extension(p, o, 43, bytes("\x04\x7a\x7a\x03\x04"));             /* versions */
	p = put_extension(
		p, o, 51, o->no_share ? bytes("\x00\x00") : (struct bytes){share, sizeof(share)});
	p = put_extension(p, o, 57, bytes("\x04\x01\x20"));
	p = put_bytes(p, o->extensions);
	ps_be16_store(start, (uint16_t)(p - start - 2));
	return p;
}

static inline uint16_t
make_hello(uint8_t *out, const struct hello *o, const uint8_t public[32])
{
	uint8_t *p = out;

	*p = TLS_CLIENT_HELLO;
	ps_be16_store(p + 4, o->version ? o->version : TLS_VERSION_1_2);
	memset(p + 6, 0x77, 32);
	p = put_bytes(p + 38, o->session_id.p ? o->session_id : bytes("\x00"));
	p = put_bytes(p, o->ciphers.p ? o->ciphers : bytes("\x00\x06\x13\x02\x13\x01\x13\x03"));
	p = put_bytes(p, o->compression.p ? o->compression : bytes("\x01\x00"));
	p = put_extensions(p, o, public);
	p = put_bytes(p, o->behind);
	ps_be32_store(out, (uint32_t)(p - out) - 4);
	*out = TLS_CLIENT_HELLO;
	return (uint16_t)(p - out);
}

static inline void
craft_open_with(struct craft *c, const struct ps_tls_config *s)
{
	uint8_t seed[32];

	memset(c, 0, sizeof(*c));
	end_open(&c->to, s);
	ps_hash_init(&c->transcript, ps_suite_hash_bytes(c->suite));
	memset(c->secret, 0x42, sizeof(c->secret));
	memset(seed, SEED_CLIENT, sizeof(seed));
	ps_ed25519_key(c->key, seed);
}

static inline void
craft_open(struct craft *c)
{
	struct ps_tls_config s = config(true, false);

	craft_open_with(c, &s);
}

static inline void
craft_close(struct craft *c)
{
	end_close(&c->to);
}

/* Puts the session back to its start. */
static inline void
craft_again(struct craft *c)
{
	CU_ASSERT_TRUE(ps_tls_end(c->to.tls, &c->to.io));
	CU_ASSERT_TRUE_FATAL(ps_tls_begin(c->to.tls, &c->to.io));
	c->to.result = PS_TLS_MORE;
	memset(c->to.given, 0, sizeof(c->to.given));
	ps_hash_init(&c->transcript, ps_suite_hash_bytes(c->suite));
	c->flight_len = 0;
}

/* Makes the first hello, or the second after a HelloRetryRequest; which one. */
static inline int
craft_make_hello(struct craft *c, const struct hello *o)
{
	int i = c->to.io.out_len[0] > 0;
	uint8_t public[32], hash[PS_HASH_MAX], stand_in[TLS_HEADER_BYTES + PS_HASH_MAX], *end;
	size_t hash_len = c->transcript.bytes;

	ps_x25519_public(public, c->secret);
	c->hello_len[i] = make_hello(c->hello[i], o, public);
	if (i == 1) { /* RFC 8446 section 4.4.1 */
		ps_hash_peek(&c->transcript, hash);
		ps_hash_init(&c->transcript, hash_len);
		end = ps_tls_put_message_hash(stand_in, hash, hash_len);
		ps_hash_update(&c->transcript, stand_in, (size_t)(end - stand_in));
		ps_hash_update(&c->transcript, c->to.io.out[0], c->to.io.out_len[0]);
		c->to.given[0] = c->to.io.out_len[0];
	}
	ps_hash_update(&c->transcript, c->hello[i], c->hello_len[i]);
	return i;
}

/* Makes and sends it; the alert, 0: none. */
static inline uint8_t
craft_hello(struct craft *c, const struct hello *o)
{
	int i = craft_make_hello(c, o);

	end_step(&c->to, PS_LEVEL_INITIAL, c->hello[i], c->hello_len[i]);
	return c->to.result == PS_TLS_ALERT ? c->to.io.alert : 0;
}

/* The server's X25519 share in its ServerHello, behind what was read of it. */
static inline const uint8_t *
find_share(const struct craft *c)
{
	const uint8_t *p = c->to.io.out[0] + c->to.given[0] + 4 + 2 + 32 + 1 + 2 + 1, *end;

	end = p + 2 + ps_be16_load(p);
	for (p += 2; p < end; p += 4 + ps_be16_load(p + 2))
		if (ps_be16_load(p) == TLS_EXT_KEY_SHARE)
			return p + 8;
	return NULL;
}

/* Secrets from the server's flight. */
static inline void
craft_keys(struct craft *c)
{
	const struct ps_tls_io *io = &c->to.io;
	const uint8_t *share = find_share(c);
	uint8_t shared[32];

	CU_ASSERT_PTR_NOT_NULL_FATAL(share);
	CU_ASSERT_TRUE(ps_x25519(shared, c->secret, share));
	ps_hash_update(
		&c->transcript, io->out[0] + c->to.given[0], io->out_len[0] - c->to.given[0]);
	ps_tls_handshake_secrets(c->handshake, c->client_hs, c->server_hs, shared, &c->transcript);
	ps_hash_update(&c->transcript, io->out[1], io->out_len[1]);
	ps_tls_app_secrets(c->client_app, c->server_app, c->handshake, &c->transcript);
	ps_tls_finished_key(c->transcript.bytes, c->finished_key, c->client_hs);
}

static inline void
add_message(struct craft *c, uint8_t type, struct bytes body)
{
	uint8_t *p = c->flight + c->flight_len;

	ps_be32_store(p, (uint32_t)body.len);
	*p = type;
	put_bytes(p + 4, body);
	ps_hash_update(&c->transcript, p, 4 + body.len);
	c->flight_len += 4 + body.len;
}

/* A Certificate message; extensions with their length, of the first entry. */
static inline void
add_certificates(
	struct craft *c, const struct bytes *der, unsigned int count, struct bytes extensions)
{
	uint8_t body[4096], *p = body + 4;

	for (unsigned int i = 0; i < count; i++) {
		ps_be32_store(p, (uint32_t)der[i].len << 8);
		p = put_bytes(p + 3, der[i]);
		p = put_bytes(p, i == 0 && extensions.p ? extensions : bytes("\x00\x00"));
	}
	ps_be32_store(body, (uint32_t)(p - body) - 4);
	add_message(c, TLS_CERTIFICATE, (struct bytes){body, (size_t)(p - body)});
}

static inline void
add_own_certificate(struct craft *c)
{
	uint8_t der[1024], seed[32];
	struct bytes b = {der, 0};

	memset(seed, SEED_CLIENT, sizeof(seed));
	b.len = ps_tls_certificate(seed, der, sizeof(der));
	add_certificates(c, &b, 1, (struct bytes){0});
}

static inline void
add_verify(struct craft *c, uint16_t scheme, size_t sig_len, uint8_t flip)
{
	uint8_t content[PS_TLS_SIGNED_MAX], body[4 + 65] = {0};
	size_t len = ps_tls_signed_content(content, false, &c->transcript);

	ps_be16_store(body, scheme);
	ps_be16_store(body + 2, (uint16_t)sig_len);
	ps_ed25519_sign(body + 4, content, len, c->key);
	body[10] ^= flip;
	add_message(c, TLS_CERTIFICATE_VERIFY, (struct bytes){body, 4 + sig_len});
}

static inline void
add_finished(struct craft *c, size_t len, uint8_t flip)
{
	uint8_t verify_data[PS_HASH_MAX + 1] = {0};

	ps_tls_finished(verify_data, c->finished_key, &c->transcript);
	verify_data[31] ^= flip;
	add_message(c, TLS_FINISHED, (struct bytes){verify_data, len});
}

/* Sends the flight as it stands; the alert, 0: none. */
static inline uint8_t
craft_flight(struct craft *c)
{
	end_step(&c->to, PS_LEVEL_HANDSHAKE, c->flight, c->flight_len);
	return c->to.result == PS_TLS_ALERT ? c->to.io.alert : 0;
}

static inline void
craft_good_flight(struct craft *c)
{
	add_own_certificate(c);
	add_verify(c, TLS_SIG_ED25519, 64, 0);
	add_finished(c, c->transcript.bytes, 0);
}

#endif
