/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CUnit/Basic.h>

#define HEAD "penstock-state 1\nboot b00t\n"
#define GOOD                                                                                       \
	HEAD "undo 123\ndone\tsetting\teth0\tmtu\t9000\t1500\n"                                    \
	     "open\tfile\t/proc/sys/a\t\t\tnew value\nend 2\n"

static struct ps_state state;
static struct ps_err err;
static char dir[] = "/tmp/ps-state-XXXXXX";

static void
clear(void)
{
	while (state.n > 0)
		ps_state_remove(&state, state.n - 1);
}

static int
parse(const char *text)
{
	char copy[1024];

	clear();
	memset(&state, 0, sizeof(state));
	snprintf(state.path, sizeof(state.path), "a.state");
	snprintf(copy, sizeof(copy), "%s", text);
	err.text[0] = '\0';
	return ps_state_parse(&state, copy, &err);
}

static void
test_good(void)
{
	CU_ASSERT_EQUAL_FATAL(parse(GOOD), 0);
	CU_ASSERT_STRING_EQUAL(state.boot, "b00t");
	CU_ASSERT_EQUAL(state.undo_ns, 123);
	CU_ASSERT_EQUAL_FATAL(state.n, 2);
	CU_ASSERT_TRUE(state.change[0].done);
	CU_ASSERT_STRING_EQUAL(state.change[0].kind, "setting");
	CU_ASSERT_STRING_EQUAL(state.change[0].old, "9000");
	CU_ASSERT_STRING_EQUAL(state.change[0].new_value, "1500");
	CU_ASSERT_FALSE(state.change[1].done);
	CU_ASSERT_STRING_EQUAL(state.change[1].key, "");
	CU_ASSERT_STRING_EQUAL(state.change[1].old, "");
	CU_ASSERT_STRING_EQUAL(state.change[1].new_value, "new value");
	CU_ASSERT_PTR_EQUAL(ps_state_find(&state, "file", "/proc/sys/a", ""), &state.change[1]);
	CU_ASSERT_PTR_NULL(ps_state_find(&state, "file", "/proc/sys/b", ""));
}

/* Whatever is not exactly what was written is refused: half a file would restore half a host. */
static void
test_bad(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"penstock-state 2\nboot b\nend 0\n",
		"penstock-state 1\nend 0\n",
		HEAD,
		HEAD "end 0",
		HEAD "end 1\n",
		HEAD "end 0\nend 0\n",
		HEAD "end -0\n",
		HEAD "end 99999999999999999999\n",
		HEAD "boot again\nend 0\n",
		HEAD "undo\nend 0\n",
		HEAD "undo soon\nend 0\n",
		HEAD "undo -1\nend 0\n",
		HEAD "done\tfile\ta\tb\tc\nend 1\n",
		HEAD "done\tfile\ta\tb\tc\td\te\nend 1\n",
		HEAD "done\t\ta\tb\tc\td\nend 1\n",
		HEAD "done\tfile\t\tb\tc\td\nend 1\n",
		HEAD "half\tfile\ta\tb\tc\td\nend 1\n",
		HEAD "done\tfile\ta\tb\tc\td\ndone\tfile\ta\tb\tx\ty\nend 2\n",
		HEAD "done\tfile\ta\tb\tc\td\x01\nend 1\n",
		HEAD "nonsense\nend 0\n",
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(parse(bad[i]), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a.state"));
		CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
	}
}

/* Every prefix of a good file is a bad one. */
static void
test_truncated(void)
{
	char copy[sizeof(GOOD)];

	for (size_t n = 0; n < strlen(GOOD); n++) {
		memcpy(copy, GOOD, n);
		copy[n] = '\0';
		CU_ASSERT_EQUAL(parse(copy), -EINVAL);
	}
}

static void
test_add(void)
{
	CU_ASSERT_EQUAL_FATAL(parse(HEAD "end 0\n"), 0);
	CU_ASSERT_PTR_NULL(ps_state_add(&state, "file", "a", "", "with\nline", "b"));
	CU_ASSERT_PTR_NULL(ps_state_add(&state, "file", "a\tb", "", "c", "d"));
	for (unsigned int i = 0; i < PS_STATE_CHANGES; i++)
		CU_ASSERT_PTR_NOT_NULL(ps_state_add(&state, "file", "a", "b", "c", "d"));
	CU_ASSERT_PTR_NULL(ps_state_add(&state, "file", "a", "b", "c", "d"));
	ps_state_remove(&state, 0);
	CU_ASSERT_EQUAL(state.n, PS_STATE_CHANGES - 1);
	clear();
}

/* Through a file: what is written comes back, one process at a time, and nothing stays behind. */
static void
test_file(void)
{
	static struct ps_state other;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "%s/t.state", dir);
	CU_ASSERT_EQUAL_FATAL(ps_state_open(&state, "t", &err), 0);
	CU_ASSERT_EQUAL(state.n, 0);
	CU_ASSERT_FALSE(ps_state_rebooted(&state));
	CU_ASSERT_EQUAL(ps_state_open(&other, "t", &err), -EWOULDBLOCK);
	CU_ASSERT_PTR_NOT_NULL(ps_state_add(&state, "setting", "eth0", "mtu", "9000", "1500"));
	state.undo_ns = 77;
	CU_ASSERT_EQUAL(ps_state_write(&state, &err), 0);
	ps_state_close(&state);
	CU_ASSERT_EQUAL_FATAL(ps_state_open(&other, "t", &err), 0);
	CU_ASSERT_EQUAL(other.n, 1);
	CU_ASSERT_EQUAL(other.undo_ns, 77);
	CU_ASSERT_FALSE(other.change[0].done);
	CU_ASSERT_STRING_EQUAL(other.change[0].old, "9000");
	ps_state_remove(&other, 0);
	other.undo_ns = 0;
	CU_ASSERT_EQUAL(ps_state_write(&other, &err), 0);
	CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
	ps_state_close(&other);
	snprintf(path, sizeof(path), "%s/t.state.new", dir);
	CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
	snprintf(path, sizeof(path), "%s/t.state.lock", dir);
	unlink(path);
}

/* A change that cannot be kept is not made: a directory that cannot be written fails. */
static void
test_no_directory(void)
{
	setenv("STATE_DIRECTORY", "/proc/nowhere", 1);
	CU_ASSERT(ps_state_open(&state, "t", &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/proc/nowhere"));
	setenv("STATE_DIRECTORY", dir, 1);
}

int
main(void)
{
	unsigned int failures = 1;
	CU_pSuite s;

	if (mkdtemp(dir) == NULL || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	setenv("STATE_DIRECTORY", dir, 1);
	s = CU_add_suite("host_state", NULL, NULL);
	if (s != NULL && CU_add_test(s, "a good file", test_good) &&
		CU_add_test(s, "bad files", test_bad) &&
		CU_add_test(s, "truncated files", test_truncated) &&
		CU_add_test(s, "values that cannot be kept", test_add) &&
		CU_add_test(s, "through a file", test_file) &&
		CU_add_test(s, "no directory", test_no_directory)) {
		CU_basic_set_mode(CU_BRM_NORMAL);
		CU_basic_run_tests();
		failures = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	clear();
	rmdir(dir);
	return failures != 0;
}
