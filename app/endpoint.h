/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The QUIC side of one service on one worker: endpoint, TLS with its helper thread, reassembly into
 * the worker's feed, and the block of memory they live in. Opened and closed by the control thread
 * while the worker does not run; used by the worker in between. */
#ifndef PS_APP_ENDPOINT_H
#define PS_APP_ENDPOINT_H

#include "conf.h"
#include "feed.h"
#include "quic.h"
#include "tpu.h"

/* Drawn or read once per process. */
struct ps_endpoint_keys {
	struct ps_static_keys ids;
	uint8_t tls_seed[32];
};

struct ps_endpoint {
	struct ps_quic *quic; /* NULL: not a QUIC service */
	struct ps_tls *tls;
	int key_log_fd; /* -1: none */
	struct ps_tpu *tpu;
	void *block;
	size_t block_bytes;
};

/* Random keys, and the seed of the configured keypair file if there is one. Fails too when the key
 * log cannot be written: before there are feeds. */
int ps_endpoint_keys(struct ps_endpoint_keys *k, const struct ps_conf *conf, struct ps_err *e);

/* Bytes of the block that ps_endpoint_open() takes for connections and reassembly. */
size_t ps_endpoint_footprint(const struct ps_conf *conf);

int ps_endpoint_open(struct ps_endpoint *p, const struct ps_conf *conf, enum ps_service_kind kind,
	unsigned int worker, int node, const struct ps_endpoint_keys *keys,
	const struct ps_quic_others *others, struct ps_feed *feed, struct ps_drops *drops,
	struct ps_err *e);
void ps_endpoint_close(struct ps_endpoint *p);

/* Zeroed memory on a NUMA node (-1: any), in huge pages when the kernel has some to give. */
void *ps_node_alloc(size_t bytes, int node);
void ps_node_free(void *p, size_t bytes);

#endif
