/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* DPDK's telemetry, protocol version 2, for a process without EAL: a SOCK_SEQPACKET socket in the
 * file system. Whoever connects gets one object {"version", "pid", "max_output_len"}, and for each
 * "/command[,parameters]" one {"/command": ...}; null when there is no such command.
 *
 * The thread that owns it calls ps_tel_server_work() between its other work. That never waits and
 * does little: at most one is let in and one request is answered, whatever clients do. One that
 * does not read is dropped; when all places are taken, one that asked nothing lately is dropped
 * for who comes. */
#ifndef PS_BRIDGE_TEL_SERVER_H
#define PS_BRIDGE_TEL_SERVER_H

#include <stdint.h>
#include <sys/un.h>

#include "ps_err.h"
#include "ps_json.h"

#define PS_TEL_CLIENTS      8
#define PS_TEL_ANSWER_BYTES 65536 /* one that is longer becomes null */

struct ps_tel_server_command {
	const char *name; /* "/..." of a-z, 0-9, _ and / */
	/* Puts the members of its object. */
	void (*put)(void *ctx, struct ps_json *j);
};

struct ps_tel_client {
	int fd; /* -1: free */
	uint64_t since_ns;
};

struct ps_tel_server {
	int fd; /* -1: closed */
	struct sockaddr_un addr;
	const struct ps_tel_server_command *command;
	unsigned int n_commands;
	void *ctx;
	struct ps_tel_client client[PS_TEL_CLIENTS];
	unsigned int next; /* the client that is looked at first, in turn */
	uint64_t stay_ns;  /* nobody has to go before then */
	char answer[PS_TEL_ANSWER_BYTES];
};

/* For owner and group. Replaces the socket of a process that is gone; -EADDRINUSE when somebody
 * listens there. After a failure it counts as closed. */
int ps_tel_server_open(struct ps_tel_server *s, const char *path,
	const struct ps_tel_server_command *command, unsigned int n_commands, void *ctx,
	struct ps_err *e);
void ps_tel_server_work(struct ps_tel_server *s, uint64_t now_ns);
/* Removes the socket's file too. */
void ps_tel_server_close(struct ps_tel_server *s);

#endif
