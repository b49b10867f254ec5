/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The record of drop rules as a file: what is kept, forgotten, torn, locked and out of date. Rules
 * themselves are the lab's business; here their interface does not exist. */

#include <CUnit/Basic.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pf_record.h"
#include "state.h"

static char dir[] = "/tmp/penstock-record.XXXXXX", path[64];

static struct ps_ntuple_rule
rule(uint16_t port, uint32_t location)
{
	return (struct ps_ntuple_rule){.daddr_be = htonl(0x0a4d0002),
		.dport_be = htons(port),
		.drop = true,
		.location = location};
}

static void
note(uint16_t port, uint32_t location)
{
	struct ps_ntuple_rule r = rule(port, location);
	struct ps_err e;

	CU_ASSERT_EQUAL(ps_pf_record_note("nosuch0", &r, &e), 0);
}

static unsigned int
count_gone(void)
{
	unsigned int gone;
	struct ps_err e;

	CU_ASSERT_EQUAL(ps_pf_record_remove("t", true, &gone, &e), 0);
	return gone;
}

/* Another process's, as the lock belongs to an open file. */
static int
in_child(int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(what());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int
open_again(void)
{
	struct ps_err e;

	return ps_pf_record_open("t", &e) == -16 && strstr(e.text, "another penstock") != NULL;
}

static int
remove_orphans(void)
{
	unsigned int gone;
	struct ps_err e;

	return ps_pf_record_remove("t", false, &gone, &e) == 0 && gone == 0;
}

static int
forget(void)
{
	ps_pf_record_forget("t");
	return access(path, F_OK) == 0;
}

static void
test_kept(void)
{
	struct ps_err e;

	CU_ASSERT_EQUAL(count_gone(), 0);
	CU_ASSERT_EQUAL(ps_pf_record_open("t", &e), 0);
	note(8001, RX_CLS_LOC_ANY);
	note(8001, 5);
	note(8009, RX_CLS_LOC_ANY);
	CU_ASSERT_EQUAL(count_gone(), 2);
	CU_ASSERT(in_child(open_again));
	CU_ASSERT(in_child(remove_orphans));
	CU_ASSERT(in_child(forget));
	/* Its PF is not there: kept over the end, and over the next run. */
	ps_pf_record_close();
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT_EQUAL(ps_pf_record_open("t", &e), 0);
	note(8010, 7);
	ps_pf_record_close();
	CU_ASSERT_EQUAL(count_gone(), 3);
	ps_pf_record_forget("t");
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT_EQUAL(count_gone(), 0);
}

static void
test_nothing_left(void)
{
	struct ps_err e;

	CU_ASSERT_EQUAL(ps_pf_record_open("t", &e), 0);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	ps_pf_record_close();
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
	/* Without a record there is nothing to note. */
	note(8001, 1);
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

static void
write_record(const char *boot, const char *lines)
{
	FILE *f = fopen(path, "w");

	fprintf(f, "penstock-rules %s\n%s", boot, lines);
	fclose(f);
}

static void
test_torn(void)
{
	char boot[64];
	struct ps_err e;

	ps_state_boot_id(boot, sizeof(boot));
	write_record(boot, "drop nosuch0 10.77.0.2 8001 3\ndrop nosuch0 10.77.0.2 80");
	CU_ASSERT_EQUAL(count_gone(), 1);
	CU_ASSERT_EQUAL(ps_pf_record_open("t", &e), 0);
	note(8009, 4);
	CU_ASSERT_EQUAL(count_gone(), 2);
	ps_pf_record_close();
	ps_pf_record_forget("t");
	/* Lines that no penstock writes lead to no rule. */
	write_record(boot, "drop nosuch0 10.77.0 8001 3\ndrop nosuch0 10.77.0.2 0 3\n"
			   "drop nosuch0 10.77.0.2 65536 3\ndrop nosuch0 10.77.0.2 1 3 4\n"
			   "drop nosuch0 10.77.0.2 1 x\ndrop nosuch0 10.77.0.2\nnonsense\n");
	CU_ASSERT_EQUAL(count_gone(), 0);
	/* The machine was restarted: its rules are not there any more. */
	write_record("another", "drop nosuch0 10.77.0.2 8001 3\n");
	CU_ASSERT_EQUAL(count_gone(), 0);
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

int
main(void)
{
	CU_pSuite s;
	unsigned int failures = 1;

	if (mkdtemp(dir) == NULL || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	setenv("STATE_DIRECTORY", dir, 1);
	snprintf(path, sizeof(path), "%s/t.rules", dir);
	ps_log_level = PS_LOG_ERROR;
	s = CU_add_suite("pf_record", NULL, NULL);
	if (s != NULL && CU_add_test(s, "kept", test_kept) != NULL &&
		CU_add_test(s, "nothing left", test_nothing_left) != NULL &&
		CU_add_test(s, "torn", test_torn) != NULL) {
		CU_basic_set_mode(CU_BRM_NORMAL);
		CU_basic_run_tests();
		failures = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	unlink(path);
	rmdir(dir);
	return failures != 0;
}
