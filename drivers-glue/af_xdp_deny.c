/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The XDP program's deny list: made equal to a list of ours, and compared with it. */

#include "af_xdp.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
fail(const struct ps_xdp *x, int rc, struct ps_err *err)
{
	return ps_fail(err, -rc, "interface %s: deny list of the XDP program: %s", x->ifname,
		strerror(-rc));
}

static const char *
prefix_text(const struct ps_steer_prefix *p, char text[24])
{
	char addr[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &p->addr_be, addr, sizeof(addr));
	snprintf(text, 24, "%s/%u", addr, p->bits & 63);
	return text;
}

int
ps_xdp_deny(struct ps_xdp *x, const struct ps_deny *deny, struct ps_err *err)
{
	const uint32_t unused = 0;
	struct ps_steer_prefix key, next;
	int more;

	for (uint32_t i = 0; i < deny->n; i++)
		if (bpf_map_update_elem(x->deny_fd, &deny->prefix[i], &unused, BPF_ANY) < 0)
			return fail(x, -errno, err);
	more = bpf_map_get_next_key(x->deny_fd, NULL, &next);
	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(x->deny_fd, &key, &next);
		if (!ps_deny_has(deny, &key) && bpf_map_delete_elem(x->deny_fd, &key) < 0)
			return fail(x, -errno, err);
	}
	return 0;
}

/* A lookup would not do: it finds the shorter prefix around one that is gone. All of the kernel's
 * are prefixes of ours and as many, or something differs. */
int
ps_xdp_verify_deny(const struct ps_xdp *x, const struct ps_deny *deny, struct ps_err *err)
{
	struct ps_steer_prefix key;
	uint32_t n = 0;
	char text[24];
	int rc = bpf_map_get_next_key(x->deny_fd, NULL, &key);

	/* Changed while it is read, it may never end. */
	while (rc == 0 && n <= deny->n) {
		if (!ps_deny_has(deny, &key))
			return ps_fail(err, ESTALE,
				"interface %s: somebody put %s into the XDP program's deny list",
				x->ifname, prefix_text(&key, text));
		n++;
		rc = bpf_map_get_next_key(x->deny_fd, &key, &key);
	}
	if (rc < 0 && rc != -ENOENT)
		return fail(x, rc, err);
	if (n != deny->n)
		return ps_fail(err, ESTALE,
			"interface %s: the XDP program's deny list has %u prefixes, not the %u it "
			"was given",
			x->ifname, n, deny->n);
	return 0;
}
