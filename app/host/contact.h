/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What a validator announces, from `agave-validator contact-info --output json`, compared with a
 * configured service. The text is not trusted. Main thread. */
#ifndef PS_HOST_CONTACT_H
#define PS_HOST_CONTACT_H

#include <stdint.h>

#include "conf.h"

#define PS_CONTACT_SOCKETS 32

struct ps_contact {
	char id[64];
	unsigned int n;
	struct {
		char name[32]; /* as in the JSON: tpu, tpu_vote, gossip, ... */
		uint32_t addr_be;
		uint16_t port;
	} socket[PS_CONTACT_SOCKETS]; /* announced ones with an IPv4 address only */
};

enum ps_contact_verdict {
	PS_CONTACT_SAME,
	PS_CONTACT_OTHER,   /* the validator announces another address or port */
	PS_CONTACT_UNTOLD,  /* the output does not hold what this kind of service uses */
	PS_CONTACT_UNKNOWN, /* a udp service that is none of the validator's sockets */
	PS_CONTACT_KERNEL,  /* a socket whose reachability the validator tests itself */
};

int ps_contact_parse(struct ps_contact *c, const char *text, size_t len, struct ps_err *e);
/* file: "-" is standard input. */
int ps_contact_load(struct ps_contact *c, const char *file, struct ps_err *e);
/* Fills text with one line. */
enum ps_contact_verdict ps_contact_compare(
	const struct ps_contact *c, const struct ps_conf_service *s, char *text, size_t cap);

#endif
