/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Two processors: a worker on each against one alone (`bench scale`), and how far apart they are
 * (`bench cores`). */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "runs.h"

#define ROUND_TRIPS 20000

/* The first two processors that we may use. */
static int
two_processors(int cpu[2], struct ps_err *e)
{
	unsigned int n = 0;
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		CPU_ZERO(&all);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &all))
			cpu[n++] = i;
	return n == 2 ? 0 : ps_fail(e, ENODEV, "this takes two processors; taskset -p shows ours");
}

static void
move_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* -- scale -- */

struct worker {
	struct bench *b;
	int cpu;
	pthread_barrier_t *start;
	double ns, instructions; /* per packet; below 0: not counted */
};

/* Instructions of this thread in user mode. -1 where the processor's counters are not to be had. */
static int
count_instructions(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;
	uint64_t n;

	move_to(w->cpu);
	w->b->counter_fd = count_instructions();
	w->instructions = -1;
	pthread_barrier_wait(w->start);
	w->ns = bench_ns(bench_repetition(w->b));
	if (w->b->counter_fd >= 0) {
		if (read(w->b->counter_fd, &n, sizeof(n)) == sizeof(n))
			w->instructions = (double)n / (BURSTS * BURST);
		close(w->b->counter_fd);
	}
	return NULL;
}

/* Workers first..last at once. */
static int
run_workers(struct worker *w, unsigned int first, unsigned int last, struct ps_err *e)
{
	pthread_barrier_t start;
	pthread_t thread[2];
	unsigned int n = 0;

	pthread_barrier_init(&start, NULL, last - first + 1);
	for (unsigned int i = first; i <= last; i++) {
		w[i].start = &start;
		if (pthread_create(&thread[n], NULL, worker_main, &w[i]) != 0)
			break;
		n++;
	}
	if (n <= last - first) /* whoever waits for the other one waits for ever: end with a word */
		return ps_fail(e, EAGAIN, "no thread for a worker");
	for (unsigned int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&start);
	return 0;
}

static int
compare_workers(struct worker w[2], const struct bench_run *run)
{
	double alone = 0, together = 0, instructions[2] = {0}; /* packets per ns */
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < 2; i++) {
		rc = run_workers(w, i, i, run->e);
		alone += 1 / w[i].ns / 2;
		instructions[0] += w[i].instructions / 2;
	}
	if (rc == 0)
		rc = run_workers(w, 0, 1, run->e);
	if (rc < 0)
		return rc;
	for (unsigned int i = 0; i < 2; i++) {
		together += 1 / w[i].ns;
		instructions[1] += w[i].instructions / 2;
	}
	bench_add(run->r, "ns", 1 / alone, "packet, one worker");
	bench_add(run->r, "ns", 2 / together, "packet, each of two");
	bench_add(run->r, "x", together / alone, "two workers / one");
	if (instructions[0] > 0) {
		bench_add(run->r, "instr", instructions[0], "instructions, one worker");
		bench_add(run->r, "instr", instructions[1], "instructions, each of two");
	}
	return bench_go_on(run);
}

int
bench_run_scale(const struct bench_run *run)
{
	const struct bench_server_conf conf = {0};
	struct worker w[2] = {0};
	int cpu[2], rc = two_processors(cpu, run->e);

	for (unsigned int i = 0; rc == 0 && i < 2; i++) {
		w[i].cpu = cpu[i];
		w[i].b = bench_new(run->o->size, run->o->conns, run->e);
		rc = w[i].b == NULL ? -ENOMEM : bench_pair(w[i].b, false, &conf, run);
	}
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++)
		rc = compare_workers(w, run);
	for (unsigned int i = 0; i < 2; i++) {
		if (rc == 0)
			rc = bench_settle(w[i].b, run->e);
		bench_free(w[i].b);
	}
	return rc;
}

/* -- cores -- */

struct ball {
	_Alignas(64) _Atomic uint32_t there;
	_Alignas(64) _Atomic uint32_t back;
	int cpu;
};

/* Gives way when the processor has other things to do, or both would wait for long. */
static void
wait_until(_Atomic uint32_t *p, uint32_t value)
{
	for (unsigned int spins = 1; atomic_load_explicit(p, memory_order_acquire) != value;
		spins++)
		if (spins % 100000 == 0)
			sched_yield();
}

static void *
return_balls(void *arg)
{
	struct ball *b = arg;

	move_to(b->cpu);
	for (uint32_t i = 1; i <= ROUND_TRIPS; i++) {
		wait_until(&b->there, i);
		atomic_store_explicit(&b->back, i, memory_order_release);
	}
	return NULL;
}

/* Nanoseconds for a cache line to go there and another one to come back. */
static int
play(int there, double *ns, struct ps_err *e)
{
	struct ball b = {.cpu = there};
	uint64_t start_ns;
	pthread_t thread;

	if (pthread_create(&thread, NULL, return_balls, &b) != 0)
		return ps_fail(e, EAGAIN, "no thread for the other processor");
	atomic_store_explicit(&b.there, 1, memory_order_release);
	wait_until(&b.back, 1);
	start_ns = ps_now_ns();
	for (uint32_t i = 2; i <= ROUND_TRIPS; i++) {
		atomic_store_explicit(&b.there, i, memory_order_release);
		wait_until(&b.back, i);
	}
	*ns = (double)(ps_now_ns() - start_ns) / (ROUND_TRIPS - 1);
	pthread_join(thread, NULL);
	return 0;
}

int
bench_run_cores(const struct bench_run *run)
{
	cpu_set_t before;
	int cpu[2], rc = two_processors(cpu, run->e);

	sched_getaffinity(0, sizeof(before), &before);
	for (unsigned int rep = 0; rc == 0 && rep < run->o->reps; rep++) {
		double ns = 0;

		move_to(cpu[0]);
		rc = play(cpu[1], &ns, run->e);
		sched_setaffinity(0, sizeof(before), &before);
		if (rc == 0) {
			bench_add(run->r, "ns", ns, "round trip between two cores");
			rc = bench_go_on(run);
		}
	}
	return rc;
}
