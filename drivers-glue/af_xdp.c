/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "af_xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ps_privilege.h"
#include "ps_time.h"

#define BUSY_WAIT_NS (3 * PS_SEC_NS)
/* A killed penstock's last beat is stale after a second. */
#define BEAT_WAIT_NS (PS_STEER_STALE_NS + PS_SEC_NS / 4)
#define RETRY_NS     (50 * PS_MS_NS)

/* The BPF object, linked in as it is (drivers-glue/xdp/meson.build). */
extern const char steer_object[], steer_object_end[];

static void
wait_retry(void)
{
	nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
}

/* -- the interface -- */

static int
get_flags(const char *ifname, short *flags)
{
	struct ifreq ifr = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	ret = ioctl(fd, SIOCGIFFLAGS, &ifr) < 0 ? -errno : 0;
	*flags = ifr.ifr_flags;
	close(fd);
	return ret;
}

static int
set_promisc(const char *ifname, bool on)
{
	struct ifreq ifr = {0};
	int fd, ret = get_flags(ifname, &ifr.ifr_flags);

	if (ret < 0 || on == !!(ifr.ifr_flags & IFF_PROMISC))
		return ret;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	ifr.ifr_flags ^= IFF_PROMISC;
	ret = ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* -- prepare -- */

static int
check_interface(const char *ifname, short *flags, struct ps_err *err)
{
	int ret = get_flags(ifname, flags);

	if (ret < 0)
		return ps_fail(err, -ret,
			"interface %s: %s; `ip link show` lists the interfaces here", ifname,
			strerror(-ret));
	if (!(*flags & IFF_UP))
		return ps_fail(err, ENETDOWN, "interface %s is down; `ip link set dev %s up`",
			ifname, ifname);
	return 0;
}

static int
check_prog(const char *ifname, const struct ps_xdp_prog *p, struct ps_err *err)
{
	const uint64_t deadline = ps_now_ns() + BEAT_WAIT_NS;

	if (p->fd < 0)
		return 0;
	if (!ps_xdp_prog_is_ours(p))
		return ps_fail(err, EBUSY,
			"interface %s carries the XDP program \"%s\" (id %u), which is not ours; "
			"if it may go: `ip link set dev %s xdp off`",
			ifname, p->name, p->id, ifname);
	while (ps_xdp_prog_is_beating(p)) {
		if (ps_now_ns() > deadline)
			return ps_fail(err, EBUSY,
				"interface %s is in use by a running penstock; stop it first "
				"(`pgrep -a penstock`)",
				ifname);
		wait_retry();
	}
	return 0;
}

static int
check_queue(const char *ifname, unsigned int ifindex, uint16_t queue, struct ps_err *err)
{
	const uint64_t deadline = ps_now_ns() + BUSY_WAIT_NS;
	int ret = ps_xdp_try_queue(ifindex, queue, false);

	while (ret == -EBUSY && ps_now_ns() < deadline) {
		wait_retry();
		ret = ps_xdp_try_queue(ifindex, queue, false);
	}
	switch (ret) {
	case 0:
		return 0;
	case -EBUSY:
		return ps_fail(err, EBUSY,
			"queue %u of interface %s is in use by another AF_XDP socket; stop its "
			"owner (`ss -apn --xdp` or `pgrep -a penstock` may show it)",
			queue, ifname);
	case -EINVAL:
		return ps_fail(err, EINVAL,
			"interface %s has no receive queue %u; `ethtool -L %s combined %u`", ifname,
			queue, ifname, queue + 1u);
	case -EPERM:
		return ps_fail(err, EPERM,
			"not permitted to open an AF_XDP socket on %s; run as root or with "
			"CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK",
			ifname);
	default:
		return ps_fail(err, -ret, "AF_XDP socket on queue %u of %s: %s", queue, ifname,
			strerror(-ret));
	}
}

static int
remove_stale(struct ps_xdp *x, const struct ps_xdp_prog *p, struct ps_err *err)
{
	int ret;

	if (p->fd < 0)
		return 0;
	ret = ps_xdp_prog_detach(x->ifindex, p);
	if (ret < 0)
		return ps_fail(err, -ret,
			"interface %s: the XDP program of a former run does not come off: %s; "
			"`ip link set dev %s xdp off`",
			x->ifname, strerror(-ret), x->ifname);
	x->replaced = true;
	ps_log(PS_LOG_WARN, "interface %s: removed the XDP program (id %u) of a former run",
		x->ifname, p->id);
	return 0;
}

int
ps_xdp_prepare(struct ps_xdp *x, const char *ifname, uint16_t first_queue, uint16_t n_queues,
	struct ps_err *err)
{
	struct ps_xdp y = {.first_queue = first_queue, .n_queues = n_queues};
	struct ps_xdp_prog p;
	short flags = 0;
	int ret;

	memset(x, 0, sizeof(*x));
	if (first_queue + n_queues > PS_STEER_QUEUES)
		return ps_fail(err, EINVAL, "interface %s: queues above %u are not supported",
			ifname, PS_STEER_QUEUES - 1);
	ret = check_interface(ifname, &flags, err);
	if (ret < 0)
		return ret;
	snprintf(y.ifname, sizeof(y.ifname), "%s", ifname);
	y.ifindex = if_nametoindex(ifname);
	y.promisc = flags & IFF_PROMISC;
	y.own_fd = y.link_fd = -1;
	y.xsks_fd = y.allow_fd = y.deny_fd = y.count_fd = y.prog.fd = -1;

	ret = ps_xdp_prog_open(y.ifindex, &p);
	if (ret < 0)
		return ps_fail(err, -ret, "interface %s: cannot look at its XDP program: %s%s",
			ifname, strerror(-ret), ret == -EPERM ? "; run as root" : "");
	ret = check_prog(ifname, &p, err);
	for (uint16_t i = 0; ret == 0 && i < n_queues; i++)
		ret = check_queue(ifname, y.ifindex, first_queue + i, err);
	/* Last: a stopped penstock's beat is stale, but it still holds its queues. */
	if (ret == 0)
		ret = remove_stale(&y, &p, err);
	if (p.fd >= 0)
		close(p.fd);
	if (ret == 0)
		*x = y;
	return ret;
}

int
ps_xdp_try_zero_copy(const struct ps_xdp *x, struct ps_err *err)
{
	for (uint16_t i = 0; i < x->n_queues; i++) {
		const uint16_t queue = x->first_queue + i;
		const uint64_t deadline = ps_now_ns() + BUSY_WAIT_NS;
		int ret = ps_xdp_try_queue(x->ifindex, queue, true);

		/* The queue was bound a moment ago, to see whether it is free. */
		while (ret == -EBUSY && ps_now_ns() < deadline) {
			wait_retry();
			ret = ps_xdp_try_queue(x->ifindex, queue, true);
		}
		if (ret < 0)
			return ps_fail(err, -ret,
				"zero_copy = require: queue %u of %s only copies (%s); use a "
				"driver "
				"and kernel with zero-copy AF_XDP, or zero_copy = prefer",
				queue, x->ifname, strerror(-ret));
	}
	return 0;
}

const char *
ps_xdp_object_path(struct ps_err *err)
{
	static char path[32];
	const size_t size = (size_t)(steer_object_end - steer_object);
	int fd;

	if (path[0] != '\0')
		return path;
	fd = memfd_create(PS_STEER_PROG, MFD_CLOEXEC);
	if (fd < 0 || write(fd, steer_object, size) != (ssize_t)size) {
		ps_fail(err, errno, "no memory for the XDP object: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

/* -- attach -- */

static int
map_heartbeat(struct ps_xdp *x, const struct ps_xdp_prog *p)
{
	int fd = ps_xdp_prog_map(p, PS_STEER_HEARTBEAT), ret = 0;
	void *beat;

	if (fd < 0)
		return fd;
	beat = mmap(NULL, PS_STEER_QUEUES * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
		fd, 0);
	if (beat == MAP_FAILED)
		ret = -errno;
	else
		x->beat = beat;
	close(fd);
	return ret;
}

int
ps_xdp_attach(struct ps_xdp *x, struct ps_err *err)
{
	struct ps_xdp_prog p;
	int ret = ps_xdp_prog_open(x->ifindex, &p);

	if (ret < 0 || p.fd < 0 || !ps_xdp_prog_is_ours(&p)) {
		if (p.fd >= 0)
			close(p.fd);
		return ps_fail(err, ret < 0 ? -ret : ENOENT,
			"interface %s: the driver did not attach our XDP program; is "
			"xdp_prog= among the port's devargs?",
			x->ifname);
	}
	x->prog = p;
	x->driver_mode = p.flags == XDP_FLAGS_DRV_MODE;
	x->xsks_fd = ps_xdp_prog_map(&p, PS_STEER_XSKS);
	x->allow_fd = ps_xdp_prog_map(&p, PS_STEER_ALLOW);
	x->deny_fd = ps_xdp_prog_map(&p, PS_STEER_DENY);
	x->count_fd = ps_xdp_prog_map(&p, PS_STEER_COUNT);
	ret = x->xsks_fd < 0    ? x->xsks_fd
	      : x->allow_fd < 0 ? x->allow_fd
	      : x->deny_fd < 0  ? x->deny_fd
	      : x->count_fd < 0 ? x->count_fd
				: map_heartbeat(x, &p);
	if (ret < 0)
		return ps_fail(err, -ret, "interface %s: maps of the XDP program: %s", x->ifname,
			strerror(-ret));
	return 0;
}

/* -- while running -- */

static bool
is_listed(const struct ps_steer_key *key, const struct ps_steer_key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (memcmp(key, &keys[i], sizeof(*key)) == 0)
			return true;
	}
	return false;
}

int
ps_xdp_allow(struct ps_xdp *x, const struct ps_steer_key *keys, uint32_t n, struct ps_err *err)
{
	const uint32_t unused = 0;
	struct ps_steer_key key, next;
	int more;

	if (n > PS_STEER_KEYS)
		return ps_fail(err, E2BIG,
			"%u addresses and ports on interface %s, at most %u; use services without "
			"an address list",
			n, x->ifname, PS_STEER_KEYS);
	for (uint32_t i = 0; i < n; i++) {
		if (bpf_map_update_elem(x->allow_fd, &keys[i], &unused, BPF_ANY) < 0)
			return ps_fail(err, errno,
				"interface %s: address list of the XDP program: %s", x->ifname,
				strerror(errno));
	}
	more = bpf_map_get_next_key(x->allow_fd, NULL, &next);
	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(x->allow_fd, &key, &next);
		if (!is_listed(&key, keys, n) && bpf_map_delete_elem(x->allow_fd, &key) < 0)
			return ps_fail(err, errno,
				"interface %s: address list of the XDP program: %s", x->ifname,
				strerror(errno));
	}
	return 0;
}

int
ps_xdp_verify(
	const struct ps_xdp *x, const struct ps_steer_key *keys, uint32_t n, struct ps_err *err)
{
	struct ps_xdp_prog p;
	int ret = ps_xdp_prog_find(x->ifindex, &p);
	uint32_t unused;

	if (ret < 0)
		return ps_fail(err, -ret, "interface %s: cannot look at its XDP program: %s",
			x->ifname, strerror(-ret));
	if (p.id == 0)
		return ps_fail(
			err, ENOENT, "interface %s: our XDP program was detached", x->ifname);
	if (p.id != x->prog.id)
		return ps_fail(err, EBUSY,
			"interface %s: another XDP program (id %u) took the place of ours; `ip "
			"-d link show dev %s` names it, `ip link set dev %s xdp off` if it may go",
			x->ifname, p.id, x->ifname, x->ifname);
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_lookup_elem(x->allow_fd, &keys[i], &unused) < 0)
			return ps_fail(err, ESTALE,
				"interface %s: the XDP program's list lacks an address", x->ifname);
	return 0;
}

int
ps_xdp_reattach(struct ps_xdp *x, struct ps_err *err)
{
	struct ps_xdp_prog p;
	int ret = ps_xdp_prog_find(x->ifindex, &p);

	if (ret == 0 && p.id == x->prog.id)
		return 0;
	if (ret == 0)
		ret = x->own_fd >= 0 ? ps_xdp_relink(x) : ps_xdp_prog_attach(x->ifindex, &x->prog);
	if (ret == 0)
		return 0;
	return ps_fail(err, -ret,
		"interface %s: our XDP program cannot be attached again: %s%s; `ip link set dev "
		"%s xdp off` makes room for it",
		x->ifname, strerror(-ret), p.id != 0 ? ", there is another one" : "", x->ifname);
}

/* -- close -- */

/* The driver takes off whatever program there is, somebody else's too, and cannot without this
 * privilege. It complains of that, and of a link; no need to say so. */
void
ps_xdp_leave(struct ps_xdp *x)
{
	if (x->ifindex == 0)
		return;
	ps_privilege_use(~PS_CAP(CAP_NET_ADMIN));
	libbpf_set_print(NULL);
}

static void
take_off(const struct ps_xdp *x)
{
	struct ps_xdp_prog p;
	int rc = ps_xdp_prog_find(x->ifindex, &p);

	if (rc < 0 || p.id == 0)
		return;
	if (p.id == x->prog.id) {
		rc = ps_xdp_prog_detach(x->ifindex, &x->prog);
	} else if (ps_xdp_prog_open(x->ifindex, &p) == 0) {
		/* Attached by the driver, in a start that failed before ps_xdp_attach(). */
		rc = ps_xdp_prog_is_ours(&p) ? ps_xdp_prog_detach(x->ifindex, &p) : 0;
		close(p.fd);
	}
	if (rc < 0)
		ps_log(PS_LOG_WARN,
			"interface %s: our XDP program does not come off; `ip link set dev "
			"%s xdp off`",
			x->ifname, x->ifname);
}

void
ps_xdp_close(struct ps_xdp *x)
{
	if (x->ifindex == 0)
		return;
	ps_privilege_use(~UINT64_C(0));
	ps_xdp_disown_sockets(x);
	if (x->beat != NULL)
		munmap(x->beat, PS_STEER_QUEUES * sizeof(uint64_t));
	if (x->xsks_fd >= 0)
		close(x->xsks_fd);
	if (x->allow_fd >= 0)
		close(x->allow_fd);
	if (x->deny_fd >= 0)
		close(x->deny_fd);
	if (x->count_fd >= 0)
		close(x->count_fd);
	ps_xdp_unlink(x);
	take_off(x);
	if (x->prog.fd >= 0)
		close(x->prog.fd);
	if (set_promisc(x->ifname, x->promisc) < 0)
		ps_log(PS_LOG_WARN,
			"interface %s: promiscuous mode not restored; `ip link set dev "
			"%s promisc %s`",
			x->ifname, x->ifname, x->promisc ? "on" : "off");
	memset(x, 0, sizeof(*x));
}
