/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The AF_XDP sockets: one of our own to try a queue with, those of the driver to read from. */

#include "af_xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_BYTES      4096
#define ZERO_COPY_FRAMES 128 /* of the probe: enough for a driver to fill a ring from */

static struct ps_xdp *attached;

/* -- a socket of our own -- */

/* Puts all frames into the fill ring: drivers take some of them while they bind. */
static int
stock(int fd, uint32_t n)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	size_t bytes;
	char *ring;

	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len) < 0)
		return -errno;
	bytes = off.fr.desc + n * sizeof(uint64_t);
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, XDP_UMEM_PGOFF_FILL_RING);
	if (ring == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; i < n; i++)
		((uint64_t *)(ring + off.fr.desc))[i] = (uint64_t)i * FRAME_BYTES;
	__atomic_store_n((uint32_t *)(ring + off.fr.producer), n, __ATOMIC_RELEASE);
	munmap(ring, bytes);
	return 0;
}

static int
bind_queue(int fd, void *area, uint32_t n, const struct sockaddr_xdp *addr)
{
	struct xdp_umem_reg reg = {.addr = (uintptr_t)area,
		.len = (uint64_t)n * FRAME_BYTES,
		.chunk_size = FRAME_BYTES};
	int rc;

	if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &n, sizeof(n)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &n, sizeof(n)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_RX_RING, &n, sizeof(n)) < 0)
		return -errno;
	rc = stock(fd, n);
	if (rc < 0)
		return rc;
	return bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
}

int
ps_xdp_try_queue(unsigned int ifindex, uint16_t queue, bool zero_copy)
{
	/* XDP_ZEROCOPY never falls back to copying, which the driver's own bind would. */
	const struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = zero_copy ? XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP : XDP_COPY,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue,
	};
	const uint32_t n = zero_copy ? ZERO_COPY_FRAMES : 1;
	const size_t bytes = (size_t)n * FRAME_BYTES;
	void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, rc;

	if (area == MAP_FAILED)
		return -errno;
	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : bind_queue(fd, area, n, &addr);
	if (rc == 0 && zero_copy) {
		struct xdp_options opt = {0};
		socklen_t len = sizeof(opt);

		if (getsockopt(fd, SOL_XDP, XDP_OPTIONS, &opt, &len) < 0)
			rc = -errno;
		else if (!(opt.flags & XDP_OPTIONS_ZEROCOPY))
			rc = -EOPNOTSUPP;
	}
	if (fd >= 0)
		close(fd);
	munmap(area, bytes);
	return rc;
}

/* -- the driver's sockets -- */

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

/* The driver keeps its sockets to itself, so they are looked for among the process's descriptors.
 */
static int
find_unclaimed(int *found)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL) {
		int fd = atoi(e->d_name), domain = 0;
		socklen_t len = sizeof(domain);

		if (e->d_name[0] != '.' &&
			getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
			domain == AF_XDP && !is_claimed(fd)) {
			*found = fd;
			n++;
		}
	}
	closedir(dir);
	return n == 1 ? 0 : -ENOTSOCK;
}

/* The driver asks for preferred busy polling: its calls run the NAPI context of the receive queue,
 * and the kernel leaves out every other wake-up of the NIC's driver. One that sends from a context
 * of its own (igb, virtio_net) would never send. Without the preference the same calls wake what
 * asks for it, and still never block; with busy_budget=0 they would, a second long, in poll(). */
static int
restore_wakeups(int fd)
{
	const int off = 0;

	return setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &off, sizeof(off)) < 0 ? -errno : 0;
}

int
ps_xdp_claim_socket(struct ps_xdp *x, struct ps_err *err)
{
	struct xdp_options opt = {0};
	socklen_t len = sizeof(opt);
	int fd = -1, rc;

	if (x->n_socks == 0) {
		x->zero_copy = true;
		x->next = attached;
		attached = x;
	}
	rc = x->n_socks < PS_STEER_QUEUES ? find_unclaimed(&fd) : -ENOSPC;
	if (rc == 0 && getsockopt(fd, SOL_XDP, XDP_OPTIONS, &opt, &len) < 0)
		rc = -errno;
	if (rc == 0 && x->own_fd >= 0 && x->busy)
		rc = ps_xdp_busy_poll(fd);
	if (rc == 0 && (opt.flags & XDP_OPTIONS_ZEROCOPY))
		rc = restore_wakeups(fd);
	if (rc < 0)
		return ps_fail(err, -rc,
			"interface %s: the AF_XDP socket of queue %u is not found, its mode cannot "
			"be proven: %s; use another DPDK version",
			x->ifname, x->first_queue + x->n_socks, strerror(-rc));
	x->socks[x->n_socks++] = fd;
	x->zero_copy = x->zero_copy && (opt.flags & XDP_OPTIONS_ZEROCOPY);
	return 0;
}

void
ps_xdp_disown_sockets(struct ps_xdp *x)
{
	struct ps_xdp **at = &attached;

	while (*at != NULL && *at != x)
		at = &(*at)->next;
	if (*at == x)
		*at = x->next;
	x->n_socks = 0;
}

int
ps_xdp_seat_sockets(const struct ps_xdp *x, struct ps_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < x->n_socks; i++) {
		const uint32_t queue = x->first_queue + i;

		if (bpf_map_update_elem(x->xsks_fd, &queue, &x->socks[i], BPF_ANY) < 0)
			rc = -errno;
	}
	return rc == 0 ? 0
		       : ps_fail(err, -rc, "interface %s: sockets of the XDP program: %s",
				 x->ifname, strerror(-rc));
}

/* -- counts -- */

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
	if (ret == 0)
		ret = sum_cpus(x->count_fd, PS_STEER_DENIED, cpu, n, &out->denied);
	if (ret == 0)
		ret = sum_cpus(x->count_fd, PS_STEER_ELSEWHERE, cpu, n, &out->elsewhere);
	free(cpu);
	return ret;
}

int
ps_xdp_queue_counts(const struct ps_xdp *x, uint16_t i, struct ps_xdp_queue_counts *out)
{
	struct xdp_statistics s = {0};
	socklen_t len = sizeof(s);

	if (i >= x->n_socks || getsockopt(x->socks[i], SOL_XDP, XDP_STATISTICS, &s, &len) < 0)
		return i >= x->n_socks ? -ENOENT : -errno;
	*out = (struct ps_xdp_queue_counts){
		.rx_dropped = s.rx_dropped,
		.rx_ring_full = s.rx_ring_full,
		.rx_fill_empty = s.rx_fill_ring_empty_descs,
		.rx_invalid = s.rx_invalid_descs,
		.tx_empty = s.tx_ring_empty_descs,
		.tx_invalid = s.tx_invalid_descs,
	};
	return 0;
}
