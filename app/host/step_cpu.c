/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "steps.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define CPU_DIR "/sys/devices/system/cpu"

static cpu_set_t
workers_of(const struct ps_host *h)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned int i = 0; i < h->lcores.n; i++)
		CPU_SET(h->lcores.cpu[i], &set);
	return set;
}

static bool
is_number(const char *text)
{
	return isdigit((unsigned char)text[0]);
}

/* -- lcores -- */

void
ps_step_lcores(struct ps_host *h)
{
	const cpu_set_t workers = workers_of(h);
	cpu_set_t set, wrong;
	char list[256], all[80], remedy[320];

	ps_text_cpu_list(&workers, all, sizeof(all));
	if (ps_text_cpus(CPU_DIR "/online", &set)) {
		CPU_AND(&wrong, &workers, &set);
		CPU_XOR(&wrong, &wrong, &workers);
		if (CPU_COUNT(&wrong) > 0)
			ps_row_add(h, PS_STEP_NOT, "online",
				"choose others in lcores, or chcpu -e them", "offline: %s",
				ps_text_cpu_list(&wrong, list, sizeof(list)));
	}
	if (h->conf->idle == PS_IDLE_SLEEP) {
		ps_row_add(h, PS_STEP_SKIP, "isolated", "",
			"workers that sleep (idle = sleep) share their processors");
		return;
	}
	if (!ps_text_cpus(CPU_DIR "/isolated", &set)) {
		ps_row_add(h, PS_STEP_SKIP, "isolated", "", "the kernel does not tell");
		return;
	}
	CPU_AND(&wrong, &workers, &set);
	CPU_XOR(&wrong, &wrong, &workers);
	if (CPU_COUNT(&wrong) == 0) {
		ps_row_add(h, PS_STEP_OK, "isolated", "", "%s", all);
		return;
	}
	snprintf(remedy, sizeof(remedy),
		"add isolcpus=%s nohz_full=%s rcu_nocbs=%s to the kernel's command line and "
		"restart",
		all, all, all);
	ps_row_add(h, PS_STEP_PARTIAL, "isolated", remedy,
		"the scheduler puts others on %s: packets wait meanwhile",
		ps_text_cpu_list(&wrong, list, sizeof(list)));
}

/* -- interrupts -- */

void
ps_step_interrupts(struct ps_host *h)
{
	const cpu_set_t workers = workers_of(h);
	char path[320], irqs[200] = "", *end = irqs;
	unsigned int n = 0;
	struct dirent *d;
	DIR *dir;

	if (h->conf->idle == PS_IDLE_SLEEP) {
		ps_row_add(h, PS_STEP_SKIP, "", "", "workers that sleep share their processors");
		return;
	}
	dir = opendir("/proc/irq");
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		cpu_set_t served, both;

		if (!is_number(d->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%s/effective_affinity_list", d->d_name);
		if (!ps_text_cpus(path, &served))
			continue;
		CPU_AND(&both, &served, &workers);
		if (CPU_COUNT(&both) == 0)
			continue;
		if (n++ < 16)
			end += snprintf(
				end, (size_t)(irqs + sizeof(irqs) - end), " %.8s", d->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	if (n == 0)
		ps_row_add(h, PS_STEP_OK, "", "", "none is served by the workers' processors");
	else
		ps_row_add(h, PS_STEP_PARTIAL, "",
			"stop irqbalance, then for each: echo CONTROL_CPUS > "
			"/proc/irq/N/smp_affinity_list",
			"%u are served by the workers' processors:%s%s", n, irqs,
			n > 16 ? " ..." : "");
}

/* -- governor -- */

void
ps_step_governor(struct ps_host *h)
{
	struct ps_knob k = {.kind = "file"};
	char subject[32];

	for (unsigned int i = 0; i < h->lcores.n; i++) {
		snprintf(subject, sizeof(subject), "lcore %d", h->lcores.cpu[i]);
		snprintf(k.target, sizeof(k.target), CPU_DIR "/cpu%d/cpufreq/scaling_governor",
			h->lcores.cpu[i]);
		if (!ps_text_exists(k.target))
			ps_row_add(h, PS_STEP_SKIP, subject, "",
				"the kernel does not change its frequency");
		else
			ps_host_want(h, PS_STEP_PARTIAL, subject, &k, "performance",
				"its frequency falls and rises with the load");
	}
}

/* -- validator -- */

static bool
is_validator(const char *name)
{
	static const char *const known[] = {"agave-validator", "solana-validator", "fdctl", "fddev",
		"firedancer", "firedancer-dev", "frankendancer", "jito-validator"};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(name, known[i], 15) == 0) /* as much as the kernel keeps */
			return true;
	return false;
}

/* Threads of a process that are pinned to few processors, one of which is a worker's. */
static unsigned int
pinned_threads(const char *pid, const cpu_set_t *workers, cpu_set_t *hit)
{
	const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	char path[600], line[4096];
	unsigned int n = 0;
	struct dirent *d;
	cpu_set_t allowed, both;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		FILE *f;

		if (!is_number(d->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/status", pid, d->d_name);
		f = fopen(path, "re");
		while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
			line[strcspn(line, "\n")] = '\0';
			if (strncmp(line, "Cpus_allowed_list:\t", 19) != 0 ||
				!ps_conf_list(line + 19, CPU_SETSIZE, &allowed) ||
				CPU_COUNT(&allowed) >= online)
				continue;
			CPU_AND(&both, &allowed, workers);
			n += CPU_COUNT(&both) > 0;
			CPU_OR(hit, hit, &both);
		}
		if (f != NULL)
			fclose(f);
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

void
ps_step_validator(struct ps_host *h)
{
	const cpu_set_t workers = workers_of(h);
	char path[320], name[64], subject[64], list[128];
	DIR *dir = opendir("/proc");
	unsigned int seen = 0, threads;
	struct dirent *d;
	cpu_set_t hit;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (!is_number(d->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		if (ps_text_read(path, name, sizeof(name)) < 0 || !is_validator(name))
			continue;
		seen++;
		CPU_ZERO(&hit);
		threads = pinned_threads(d->d_name, &workers, &hit);
		snprintf(subject, sizeof(subject), "%.32s %.10s", name, d->d_name);
		if (threads == 0)
			ps_row_add(h, PS_STEP_OK, subject, "",
				"none of its threads is pinned to "
				"the workers' processors");
		else
			ps_row_add(h,
				h->conf->idle == PS_IDLE_SLEEP ? PS_STEP_PARTIAL : PS_STEP_NOT,
				subject,
				"choose other processors in lcores, or in the validator's layout",
				"%u of its threads are pinned to %s, where workers run", threads,
				ps_text_cpu_list(&hit, list, sizeof(list)));
	}
	if (dir != NULL)
		closedir(dir);
	if (seen == 0)
		ps_row_add(h, PS_STEP_SKIP, "", "", "no validator runs here now");
}
