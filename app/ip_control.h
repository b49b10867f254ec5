/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What goes to and comes from the kernel beside a datagram of a UDP socket: control messages of
 * IPPROTO_IP (ip(7)). */
#ifndef PS_APP_IP_CONTROL_H
#define PS_APP_IP_CONTROL_H

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* Appends one. msg_control has room for it and is aligned for struct cmsghdr, msg_controllen is
 * what is filled. */
static inline void
ps_ip_control_put(struct msghdr *m, int type, const void *value, size_t bytes)
{
	struct cmsghdr *c = (struct cmsghdr *)((char *)m->msg_control + m->msg_controllen);

	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), value, bytes);
	m->msg_controllen += CMSG_SPACE(bytes);
}

#endif
