/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* A TLS 1.3 server for QUIC that speaks one group and one kind of key of its own: RFC 8446 with
 * mandatory client certificates, RFC 7250 raw public keys if the client likes, no tickets, no
 * pre-shared keys, no early data.
 *
 * No heap after creation. Messages are not copied: they are parsed where the caller keeps them, and
 * a handshake remembers where. Each public-key operation is a point where a step can stop and
 * continue in a later turn. */

#include "tls_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "curve25519.h"
#include "protect.h"
#include "tls_read.h"

#define SHARES 64 /* key shares made ahead */

enum state {
	WAIT_HELLO,
	WAIT_SECOND_HELLO, /* after a HelloRetryRequest */
	MAKE_SHARE,
	DERIVE,
	SIGN,
	WAIT_CERTIFICATE,
	WAIT_VERIFY,
	WAIT_FINISHED,
};

struct ps_tls_handshake {
	struct ps_hash transcript; /* from the first hello on, which says with what hash */
	struct ps_tls_lib *lib;
	struct ps_tls_io *io;
	const uint8_t *next, *end; /* input not consumed yet, in the caller's memory */
	const uint8_t *client_random, *client_share;
	struct ps_tls_peer_key peer;
	enum state state;
	uint16_t hello_len; /* of our ServerHello, written but not yet announced */
	int8_t client_cert_type, server_cert_type; /* negotiated; -1: not talked about */
	bool one_certificate;
	uint8_t suite;               /* enum ps_suite, negotiated */
	uint8_t secret[PS_HASH_MAX]; /* in turn: our X25519 key, the handshake secret, the client's
				      * Finished key */
};

_Static_assert(sizeof(struct ps_tls_handshake) - sizeof(struct ps_hash) <= 256,
	"a handshake's state stays small");
_Static_assert(PS_TLS_AUTH_MAX + 2 * 128 <= PS_TLS_OUT_MAX, "a server's flight fits");
_Static_assert(2 * PS_TLS_HELLO_MAX <= PS_TLS_OUT_MAX, "two hellos fit");

struct share {
	uint8_t secret[32], public[32];
};

struct ps_tls_lib {
	struct ps_tls_config config;
	char alpn[PS_ALPN_MAX + 1];
	uint8_t key[64]; /* Ed25519 */
	uint8_t random_key[32];
	uint32_t shares;
	struct share share[SHARES]; /* stack; each is used once */
	uint16_t cert_len;
	uint8_t cert[PS_TLS_CERT_MAX];
	uint8_t spki[PS_TLS_SPKI_BYTES];
	struct ps_tls_handshake handshake[];
};

/* 32 unpredictable bytes without a system call. What came before cannot be told from the key. */
static void
draw(struct ps_tls_lib *lib, uint8_t out[32])
{
	static const uint8_t output = 1, next = 2;

	ps_hkdf_extract(32, out, lib->random_key, 32, &output, 1);
	ps_hkdf_extract(32, lib->random_key, lib->random_key, 32, &next, 1);
}

static void
make_share(struct ps_tls_lib *lib, struct share *s)
{
	draw(lib, s->secret);
	ps_x25519_public(s->public, s->secret);
}

static bool
prepare(struct ps_tls_lib *lib)
{
	if (lib->shares == SHARES)
		return false;
	make_share(lib, &lib->share[lib->shares++]);
	return true;
}

static bool
spend(struct ps_tls_work *w)
{
	if (w->ops == 0)
		return false;
	w->ops--;
	return true;
}

/* -- the client's hello and our flight -- */

/* The only bytes that may follow are those of the next flight, under other keys. */
static uint8_t
read_hello(struct ps_tls_handshake *h, const uint8_t *msg, size_t len)
{
	struct ps_tls_io *io = h->io;
	struct ps_tls_hello hello;
	uint8_t alert;

	if (h->next != h->end)
		return PS_TLS_ALERT_UNEXPECTED_MESSAGE;
	alert = ps_tls_hello_read(
		&hello, msg + TLS_HEADER_BYTES, len - TLS_HEADER_BYTES, h->lib->alpn);
	if (alert != 0)
		return alert;
	if (h->state == WAIT_SECOND_HELLO && (hello.share == NULL || hello.suite != h->suite))
		return PS_TLS_ALERT_ILLEGAL_PARAMETER;
	if (h->state == WAIT_HELLO)
		ps_hash_init(&h->transcript, ps_suite_hash_bytes(hello.suite));
	h->suite = hello.suite;
	if (hello.share != NULL) { /* of the last hello, not of one that is sent again */
		memcpy(io->peer_tp, hello.tp, hello.tp_len);
		io->peer_tp_len = hello.tp_len;
	}
	h->client_random = hello.random;
	h->client_share = hello.share;
	h->client_cert_type = (int8_t)hello.client_cert_type;
	h->server_cert_type = (int8_t)hello.server_cert_type;
	ps_hash_update(&h->transcript, msg, len);
	return 0;
}

/* RFC 8446 section 4.1.4: the client supports X25519 but sent no share of it. */
static void
ask_again(struct ps_tls_handshake *h)
{
	uint8_t hash[PS_HASH_MAX], stand_in[TLS_HEADER_BYTES + PS_HASH_MAX];
	uint8_t *out = h->io->out[PS_LEVEL_INITIAL], *end;

	ps_hash_peek(&h->transcript, hash);
	end = ps_tls_put_message_hash(stand_in, hash, h->transcript.bytes);
	ps_hash_init(&h->transcript, h->transcript.bytes);
	ps_hash_update(&h->transcript, stand_in, (size_t)(end - stand_in));
	end = ps_tls_put_server_hello(out, h->suite, NULL, NULL);
	ps_hash_update(&h->transcript, out, (size_t)(end - out));
	h->io->out_len[PS_LEVEL_INITIAL] = (uint16_t)(end - out);
}

/* ServerHello; it leaves only when the client's share has proved good. */
static void
put_hello(struct ps_tls_handshake *h, const struct share *ours)
{
	struct ps_tls_io *io = h->io;
	uint8_t *out = io->out[PS_LEVEL_INITIAL] + io->out_len[PS_LEVEL_INITIAL], *end;
	uint8_t random[TLS_RANDOM_BYTES];

	draw(h->lib, random);
	end = ps_tls_put_server_hello(out, h->suite, random, ours->public);
	h->hello_len = (uint16_t)(end - out);
	ps_hash_update(&h->transcript, out, h->hello_len);
}

static bool
choose_share(struct ps_tls_handshake *h, struct ps_tls_work *w)
{
	struct ps_tls_lib *lib = h->lib;
	struct share s;

	if (lib->shares > 0) {
		s = lib->share[--lib->shares];
		ps_wipe(&lib->share[lib->shares], sizeof(s));
	} else if (spend(w)) {
		make_share(lib, &s);
	} else {
		return false;
	}
	put_hello(h, &s);
	memcpy(h->secret, s.secret, sizeof(s.secret));
	ps_wipe(&s, sizeof(s));
	return true;
}

static void
log_secrets(const struct ps_tls_handshake *h, enum ps_level level)
{
	const struct ps_tls_config *c = &h->lib->config;
	const struct ps_tls_secret *s = &h->io->secret[level];
	bool app = level == PS_LEVEL_APP;

	ps_tls_key_log_line(c, app ? "CLIENT_TRAFFIC_SECRET_0" : "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
		h->client_random, s->rx, h->transcript.bytes);
	ps_tls_key_log_line(c, app ? "SERVER_TRAFFIC_SECRET_0" : "SERVER_HANDSHAKE_TRAFFIC_SECRET",
		h->client_random, s->tx, h->transcript.bytes);
}

/* Everything of our second flight that needs no private key. */
static void
put_parameters(struct ps_tls_handshake *h)
{
	const struct ps_tls_lib *lib = h->lib;
	struct ps_tls_io *io = h->io;
	uint8_t *out = io->out[PS_LEVEL_HANDSHAKE], *p = out;

	p = ps_tls_put_extensions(p, io, lib->alpn, h->client_cert_type, h->server_cert_type);
	p = ps_tls_put_certificate_request(p);
	if (h->server_cert_type == TLS_CERT_RAW_KEY)
		p = ps_tls_put_certificate(p, lib->spki, sizeof(lib->spki));
	else
		p = ps_tls_put_certificate(p, lib->cert, lib->cert_len);
	ps_hash_update(&h->transcript, out, (size_t)(p - out));
	io->out_len[PS_LEVEL_HANDSHAKE] = (uint16_t)(p - out);
}

static uint8_t
derive(struct ps_tls_handshake *h)
{
	struct ps_tls_io *io = h->io;
	struct ps_tls_secret *s = &io->secret[PS_LEVEL_HANDSHAKE];
	uint8_t shared[32];

	if (!ps_x25519(shared, h->secret, h->client_share))
		return PS_TLS_ALERT_ILLEGAL_PARAMETER; /* section 7.4.2 */
	ps_tls_handshake_secrets(h->secret, s->rx, s->tx, shared, &h->transcript);
	ps_wipe(shared, sizeof(shared));
	s->suite = io->secret[PS_LEVEL_APP].suite = h->suite;
	s->ready = true;
	log_secrets(h, PS_LEVEL_HANDSHAKE);
	io->out_len[PS_LEVEL_INITIAL] += h->hello_len;
	put_parameters(h);
	return 0;
}

static void
sign(struct ps_tls_handshake *h)
{
	struct ps_tls_io *io = h->io;
	uint8_t *out = io->out[PS_LEVEL_HANDSHAKE] + io->out_len[PS_LEVEL_HANDSHAKE], *p = out;
	uint8_t content[PS_TLS_SIGNED_MAX], sig[64], verify_data[PS_HASH_MAX], key[PS_HASH_MAX];
	size_t len = ps_tls_signed_content(content, true, &h->transcript);
	size_t hash = h->transcript.bytes;

	ps_ed25519_sign(sig, content, len, h->lib->key);
	p = ps_tls_put_certificate_verify(p, sig);
	ps_hash_update(&h->transcript, out, (size_t)(p - out));

	ps_tls_finished_key(hash, key, io->secret[PS_LEVEL_HANDSHAKE].tx);
	ps_tls_finished(verify_data, key, &h->transcript);
	ps_wipe(key, sizeof(key));
	out = p;
	p = ps_tls_put_finished(p, verify_data, hash);
	ps_hash_update(&h->transcript, out, (size_t)(p - out));
	io->out_len[PS_LEVEL_HANDSHAKE] = (uint16_t)(p - io->out[PS_LEVEL_HANDSHAKE]);

	/* Known from here on, but not to be used before the client's Finished. */
	ps_tls_app_secrets(io->secret[PS_LEVEL_APP].rx, io->secret[PS_LEVEL_APP].tx, h->secret,
		&h->transcript);
	log_secrets(h, PS_LEVEL_APP);
	ps_tls_finished_key(hash, h->secret, io->secret[PS_LEVEL_HANDSHAKE].rx);
}

/* -- the client's second flight -- */

/* Any chain is accepted, section 4.4.2.4: the first certificate's key is what signs, and only when
 * it is alone does it name the peer. */
static uint8_t
read_certificate(struct ps_tls_handshake *h, const uint8_t *msg, size_t len)
{
	struct ps_tls_read r = {msg + TLS_HEADER_BYTES, len - TLS_HEADER_BYTES}, context, list,
			   first;
	unsigned int count = 0;

	first = (struct ps_tls_read){0};
	if (!read_vector(&r, 1, &context) || !read_vector(&r, 3, &list) || r.left > 0)
		return PS_TLS_ALERT_DECODE_ERROR;
	if (context.left > 0)
		return PS_TLS_ALERT_ILLEGAL_PARAMETER;
	if (list.left == 0)
		return PS_TLS_ALERT_CERTIFICATE_REQUIRED;
	while (list.left > 0) {
		struct ps_tls_read cert, extensions;

		if (!read_vector(&list, 3, &cert) || cert.left == 0 ||
			!read_vector(&list, 2, &extensions))
			return PS_TLS_ALERT_DECODE_ERROR;
		if (extensions.left > 0) /* none was asked for */
			return PS_TLS_ALERT_UNSUPPORTED_EXTENSION;
		if (count++ == 0)
			first = cert;
	}
	h->one_certificate = count == 1;
	if (h->client_cert_type != TLS_CERT_RAW_KEY)
		return ps_tls_cert_key(&h->peer, first.p, first.left);
	return count > 1 ? PS_TLS_ALERT_ILLEGAL_PARAMETER
			 : ps_tls_spki_key(&h->peer, first.p, first.left);
}

static bool
verifies(const struct ps_tls_handshake *h, uint32_t scheme, const struct ps_tls_read *sig)
{
	uint8_t content[PS_TLS_SIGNED_MAX];
	size_t len = ps_tls_signed_content(content, false, &h->transcript);

	if (h->peer.kind != PS_TLS_KEY_ED25519)
		return ps_tls_verify_slow((uint16_t)scheme, h->peer.spki, h->peer.spki_len, content,
			len, sig->p, sig->left);
	return sig->left == 64 && ps_ed25519_verify(sig->p, content, len, h->peer.ed25519);
}

/* *wait: the work allowed is not enough; nothing was done. */
static uint8_t
read_verify(struct ps_tls_handshake *h, const uint8_t *msg, size_t len, struct ps_tls_work *w,
	bool *wait)
{
	struct ps_tls_read r = {msg + TLS_HEADER_BYTES, len - TLS_HEADER_BYTES}, sig;
	uint32_t scheme;

	if (!read_int(&r, 2, &scheme) || !read_vector(&r, 2, &sig) || r.left > 0)
		return PS_TLS_ALERT_DECODE_ERROR;
	if (!ps_tls_scheme_fits((uint16_t)scheme, h->peer.kind))
		return PS_TLS_ALERT_ILLEGAL_PARAMETER;
	w->wants_slow = h->peer.kind != PS_TLS_KEY_ED25519 && !w->slow;
	*wait = w->wants_slow || !spend(w);
	if (*wait)
		return 0;
	return verifies(h, scheme, &sig) ? 0 : PS_TLS_ALERT_DECRYPT_ERROR;
}

static uint8_t
read_finished(struct ps_tls_handshake *h, const uint8_t *msg, size_t len)
{
	struct ps_tls_io *io = h->io;
	uint8_t verify_data[PS_HASH_MAX];
	size_t hash = h->transcript.bytes;

	if (len != TLS_HEADER_BYTES + hash)
		return PS_TLS_ALERT_DECODE_ERROR;
	ps_tls_finished(verify_data, h->secret, &h->transcript);
	if (!ps_equal(verify_data, msg + TLS_HEADER_BYTES, hash))
		return PS_TLS_ALERT_DECRYPT_ERROR;
	if (h->next != h->end)
		return PS_TLS_ALERT_UNEXPECTED_MESSAGE;
	io->secret[PS_LEVEL_APP].ready = true;
	io->peer_has_key = h->one_certificate && h->peer.kind == PS_TLS_KEY_ED25519;
	if (io->peer_has_key)
		memcpy(io->peer_key, h->peer.ed25519, sizeof(io->peer_key));
	return 0;
}

/* -- the order -- */

static enum ps_tls_result
fail(struct ps_tls_handshake *h, uint8_t alert)
{
	ps_wipe(h->secret, sizeof(h->secret));
	h->io->alert = alert;
	return PS_TLS_ALERT;
}

/* The next whole message: false when it is not there yet. */
static bool
message(const struct ps_tls_handshake *h, size_t *len)
{
	struct ps_tls_read r = {h->next, (size_t)(h->end - h->next)};
	uint32_t type, body;

	if (!read_int(&r, 1, &type) || !read_int(&r, 3, &body) || body > r.left)
		return false;
	*len = TLS_HEADER_BYTES + body;
	return true;
}

static uint8_t
expected_type(enum state s)
{
	switch (s) {
	case WAIT_CERTIFICATE:
		return TLS_CERTIFICATE;
	case WAIT_VERIFY:
		return TLS_CERTIFICATE_VERIFY;
	case WAIT_FINISHED:
		return TLS_FINISHED;
	default:
		return TLS_CLIENT_HELLO;
	}
}

/* Operations between messages. PENDING, MORE when messages come next, or ALERT. */
static enum ps_tls_result
answer(struct ps_tls_handshake *h, struct ps_tls_work *w)
{
	uint8_t alert;

	if (h->state == MAKE_SHARE) {
		if (!choose_share(h, w))
			return PS_TLS_PENDING;
		h->state = DERIVE;
	}
	if (h->state == DERIVE) {
		if (!spend(w))
			return PS_TLS_PENDING;
		alert = derive(h);
		if (alert != 0)
			return fail(h, alert);
		h->state = SIGN;
	}
	if (h->state == SIGN) {
		if (!spend(w))
			return PS_TLS_PENDING;
		sign(h);
		h->state = WAIT_CERTIFICATE;
	}
	return PS_TLS_MORE;
}

/* One message of the client's, which was consumed unless *wait. */
static uint8_t
read_message(struct ps_tls_handshake *h, const uint8_t *msg, size_t len, struct ps_tls_work *w,
	bool *wait)
{
	uint8_t alert;

	switch (h->state) {
	case WAIT_CERTIFICATE:
		alert = read_certificate(h, msg, len);
		break;
	case WAIT_VERIFY:
		alert = read_verify(h, msg, len, w, wait);
		break;
	case WAIT_FINISHED:
		return read_finished(h, msg, len);
	default:
		alert = read_hello(h, msg, len);
		if (alert == 0 && h->client_share == NULL)
			ask_again(h);
		if (alert == 0)
			h->state = h->client_share == NULL ? WAIT_SECOND_HELLO : MAKE_SHARE;
		return alert;
	}
	if (alert == 0 && !*wait) {
		ps_hash_update(&h->transcript, msg, len);
		h->state++;
	}
	return alert;
}

static enum ps_tls_result
run(struct ps_tls_handshake *h, struct ps_tls_work *w)
{
	for (;;) {
		const uint8_t *msg;
		enum ps_tls_result r = answer(h, w);
		bool wait = false, last = h->state == WAIT_FINISHED;
		uint8_t alert;
		size_t len;

		if (r != PS_TLS_MORE)
			return r;
		msg = h->next;
		if (msg != h->end && *msg != expected_type(h->state))
			return fail(h, PS_TLS_ALERT_UNEXPECTED_MESSAGE);
		if (!message(h, &len))
			return PS_TLS_MORE;
		h->next += len;
		alert = read_message(h, msg, len, w, &wait);
		if (alert != 0)
			return fail(h, alert);
		if (wait) {
			h->next = msg;
			return PS_TLS_PENDING;
		}
		if (last)
			return PS_TLS_DONE;
	}
}

static enum ps_tls_result
step(struct ps_tls_handshake *h, struct ps_tls_work *w)
{
	struct ps_tls_io *io = h->io;

	if (io->in_len > 0) {
		if (h->next == h->end)
			h->next = h->end = io->in;
		if (io->in != h->end) /* the rest of a message lies elsewhere */
			return fail(h, PS_TLS_ALERT_INTERNAL_ERROR);
		h->end += io->in_len;
		io->in_len = 0; /* this step may have to be run again */
	}
	return run(h, w);
}

static struct ps_tls_handshake *
begin(struct ps_tls_lib *lib, uint32_t slot, struct ps_tls_io *io)
{
	struct ps_tls_handshake *h = &lib->handshake[slot];

	*h = (struct ps_tls_handshake){.lib = lib, .io = io};
	return h;
}

static void
end(struct ps_tls_handshake *h)
{
	ps_wipe(h, sizeof(*h));
}

static void
lib_free(struct ps_tls_lib *lib)
{
	if (lib == NULL)
		return;
	ps_wipe(lib, sizeof(*lib) + lib->config.sessions * sizeof(lib->handshake[0]));
	free(lib);
}

static struct ps_tls_lib *
lib_new(const struct ps_tls_config *c, struct ps_err *e)
{
	struct ps_tls_lib *lib = calloc(1, sizeof(*lib) + c->sessions * sizeof(lib->handshake[0]));

	if (lib == NULL) {
		ps_fail(e, ENOMEM, "no memory for %u TLS handshakes", c->sessions);
		return NULL;
	}
	lib->config = *c;
	ps_wipe(lib->config.seed, sizeof(lib->config.seed));
	memcpy(lib->alpn, c->alpn, strlen(c->alpn) + 1);
	if (!ps_curve25519_start()) {
		ps_fail(e, ENOSYS, "the library for X25519 and Ed25519 does not start");
		lib_free(lib);
		return NULL;
	}
	ps_ed25519_key(lib->key, c->seed);
	ps_random(lib->random_key, sizeof(lib->random_key));
	ps_tls_put_spki(lib->spki, lib->key + 32);
	lib->cert_len = (uint16_t)ps_tls_certificate(c->seed, lib->cert, sizeof(lib->cert));
	if (lib->cert_len == 0) {
		ps_fail(e, EINVAL, "GnuTLS cannot make an Ed25519 certificate");
		lib_free(lib);
		return NULL;
	}
	return lib;
}

const struct ps_tls_backend ps_tls_builtin = {
	.lib_new = lib_new,
	.lib_free = lib_free,
	.begin = begin,
	.end = end,
	.step = step,
	.prepare = prepare,
	.steps_inline = true,
};
