/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The running program in one struct. The control thread (main) builds it, reads it and takes it
 * down; a worker sees its own struct ps_worker only; telemetry's thread reads counters without
 * order. rte_eth_* calls other than the two bursts belong to the control thread. */
#ifndef PS_APP_APP_H
#define PS_APP_APP_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_config.h>

#include "conf.h"
#include "drift.h"
#include "guard.h"
#include "port.h"
#include "privilege.h"
#include "steer.h"
#include "worker.h"

#define PS_EXIT_OK     0
#define PS_EXIT_FAILED 1 /* not ready, or failed */
#define PS_EXIT_USAGE  2

/* Processors. Worker w runs as EAL lcore w + 1; lcore 0 is the control thread's. */
struct ps_lcores {
	unsigned int n;
	int cpu[PS_WORKERS_MAX];
	cpu_set_t control; /* those without a worker, or all when there are none */
};

struct ps_app {
	struct ps_conf conf;
	struct ps_lcores lcores;
	unsigned int n_ports, n_workers;
	struct ps_port port[PS_CONF_PORTS];
	struct ps_worker *worker[PS_WORKERS_MAX]; /* each on its own NUMA node */
	struct ps_handover *handover;             /* between them; NULL with one */
	struct ps_steer steer;
	struct ps_drift drift; /* control: rw; telemetry: ro */
	struct ps_guard guard;
	struct ps_steer_count *sum; /* control, at hand: by selector's id */
	uint64_t start_ns;
	bool eal;                           /* started */
	char privileges[PS_PRIVILEGE_TEXT]; /* that are left while serving, for people */
	/* Telemetry asks the control thread to look at all rules now, and wakes it. */
	int wake_fd;
	_Atomic uint32_t looks_asked; /* telemetry: rw, control: ro */
	_Atomic uint32_t looks_done;  /* control: rw, telemetry: ro */
};

/* -- lcores.c -- */

/* list: "2,4-6", or "" for the last processor. */
int ps_lcores_choose(struct ps_lcores *l, const char *list, struct ps_err *e);

/* -- eal.c -- */

/* Are there devargs with which rules would not be kept? */
int ps_eal_check_args(int user_argc, char *const user_argv[], struct ps_err *e);
/* Is there room for the buffers of the planned ports? */
int ps_eal_check_memory(const struct ps_app *app, struct ps_err *e);
/* Starts EAL for the planned ports; user_argv: what followed "--". */
int ps_eal_start(struct ps_app *app, int user_argc, char *const user_argv[], struct ps_err *e);
/* The first error that a DPDK library logged since ps_eal_forget(), "" when there was none: the
 * cause behind an error number. */
const char *ps_eal_cause(void);
void ps_eal_forget(void);
/* Ends the silence that ps_eal_start() begins: what DPDK and its libraries print is shown again. */
void ps_eal_show_log(void);

/* -- control.c -- */

/* Blocks the signals that ps_control_run() waits for; before any thread is made. */
void ps_control_block_signals(void);
/* Builds everything, launches the workers, returns 0 after a clean stop. */
int ps_control_run(struct ps_app *app, int eal_argc, char *const eal_argv[], struct ps_err *e);

/* -- control_watch.c -- */

/* Hears the ports' events, looks at those that are due (now: at all), acts. Fails when the program
 * must end. */
int ps_control_watch(struct ps_app *app, bool now, struct ps_err *e);
/* Reads the deny lists again. */
void ps_control_reload(struct ps_app *app);

/* -- telemetry.c -- */

/* Registers /penstock/...; the commands answer from app until ps_telemetry_stop(). */
int ps_telemetry_start(struct ps_app *app, struct ps_err *e);
void ps_telemetry_stop(void);

#endif
