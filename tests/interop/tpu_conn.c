/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tpu_conn.h"

#include "ngtcp2_api.h"
#include "tpu_params.h"
#include "tpu_tls.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#define PACKET_BYTES     1500
#define READS_PER_RUN    256
#define WRITES_PER_RUN   64
#define READY_STREAMS    32   /* opened ahead: a packet holds up to ten */
#define OPEN_STREAMS     8192 /* bound of our own memory, the peer's credit may be 2^60 */
#define CID_BYTES        8
#define RESERVED_VERSION 0x1a2a3a4au
#define UNOPENED         INT64_MAX

struct stream {
	LIST_ENTRY(stream) link;
	int64_t id; /* UNOPENED: the early stream was not taken, it has to be opened again */
	uint64_t index;
	bool special;
	size_t len, sent;
	uint8_t data[];
};

struct tpu_conn {
	struct client *cl;
	int fd;
	bool dead, handshaken;
	ngtcp2_conn *quic;
	gnutls_session_t tls;
	ngtcp2_crypto_conn_ref ref;
	struct sockaddr_in local;
	ngtcp2_path path;
	LIST_HEAD(, stream) open;
	unsigned n_open;
	uint64_t acked, last_key_update;     /* streams */
	struct stream *ready[READY_STREAMS]; /* opened, not wholly written; oldest first */
	unsigned n_ready;
	uint8_t packet[PACKET_BYTES];
	size_t packet_len; /* not 0: the socket was full, send this first */
	int packet_ecn, socket_ecn;
};

uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NGTCP2_SECONDS + (uint64_t)ts.tv_nsec;
}

bool
client_exhausted(const struct client *cl)
{
	return cl->next_index == cl->count && cl->next_special == cl->n_specials;
}

static struct stream *
stream_new(size_t room)
{
	struct stream *s = calloc(1, sizeof(*s) + room);

	if (!s) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return s;
}

/* The next stream of the run, whichever connection asks. */
static struct stream *
client_next(struct client *cl)
{
	struct stream *s;

	if (cl->next_special < cl->n_specials) {
		const struct special *sp = &cl->specials[cl->next_special++];
		size_t len = sp->len + (sp->beyond_window ? peer_stream_window : 0);

		s = stream_new(len);
		s->special = true;
		s->len = len;
		if (sp->data)
			memcpy(s->data, sp->data, sp->len);
		return s;
	}
	s = stream_new(PS_TXGEN_LARGE_SIZE_MAX);
	s->index = cl->next_index++;
	s->len = ps_txgen_make(&cl->gen, s->index, s->data);
	return s;
}

static void
free_stream(struct tpu_conn *c, struct stream *s)
{
	for (unsigned i = 0; i < c->n_ready; i++) {
		if (c->ready[i] != s)
			continue;
		memmove(&c->ready[i], &c->ready[i + 1], (c->n_ready - i - 1) * sizeof(c->ready[0]));
		c->n_ready--;
		break;
	}
	LIST_REMOVE(s, link);
	c->n_open--;
	free(s);
}

/* For a stream only we send on, "closed" without an error code means that every byte and the FIN
 * were acknowledged. */
static int
on_stream_close(ngtcp2_conn *conn, uint32_t flags, int64_t stream_id, uint64_t app_error_code,
	void *user_data, void *stream_user_data)
{
	struct tpu_conn *c = user_data;
	struct stream *s = stream_user_data;

	(void)conn;
	(void)stream_id;
	(void)app_error_code;
	if (!s)
		return 0;
	if (!(flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET)) {
		c->acked++;
		c->cl->acked++;
		if (c->cl->acked_log && !s->special)
			fprintf(c->cl->acked_log, "%llu\n", (unsigned long long)s->index);
	}
	free_stream(c, s);
	return 0;
}

/* The library has forgotten the early streams, when the server did not take them. */
static int
early_rejected(struct tpu_conn *c)
{
	struct stream *s;

	c->n_ready = 0;
	LIST_FOREACH(s, &c->open, link)
	{
		c->cl->bytes -= s->sent;
		c->cl->sent -= s->sent == s->len;
		s->sent = 0;
		s->id = UNOPENED;
		c->ready[c->n_ready++] = s;
	}
	return ngtcp2_conn_tls_early_data_rejected(c->quic);
}

static int
on_handshake_completed(ngtcp2_conn *conn, void *user_data)
{
	struct tpu_conn *c = user_data;

	(void)conn;
	if (c->cl->ticket && early_rejected(c) != 0)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	c->handshaken = true;
	c->cl->handshakes++;
	snprintf(c->cl->cipher, sizeof(c->cl->cipher), "%s",
		gnutls_cipher_get_name(gnutls_cipher_get(c->tls)));
	return 0;
}

static int
on_retry(ngtcp2_conn *conn, const ngtcp2_pkt_hd *hd, void *user_data)
{
	struct tpu_conn *c = user_data;

	c->cl->retries++;
	return ngtcp2_crypto_recv_retry_cb(conn, hd, user_data);
}

static void
on_rand(uint8_t *dest, size_t destlen, const ngtcp2_rand_ctx *ctx)
{
	(void)ctx;
	gnutls_rnd(GNUTLS_RND_NONCE, dest, destlen);
}

static int
on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t cidlen, void *user_data)
{
	(void)conn;
	(void)user_data;
	cid->datalen = cidlen;
	if (gnutls_rnd(GNUTLS_RND_NONCE, cid->data, cidlen) != 0 ||
		gnutls_rnd(GNUTLS_RND_NONCE, token, NGTCP2_STATELESS_RESET_TOKENLEN) != 0)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	return 0;
}

static ngtcp2_conn *
conn_of_ref(ngtcp2_crypto_conn_ref *ref)
{
	return ((struct tpu_conn *)ref->user_data)->quic;
}

static int
open_socket(struct tpu_conn *c)
{
	socklen_t len = sizeof(c->local);
	int size = 4 << 20;

	c->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(c->fd, IPPROTO_IP, IP_RECVTOS, &(int){1}, sizeof(int));
	if (connect(c->fd, (struct sockaddr *)&c->cl->peer, sizeof(c->cl->peer)) < 0 ||
		getsockname(c->fd, (struct sockaddr *)&c->local, &len) < 0)
		return -errno;
	c->path = (ngtcp2_path){
		.local = {(ngtcp2_sockaddr *)&c->local, sizeof(c->local)},
		.remote = {(ngtcp2_sockaddr *)&c->cl->peer, sizeof(c->cl->peer)},
	};
	return 0;
}

static int
open_quic(struct tpu_conn *c, uint32_t version)
{
	static const ngtcp2_callbacks callbacks = {
		.client_initial = ngtcp2_crypto_client_initial_cb,
		.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
		.handshake_completed = on_handshake_completed,
		.encrypt = ngtcp2_crypto_encrypt_cb,
		.decrypt = ngtcp2_crypto_decrypt_cb,
		.hp_mask = ngtcp2_crypto_hp_mask_cb,
		.stream_close = on_stream_close,
		.recv_retry = on_retry,
		.rand = on_rand,
		.get_new_connection_id = on_new_cid,
		.update_key = ngtcp2_crypto_update_key_cb,
		.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
		.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
		.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
		.version_negotiation = ngtcp2_crypto_version_negotiation_cb,
	};
	ngtcp2_transport_params params;
	ngtcp2_settings settings;
	ngtcp2_cid dcid = {.datalen = CID_BYTES}, scid = {.datalen = CID_BYTES};
	int rc;

	gnutls_rnd(GNUTLS_RND_NONCE, dcid.data, CID_BYTES);
	gnutls_rnd(GNUTLS_RND_NONCE, scid.data, CID_BYTES);
	ngtcp2_settings_default(&settings);
	settings.initial_ts = clock_ns();
	settings.handshake_timeout = c->cl->timeout_ns;
	ngtcp2_transport_params_default(&params);
	params.max_idle_timeout = c->cl->idle_ns;
	rc = ngtcp2_conn_client_new(
		&c->quic, &dcid, &scid, &c->path, version, &callbacks, &settings, &params, NULL, c);
	if (rc != 0)
		return rc;
	ngtcp2_conn_set_tls_native_handle(c->quic, c->tls);
	ngtcp2_conn_set_keep_alive_timeout(c->quic, NGTCP2_SECONDS);
	return c->cl->ticket ? tpu_params_set_early(c->quic) : 0;
}

static const char *
open_session(struct tpu_conn *c, uint32_t version)
{
	int rc;

	c->ref = (ngtcp2_crypto_conn_ref){.get_conn = conn_of_ref, .user_data = c};
	rc = tpu_tls_open(&c->tls, c->cl, &c->ref);
	if (rc != 0)
		return gnutls_strerror(rc);
	rc = open_quic(c, version);
	return rc == 0 ? NULL : ngtcp2_strerror(rc);
}

struct tpu_conn *
tpu_conn_open(struct client *cl)
{
	struct tpu_conn *c = calloc(1, sizeof(*c));
	const char *why = "out of memory";
	int rc;

	if (!c)
		goto fail;
	c->cl = cl;
	LIST_INIT(&c->open);
	for (unsigned i = 0; i < cl->n_specials; i++) {
		if (cl->specials[i].beyond_window)
			window_excess = cl->specials[i].len;
	}
	rc = open_socket(c);
	why = strerror(-rc);
	if (rc == 0)
		why = open_session(c, cl->unknown_version ? RESERVED_VERSION : NGTCP2_PROTO_VER_V1);
	if (!why)
		return c;
fail:
	fprintf(stderr, "cannot open a connection: %s\n", why);
	if (c)
		tpu_conn_close(c);
	return NULL;
}

int
tpu_conn_fd(const struct tpu_conn *c)
{
	return c->fd;
}

uint64_t
tpu_conn_expiry(const struct tpu_conn *c)
{
	return c->dead ? UINT64_MAX : ngtcp2_conn_get_expiry(c->quic);
}

bool
tpu_conn_dead(const struct tpu_conn *c)
{
	return c->dead;
}

bool
tpu_conn_done(const struct tpu_conn *c)
{
	return c->dead || (c->handshaken && c->n_open == 0 && client_exhausted(c->cl));
}

static void
note_peer_close(struct tpu_conn *c)
{
	const ngtcp2_ccerr e = peer_close(c->quic);
	struct client *cl = c->cl;

	if (cl->closed)
		return;
	cl->closed = true;
	cl->close_is_app = e.type == NGTCP2_CCERR_TYPE_APPLICATION;
	cl->close_code = e.error_code;
	fprintf(stderr, "closed by the peer: %s code 0x%llx reason \"%.*s\"\n",
		cl->close_is_app ? "application" : "transport", (unsigned long long)e.error_code,
		(int)e.reasonlen, (const char *)e.reason);
}

static void
send_close(struct tpu_conn *c, const ngtcp2_ccerr *e)
{
	ngtcp2_pkt_info pi;
	ngtcp2_ssize n = ngtcp2_conn_write_connection_close(
		c->quic, NULL, &pi, c->packet, sizeof(c->packet), e, clock_ns());

	if (n > 0 && send(c->fd, c->packet, (size_t)n, 0) < 0)
		fprintf(stderr, "CONNECTION_CLOSE not sent: %s\n", strerror(errno));
}

/* An error of the library ends the connection. */
static void
fail_conn(struct tpu_conn *c, int liberr)
{
	ngtcp2_ccerr e;

	c->dead = true;
	if (liberr == NGTCP2_ERR_DRAINING) {
		note_peer_close(c);
		return;
	}
	fprintf(stderr, "connection lost: %s\n", ngtcp2_strerror(liberr));
	ngtcp2_ccerr_default(&e);
	if (liberr == NGTCP2_ERR_CRYPTO)
		ngtcp2_ccerr_set_tls_alert(&e, ngtcp2_conn_get_tls_alert(c->quic), NULL, 0);
	else
		ngtcp2_ccerr_set_liberr(&e, liberr, NULL, 0);
	if (liberr != NGTCP2_ERR_IDLE_CLOSE && liberr != NGTCP2_ERR_HANDSHAKE_TIMEOUT)
		send_close(c, &e);
}

/* The server told that it does not speak what we began with. */
static void
begin_again(struct tpu_conn *c)
{
	const char *why;

	ngtcp2_conn_del(c->quic);
	gnutls_deinit(c->tls);
	c->quic = NULL;
	c->tls = NULL;
	why = open_session(c, NGTCP2_PROTO_VER_V1);
	c->dead = why != NULL;
	if (why)
		fprintf(stderr, "cannot begin again: %s\n", why);
}

static ssize_t
receive(int fd, uint8_t *buf, size_t room, ngtcp2_pkt_info *pi)
{
	char control[CMSG_SPACE(1)];
	struct iovec iov = {buf, room};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &msg, 0);
	struct cmsghdr *cm = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	*pi = (ngtcp2_pkt_info){0};
	if (cm && cm->cmsg_type == IP_TOS)
		pi->ecn = *CMSG_DATA(cm) & NGTCP2_ECN_MASK;
	return n;
}

static void
read_packets(struct tpu_conn *c)
{
	uint8_t buf[2048];

	for (int i = 0; i < READS_PER_RUN && !c->dead; i++) {
		ngtcp2_pkt_info pi;
		ssize_t n = receive(c->fd, buf, sizeof(buf), &pi);
		int rc;

		/* ECONNREFUSED comes from ICMP, which QUIC ignores: the server may come back. */
		if (n < 0 && (errno == EINTR || errno == ECONNREFUSED))
			continue;
		if (n < 0)
			return;
		rc = ngtcp2_conn_read_pkt(c->quic, &c->path, &pi, buf, (size_t)n, clock_ns());
		if (rc == NGTCP2_ERR_RECV_VERSION_NEGOTIATION)
			begin_again(c);
		else if (rc != 0)
			fail_conn(c, rc);
	}
}

static void
open_streams(struct tpu_conn *c)
{
	unsigned limit = c->handshaken ? OPEN_STREAMS : c->cl->ticket ? EARLY_STREAMS : 0;

	for (unsigned i = 0; i < c->n_ready; i++) {
		struct stream *s = c->ready[i];

		if (s->id == UNOPENED && ngtcp2_conn_open_uni_stream(c->quic, &s->id, s) != 0)
			return;
	}
	while (c->n_ready < READY_STREAMS && c->n_open < limit && !client_exhausted(c->cl) &&
		ngtcp2_conn_get_streams_uni_left(c->quic) > 0) {
		struct stream *s = client_next(c->cl);

		LIST_INSERT_HEAD(&c->open, s, link);
		c->n_open++;
		if (ngtcp2_conn_open_uni_stream(c->quic, &s->id, s) != 0) {
			free_stream(c, s);
			return;
		}
		c->ready[c->n_ready++] = s;
	}
}

static void
note_written(struct tpu_conn *c, unsigned at, size_t n)
{
	struct stream *s = c->ready[at];

	s->sent += n;
	c->cl->bytes += n;
	if (s->sent < s->len)
		return;
	c->cl->sent++;
	c->n_ready--;
	memmove(&c->ready[at], &c->ready[at + 1], (c->n_ready - at) * sizeof(c->ready[0]));
}

/* Fills one packet with as many streams as fit; returns its length, 0 or an ngtcp2 error. */
static ngtcp2_ssize
write_packet(struct tpu_conn *c, uint64_t now)
{
	ngtcp2_pkt_info pi = {0};
	unsigned at = 0; /* streams before it are blocked by flow control */

	for (;;) {
		struct stream *s = at < c->n_ready ? c->ready[at] : NULL;
		ngtcp2_vec vec = {NULL, 0};
		ngtcp2_ssize taken = -1, n;
		uint32_t flags = 0;

		if (s) {
			vec = (ngtcp2_vec){s->data + s->sent, s->len - s->sent};
			flags = NGTCP2_WRITE_STREAM_FLAG_MORE | NGTCP2_WRITE_STREAM_FLAG_FIN;
		}
		n = ngtcp2_conn_writev_stream(c->quic, NULL, &pi, c->packet, sizeof(c->packet),
			&taken, flags, s ? s->id : -1, &vec, s ? 1 : 0, now);
		if (n == NGTCP2_ERR_STREAM_DATA_BLOCKED || n == NGTCP2_ERR_STREAM_SHUT_WR ||
			n == NGTCP2_ERR_STREAM_NOT_FOUND) {
			at++;
			continue;
		}
		if (s && taken >= 0)
			note_written(c, at, (size_t)taken);
		if (n != NGTCP2_ERR_WRITE_MORE) {
			c->packet_ecn = pi.ecn;
			return n;
		}
	}
}

/* Refused by the library until the peer has acknowledged the update before; then the next run tries
 * again. */
static void
update_key(struct tpu_conn *c, uint64_t now)
{
	uint64_t every = c->cl->key_update_every;

	if (every == 0 || c->acked < c->last_key_update + every ||
		ngtcp2_conn_initiate_key_update(c->quic, now) != 0)
		return;
	c->last_key_update = c->acked;
	c->cl->key_updates++;
}

static bool
send_packet(struct tpu_conn *c)
{
	if (c->packet_ecn != c->socket_ecn)
		setsockopt(c->fd, IPPROTO_IP, IP_TOS, &c->packet_ecn, sizeof(c->packet_ecn));
	c->socket_ecn = c->packet_ecn;
	if (send(c->fd, c->packet, c->packet_len, 0) < 0 && errno == EAGAIN)
		return false;
	c->packet_len = 0;
	return true;
}

void
tpu_conn_run(struct tpu_conn *c)
{
	uint64_t now;
	int rc;

	if (c->dead)
		return;
	read_packets(c);
	now = clock_ns();
	if (!c->dead && ngtcp2_conn_get_expiry(c->quic) <= now) {
		rc = ngtcp2_conn_handle_expiry(c->quic, now);
		if (rc != 0)
			fail_conn(c, rc);
	}
	if (!c->dead)
		update_key(c, now);
	for (int i = 0; i < WRITES_PER_RUN && !c->dead; i++) {
		ngtcp2_ssize n;

		if (c->packet_len > 0 && !send_packet(c))
			return;
		open_streams(c);
		n = write_packet(c, now);
		if (n < 0)
			fail_conn(c, (int)n);
		if (n <= 0)
			break;
		c->packet_len = (size_t)n;
	}
	if (!c->dead) {
		if (c->packet_len > 0)
			send_packet(c);
		ngtcp2_conn_update_pkt_tx_time(c->quic, now);
	}
}

void
tpu_conn_close(struct tpu_conn *c)
{
	ngtcp2_ccerr e;

	if (c->quic && !c->dead) {
		ngtcp2_ccerr_default(&e);
		ngtcp2_ccerr_set_application_error(&e, 0, NULL, 0);
		send_close(c, &e);
	}
	if (c->quic)
		ngtcp2_conn_del(c->quic);
	while (!LIST_EMPTY(&c->open))
		free_stream(c, LIST_FIRST(&c->open));
	if (c->tls)
		gnutls_deinit(c->tls);
	if (c->fd > 0)
		close(c->fd);
	free(c);
}
