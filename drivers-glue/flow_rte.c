/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The real driver's side of flow.h. rte_flow_dev_dump() is still marked experimental. */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "flow.h"

static int
dump(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc;

	if (out == NULL)
		return -ENOMEM;
	rc = rte_flow_dev_dump(port, flow, out, error);
	fclose(out);
	free(text);
	if (rc < 0)
		return rc;
	return len > 0 ? 0 : -ENOENT;
}

static int
xstat(uint16_t port, const char *name, uint64_t *value)
{
	uint64_t id;
	int rc = rte_eth_xstats_get_id_by_name(port, name, &id);

	if (rc < 0)
		return rc;
	rc = rte_eth_xstats_get_by_id(port, &id, value, 1);
	if (rc < 0)
		return rc;
	return rc == 1 ? 0 : -EIO;
}

static void
pause_us(unsigned int us)
{
	usleep(us);
}

const struct ps_flow_ops ps_flow_ops_rte = {
	.create = rte_flow_create,
	.destroy = rte_flow_destroy,
	.flush = rte_flow_flush,
	.isolate = rte_flow_isolate,
	.query = rte_flow_query,
	.dump = dump,
	.xstat = xstat,
	.pause_us = pause_us,
};
