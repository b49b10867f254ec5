/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "af_xdp_prog.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ps_time.h"
#include "xdp/steer.h"

int
ps_xdp_prog_map(const struct ps_xdp_prog *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_maps; i++) {
		struct bpf_map_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_map_get_fd_by_id(p->maps[i]);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0 && strcmp(info.name, name) == 0)
			return fd;
		close(fd);
	}
	return -ENOENT;
}

bool
ps_xdp_prog_is_ours(const struct ps_xdp_prog *p)
{
	static const char *const maps[] = {
		PS_STEER_XSKS, PS_STEER_ALLOW, PS_STEER_HEARTBEAT, PS_STEER_COUNT};

	if (strcmp(p->name, PS_STEER_PROG) != 0)
		return false;
	for (unsigned int i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		int fd = ps_xdp_prog_map(p, maps[i]);

		if (fd < 0)
			return false;
		close(fd);
	}
	return true;
}

int
ps_xdp_prog_find(unsigned int ifindex, struct ps_xdp_prog *p)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	int ret = bpf_xdp_query((int)ifindex, 0, &q);

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	if (ret < 0)
		return ret;
	p->id = q.drv_prog_id ? q.drv_prog_id : q.skb_prog_id ? q.skb_prog_id : q.hw_prog_id;
	p->flags = q.drv_prog_id   ? XDP_FLAGS_DRV_MODE
		   : q.skb_prog_id ? XDP_FLAGS_SKB_MODE
				   : XDP_FLAGS_HW_MODE;
	return 0;
}

int
ps_xdp_prog_open(unsigned int ifindex, struct ps_xdp_prog *p)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int ret = ps_xdp_prog_find(ifindex, p);

	if (ret < 0 || p->id == 0)
		return ret;
	p->fd = bpf_prog_get_fd_by_id(p->id);
	if (p->fd < 0)
		return p->fd;
	info.nr_map_ids = PS_XDP_MAPS;
	info.map_ids = (uintptr_t)p->maps;
	if (bpf_obj_get_info_by_fd(p->fd, &info, &len) < 0) {
		ret = -errno;
		close(p->fd);
		p->fd = -1;
		return ret;
	}
	p->n_maps = info.nr_map_ids < PS_XDP_MAPS ? info.nr_map_ids : PS_XDP_MAPS;
	snprintf(p->name, sizeof(p->name), "%s", info.name);
	return 0;
}

int
ps_xdp_prog_detach(unsigned int ifindex, const struct ps_xdp_prog *p)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = p->fd);

	return bpf_xdp_detach((int)ifindex, p->flags, &opts);
}

bool
ps_xdp_prog_is_beating(const struct ps_xdp_prog *p)
{
	int fd = ps_xdp_prog_map(p, PS_STEER_HEARTBEAT);
	bool beating = false;

	for (uint32_t queue = 0; fd >= 0 && queue < PS_STEER_QUEUES && !beating; queue++) {
		uint64_t beat = 0;

		beating = bpf_map_lookup_elem(fd, &queue, &beat) == 0 && beat != 0 &&
			  (int64_t)(ps_now_ns() - beat) <= (int64_t)PS_STEER_STALE_NS;
	}
	if (fd >= 0)
		close(fd);
	return beating;
}

int
ps_xdp_prog_attach(unsigned int ifindex, const struct ps_xdp_prog *p)
{
	return bpf_xdp_attach((int)ifindex, p->fd, p->flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
}
