/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The steps of check and init. A step looks at one matter of the host and adds rows: what it found,
 * in which state, why, and the command that mends it. Where Penstock can mend it by itself, it adds
 * a wish instead: a knob and the value it must have. check shows all of it; init makes the wishes
 * true, after each old value is safe in the state file; fini takes from that file what to put back.
 * So check tells beforehand exactly what init would do, and fini needs no knowledge of steps.
 *
 * The table of all steps is in steps.c. Main thread, before EAL. Rows and wishes belong to struct
 * ps_host. */
#ifndef PS_HOST_STEP_H
#define PS_HOST_STEP_H

#include <stdbool.h>
#include <stdio.h>

#include "app.h"
#include "knob.h"
#include "mem.h"

#define PS_ROWS_MAX 512

enum ps_step_state {
	PS_STEP_OK,
	PS_STEP_NOT,     /* penstock would not start, or would do harm: not ready */
	PS_STEP_PARTIAL, /* it works, but worse than it could, or something ought to be known */
	PS_STEP_SKIP,    /* does not apply, or cannot be seen from here */
};

struct ps_row {
	const char *step;
	enum ps_step_state state;
	char subject[64];
	char why[320], remedy[320];
	bool wish; /* init mends it; the next three are set then */
	struct ps_knob knob;
	char *old, *value; /* owned */
};

struct ps_host;

struct ps_step {
	const char *name, *about;
	void (*look)(struct ps_host *h);
};

struct ps_host {
	const struct ps_conf *conf;
	const char *file; /* of the configuration, for remedies */
	const char *contact_file;
	struct ps_lcores lcores;
	struct ps_mem mem;
	bool running;               /* a penstock of this name */
	const struct ps_step *step; /* at hand */
	unsigned int n_rows;
	struct ps_row row[PS_ROWS_MAX];
};

extern const struct ps_step ps_steps[];
extern const unsigned int ps_n_steps;

/* Loads the configuration and what follows from it: lcores and memory. */
int ps_host_open(struct ps_host *h, struct ps_conf *conf, const char *file, struct ps_err *e);
/* Looks at everything; replaces the rows. */
void ps_host_look(struct ps_host *h);
/* Only at the steps of these names; the last is NULL. */
void ps_host_look_at(struct ps_host *h, const char *const names[]);
void ps_host_close(struct ps_host *h);
/* No row is NOT. */
bool ps_host_ready(const struct ps_host *h);
/* Rows that init mends. */
unsigned int ps_host_wishes(const struct ps_host *h);
const char *ps_step_state_name(enum ps_step_state state);

/* -- for steps -- */

/* remedy: "" when there is nothing to do. */
void ps_row_add(struct ps_host *h, enum ps_step_state state, const char *subject,
	const char *remedy, const char *why, ...) __attribute__((format(printf, 5, 6)));
/* The knob shall have this value, since why. An OK row when it has; a row in state otherwise; SKIP
 * when there is no such knob here. */
void ps_host_want(struct ps_host *h, enum ps_step_state state, const char *subject,
	const struct ps_knob *k, const char *value, const char *why);

/* Why a row of an interface with path = socket is SKIP. */
#define PS_HOST_SOCKETS "kernel sockets take it as it is"

/* How a port is driven, as far as the configuration tells. */
bool ps_host_is_pci(const struct ps_conf_port *p);
bool ps_host_is_interface(const struct ps_conf_port *p);
/* The interface by which its frames come: the port's own, or, where the path goes through the
 * kernel, that of its PCI device; returns ifname, or NULL when there is none. */
char *ps_host_interface(const struct ps_conf_port *p, char ifname[16]);
/* Served for the host's own programs, in generic mode. */
bool ps_host_is_loopback(const struct ps_conf_port *p);
/* A device of EAL, made by the arguments behind --: nothing of it is seen from here. */
bool ps_host_is_eal(const struct ps_conf_port *p);
/* The PCI device is, or is to be, left with its kernel driver: by the port's path, or mlx5. */
bool ps_host_is_shared(const struct ps_conf_port *p);
/* A VF that has, or is to have, the MAC address of its physical function. */
bool ps_host_shares_mac(const struct ps_conf_port *p);
/* Full form of the PCI address; returns text. */
char *ps_host_pci(const struct ps_conf_port *p, char text[24]);
/* Kernel driver of an interface, or "virtual"; returns text. */
char *ps_host_driver(const char *ifname, char *text, size_t cap);

#endif
