/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The end of a test program's main(): runs all suites; the program's exit code. */
#ifndef PS_TEST_CUNIT_RUN_H
#define PS_TEST_CUNIT_RUN_H

#include <CUnit/Basic.h>

static inline int
cunit_run(CU_SuiteInfo *suites)
{
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures != 0;
}

#endif
