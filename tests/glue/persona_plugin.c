/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The persona driver as a plugin (EAL's -d) for the program itself. What happens to the NIC is
 * ordered through the FIFO that PERSONA_ORDERS names, as "lose PORT silent|reset|remove", which
 * takes all rules and handles, and "check PORT", answered on standard error by "rules N violations
 * N". */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "persona_pmd.h"

static int
event_of(const char *name)
{
	if (strcmp(name, "reset") == 0)
		return RTE_ETH_EVENT_INTR_RESET;
	return strcmp(name, "remove") == 0 ? RTE_ETH_EVENT_INTR_RMV : -1;
}

static void
obey(const char *line)
{
	unsigned int port;
	char how[16];

	if (sscanf(line, "lose %u %15s", &port, how) == 2)
		persona_lose((uint16_t)port, event_of(how) >= 0, event_of(how));
	if (sscanf(line, "check %u", &port) == 1)
		fprintf(stderr, "rules %u violations %u\n",
			persona_rules(persona_of((uint16_t)port)),
			persona_of((uint16_t)port)->violations);
}

static void *
serve(void *path)
{
	FILE *orders = fopen(path, "r+e"); /* also written: it never ends */
	char line[128];

	while (orders != NULL && fgets(line, sizeof(line), orders) != NULL)
		obey(line);
	return NULL;
}

__attribute__((constructor)) static void
start(void)
{
	char *path = getenv("PERSONA_ORDERS");
	pthread_t thread;

	persona_register();
	if (path != NULL && pthread_create(&thread, NULL, serve, path) == 0)
		pthread_detach(thread);
}
