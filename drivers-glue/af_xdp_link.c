/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The XDP program loaded here and held on the interface by a bpf_link: nobody but its owner takes
 * it off, the kernel does so itself when the process ends, and DPDK's driver, told to use a pinned
 * map, only puts its sockets into that. The map is pinned in a BPF file system that is mounted
 * nowhere: whatever ends the process, nothing stays. */

#include "af_xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the driver asks for when it loads the program itself; the kernel's units. */
#define BUSY_POLL_US     20
#define BUSY_POLL_BUDGET 64

/* A descriptor of the file system; one for the process. */
static int
open_bpffs(void)
{
	static int mount_fd = -1;
	int fs;

	if (mount_fd >= 0)
		return mount_fd;
	fs = fsopen("bpf", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	mount_fd = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
			   ? -1
			   : fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (mount_fd < 0)
		mount_fd = -errno;
	close(fs);
	return mount_fd;
}

static int
pin(struct ps_xdp *x, int map_fd)
{
	const int fd = open_bpffs();

	if (fd < 0)
		return fd;
	snprintf(x->pin, sizeof(x->pin), "/proc/self/fd/%d/xsks_%u", fd, x->ifindex);
	if (bpf_obj_pin(map_fd, x->pin) == 0)
		return 0;
	x->pin[0] = '\0';
	return -errno;
}

static int
load(struct ps_xdp *x, struct bpf_object *object)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(object, PS_STEER_PROG);
	int rc = prog != NULL ? bpf_object__load(object) : -ENOENT;

	if (rc == 0)
		rc = pin(x, bpf_object__find_map_fd_by_name(object, PS_STEER_XSKS));
	if (rc < 0)
		return rc;
	/* The program keeps the maps. */
	x->own_fd = fcntl(bpf_program__fd(prog), F_DUPFD_CLOEXEC, 0);
	return x->own_fd < 0 ? -errno : 0;
}

int
ps_xdp_load(struct ps_xdp *x, struct ps_err *err)
{
	const char *path = ps_xdp_object_path(err);
	struct bpf_object *object;
	libbpf_print_fn_t print;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	print = libbpf_set_print(NULL);
	object = bpf_object__open_file(path, NULL);
	rc = object != NULL ? load(x, object) : -errno;
	bpf_object__close(object);
	libbpf_set_print(print);
	if (rc == 0)
		return 0;
	ps_xdp_unlink(x);
	return ps_fail(err, -rc, "an XDP program of our own cannot be loaded and pinned: %s",
		strerror(-rc));
}

static int
create(const struct ps_xdp *x)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = x->mode);
	const int fd = bpf_link_create(x->own_fd, (int)x->ifindex, BPF_XDP, &o);

	return fd < 0 ? -errno : fd;
}

int
ps_xdp_link(struct ps_xdp *x, struct ps_err *err)
{
	int fd;

	if (x->own_fd < 0)
		return 0;
	fd = create(x);
	if (fd < 0)
		return ps_fail(err, -fd,
			"interface %s: our XDP program cannot be attached%s: %s; `ip -d link show "
			"dev %s` shows another one, dmesg the driver's reason",
			x->ifname, x->mode == XDP_FLAGS_DRV_MODE ? " (xdp_mode = driver)" : "",
			strerror(-fd), x->ifname);
	x->link_fd = fd;
	return 0;
}

int
ps_xdp_relink(struct ps_xdp *x)
{
	const int fd = create(x);

	if (fd < 0)
		return fd;
	close(x->link_fd);
	x->link_fd = fd;
	return 0;
}

void
ps_xdp_unlink(struct ps_xdp *x)
{
	/* At once: closing may leave it to a kernel thread. */
	if (x->link_fd >= 0) {
		bpf_link_detach(x->link_fd);
		close(x->link_fd);
	}
	if (x->own_fd >= 0)
		close(x->own_fd);
	if (x->pin[0] != '\0')
		unlink(x->pin);
	x->link_fd = x->own_fd = -1;
	x->pin[0] = '\0';
}

int
ps_xdp_busy_poll(int fd)
{
	static const struct {
		int name, value;
	} option[] = {{SO_PREFER_BUSY_POLL, 1}, {SO_BUSY_POLL, BUSY_POLL_US},
		{SO_BUSY_POLL_BUDGET, BUSY_POLL_BUDGET}};

	for (unsigned int i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		if (setsockopt(fd, SOL_SOCKET, option[i].name, &option[i].value,
			    sizeof(option[i].value)) < 0)
			return -errno;
	return 0;
}
