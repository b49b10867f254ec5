/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The bridge's telemetry socket: what DPDK's clients expect of it, and clients that mean ill. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cunit_run.h"
#include "tel_server.h"

#define SECOND_NS UINT64_C(1000000000)

static struct ps_tel_server server;
static char dir[64], path[96];
static uint64_t now_ns;

static void
put_two(void *ctx, struct ps_json *j)
{
	ps_json_u64(j, "number", *(int *)ctx);
	ps_json_str(j, "text", "a\"b");
}

/* Longer than an answer may be. */
static void
put_long(void *ctx, struct ps_json *j)
{
	(void)ctx;
	for (uint64_t i = 0; i < 20000; i++)
		ps_json_u64(j, "member", i);
}

static const struct ps_tel_server_command commands[] = {{"/a/two", put_two}, {"/a/long", put_long}};
static int number = 7;

static int
open_server(struct ps_tel_server *s)
{
	return ps_tel_server_open(s, path, commands, 2, &number, NULL);
}

/* A client, whose connection waits to be let in. */
static int
join(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, path);
	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void
work(unsigned int times)
{
	while (times-- > 0)
		ps_tel_server_work(&server, now_ns);
}

static const char *
hear(int fd)
{
	static char text[PS_TEL_ANSWER_BYTES + 1];
	const ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? NULL : text;
}

static const char *
ask_bytes(int fd, const char *request, size_t len)
{
	CU_ASSERT_EQUAL(send(fd, request, len, MSG_NOSIGNAL), (ssize_t)len);
	work(1);
	return hear(fd);
}

static const char *
ask(int fd, const char *request)
{
	const char *text = ask_bytes(fd, request, strlen(request));

	return text == NULL ? "" : text;
}

static int
enter(void)
{
	const int fd = join();

	work(1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(hear(fd));
	return fd;
}

static bool
was_dropped(int fd)
{
	const char *text = hear(fd);

	return text != NULL && text[0] == '\0';
}

/* -- tests -- */

static void
test_talk(void)
{
	char greeting[128];
	int fd = join();

	snprintf(greeting, sizeof(greeting), "\", \"pid\": %d, \"max_output_len\": 65536}",
		getpid());
	work(1);
	CU_ASSERT_PTR_NOT_NULL(strstr(hear(fd), greeting));
	CU_ASSERT_STRING_EQUAL(ask(fd, "/"), "{\"/\": [\"/\", \"/a/two\", \"/a/long\"]}");
	CU_ASSERT_STRING_EQUAL(
		ask(fd, "/a/two"), "{\"/a/two\": {\"number\": 7, \"text\": \"a\\\"b\"}}");
	CU_ASSERT_STRING_EQUAL(
		ask(fd, "/a/two,3"), "{\"/a/two\": {\"number\": 7, \"text\": \"a\\\"b\"}}");
	CU_ASSERT_STRING_EQUAL(ask(fd, "/a/one"), "{\"/a/one\": null}");
	CU_ASSERT_STRING_EQUAL(ask(fd, "/a/long"), "{\"/a/long\": null}");
	close(fd);
}

static void
test_garbage(void)
{
	char bytes[4096];
	int fd = enter();

	memset(bytes, 'a', sizeof(bytes));
	CU_ASSERT_STRING_EQUAL(ask_bytes(fd, bytes, sizeof(bytes)), "{\"none\": null}");
	CU_ASSERT_STRING_EQUAL(ask_bytes(fd, bytes, 56), "{\"none\": null}");
	CU_ASSERT_STRING_EQUAL(ask(fd, ","), "{\"none\": null}");
	CU_ASSERT_STRING_EQUAL(ask(fd, "/\"}, {\"x"), "{\"none\": null}");
	CU_ASSERT_STRING_EQUAL(ask_bytes(fd, "\0\xff", 2), "{\"none\": null}");
	CU_ASSERT_PTR_NOT_NULL(strstr(ask(fd, "/a/two"), "number"));
	close(fd);
	work(1);
	for (unsigned int i = 0; i < PS_TEL_CLIENTS; i++)
		CU_ASSERT_EQUAL(server.client[i].fd, -1);
}

/* One answer in a turn, to each client in its turn. */
static void
test_turns(void)
{
	int a = enter(), b = enter();

	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(send(a, "/", 1, 0), 1);
	CU_ASSERT_EQUAL(send(b, "/", 1, 0), 1);
	work(2);
	CU_ASSERT_PTR_NOT_NULL(hear(a));
	CU_ASSERT_PTR_NULL(hear(a));
	CU_ASSERT_PTR_NOT_NULL(hear(b));
	close(a);
	close(b);
	work(4);
}

/* It asks and never reads: it goes as soon as its socket is full, and nobody else notices. */
static void
test_deaf(void)
{
	int deaf = enter(), other = enter();

	for (unsigned int i = 0; i < 100000 && !was_dropped(other); i++) {
		if (send(deaf, "/", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE)
			break;
		work(1);
	}
	CU_ASSERT_EQUAL(send(deaf, "/", 1, MSG_NOSIGNAL), -1);
	CU_ASSERT_EQUAL(errno, EPIPE);
	CU_ASSERT_PTR_NOT_NULL(strstr(ask(other, "/a/two"), "number"));
	close(deaf);
	close(other);
	work(2);
}

/* Many come and stay, whether they say something or not: who comes next is let in, at the cost of
 * the one who was there longest, and stays for a while. */
static void
test_crowd(void)
{
	int fd[100], last;

	for (unsigned int i = 0; i < 100; i++) {
		now_ns += SECOND_NS / 20;
		fd[i] = enter();
		if (i % 2 == 0)
			CU_ASSERT_PTR_NOT_NULL(strstr(ask(fd[i], "/a/two"), "number"));
	}
	for (unsigned int i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(was_dropped(fd[i]), i < 100 - PS_TEL_CLIENTS);

	/* the last place was given away just now */
	last = join();
	work(5);
	CU_ASSERT_PTR_NULL(hear(last));
	CU_ASSERT_PTR_NOT_NULL(strstr(ask(fd[92], "/a/two"), "number"));
	now_ns += SECOND_NS / 20;
	work(1);
	CU_ASSERT_PTR_NOT_NULL(hear(last));
	CU_ASSERT_TRUE(was_dropped(fd[92]));
	CU_ASSERT_FALSE(was_dropped(fd[93]));
	CU_ASSERT_PTR_NOT_NULL(strstr(ask(last, "/a/two"), "number"));
	for (unsigned int i = 0; i < 100; i++)
		close(fd[i]);
	close(last);
	work(PS_TEL_CLIENTS + 1);
}

static void
test_file(void)
{
	struct ps_tel_server second;
	struct stat st;
	int fd, saved;

	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0660);
	CU_ASSERT_EQUAL(open_server(&second), -EADDRINUSE);
	ps_tel_server_close(&second);
	work(1);
	fd = enter();
	CU_ASSERT_PTR_NOT_NULL(strstr(ask(fd, "/a/two"), "number"));
	close(fd);

	/* as after kill -9: its file stays */
	saved = server.fd;
	close(saved);
	CU_ASSERT_EQUAL(open_server(&second), 0);
	server = second;
	close(enter());
	ps_tel_server_close(&server);
	CU_ASSERT_EQUAL(access(path, F_OK), -1);

	/* what is no socket is not ours */
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	CU_ASSERT_EQUAL(open_server(&server), -EEXIST);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	ps_tel_server_work(&server, now_ns);
	unlink(path);
	CU_ASSERT_EQUAL(open_server(&server), 0);
}

static void
test_path(void)
{
	struct ps_tel_server s;
	struct ps_err e;
	char longer[200];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	CU_ASSERT_EQUAL(ps_tel_server_open(&s, longer, commands, 2, NULL, &e), -ENAMETOOLONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "less than 108"));
	CU_ASSERT_EQUAL(ps_tel_server_open(&s, "/nonexistent/x", commands, 2, NULL, &e), -ENOENT);
	CU_ASSERT_STRING_EQUAL(e.text, "telemetry: /nonexistent/x: No such file or directory");
}

static int
begin(void)
{
	strcpy(dir, "/tmp/penstock-tel.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/t", dir);
	return open_server(&server) != 0;
}

static int
end(void)
{
	ps_tel_server_close(&server);
	return rmdir(dir);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"greeting, list, answers", test_talk},
		{"garbage", test_garbage},
		{"one answer in a turn", test_turns},
		{"a client that does not read", test_deaf},
		{"more clients than places", test_crowd},
		{"the socket's file", test_file},
		{"paths", test_path},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"telemetry server", begin, end, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
