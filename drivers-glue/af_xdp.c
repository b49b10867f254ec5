/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "af_xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ps_time.h"

#define BUSY_WAIT_NS (3 * PS_SEC_NS)
/* A killed penstock's last beat is stale after a second. */
#define BEAT_WAIT_NS (PS_STEER_STALE_NS + PS_SEC_NS / 4)
#define RETRY_NS     (50 * PS_MS_NS)
#define MAX_MAPS     16

/* The BPF object, linked in as it is (drivers-glue/xdp/meson.build). */
extern const char steer_object[], steer_object_end[];

/* -- the program on an interface -- */

struct prog {
	int fd;             /* -1: none is attached */
	uint32_t id, flags; /* flags: the attach mode, as bpf_xdp_detach() takes it */
	char name[BPF_OBJ_NAME_LEN];
	uint32_t n_maps, maps[MAX_MAPS];
};

static int
open_map(const struct prog *p, const char *name)
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

static bool
is_ours(const struct prog *p)
{
	static const char *const maps[] = {
		PS_STEER_XSKS, PS_STEER_ALLOW, PS_STEER_HEARTBEAT, PS_STEER_COUNT};

	if (strcmp(p->name, PS_STEER_PROG) != 0)
		return false;
	for (unsigned int i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		int fd = open_map(p, maps[i]);

		if (fd < 0)
			return false;
		close(fd);
	}
	return true;
}

/* The caller closes p->fd unless it is -1. */
static int
open_prog(unsigned int ifindex, struct prog *p)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int ret = bpf_xdp_query((int)ifindex, 0, &q);

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	if (ret < 0)
		return ret;
	p->id = q.drv_prog_id ? q.drv_prog_id : q.skb_prog_id ? q.skb_prog_id : q.hw_prog_id;
	p->flags = q.drv_prog_id   ? XDP_FLAGS_DRV_MODE
		   : q.skb_prog_id ? XDP_FLAGS_SKB_MODE
				   : XDP_FLAGS_HW_MODE;
	if (p->id == 0)
		return 0;
	p->fd = bpf_prog_get_fd_by_id(p->id);
	if (p->fd < 0)
		return p->fd;
	info.nr_map_ids = MAX_MAPS;
	info.map_ids = (uintptr_t)p->maps;
	if (bpf_obj_get_info_by_fd(p->fd, &info, &len) < 0) {
		ret = -errno;
		close(p->fd);
		p->fd = -1;
		return ret;
	}
	p->n_maps = info.nr_map_ids < MAX_MAPS ? info.nr_map_ids : MAX_MAPS;
	snprintf(p->name, sizeof(p->name), "%s", info.name);
	return 0;
}

/* Only if it is still the one that p holds. */
static int
detach(unsigned int ifindex, const struct prog *p)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = p->fd);

	return bpf_xdp_detach((int)ifindex, p->flags, &opts);
}

static bool
is_beating(const struct prog *p)
{
	int fd = open_map(p, PS_STEER_HEARTBEAT);
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

/* One AF_XDP socket of the smallest size on this queue, closed again. The kernel frees a queue a
 * moment after its socket is closed; the driver binds much later, after EAL has started. */
static int
try_bind(unsigned int ifindex, uint16_t queue)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_umem_reg reg = {.addr = (uintptr_t)area, .len = size, .chunk_size = 2048};
	struct sockaddr_xdp addr = {.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_COPY,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue};
	const int one = 1;
	int fd, ret = 0;

	if (area == MAP_FAILED)
		return -errno;
	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &one, sizeof(one)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &one, sizeof(one)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_RX_RING, &one, sizeof(one)) < 0 ||
		bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	munmap(area, size);
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
check_prog(const char *ifname, const struct prog *p, struct ps_err *err)
{
	const uint64_t deadline = ps_now_ns() + BEAT_WAIT_NS;

	if (p->fd < 0)
		return 0;
	if (!is_ours(p))
		return ps_fail(err, EBUSY,
			"interface %s carries the XDP program \"%s\" (id %u), which is not ours; "
			"if it may go: `ip link set dev %s xdp off`",
			ifname, p->name, p->id, ifname);
	while (is_beating(p)) {
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
	int ret = try_bind(ifindex, queue);

	while (ret == -EBUSY && ps_now_ns() < deadline) {
		wait_retry();
		ret = try_bind(ifindex, queue);
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
remove_stale(struct ps_xdp *x, const struct prog *p, struct ps_err *err)
{
	int ret;

	if (p->fd < 0)
		return 0;
	ret = detach(x->ifindex, p);
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
	struct prog p;
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
	y.allow_fd = y.count_fd = -1;

	ret = open_prog(y.ifindex, &p);
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

static struct ps_xdp *attached;

static bool
is_claimed(int fd)
{
	for (const struct ps_xdp *x = attached; x != NULL; x = x->next) {
		for (uint16_t i = 0; i < x->n_socks; i++) {
			if (x->socks[i] == fd)
				return true;
		}
	}
	return false;
}

/* The driver keeps its sockets to itself, so they are looked for among the process's descriptors;
 * those of ports attached before are known. */
static int
find_sockets(struct ps_xdp *x)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	if (dir == NULL)
		return -errno;
	x->n_socks = 0;
	while ((e = readdir(dir)) != NULL && x->n_socks < PS_STEER_QUEUES) {
		int fd = atoi(e->d_name), domain = 0;
		socklen_t len = sizeof(domain);

		if (e->d_name[0] != '.' &&
			getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
			domain == AF_XDP && !is_claimed(fd))
			x->socks[x->n_socks++] = fd;
	}
	closedir(dir);
	return x->n_socks == x->n_queues ? 0 : -ENOTSOCK;
}

static int
read_zero_copy(struct ps_xdp *x)
{
	x->zero_copy = true;
	for (uint16_t i = 0; i < x->n_socks; i++) {
		struct xdp_options opt;
		socklen_t len = sizeof(opt);

		if (getsockopt(x->socks[i], SOL_XDP, XDP_OPTIONS, &opt, &len) < 0)
			return -errno;
		x->zero_copy = x->zero_copy && (opt.flags & XDP_OPTIONS_ZEROCOPY);
	}
	return 0;
}

static int
map_heartbeat(struct ps_xdp *x, const struct prog *p)
{
	int fd = open_map(p, PS_STEER_HEARTBEAT), ret = 0;
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
	struct prog p;
	int ret = open_prog(x->ifindex, &p);

	if (ret < 0 || p.fd < 0 || !is_ours(&p)) {
		if (p.fd >= 0)
			close(p.fd);
		return ps_fail(err, ret < 0 ? -ret : ENOENT,
			"interface %s: the driver did not attach our XDP program; is "
			"xdp_prog= among the port's devargs?",
			x->ifname);
	}
	x->prog_id = p.id;
	x->driver_mode = p.flags == XDP_FLAGS_DRV_MODE;
	x->allow_fd = open_map(&p, PS_STEER_ALLOW);
	x->count_fd = open_map(&p, PS_STEER_COUNT);
	ret = x->allow_fd < 0 ? x->allow_fd : x->count_fd < 0 ? x->count_fd : map_heartbeat(x, &p);
	close(p.fd);
	if (ret < 0)
		return ps_fail(err, -ret, "interface %s: maps of the XDP program: %s", x->ifname,
			strerror(-ret));
	ret = find_sockets(x);
	if (ret == 0)
		ret = read_zero_copy(x);
	if (ret < 0)
		return ps_fail(err, -ret,
			"interface %s: %u AF_XDP sockets found for %u queues, mode cannot be "
			"proven: %s",
			x->ifname, x->n_socks, x->n_queues, strerror(-ret));
	x->next = attached;
	attached = x;
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

static int
sum_cpus(int fd, uint32_t what, uint64_t *cpu, int n_cpus, uint64_t *sum)
{
	if (bpf_map_lookup_elem(fd, &what, cpu) < 0)
		return -errno;
	*sum = 0;
	for (int i = 0; i < n_cpus; i++)
		*sum += cpu[i];
	return 0;
}

int
ps_xdp_counts(const struct ps_xdp *x, struct ps_xdp_counts *out)
{
	const int n = libbpf_num_possible_cpus();
	uint64_t *cpu = n > 0 ? calloc((size_t)n, sizeof(*cpu)) : NULL;
	int ret;

	memset(out, 0, sizeof(*out));
	if (cpu == NULL)
		return -ENOMEM;
	ret = sum_cpus(x->count_fd, PS_STEER_REDIRECTED, cpu, n, &out->redirected);
	if (ret == 0)
		ret = sum_cpus(x->count_fd, PS_STEER_PASSED, cpu, n, &out->passed);
	if (ret == 0)
		ret = sum_cpus(x->count_fd, PS_STEER_PASSED_STALE, cpu, n, &out->passed_stale);
	free(cpu);
	for (uint16_t i = 0; ret == 0 && i < x->n_socks; i++) {
		struct xdp_statistics s = {0};
		socklen_t len = sizeof(s);

		if (getsockopt(x->socks[i], SOL_XDP, XDP_STATISTICS, &s, &len) < 0)
			return -errno;
		out->rx_dropped += s.rx_dropped;
		out->rx_ring_full += s.rx_ring_full;
		out->rx_fill_empty += s.rx_fill_ring_empty_descs;
		out->rx_invalid += s.rx_invalid_descs;
	}
	return ret;
}

/* -- close -- */

void
ps_xdp_close(struct ps_xdp *x)
{
	struct ps_xdp **at = &attached;
	struct prog p;

	if (x->ifindex == 0)
		return;
	while (*at != NULL && *at != x)
		at = &(*at)->next;
	if (*at == x)
		*at = x->next;
	if (x->beat != NULL)
		munmap(x->beat, PS_STEER_QUEUES * sizeof(uint64_t));
	if (x->allow_fd >= 0)
		close(x->allow_fd);
	if (x->count_fd >= 0)
		close(x->count_fd);
	if (open_prog(x->ifindex, &p) == 0 && p.fd >= 0) {
		if (is_ours(&p) && detach(x->ifindex, &p) < 0)
			ps_log(PS_LOG_WARN,
				"interface %s: our XDP program does not come off; `ip link set dev "
				"%s xdp off`",
				x->ifname, x->ifname);
		close(p.fd);
	}
	if (set_promisc(x->ifname, x->promisc) < 0)
		ps_log(PS_LOG_WARN,
			"interface %s: promiscuous mode not restored; `ip link set dev "
			"%s promisc %s`",
			x->ifname, x->ifname, x->promisc ? "on" : "off");
	memset(x, 0, sizeof(*x));
}
