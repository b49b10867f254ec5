/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "tel_server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ps_time.h"

#define BACKLOG       16
#define REQUEST_BYTES 1024
#define NAME_BYTES    56              /* of a command, as DPDK has it */
#define STAY_NS       (50 * PS_MS_NS) /* from one that has to go to the next */
#define PRIVATE_UMASK 0117

/* -- open -- */

/* 0 when the file is a socket that nobody listens at. */
static int
left_over(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, rc = -EADDRINUSE;

	if (lstat(addr->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 && errno != EAGAIN)
		rc = errno == ECONNREFUSED ? 0 : -errno;
	close(fd);
	return rc;
}

static int
bind_and_listen(int fd, const struct sockaddr_un *addr)
{
	const mode_t before = umask(PRIVATE_UMASK);
	int rc = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;

	umask(before);
	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	return rc;
}

int
ps_tel_server_open(struct ps_tel_server *s, const char *path,
	const struct ps_tel_server_command *command, unsigned int n_commands, void *ctx,
	struct ps_err *e)
{
	int rc;

	s->fd = -1;
	s->command = command;
	s->n_commands = n_commands;
	s->ctx = ctx;
	s->next = 0;
	s->stay_ns = 0;
	for (unsigned int i = 0; i < PS_TEL_CLIENTS; i++)
		s->client[i].fd = -1;
	s->addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(s->addr.sun_path))
		return ps_fail(e, ENAMETOOLONG,
			"telemetry: %.80s... is too long; name a path of "
			"less than %zu characters",
			path, sizeof(s->addr.sun_path));
	strcpy(s->addr.sun_path, path);
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return ps_fail(e, errno, "telemetry: socket: %s", strerror(errno));
	rc = bind_and_listen(s->fd, &s->addr);
	if (rc == -EADDRINUSE) {
		rc = left_over(&s->addr);
		if (rc == 0 && unlink(path) < 0)
			rc = -errno;
		if (rc == 0)
			rc = bind_and_listen(s->fd, &s->addr);
	}
	if (rc == 0)
		return 0;
	close(s->fd);
	s->fd = -1;
	return ps_fail(e, -rc, "telemetry: %s: %s", path, strerror(-rc));
}

void
ps_tel_server_close(struct ps_tel_server *s)
{
	if (s->fd < 0)
		return;
	for (unsigned int i = 0; i < PS_TEL_CLIENTS; i++)
		if (s->client[i].fd >= 0)
			close(s->client[i].fd);
	unlink(s->addr.sun_path);
	close(s->fd);
	s->fd = -1;
}

/* -- clients -- */

static void
drop(struct ps_tel_client *c)
{
	close(c->fd);
	c->fd = -1;
}

/* A client whose socket has no room does not read. */
static void
give(struct ps_tel_server *s, struct ps_tel_client *c, size_t bytes)
{
	if (send(c->fd, s->answer, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)bytes)
		drop(c);
}

static void
greet(struct ps_tel_server *s, struct ps_tel_client *c)
{
	const int n = snprintf(s->answer, sizeof(s->answer),
		"{\"version\": \"penstock " PS_VERSION "\", \"pid\": %d, \"max_output_len\": %d}",
		getpid(), PS_TEL_ANSWER_BYTES);

	give(s, c, (size_t)n);
}

/* The place that is free, or that of the client who was there longest. */
static struct ps_tel_client *
place_for(struct ps_tel_server *s, uint64_t now_ns)
{
	struct ps_tel_client *oldest = &s->client[0];

	for (unsigned int i = 0; i < PS_TEL_CLIENTS; i++) {
		if (s->client[i].fd < 0)
			return &s->client[i];
		if (s->client[i].since_ns < oldest->since_ns)
			oldest = &s->client[i];
	}
	if (now_ns < s->stay_ns)
		return NULL;
	s->stay_ns = now_ns + STAY_NS;
	drop(oldest);
	return oldest;
}

static void
let_in(struct ps_tel_server *s, uint64_t now_ns)
{
	struct ps_tel_client *c = place_for(s, now_ns);

	if (c == NULL)
		return; /* it waits in the kernel */
	c->since_ns = now_ns;
	c->fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (c->fd >= 0)
		greet(s, c);
}

/* -- answers -- */

static void
put_commands(const struct ps_tel_server *s, struct ps_json *j)
{
	ps_json_open(j, "/", '[');
	ps_json_str(j, NULL, "/");
	for (unsigned int i = 0; i < s->n_commands; i++)
		ps_json_str(j, NULL, s->command[i].name);
	ps_json_close(j, ']');
}

static const struct ps_tel_server_command *
find(const struct ps_tel_server *s, const char *name)
{
	for (unsigned int i = 0; i < s->n_commands; i++)
		if (strcmp(s->command[i].name, name) == 0)
			return &s->command[i];
	return NULL;
}

/* name holds nothing that JSON would have to escape. False: there is no room, or no such command.
 */
static bool
put_answer(struct ps_tel_server *s, const char *name, size_t *bytes)
{
	const struct ps_tel_server_command *command = find(s, name);
	struct ps_json j = {.out = fmemopen(s->answer, sizeof(s->answer), "w")};
	bool whole;

	if (j.out == NULL)
		return false;
	ps_json_open(&j, NULL, '{');
	if (command != NULL) {
		ps_json_open(&j, name, '{');
		command->put(s->ctx, &j);
		ps_json_close(&j, '}');
	} else {
		put_commands(s, &j);
	}
	ps_json_close(&j, '}');
	whole = fflush(j.out) == 0 && !ferror(j.out);
	*bytes = (size_t)ftell(j.out);
	fclose(j.out);
	return whole && (command != NULL || strcmp(name, "/") == 0);
}

/* The command of a request, without parameters; "none" for what can be none, as DPDK says. */
static const char *
name_of(char *request)
{
	const size_t n = strcspn(request, ",");

	request[n] = '\0';
	if (n == 0 || n >= NAME_BYTES ||
		strspn(request, "abcdefghijklmnopqrstuvwxyz0123456789_/") != n)
		return "none";
	return request;
}

/* False when it had nothing to say, or went. */
static bool
hear(struct ps_tel_server *s, struct ps_tel_client *c)
{
	char request[REQUEST_BYTES + 1];
	const ssize_t n = recv(c->fd, request, REQUEST_BYTES, MSG_DONTWAIT);
	const char *name;
	size_t bytes;

	if (n <= 0) {
		drop(c);
		return false;
	}
	request[n] = '\0';
	name = name_of(request);
	if (!put_answer(s, name, &bytes))
		bytes = (size_t)snprintf(s->answer, sizeof(s->answer), "{\"%s\": null}", name);
	give(s, c, bytes);
	return true;
}

void
ps_tel_server_work(struct ps_tel_server *s, uint64_t now_ns)
{
	struct pollfd fd[PS_TEL_CLIENTS + 1];
	bool answered = false;

	if (s->fd < 0)
		return;
	for (unsigned int i = 0; i < PS_TEL_CLIENTS; i++)
		fd[i] = (struct pollfd){.fd = s->client[i].fd, .events = POLLIN};
	fd[PS_TEL_CLIENTS] = (struct pollfd){.fd = s->fd, .events = POLLIN};
	if (poll(fd, PS_TEL_CLIENTS + 1, 0) <= 0)
		return;
	for (unsigned int k = 0; k < PS_TEL_CLIENTS && !answered; k++) {
		const unsigned int i = (s->next + k) % PS_TEL_CLIENTS;

		answered = fd[i].revents != 0 && hear(s, &s->client[i]);
		if (answered)
			s->next = (i + 1) % PS_TEL_CLIENTS;
	}
	if (fd[PS_TEL_CLIENTS].revents != 0)
		let_in(s, now_ns);
}
