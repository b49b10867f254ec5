/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The control thread of the load generator: port, endpoint and transactions first, a line each
 * second, and the end. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_launch.h>

#include "load.h"
#include "ps_time.h"

#define HANDSHAKES   64
#define SEND_STREAMS 4096 /* under way at once, over all connections */
#define FEW_CONNS    256  /* each of these may have many packets under way */
#define POLL_NS      (20 * PS_MS_NS)
#define ANSWER_NS    (5 * PS_SEC_NS) /* for acknowledgements after the last transaction */
#define LCORE        1

static volatile sig_atomic_t signalled;

static void
on_signal(int signo)
{
	(void)signo;
	signalled = 1;
}

/* -- endpoint -- */

static int
open_endpoint(struct ps_load *l, struct ps_err *e)
{
	struct ps_tls_config tls = {.sessions = HANDSHAKES, .alpn = "solana-tpu"};
	struct ps_quic_limits limits;
	struct ps_quic_config c;

	if (l->o.udp)
		return 0;
	ps_random(tls.seed, sizeof(tls.seed));
	ps_quic_defaults(&limits, &c);
	limits.conns = l->o.conns + HANDSHAKES; /* some may be closing */
	limits.handshakes = HANDSHAKES;
	limits.streams = 64;
	limits.send_streams = SEND_STREAMS;
	limits.sent_packets = l->o.conns > FEW_CONNS ? 64 : 1024;
	c.server = false;
	c.events = ps_load_events(l);
	c.drops = &l->drops;
	c.datagram_bytes = PS_UDP_PAYLOAD_MAX;
	if (l->app.port[0].mtu < PS_UDP_PAYLOAD_MAX + 28u)
		c.datagram_bytes = PS_UDP_PAYLOAD_MIN;
	c.tls = l->tls = ps_tls_new(&tls, e);
	if (l->tls == NULL)
		return -EINVAL;
	l->conn = calloc(l->o.conns, sizeof(*l->conn));
	l->of_slot = calloc(limits.conns, sizeof(*l->of_slot));
	l->mem = aligned_alloc(64, ps_quic_footprint(&limits));
	if (l->conn == NULL || l->of_slot == NULL || l->mem == NULL)
		return ps_fail(
			e, ENOMEM, "no memory for %u connections; lower --conns", l->o.conns);
	l->quic = ps_quic_new(l->mem, &limits, &c, e);
	return l->quic == NULL ? -EINVAL : 0;
}

/* -- the next hop -- */

/* The kernel's neighbour table has it once anything was sent there. */
static bool
ask_kernel(uint32_t addr_be, struct rte_ether_addr *mac)
{
	char line[256], ip[32], text[32];
	FILE *f = fopen("/proc/net/arp", "re");
	bool found = false;
	unsigned int flags;

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		unsigned int a[4];

		found = sscanf(line, "%31s %*s 0x%x %31s", ip, &flags, text) == 3 &&
			(flags & 2) != 0 &&
			sscanf(ip, "%u.%u.%u.%u", &a[0], &a[1], &a[2], &a[3]) == 4 &&
			addr_be == rte_cpu_to_be_32(a[0] << 24 | a[1] << 16 | a[2] << 8 | a[3]) &&
			rte_ether_unformat_addr(text, mac) == 0;
	}
	fclose(f);
	return found;
}

static int
find_next_hop(struct ps_load *l, struct ps_err *e)
{
	if (l->o.has_mac || ask_kernel(l->o.to_be, &l->o.mac))
		return 0;
	return ps_fail(e, EHOSTUNREACH,
		"the MAC address of the next hop is not known; ping the server once, or give "
		"--mac");
}

/* -- start and end -- */

static bool
names_device(const char *device, int argc, char *const argv[])
{
	const size_t len = strlen(device);

	for (int i = 0; i < argc; i++) {
		const char *arg = argv[i] + (strncmp(argv[i], "--vdev=", 7) == 0 ? 7 : 0);

		if (strncmp(arg, device, len) == 0 && (arg[len] == '\0' || arg[len] == ','))
			return true;
	}
	return false;
}

static int
bring_up(struct ps_load *l, int argc, char *const argv[], struct ps_err *e)
{
	struct ps_app *app = &l->app;
	struct ps_port *p = &app->port[0];
	const struct ps_net_selector from = {l->o.from_be, l->o.from_port_be, 0};
	int rc = ps_port_plan(
		p, &app->conf.port[0], 0, names_device(app->conf.port[0].device, argc, argv), e);

	if (rc < 0)
		return rc;
	app->n_ports = 1;
	if (p->kind == PS_PORT_SOCKET)
		return ps_fail(e, EINVAL,
			"load does not send over kernel sockets; give an interface with "
			"AF_XDP or an EAL device");
	rc = ps_eal_check_memory(app, e);
	if (rc == 0)
		rc = ps_steer_new(&app->steer, &app->conf, e);
	if (rc == 0)
		rc = ps_eal_start(app, argc, argv, e);
	app->eal = rc == 0;
	if (rc == 0)
		rc = ps_port_claim(p, &app->steer, e);
	if (rc == 0)
		rc = ps_port_install(p, &app->steer, &app->conf, e);
	if (rc < 0)
		return rc;
	ps_eal_show_log();
	l->selectors = ps_net_selectors_new(&from, 1);
	return l->selectors == NULL ? ps_fail(e, ENOMEM, "out of memory") : open_endpoint(l, e);
}

static void
tear_down(struct ps_load *l)
{
	if (l->app.n_ports > 0)
		ps_port_stop(&l->app.port[0]);
	if (l->tls != NULL)
		ps_tls_free(l->tls);
	if (l->quic != NULL)
		ps_quic_stop(l->quic);
	ps_steer_free(&l->app.steer);
	ps_net_selectors_free(l->selectors);
	if (l->app.eal)
		rte_eal_cleanup();
	ps_eal_show_log();
	free(l->mem);
	free(l->of_slot);
	free(l->conn);
	free(l->txn);
	free(l->bytes);
}

/* -- while it runs -- */

/* Everything sent has its answer. */
static bool
is_answered(const struct ps_load *l)
{
	return l->o.udp || l->stats.acked + l->stats.lost >= l->stats.sent;
}

static void
wait_for_end(struct ps_load *l)
{
	const struct timespec nap = {.tv_nsec = POLL_NS};
	const uint64_t start_ns = ps_now_ns();
	uint64_t second_ns = start_ns, sent_ns = 0, now_ns;
	struct ps_load_stats before = {0};

	for (;;) {
		nanosleep(&nap, NULL);
		now_ns = ps_now_ns();
		if (now_ns - second_ns >= PS_SEC_NS) {
			ps_load_progress(l, &before, (double)(now_ns - start_ns) / PS_SEC_NS);
			before = l->stats;
			second_ns += PS_SEC_NS;
		}
		if (signalled ||
			(l->o.seconds > 0 && now_ns - start_ns >= l->o.seconds * PS_SEC_NS))
			atomic_store(&l->finish, true);
		if (!atomic_load(&l->all_sent)) {
			if (atomic_load(&l->finish) && !l->o.udp && l->stats.open == 0)
				return; /* nor will there be anything to wait for */
			continue;
		}
		if (sent_ns == 0)
			sent_ns = now_ns;
		if (is_answered(l) || now_ns - sent_ns >= ANSWER_NS)
			return;
	}
}

static int
send_it(struct ps_load *l, struct ps_err *e)
{
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (rte_eal_remote_launch(ps_load_main, l, LCORE) != 0)
		return ps_fail(e, EIO, "lcore %d does not start", l->app.lcores.cpu[0]);
	wait_for_end(l);
	atomic_store(&l->stop, true);
	rte_eal_wait_lcore(LCORE);
	if (!l->o.udp && l->stats.open == 0)
		return ps_fail(e, ETIMEDOUT,
			"no connection was made; is the server there, and does it answer to %s?",
			l->app.conf.port[0].device);
	return 0;
}

int
ps_load_run(struct ps_load *l, int eal_argc, char *const eal_argv[], struct ps_err *e)
{
	int rc = find_next_hop(l, e);

	if (rc == 0)
		rc = ps_load_sign(l, e);
	if (rc == 0)
		rc = bring_up(l, eal_argc, eal_argv, e);
	if (rc == 0)
		rc = send_it(l, e);
	if (rc == 0)
		ps_load_summary(l, (double)(l->end_ns - l->start_ns) / PS_SEC_NS);
	tear_down(l);
	return rc;
}
