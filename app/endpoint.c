/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numa.h>

#define ALIGN_UP(n)    (((n) + 63) & ~(size_t)63)
#define TLS_OPS_A_TURN 1 /* public-key operations, some 20 to 50 us each, a turn of the loop */

void *
ps_node_alloc(size_t bytes, int node)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	if (node >= 0 && numa_available() >= 0)
		numa_tonode_memory(p, bytes, node);
	memset(p, 0, bytes);
	return p;
}

void
ps_node_free(void *p, size_t bytes)
{
	if (p != NULL)
		munmap(p, bytes);
}

static int
open_key_log(int *fd, const struct ps_conf *conf, struct ps_err *e)
{
	const char *file = conf->tls.key_log;

	*fd = -1;
	if (file[0] == '\0')
		return 0;
	*fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (*fd >= 0)
		return 0;
	return ps_fail(e, errno, "[tls] key_log: %s: %s; name a file that can be written", file,
		strerror(errno));
}

int
ps_endpoint_keys(struct ps_endpoint_keys *k, const struct ps_conf *conf, struct ps_err *e)
{
	int fd, rc = open_key_log(&fd, conf, e);

	if (rc < 0)
		return rc;
	if (fd >= 0)
		close(fd); /* each endpoint opens its own; this one only finds the mistake */
	ps_random(k, sizeof(*k));
	if (conf->tls.keypair[0] != '\0')
		return ps_conf_keypair(conf, k->tls_seed, e);
	return 0;
}

static void
set_limits(struct ps_quic_limits *l, const struct ps_conf *conf)
{
	l->conns = conf->quic.connections;
	l->handshakes = conf->quic.handshakes;
	l->streams = conf->quic.streams;
	l->key_cache = conf->quic.key_cache;
}

/* The endpoint lies at the block's start, reassembly behind it. */
static size_t
quic_bytes_of(const struct ps_quic_limits *l)
{
	return ALIGN_UP(ps_quic_footprint(l));
}

static size_t
block_bytes_of(const struct ps_quic_limits *l)
{
	const struct ps_tpu_limits tpu_limits = {.slots = l->streams};

	return quic_bytes_of(l) + ps_tpu_footprint(&tpu_limits);
}

size_t
ps_endpoint_footprint(const struct ps_conf *conf)
{
	struct ps_quic_config unused;
	struct ps_quic_limits l;

	ps_quic_defaults(&l, &unused);
	set_limits(&l, conf);
	return block_bytes_of(&l);
}

static void
configure(struct ps_quic_limits *l, struct ps_quic_config *c, const struct ps_conf *conf,
	enum ps_service_kind kind, unsigned int worker)
{
	ps_quic_defaults(l, c);
	set_limits(l, conf);
	c->server = true;
	c->worker = (uint8_t)worker;
	c->retry = conf->quic.retry;
	c->handshakes_per_s = conf->quic.handshakes_per_s;
	c->source_per_min = conf->quic.source_per_min;
	c->handshake_timeout_ms = conf->quic.handshake_timeout_ms;
	c->idle_timeout_ms = conf->quic.idle_timeout_ms;
	c->stream_bytes =
		kind == PS_SERVICE_TPU_QUIC_VOTE ? PS_TPU_MAX_LEGACY_BYTES : PS_TPU_MAX_BYTES;
	c->stream_window = conf->quic.stream_window;
	c->stream_deadline_ms = conf->quic.stream_deadline_ms;
	c->conn_bytes = conf->quic.conn_window_kb * 1024;
}

static void
log_key(void *ctx, const char *line)
{
	const struct ps_endpoint *p = ctx;

	dprintf(p->key_log_fd, "%s\n", line);
}

static int
open_tls(struct ps_endpoint *p, const struct ps_conf *conf, const struct ps_endpoint_keys *keys,
	struct ps_err *e)
{
	struct ps_tls_config tls = {
		.server = true,
		.backend = conf->tls.backend == 0 ? PS_TLS_BUILTIN : PS_TLS_GNUTLS,
		.threaded = true, /* for RSA and ECDSA certificates */
		.budget = TLS_OPS_A_TURN,
		.sessions = conf->quic.handshakes,
		.alpn = "solana-tpu",
	};

	if (open_key_log(&p->key_log_fd, conf, e) < 0)
		return -EINVAL;
	if (p->key_log_fd >= 0) {
		tls.key_log = log_key;
		tls.key_log_ctx = p;
	}
	memcpy(tls.seed, keys->tls_seed, sizeof(tls.seed));
	p->tls = ps_tls_new(&tls, e);
	ps_wipe(tls.seed, sizeof(tls.seed));
	return p->tls == NULL ? -EINVAL : 0;
}

int
ps_endpoint_open(struct ps_endpoint *p, const struct ps_conf *conf, enum ps_service_kind kind,
	unsigned int worker, int node, const struct ps_endpoint_keys *keys,
	const struct ps_quic_others *others, struct ps_feed *feed, struct ps_drops *drops,
	struct ps_err *e)
{
	const struct ps_tpu_limits tpu_limits = {.slots = conf->quic.streams};
	struct ps_quic_limits limits;
	struct ps_quic_config config;
	size_t quic_bytes;

	configure(&limits, &config, conf, kind, worker);
	quic_bytes = quic_bytes_of(&limits);
	p->key_log_fd = -1;
	p->block_bytes = block_bytes_of(&limits);
	p->block = ps_node_alloc(p->block_bytes, node);
	if (p->block == NULL)
		return ps_fail(e, ENOMEM,
			"no memory for %zu MB of connections; lower connections or streams in "
			"[quic]",
			p->block_bytes >> 20);
	p->tpu = ps_tpu_create((char *)p->block + quic_bytes, &tpu_limits, feed, drops);
	if (p->tpu == NULL) {
		ps_fail(e, EINVAL, "[quic] streams: out of range; use the default");
		goto fail;
	}
	if (open_tls(p, conf, keys, e) < 0)
		goto fail;
	config.keys = keys->ids;
	config.tls = p->tls;
	config.sink = ps_tpu_sink(p->tpu);
	config.others = *others;
	config.drops = drops;
	p->quic = ps_quic_new(p->block, &limits, &config, e);
	if (p->quic != NULL)
		return 0;
fail:
	ps_endpoint_close(p);
	return -EINVAL;
}

/* TLS first: its thread may hold a half-open object of the endpoint. */
void
ps_endpoint_close(struct ps_endpoint *p)
{
	if (p->tls != NULL)
		ps_tls_free(p->tls);
	if (p->quic != NULL)
		ps_quic_stop(p->quic);
	ps_node_free(p->block, p->block_bytes);
	if (p->block != NULL && p->key_log_fd >= 0)
		close(p->key_log_fd);
	memset(p, 0, sizeof(*p));
}
