/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The XDP program that an interface carries, whoever attached it. For af_xdp.c; control thread. */
#ifndef PS_GLUE_AF_XDP_PROG_H
#define PS_GLUE_AF_XDP_PROG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#define PS_XDP_MAPS 16

struct ps_xdp_prog {
	int fd; /* -1: none is attached; else the caller closes it */
	uint32_t id;
	uint32_t flags; /* the attach mode, XDP_FLAGS_*_MODE */
	char name[BPF_OBJ_NAME_LEN];
	uint32_t n_maps, maps[PS_XDP_MAPS]; /* ids */
};

/* Fills id and flags, which takes no privilege. */
int ps_xdp_prog_find(unsigned int ifindex, struct ps_xdp_prog *p);
/* Opens it too: -EPERM without CAP_SYS_ADMIN. */
int ps_xdp_prog_open(unsigned int ifindex, struct ps_xdp_prog *p);
/* A new descriptor of the program's map of this name, or -errno. */
int ps_xdp_prog_map(const struct ps_xdp_prog *p, const char *name);
bool ps_xdp_prog_is_ours(const struct ps_xdp_prog *p);
/* Does a worker of the penstock that attached it still beat? */
bool ps_xdp_prog_is_beating(const struct ps_xdp_prog *p);
/* Only if it is still the one that p holds. */
int ps_xdp_prog_detach(unsigned int ifindex, const struct ps_xdp_prog *p);
/* Only if there is none. */
int ps_xdp_prog_attach(unsigned int ifindex, const struct ps_xdp_prog *p);

#endif
