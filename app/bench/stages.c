/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What each stage of a packet's way takes: `bench --stages`. The product has no marks inside;
 * stages that are no functions of their own are differences between packets that get one stage
 * further each:
 *
 *   receive      a burst of net_null with fresh buffers, and their return to the pool
 *   classify     headers and service, checksums by the card
 *   look-up      packets of a connection that is no more: header, id, connection's first line
 *   unprotect    the masks of header protection
 *   open         packets whose tag is wrong, less the two before
 *   frames       good packets into a sink that counts, less packets whose tag is wrong
 *   publish      good packets into a feed, less good packets into the sink that counts
 *   acknowledge  timers and the acknowledgements of the burst
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "app.h"
#include "frames.h"
#include "open.h"
#include "runs.h"

#define POOL_MBUFS 1023
#define NO_SUCH    1000 /* generations later */

struct stages {
	struct bench *count, *feed;
	struct bench_open *open;
	struct bench_frames *frames;
	struct rte_mempool *pool;
	uint16_t port;
	bool started;
	/* to make ids with the server's keys */
	void *protect_mem;
	struct ps_protect *protect;
	struct packet packet[BURST];
};

/* -- receive -- */

static int
start_port(struct stages *s, unsigned int frame_bytes, struct ps_err *e)
{
	static struct ps_app app; /* EAL keeps what it was started with */
	const struct rte_eth_conf conf = {0};
	char vdev[64], quiet[] = "--no-telemetry", *args[] = {vdev, quiet};
	int rc;

	snprintf(vdev, sizeof(vdev), "--vdev=net_null0,size=%u", frame_bytes);
	snprintf(app.conf.name, sizeof(app.conf.name), "bench-%d", (int)getpid());
	app.conf.memory = PS_MEMORY_NO_HUGE;
	app.conf.memory_mb = 64;
	rc = ps_lcores_choose(&app.lcores, "", e);
	if (rc == 0)
		rc = ps_eal_start(&app, 2, args, e);
	ps_eal_show_log();
	if (rc < 0)
		return rc;
	s->pool = rte_pktmbuf_pool_create(
		"bench", POOL_MBUFS, 256, 0, RTE_PKTMBUF_HEADROOM + 2048, SOCKET_ID_ANY);
	if (s->pool == NULL || rte_eth_dev_get_port_by_name("net_null0", &s->port) != 0 ||
		rte_eth_dev_configure(s->port, 1, 1, &conf) != 0 ||
		rte_eth_rx_queue_setup(s->port, 0, BURST, 0, NULL, s->pool) != 0 ||
		rte_eth_tx_queue_setup(s->port, 0, BURST, 0, NULL) != 0 ||
		rte_eth_dev_start(s->port) != 0)
		return ps_fail(e, EIO, "no net_null device: %s", ps_eal_cause());
	s->started = true;
	return 0;
}

static double
receive_stage(struct stages *s)
{
	struct rte_mbuf *m[BURST];
	uint64_t start_ns = ps_now_ns(), n = 0;

	for (unsigned int k = 0; k < BURSTS; k++) {
		unsigned int got = rte_eth_rx_burst(s->port, 0, m, BURST);

		rte_pktmbuf_free_bulk(m, got);
		n += got;
	}
	return (double)(ps_now_ns() - start_ns) / (double)n;
}

/* -- classify -- */

static double
classify_stage(struct stages *s)
{
	struct bench_frames *f = s->frames;
	uint64_t spent_ns = 0;

	bench_frames_checked(f, true);
	for (unsigned int k = 0; k < BURSTS; k++) {
		uint64_t start_ns = ps_now_ns();

		ps_net_classify_burst(f->selectors, 0, f->m, BURST, &f->rx, &f->drops);
		spent_ns += ps_now_ns() - start_ns;
	}
	return (double)spent_ns / (BURSTS * BURST);
}

/* -- the engine -- */

static void
name_no_connection(struct stages *s, struct packet *p)
{
	struct ps_cid_parts parts;

	if (!ps_cid_read(s->protect, p->bytes + 1, &parts))
		return;
	parts.generation += NO_SUCH;
	ps_cid_make(s->protect, &parts, p->bytes + 1);
}

static void
spoil_tag(struct stages *s, struct packet *p)
{
	(void)s;
	p->bytes[p->d.len - 1] ^= 1;
}

/* Receives copies of good packets, changed: nanoseconds per packet, or below 0 when any was not
 * dropped for why. The originals follow, so that their sender is content. */
static double
bad_packets(struct stages *s, void (*change)(struct stages *s, struct packet *p), enum ps_drop why)
{
	struct bench *b = s->count;
	uint64_t spent_ns = 0, packets = 0, before = b->server.drops.n[why];

	for (unsigned int k = 0; k < BURSTS; k++) {
		unsigned int n = bench_make(b, BURST);
		uint64_t start_ns;

		for (unsigned int i = 0; i < n; i++) {
			s->packet[i] = b->burst[i];
			s->packet[i].d.data = s->packet[i].bytes;
			change(s, &s->packet[i]);
			b->in[i] = &s->packet[i].d;
		}
		start_ns = ps_now_ns();
		ps_quic_rx_burst(b->server.quic, b->in, n, b->now_ns);
		spent_ns += ps_now_ns() - start_ns;
		packets += n;
		bench_serve(b, n);
	}
	if (b->server.drops.n[why] - before != packets)
		return -1;
	return (double)spent_ns / (double)packets;
}

static int
repetition(struct stages *s, const struct bench_run *run)
{
	double lookup = bad_packets(s, name_no_connection, PS_DROP_QUIC_NO_CONN);
	double spoilt = bad_packets(s, spoil_tag, PS_DROP_QUIC_DECRYPT);
	double masks = bench_open_masks_repetition(s->open);
	double limit = bench_open_limit_repetition(s->open);
	double receive = receive_stage(s), classify = classify_stage(s);
	struct bench_spent counted = bench_repetition(s->count), into = bench_repetition(s->feed);
	double good = (double)counted.receive_ns / (double)counted.packets;
	double fed = (double)into.receive_ns / (double)into.packets;
	double answer = (double)into.answer_ns / (double)into.packets;

	if (lookup < 0 || spoilt < 0 || limit < 0)
		return ps_fail(run->e, EIO,
			"packets were not dropped for the reason they were made "
			"for");
	bench_add(run->r, "ns", receive, "receive");
	bench_add(run->r, "ns", classify, "classify");
	bench_add(run->r, "ns", lookup, "look-up");
	bench_add(run->r, "ns", masks, "unprotect");
	bench_add(run->r, "ns", spoilt - lookup - masks, "open");
	bench_add(run->r, "ns", good - spoilt, "frames");
	bench_add(run->r, "ns", fed - good, "publish");
	bench_add(run->r, "ns", answer, "acknowledge");
	bench_add(run->r, "ns", receive + classify + fed + answer, "all stages");
	bench_add(run->r, "ns", limit, "limit of unprotect and open");
	bench_add(run->r, "GHz", (double)rte_get_tsc_hz() / 1e9, "clock of cycles");
	return bench_go_on(run);
}

static int
set_up(struct stages *s, const struct bench_run *run)
{
	const struct bench_server_conf conf = {0};
	uint8_t payload[PS_UDP_PAYLOAD_MAX] = {0};
	unsigned int n;
	int rc;

	s->count = bench_new(run->o->size, run->o->conns, run->e);
	s->feed = bench_new(run->o->size, run->o->conns, run->e);
	s->open = bench_open_new(run->o->size, run->o->conns, run->e);
	s->frames = bench_frames_new(run->e);
	if (s->count == NULL || s->feed == NULL || s->open == NULL || s->frames == NULL)
		return -ENOMEM;
	s->protect_mem = aligned_alloc(64, ps_protect_footprint(64));
	s->protect = s->protect_mem == NULL ? NULL : ps_protect_new(s->protect_mem, 64);
	if (s->protect == NULL)
		return ps_fail(run->e, ENOMEM, "no memory for keys");
	ps_protect_static_keys(s->protect, &conf.keys);
	n = (unsigned int)(OPEN_HDR + s->open->text + PS_AEAD_TAG);
	rc = bench_pair(s->count, false, &conf, run);
	if (rc == 0)
		rc = bench_pair(s->feed, true, &conf, run);
	for (unsigned int i = 0; rc == 0 && i < BURST; i++)
		bench_frame_fill(s->frames, i, payload, (uint16_t)n);
	return rc == 0 ? start_port(s, n + PS_NET_HEADROOM, run->e) : rc;
}

int
bench_run_stages(const struct bench_run *run)
{
	struct stages *s = calloc(1, sizeof(*s));
	int rc = s == NULL ? ps_fail(run->e, ENOMEM, "out of memory") : set_up(s, run);

	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++)
		rc = repetition(s, run);
	if (rc == 0)
		rc = bench_settle(s->count, run->e);
	if (rc == 0)
		rc = bench_settle(s->feed, run->e);
	if (s == NULL)
		return rc;
	if (s->started)
		rte_eth_dev_stop(s->port);
	bench_free(s->count);
	bench_free(s->feed);
	bench_open_free(s->open);
	bench_frames_free(s->frames);
	free(s->protect_mem);
	free(s);
	return rc;
}
