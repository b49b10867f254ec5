/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Many seeds of a bad link: every acknowledged stream was delivered exactly once, byte-identical,
 * and in the end all are acknowledged. Usage: sim [FIRST_SEED [COUNT]] */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ps_time.h"
#include "world.h"

#define ONLY(cipher)                                                                               \
	"NONE:+VERS-TLS1.3:+AEAD:+" cipher ":+GROUP-X25519:+SIGN-ALL:+CTYPE-X509:"                 \
	"%DISABLE_TLS13_COMPAT_MODE"

static struct world_options
options_of(uint64_t seed)
{
	/* NULL: all, of which the server takes the first */
	static const char *const priority[4] = {
		NULL, ONLY("AES-128-GCM"), ONLY("AES-256-GCM"), ONLY("CHACHA20-POLY1305")};
	uint64_t r = seed * 0x9e3779b97f4a7c15u;
	struct world_options o = {.seed = seed,
		.link = {.loss = (double)(r >> 8 & 15) / 100,
			.duplicate = (double)(r >> 12 & 7) / 100,
			.corrupt = (double)(r >> 16 & 3) / 100,
			.delay_ns = (1 + (r >> 20 & 63)) * PS_MS_NS,
			.jitter_ns = (r >> 26 & 31) * PS_MS_NS,
			.rebind_ns = (r >> 54 & 3) == 0 ? (1 + (r >> 56 & 7)) * 4 * PS_SEC_NS : 0},
		.retry = r >> 32 & 1 ? PS_RETRY_ALWAYS : PS_RETRY_OFF,
		.conns = 1 + (r >> 33 & 3) % 3,
		.streams = 1 + (r >> 36) % 100,
		.min_bytes = 8,
		.max_bytes = r >> 44 & 1 ? 4096 : 1232,
		.refuse = (double)(r >> 45 & 3) / 50,
		.stream_window = 8u << (r >> 48 & 3),
		.priority = priority[r >> 50 & 3]};

	return o;
}

/* A link so bad that a Retry token outlived its 15 s before an Initial came through; the server
 * says so, but that packet may be lost as well. */
static bool
token_expired(const struct world *w, const struct world_conn *c)
{
	return !c->connected && c->closed && w->server.drops.n[PS_DROP_QUIC_TOKEN] > 0;
}

static const char *
verdict(const struct world *w)
{
	if (w->bad_bytes != 0)
		return "bytes differ";
	if (w->unknown != 0)
		return "a stream nobody sent";
	for (unsigned int c = 0; c < w->o.conns; c++)
		for (unsigned int s = 0; s < w->o.streams; s++) {
			if (w->conn[c].stream[s].delivered > 1)
				return "delivered twice";
			if (w->conn[c].stream[s].acked && w->conn[c].stream[s].delivered != 1)
				return "acknowledged but not delivered";
			if (!w->conn[c].stream[s].acked && !token_expired(w, &w->conn[c]))
				return "not everything was acknowledged";
		}
	return NULL;
}

static void
report(const struct world *w, uint64_t seed, const char *bad)
{
	printf("seed %" PRIu64 ": %s\n", seed, bad);
	for (unsigned int c = 0; c < w->o.conns; c++)
		if (w->conn[c].closed)
			printf("  connection %u closed by %s: %s code %#" PRIx64 " %s\n", c,
				w->conn[c].why.by_peer ? "the server" : "the client",
				w->conn[c].why.app ? "application" : "transport",
				w->conn[c].why.code, w->conn[c].why.reason);
}

int
main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
	uint64_t failed = 0, streams = 0, lost = 0;

	for (uint64_t seed = first; seed < first + count; seed++) {
		struct world_options o = options_of(seed);
		struct world *w = world_new(&o);
		const char *bad;

		world_run(w, 1200 * PS_SEC_NS);
		bad = verdict(w);
		streams += (uint64_t)o.conns * o.streams;
		lost += ps_quic_stats(w->client.q)->packets_lost;
		if (bad != NULL) {
			failed++;
			report(w, seed, bad);
		}
		world_free(w);
	}
	printf("%" PRIu64 " seeds, %" PRIu64 " streams, %" PRIu64 " client packets lost, %" PRIu64
	       " seeds failed\n",
		count, streams, lost, failed);
	return failed != 0;
}
