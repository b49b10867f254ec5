/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "app.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#define MAX_ARGS   96
#define BASE_BYTES (UINT64_C(16) << 20) /* what EAL and its devices take beside the pools */

struct args {
	int n;
	char *arg[MAX_ARGS];
	int user_n; /* what the user gives, still to be added */
	char *const *user;
};

static char first_error[256], runtime_dir[PATH_MAX];
static int saved[2] = {-1, -1}; /* standard output and error while they are captured */
static bool initialising;

/* DPDK logs what went wrong and returns only a number: the first error line is kept for ours. */
static ssize_t
keep_log(void *cookie, const char *text, size_t len)
{
	size_t n = strcspn(text, "\n") < len ? strcspn(text, "\n") : len;

	(void)cookie;
	if (ps_log_level >= PS_LOG_DEBUG)
		fwrite(text, 1, len, stderr);
	if (first_error[0] == '\0' && n > 0 && rte_log_cur_msg_loglevel() <= (int)RTE_LOG_ERR) {
		n = n < sizeof(first_error) - 1 ? n : sizeof(first_error) - 1;
		memcpy(first_error, text, n);
		first_error[n] = '\0';
	}
	return (ssize_t)len;
}

const char *
ps_eal_cause(void)
{
	return first_error;
}

void
ps_eal_forget(void)
{
	first_error[0] = '\0';
}

static void
capture_log(void)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = keep_log});

	rte_log_set_global_level(ps_log_level >= PS_LOG_DEBUG ? RTE_LOG_INFO : RTE_LOG_WARNING);
	if (f == NULL)
		return;
	setvbuf(f, NULL, _IOLBF, 1024);
	rte_openlog_stream(f);
}

/* Some of it does not even go through the log: EAL's usage text, libxdp's and libbpf's lines. */
static void
capture_output(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || ps_log_level >= PS_LOG_DEBUG)
		return;
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
		if (saved[i] >= 0)
			dup2(null, i + 1);
	}
	close(null);
}

void
ps_eal_show_log(void)
{
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		if (saved[i] < 0)
			continue;
		dup2(saved[i], i + 1);
		close(saved[i]);
		saved[i] = -1;
	}
	rte_openlog_stream(NULL);
}

static void
remove_runtime_dir(void)
{
	if (runtime_dir[0] != '\0')
		rmdir(runtime_dir);
}

/* From DPDK 25.11 on, rte_eal_init() ends the process when an argument is wrong. */
static void
answer_exit(void)
{
	if (!initialising)
		return;
	ps_eal_show_log();
	ps_log(PS_LOG_ERROR, "EAL does not start: %s; check what follows --", first_error);
	_exit(PS_EXIT_FAILED);
}

static int add(struct args *a, struct ps_err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int
add(struct args *a, struct ps_err *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (a->n == MAX_ARGS - 1)
		return ps_fail(e, E2BIG, "too many EAL arguments; at most %d", MAX_ARGS - 1);
	va_start(ap, fmt);
	n = vasprintf(&a->arg[a->n], fmt, ap);
	va_end(ap);
	if (n < 0)
		return ps_fail(e, ENOMEM, "out of memory");
	a->n++;
	a->arg[a->n] = NULL;
	return 0;
}

/* An option of ours gives way to the user's: from DPDK 25.11 on, EAL takes most of them only once.
 */
static bool
is_given(const struct args *a, const char *option)
{
	size_t len = strlen(option);

	for (int i = 0; i < a->user_n; i++) {
		const char *arg = a->user[i];

		if (strncmp(arg, option, len) == 0 &&
			(len == 2 || arg[len] == '\0' || arg[len] == '='))
			return true;
	}
	return false;
}

static int
add_flag(struct args *a, struct ps_err *e, const char *option)
{
	return is_given(a, option) ? 0 : add(a, e, "%s", option);
}

static uint64_t
read_number(const char *path)
{
	unsigned long long n = 0;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static uint64_t
free_huge_bytes(void)
{
	static const char root[] = "/sys/kernel/mm/hugepages";
	DIR *dir = opendir(root);
	uint64_t total = 0;
	struct dirent *d;

	if (dir == NULL)
		return 0;
	while ((d = readdir(dir)) != NULL) {
		unsigned long long kb;
		char path[384];

		if (sscanf(d->d_name, "hugepages-%llukB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/free_hugepages", root, d->d_name);
		total += kb * 1024 * read_number(path);
	}
	closedir(dir);
	return total;
}

/* EAL's own answers to too little memory come late and say little. */
int
ps_eal_check_memory(const struct ps_app *app, struct ps_err *e)
{
	uint64_t need = BASE_BYTES, have;

	for (unsigned int i = 0; i < app->n_ports; i++)
		need += ps_port_memory(app->port[i].conf);
	if (app->conf.memory == PS_MEMORY_NO_HUGE) {
		if (need > (uint64_t)app->conf.memory_mb << 20)
			return ps_fail(e, ENOMEM,
				"[penstock] memory_mb: %u MB are too few for the ports' mbufs; "
				"give "
				"%" PRIu64,
				app->conf.memory_mb, (need >> 20) + 1);
		return 0;
	}
	have = free_huge_bytes();
	if (have < need)
		return ps_fail(e, ENOMEM,
			"%" PRIu64 " MB of huge pages are free and %" PRIu64
			" needed; `sysctl vm.nr_hugepages=%" PRIu64
			"` reserves them, or set memory = no-huge in [penstock]",
			have >> 20, need >> 20,
			read_number("/proc/sys/vm/nr_hugepages") + ((need - have) >> 21) + 1);
	return 0;
}

static int
add_lcores(struct args *a, const struct ps_lcores *l, struct ps_err *e)
{
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof(text), "0@(");
	const char *comma = "";

	for (int i = 0; i < CPU_SETSIZE && used < sizeof(text); i++) {
		if (!CPU_ISSET(i, &l->control))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", comma, i);
		comma = ",";
	}
	if (used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, ")");
	for (unsigned int i = 0; i < l->n && used < sizeof(text); i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, ",%u@%d", i + 1, l->cpu[i]);
	if (used >= sizeof(text))
		return ps_fail(e, E2BIG, "too many processors; name fewer with -l");
	return add(a, e, "--lcores=%s", text);
}

static bool
is_allow(const char *arg)
{
	return strncmp(arg, "-a", 2) == 0 || strncmp(arg, "--allow", 7) == 0;
}

/* The user names this PCI device among EAL's arguments, perhaps with devargs: EAL takes what it
 * reads first, so that a bare address of ours must not come before it. */
static bool
user_allows(const struct args *a, const char *pci)
{
	const char *brief = strncmp(pci, "0000:", 5) == 0 ? pci + 5 : pci;

	for (int i = 0; i < a->user_n; i++) {
		const char *s = a->user[i];

		if (is_allow(s))
			s += s[1] == 'a' ? 2 : strlen("--allow");
		s += *s == '=';
		for (const char *const *name = (const char *const[]){pci, brief, NULL};
			*name != NULL; name++) {
			size_t n = strlen(*name);

			if (strncasecmp(s, *name, n) == 0 && (s[n] == '\0' || s[n] == ','))
				return true;
		}
	}
	return false;
}

/* Either way nothing is left in files, even after a kill. */
static int
add_memory(struct args *a, const struct ps_conf *conf, struct ps_err *e)
{
	int rc;

	if (conf->memory == PS_MEMORY_HUGE)
		return add_flag(a, e, "--in-memory");
	rc = add_flag(a, e, "--no-huge");
	if (rc == 0)
		rc = add_flag(a, e, "--no-shconf");
	if (rc < 0 || is_given(a, "-m"))
		return rc;
	rc = add(a, e, "-m");
	return rc < 0 ? rc : add(a, e, "%u", conf->memory_mb);
}

int
ps_eal_check_args(int user_argc, char *const user_argv[], struct ps_err *e)
{
	static const struct {
		const char *devarg, *why;
	} bad[] = {
		{",auto_reset=1", "loses a VF's rules at a reset, and tells nobody"},
		{",support-multi-driver=1", "keeps i40e from setting the fields of rules"},
		{",dv_flow_en=2", "lets mlx5 take queued rules only"},
	};

	for (int i = 0; i < user_argc; i++)
		for (unsigned int k = 0; k < RTE_DIM(bad); k++)
			if (strstr(user_argv[i], bad[k].devarg) != NULL)
				return ps_fail(e, EINVAL, "devarg %s %s; leave it out",
					bad[k].devarg + 1, bad[k].why);
	return 0;
}

/* PCI is probed only for devices named. */
static int
build_args(struct args *a, const struct ps_app *app, struct ps_err *e)
{
	bool pci = false;
	char text[512];
	int rc;

	rc = add(a, e, "penstock");
	if (rc == 0)
		rc = add_lcores(a, &app->lcores, e);
	if (rc == 0 && !is_given(a, "--file-prefix"))
		rc = add(a, e, "--file-prefix=penstock-%s", app->conf.name);
	if (rc == 0)
		rc = add_memory(a, &app->conf, e);
	for (unsigned int i = 0; rc == 0 && i < app->n_ports; i++) {
		pci = pci || app->port[i].kind == PS_PORT_PCI;
		if (app->port[i].kind == PS_PORT_PCI && user_allows(a, app->port[i].eal_name))
			continue;
		rc = ps_port_eal_arg(&app->port[i], text, sizeof(text), e);
		if (rc == 0 && text[0] != '\0')
			rc = add(a, e, "%s", text);
	}
	for (int i = 0; rc == 0 && i < a->user_n; i++) {
		pci = pci || is_allow(a->user[i]);
		rc = add(a, e, "%s", a->user[i]);
	}
	if (rc == 0 && !pci)
		rc = add_flag(a, e, "--no-pci");
	if (rc == 0 && !pci && !is_given(a, "--iova-mode"))
		rc = add(a, e, "--iova-mode=va");
	return rc;
}

int
ps_eal_start(struct ps_app *app, int user_argc, char *const user_argv[], struct ps_err *e)
{
	static struct args a; /* EAL keeps pointers into it */
	static char *argv[MAX_ARGS];
	int rc;

	a.user_n = user_argc;
	a.user = user_argv;
	rc = build_args(&a, app, e);
	if (rc < 0)
		return rc;
	/* One program per interface, without libxdp's dispatcher around it. */
	setenv("LIBXDP_SKIP_DISPATCHER", "1", 0);
	/* Before EAL's own, so that it runs after them and finds the directory empty. */
	atexit(remove_runtime_dir);
	atexit(answer_exit);
	capture_log();
	capture_output();
	ps_eal_forget();
	initialising = true;
	memcpy(argv, a.arg, sizeof(argv)); /* EAL writes over one of them */
	rc = rte_eal_init(a.n, argv);
	initialising = false;
	if (rc < 0)
		return ps_fail(e, rte_errno != 0 ? rte_errno : EINVAL,
			"EAL does not start: %s; check what follows -- and penstock.memory "
			"(penstock.log = debug shows all)",
			first_error[0] != '\0' ? first_error : strerror(rte_errno));
	snprintf(runtime_dir, sizeof(runtime_dir), "%s", rte_eal_get_runtime_dir());
	return 0;
}
