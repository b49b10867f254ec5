/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "known.h"

#include <string.h>

#include <CUnit/Basic.h>

enum worst { OK, PARTIAL, NOT };

/* The worst state, or OK when nothing is known; *n: how many rows. */
static enum worst
worst_of(const char *driver, unsigned int major, unsigned int minor, unsigned int uses,
	unsigned int *n)
{
	const unsigned int kernel[2] = {major, minor};
	enum worst state = OK;
	const struct ps_known *k = NULL;

	*n = 0;
	while ((k = ps_known_next(k, driver, kernel, uses)) != NULL) {
		++*n;
		if (state != NOT)
			state = k->fatal ? NOT : PARTIAL;
		CU_ASSERT(k->why[0] != '\0');
		if (k->fatal)
			CU_ASSERT(k->remedy[0] != '\0');
	}
	return state;
}

#define LOOK(driver, major, minor, uses, state, rows)                                              \
	do {                                                                                       \
		unsigned int n_;                                                                   \
		CU_ASSERT_EQUAL(worst_of(driver, major, minor, uses, &n_), state);                 \
		CU_ASSERT_EQUAL(n_, rows);                                                         \
	} while (0)

static void
test_kernels(void)
{
	LOOK("i40e", 5, 18, PS_USE_AF_XDP, NOT, 1);
	LOOK("i40e", 5, 19, PS_USE_AF_XDP, OK, 0);
	LOOK("i40e", 6, 1, PS_USE_AF_XDP, OK, 0);
	LOOK("i40e", 6, 5, PS_USE_AF_XDP, PARTIAL, 1);
	LOOK("i40e", 6, 6, PS_USE_AF_XDP, OK, 0);
	LOOK("igb", 6, 12, PS_USE_AF_XDP, PARTIAL, 1);
	LOOK("igb", 7, 0, PS_USE_AF_XDP, OK, 0);
	LOOK("veth", 6, 1, PS_USE_AF_XDP | PS_USE_UDP_RULES, OK, 0);
}

static void
test_uses(void)
{
	/* Rules that a card does not have only count where they are needed. */
	LOOK("igb", 7, 0, PS_USE_AF_XDP | PS_USE_UDP_RULES, NOT, 1);
	LOOK("igb", 7, 0, PS_USE_VF, OK, 0);
	LOOK("igb", 7, 0, PS_USE_VF | PS_USE_DROP_RULES, NOT, 1);
	LOOK("bnxt_en", 6, 1, PS_USE_AF_XDP, OK, 0);
	LOOK("bnxt_en", 6, 1, PS_USE_AF_XDP | PS_USE_UDP_RULES, NOT, 1);
	LOOK("bnxt_en", 6, 1, PS_USE_VF | PS_USE_DROP_RULES, NOT, 1);
	LOOK("bnxt_en", 6, 12, PS_USE_VF | PS_USE_DROP_RULES, PARTIAL, 1);
	LOOK("i40e", 6, 1, PS_USE_VF | PS_USE_DROP_RULES, PARTIAL, 1);
}

static void
test_trust(void)
{
	LOOK("bnxt_en", 6, 12, PS_USE_VF, OK, 0);
	LOOK("bnxt_en", 6, 12, PS_USE_VF | PS_USE_UNTRUSTED_VF, NOT, 1);
	LOOK("mlx5_core", 6, 1, PS_USE_VF | PS_USE_UNTRUSTED_VF, PARTIAL, 1);
	LOOK("ice", 6, 1, PS_USE_VF | PS_USE_UNTRUSTED_VF | PS_USE_DROP_RULES, OK, 0);
}

int
main(void)
{
	CU_pSuite s;
	unsigned int failed = 1;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("host_known", NULL, NULL);
	if (s != NULL && CU_ADD_TEST(s, test_kernels) != NULL &&
		CU_ADD_TEST(s, test_uses) != NULL && CU_ADD_TEST(s, test_trust) != NULL) {
		CU_basic_set_mode(CU_BRM_VERBOSE);
		CU_basic_run_tests();
		failed = CU_get_number_of_failures();
	}
	CU_cleanup_registry();
	return failed != 0;
}
