/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The control thread: start in order, a round every 200 ms, stop in reverse order. */

#include "app.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_version.h>

#include "ps_time.h"
#include "tel_client.h"

#define ROUND_MS 200
/* A consumer that has not polled for so long is not there. */
#define CONSUMER_NS (5 * PS_SEC_NS)
#define YIELD_NS    PS_SEC_NS /* the same, where the kernel takes over then */

/* SIGHUP has the deny lists read again, the others end the program. */
static sigset_t
our_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

void
ps_control_block_signals(void)
{
	sigset_t set = our_signals();

	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* -- start -- */

/* Two of one name would share their telemetry's address, and their feeds. */
static int
check_name(const struct ps_conf *c, struct ps_err *e)
{
	char prefix[PS_CONF_NAME + 16];
	struct ps_err unused;
	int fd;

	snprintf(prefix, sizeof(prefix), "penstock-%.*s", PS_CONF_NAME, c->name);
	fd = ps_tel_connect(prefix, &unused);
	if (fd < 0)
		return 0;
	close(fd);
	return ps_fail(e, EBUSY,
		"a penstock named %s is already running; stop it, or set another name in "
		"[penstock] or with -o penstock.name=...",
		c->name);
}

static bool
names_device(const char *device, int argc, char *const argv[])
{
	size_t len = strlen(device);

	for (int i = 0; i < argc; i++) {
		const char *arg = argv[i];

		if (strncmp(arg, "--vdev=", 7) == 0)
			arg += 7;
		if (strncmp(arg, device, len) == 0 && (arg[len] == '\0' || arg[len] == ','))
			return true;
	}
	return false;
}

static bool
has_device(int argc, char *const argv[])
{
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "--vdev", 6) == 0 || strncmp(argv[i], "-a", 2) == 0 ||
			strncmp(argv[i], "--allow", 7) == 0)
			return true;
	return false;
}

/* The devices among EAL's arguments become the ports when the configuration names none. */
static int
adopt_device(struct ps_app *app, int argc, char *const argv[], struct ps_err *e)
{
	const char *device[PS_CONF_PORTS];
	char name[PS_CONF_PORTS][PS_CONF_STRING];
	unsigned int n = 0;

	if (app->conf.n_ports > 0)
		return 0;
	if (!has_device(argc, argv))
		return ps_fail(e, EINVAL,
			"no port is configured; add a [port NAME] section with device = ..., or "
			"name one with --port");
	for (int i = 0; i < argc && n < PS_CONF_PORTS; i++) {
		const char *arg = argv[i];

		if (strcmp(arg, "--vdev") == 0 || strcmp(arg, "-a") == 0 ||
			strcmp(arg, "--allow") == 0)
			arg = i + 1 < argc ? argv[++i] : "";
		else if (strncmp(arg, "--vdev=", 7) == 0)
			arg += 7;
		else if (strncmp(arg, "--allow=", 8) == 0)
			arg += 8;
		else if (strncmp(arg, "-a", 2) == 0)
			arg += 2;
		else
			continue;
		snprintf(name[n], sizeof(name[n]), "%.*s", (int)strcspn(arg, ","), arg);
		device[n] = name[n];
		n++;
	}
	return ps_conf_select_ports(&app->conf, device, n, e);
}

static int
plan_ports(struct ps_app *app, int argc, char *const argv[], struct ps_err *e)
{
	int rc = adopt_device(app, argc, argv, e);

	for (unsigned int i = 0; rc == 0 && i < app->conf.n_ports; i++) {
		const struct ps_conf_port *c = &app->conf.port[i];

		if (c->queues > app->lcores.n)
			return ps_fail(e, EINVAL,
				"[port %s] queues: %u, but there are %u workers; lower it or name "
				"more lcores with -l",
				c->name, c->queues, app->lcores.n);
		rc = ps_port_plan(&app->port[i], c, i, names_device(c->device, argc, argv), e);
		if (rc == 0)
			app->n_ports++;
	}
	return rc;
}

static int
check_workers(const struct ps_app *app, struct ps_err *e)
{
	uint32_t queues = 0;

	for (unsigned int i = 0; i < app->n_ports; i++)
		queues = app->port[i].conf->queues > queues ? app->port[i].conf->queues : queues;
	if (queues < app->lcores.n)
		return ps_fail(e, EINVAL,
			"worker %u has no queue on any port; set queues = %u in a [port] section, "
			"or "
			"name fewer lcores with -l",
			queues, app->lcores.n);
	for (unsigned int i = 0; i < app->conf.n_services; i++) {
		const struct ps_conf_service *s = &app->conf.service[i];

		for (unsigned int w = app->lcores.n; w < PS_WORKERS_MAX; w++)
			if (!s->all_workers && CPU_ISSET(w, &s->workers))
				return ps_fail(e, EINVAL,
					"[service %s] workers: there is no worker %u; they are 0 "
					"to "
					"%u (-l)",
					s->name, w, app->lcores.n - 1);
	}
	return 0;
}

static int
make_workers(struct ps_app *app, struct ps_err *e)
{
	struct ps_endpoint_keys keys;
	int rc = ps_endpoint_keys(&keys, &app->conf, e);

	/* Threads made on the way (TLS) stay off the workers' processors. */
	sched_setaffinity(0, sizeof(app->lcores.control), &app->lcores.control);
	for (unsigned int i = 0; rc == 0 && i < app->lcores.n; i++) {
		rc = ps_worker_new(
			&app->worker[i], &app->conf, &app->steer, i, app->lcores.cpu[i], &keys, e);
		if (rc < 0)
			break;
		if (app->guard.beat != NULL)
			app->worker[i]->guard = &app->guard.beat[i];
		app->n_workers++;
	}
	ps_wipe(&keys, sizeof(keys));
	if (rc == 0 && app->n_workers > 1)
		rc = ps_handover_new(&app->handover, app->n_workers, e);
	for (unsigned int i = 0; i < app->n_workers; i++) {
		app->worker[i]->n_workers = app->n_workers;
		app->worker[i]->handover = app->handover;
	}
	return rc;
}

static void
report_rules(const struct ps_port *p)
{
	const struct ps_caps *caps = &p->family->caps;
	uint32_t n[PS_RULE_SOFT + 1] = {0};

	for (uint32_t r = 0; r < p->plan.n_rules; r++)
		n[ps_port_rule_state(p, r)]++;
	ps_log(PS_LOG_INFO,
		"port %s: %u selector%s by %s: %u proven, %u created, %u in software; not proven: "
		"%s",
		p->conf->name, p->plan.n_rules, p->plan.n_rules == 1 ? "" : "s", caps->name,
		n[PS_RULE_PROVEN], n[PS_RULE_CREATED], n[PS_RULE_SOFT], caps->unproven);
}

static void
report(const struct ps_app *app)
{
	char mode[96];

	for (unsigned int i = 0; i < app->n_ports; i++) {
		const struct ps_port *p = &app->port[i];

		ps_port_mode(p, mode, sizeof(mode));
		ps_log(PS_LOG_INFO, "port %s: %s, path %s, %s, %u queue%s, MTU %u", p->conf->name,
			p->conf->device, ps_port_path(p), mode, p->conf->queues,
			p->conf->queues > 1 ? "s" : "", p->mtu);
		for (unsigned int k = 0; k < p->n_fallbacks; k++)
			ps_log(PS_LOG_WARN, "port %s falls back: %s", p->conf->name,
				p->fallback[k]);
		report_rules(p);
		for (unsigned int w = 0; w < app->n_workers && w < p->conf->queues; w++)
			if (p->node >= 0 && app->worker[w]->node >= 0 &&
				p->node != app->worker[w]->node)
				ps_log(PS_LOG_WARN,
					"worker %u on lcore %d is on NUMA node %d, port %s on node "
					"%d; choose lcores of that node with -l",
					w, app->worker[w]->cpu, app->worker[w]->node, p->conf->name,
					p->node);
	}
	for (unsigned int i = 0; i < app->conf.n_services; i++) {
		const struct ps_conf_service *s = &app->conf.service[i];

		ps_log(PS_LOG_INFO, "service %s: %s, UDP port %u, feed %s/%s.N", s->name,
			ps_service_kind_name(s->kind), s->port, app->conf.feed.dir, s->name);
	}
}

static int
prepare(struct ps_app *app, int argc, char *const argv[], struct ps_err *e)
{
	int rc = check_name(&app->conf, e);

	if (rc == 0)
		rc = ps_eal_check_args(argc, argv, e);
	if (rc == 0)
		rc = ps_guard_start(&app->guard, &app->conf, e);
	if (rc == 0)
		rc = plan_ports(app, argc, argv, e);
	if (rc == 0)
		rc = check_workers(app, e);
	if (rc == 0)
		rc = ps_eal_check_memory(app, e);
	if (rc == 0)
		rc = ps_steer_new(&app->steer, &app->conf, e);
	if (rc < 0)
		return rc;
	app->sum = calloc(app->steer.n + 1, sizeof(*app->sum));
	app->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (app->sum == NULL || app->wake_fd < 0)
		return ps_fail(e, ENOMEM, "out of memory");
	return make_workers(app, e);
}

/* All ports are claimed before the first is started: a mistake in one leaves all alone. */
static int
bring_up(struct ps_app *app, struct ps_err *e)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < app->n_ports; i++) {
		ps_eal_forget();
		rc = ps_port_claim(&app->port[i], &app->steer, e);
	}
	for (unsigned int i = 0; rc == 0 && i < app->n_ports; i++) {
		ps_eal_forget();
		rc = ps_port_install(&app->port[i], &app->steer, &app->conf, e);
		for (unsigned int w = 0; rc == 0 && w < app->port[i].conf->queues; w++)
			rc = ps_worker_add_port(app->worker[w], &app->port[i], e);
	}
	return rc;
}

/* Rules first: a worker that is stuck is waited for without end, and meanwhile the kernel serves.
 */
static void
stop_workers(struct ps_app *app)
{
	for (unsigned int i = 0; i < app->n_ports; i++)
		ps_port_pf_remove(&app->port[i]);
	for (unsigned int w = 0; w < app->n_workers; w++)
		atomic_store(&app->worker[w]->stop, true);
	for (unsigned int w = 0; w < app->n_workers; w++)
		rte_eal_wait_lcore(app->worker[w]->lcore);
}

/* Telemetry answers when all of them beat: until then the kernel has the traffic. */
static void
launch(struct ps_app *app)
{
	const uint64_t deadline = ps_now_ns() + PS_SEC_NS;

	for (unsigned int w = 0; w < app->n_workers; w++)
		rte_eal_remote_launch(ps_worker_main, app->worker[w], app->worker[w]->lcore);
	for (unsigned int w = 0; w < app->n_workers; w++)
		while (app->worker[w]->stats.loops == 0 && ps_now_ns() < deadline)
			poll(NULL, 0, 1);
}

/* The kernel's packets are kept from it only when somebody else serves them. */
static int
serve(struct ps_app *app, struct ps_err *e)
{
	int rc = 0;

	launch(app);
	for (unsigned int i = 0; rc == 0 && i < app->n_ports; i++)
		rc = ps_port_pf_install(&app->port[i], e);
	if (rc == 0)
		rc = ps_telemetry_start(app, e);
	if (rc < 0)
		stop_workers(app);
	return rc;
}

static int
start(struct ps_app *app, int argc, char *const argv[], struct ps_err *e)
{
	int rc = prepare(app, argc, argv, e);
	struct ps_err cause;

	if (rc < 0)
		return rc;
	rc = ps_eal_start(app, argc, argv, e);
	app->eal = rc == 0;
	if (rc == 0)
		rc = bring_up(app, e);
	if (rc == 0)
		rc = serve(app, e);
	if (rc < 0)
		return rc;
	ps_eal_show_log();
	report(app);
	if (ps_privilege_settle(app, &cause) < 0)
		ps_log(PS_LOG_WARN, "%s", cause.text);
	ps_log(PS_LOG_INFO, "privileges left: %s", app->privileges);
	ps_log(PS_LOG_INFO, "serving with %u worker%s", app->n_workers,
		app->n_workers > 1 ? "s" : "");
	return 0;
}

/* -- while running -- */

/* Says so when a feed's consumer comes or goes. */
static void
watch_consumer(struct ps_worker_service *s, unsigned int worker, uint64_t now_ns)
{
	uint64_t seen_ns = ps_feed_consumer_heartbeat_ns(&s->feed);
	bool there = seen_ns != 0 && (int64_t)(now_ns - seen_ns) < (int64_t)CONSUMER_NS;

	if (there == s->has_consumer)
		return;
	s->has_consumer = there;
	ps_log(PS_LOG_INFO, "feed %s.%u: its consumer %s", s->conf->name, worker,
		there ? "is here" : "has stopped polling");
}

/* A feed that no consumer ever read does not count. */
static bool
lacks_consumer(const struct ps_worker *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < w->n_services; i++) {
		const uint64_t seen_ns = ps_feed_consumer_heartbeat_ns(&w->service[i].feed);

		if (seen_ns != 0 && (int64_t)(now_ns - seen_ns) > (int64_t)YIELD_NS)
			return true;
	}
	return false;
}

/* Without its beat the XDP program passes a worker's packets to the kernel. */
static void
yield_to_kernel(struct ps_worker *w, uint64_t now_ns)
{
	const bool yield = lacks_consumer(w, now_ns);

	if (yield == atomic_load_explicit(&w->yield, memory_order_relaxed))
		return;
	atomic_store_explicit(&w->yield, yield, memory_order_relaxed);
	ps_log(PS_LOG_WARN,
		yield ? "worker %u: a consumer does not poll; the kernel has its queues"
		      : "worker %u: its consumer is back, and so are its queues",
		w->id);
}

static void
round_of(struct ps_app *app, uint64_t now_ns)
{
	for (unsigned int i = 0; i < app->n_ports; i++)
		ps_port_count(&app->port[i]);
	for (unsigned int w = 0; w < app->n_workers; w++) {
		struct ps_worker *worker = app->worker[w];

		for (unsigned int i = 0; i < worker->n_services; i++) {
			ps_feed_sweep(&worker->service[i].feed);
			watch_consumer(&worker->service[i], w, now_ns);
		}
		if (app->conf.feed.no_consumer == PS_NO_CONSUMER_KERNEL)
			yield_to_kernel(worker, now_ns);
	}
}

/* Until a signal comes, a request, an announcement about a link, or the round is over. Returns the
 * signal, or 0. */
static int
wait_round(const struct ps_app *app, int signal_fd)
{
	const int ms = app->conf.watch_ms < ROUND_MS ? (int)app->conf.watch_ms : ROUND_MS;
	struct pollfd p[2 + 2 * PS_CONF_PORTS] = {
		{.fd = signal_fd, .events = POLLIN},
		{.fd = app->wake_fd, .events = POLLIN},
	};
	struct signalfd_siginfo info;
	nfds_t n = 2;

	for (unsigned int i = 0; i < app->n_ports; i++) {
		int fds[2];

		if (!app->port[i].monitored)
			continue;
		ps_linkmon_fds(&app->port[i].mon, fds);
		p[n++] = (struct pollfd){.fd = fds[0], .events = POLLIN};
		p[n++] = (struct pollfd){.fd = fds[1], .events = POLLIN};
	}
	poll(p, n, ms);
	if (p[0].revents == 0 || read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

static int
one_round(struct ps_app *app, struct ps_err *e)
{
	const uint32_t asked = atomic_load(&app->looks_asked);
	const bool now = asked != atomic_load(&app->looks_done);
	eventfd_t unused;
	int rc;

	eventfd_read(app->wake_fd, &unused);
	round_of(app, ps_now_ns());
	rc = ps_control_watch(app, now, e);
	atomic_store(&app->looks_done, asked);
	return rc;
}

static int
wait_for_stop(struct ps_app *app, struct ps_err *e)
{
	sigset_t set = our_signals();
	int fd = signalfd(-1, &set, SFD_CLOEXEC), rc = 0, sig = 0;

	if (fd < 0)
		return ps_fail(e, errno, "signalfd: %s", strerror(errno));
	while (rc == 0 && ((sig = wait_round(app, fd)) == 0 || sig == SIGHUP)) {
		if (sig == SIGHUP)
			ps_control_reload(app);
		rc = one_round(app, e);
	}
	if (rc == 0)
		ps_log(PS_LOG_INFO, "stopping (%s)", strsignal(sig));
	close(fd);
	return rc;
}

/* -- stop -- */

static void
tear_down(struct ps_app *app)
{
	ps_telemetry_stop();
	ps_handover_free(app->handover); /* its frames belong to the ports */
	for (unsigned int i = 0; i < app->n_ports; i++)
		ps_port_stop(&app->port[i]);
	ps_guard_stop(&app->guard);
	for (unsigned int w = 0; w < app->n_workers; w++)
		ps_worker_free(app->worker[w]);
	ps_steer_free(&app->steer);
	free(app->sum);
	if (app->wake_fd >= 0)
		close(app->wake_fd);
	if (app->eal)
		rte_eal_cleanup();
	ps_eal_show_log();
}

int
ps_control_run(struct ps_app *app, int eal_argc, char *const eal_argv[], struct ps_err *e)
{
	int rc;

	app->start_ns = ps_now_ns();
	app->wake_fd = -1;
	rc = start(app, eal_argc, eal_argv, e);
	if (rc == 0) {
		rc = wait_for_stop(app, e);
		stop_workers(app);
	}
	tear_down(app);
	return rc;
}
