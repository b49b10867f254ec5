/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "family.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where two share a driver, the one that asks for more stands first. */
static const struct ps_family *const families[] = {
	&ps_family_mlx5,
	&ps_family_ice,
	&ps_family_iavf_i40e,
	&ps_family_iavf_ice,
	&ps_family_i40e,
	&ps_family_bnxt,
	&ps_family_af_xdp,
	&ps_family_vdev,
};

static bool
drives(const struct ps_family *f, const char *driver)
{
	for (unsigned int i = 0; i < sizeof(f->drivers) / sizeof(f->drivers[0]); i++)
		if (f->drivers[i] != NULL && strcmp(f->drivers[i], driver) == 0)
			return true;
	return false;
}

const struct ps_family *
ps_family_find(const char *driver, const char *pf_driver)
{
	for (unsigned int i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct ps_family *f = families[i];

		if (!drives(f, driver))
			continue;
		if (f->pf_driver == NULL ||
			(pf_driver != NULL && strcmp(f->pf_driver, pf_driver) == 0))
			return f;
	}
	return &ps_family_vdev;
}

char *
ps_family_pf_driver(const char *pci, char *text, size_t cap)
{
	char path[128], target[PATH_MAX];
	const char *name;
	ssize_t n;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.32s/physfn/driver", pci);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return text;
	target[n] = '\0';
	name = strrchr(target, '/');
	snprintf(text, cap, "%s", name != NULL ? name + 1 : target);
	return text;
}
