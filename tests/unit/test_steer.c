/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Runs the XDP program in the kernel over hand-made frames (BPF_PROG_TEST_RUN) with an AF_XDP
 * socket of our own in its map, driven through the functions that the program uses. Attaches
 * nothing to any interface. Exits 77 where bpf() is not permitted. */

#include <CUnit/Basic.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "af_xdp.h"
#include "ps_be.h"
#include "ps_time.h"

#define SERVICE     0x0a4d0002u /* 10.77.0.2 */
#define OTHER       0x0a4d0003u
#define PORT        8001
#define ANY_PORT    8002
#define ETH_SIZE    14
#define FRAME_SIZE  60
#define CLIENT      0x0a4d0001u /* 10.77.0.1 */
#define MIN_TO_TEST 14          /* the kernel takes no shorter frame for a test run */

static struct bpf_object *object;
static struct ps_xdp xdp = {.ifname = "test", .ifindex = 1, .n_queues = 1};
static int prog_fd, sock_fd;
static void *umem;

struct frame {
	uint8_t b[FRAME_SIZE];
	uint32_t size;
};

/* A whole datagram to addr:port with 18 bytes of payload. The checksums are zero: none of the
 * program's business. */
static struct frame
datagram(uint32_t addr, uint16_t port)
{
	struct frame f = {.size = FRAME_SIZE};
	uint8_t *ip = f.b + ETH_SIZE;

	memcpy(f.b, "\x02\0\0\0\0\x02\x02\0\0\0\0\x01", 12);
	ps_be16_store(f.b + 12, 0x0800);
	ip[0] = 0x45;
	ps_be16_store(ip + 2, FRAME_SIZE - ETH_SIZE);
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	ps_be32_store(ip + 12, CLIENT);
	ps_be32_store(ip + 16, addr);
	ps_be16_store(ip + 20, 40000);
	ps_be16_store(ip + 22, port);
	ps_be16_store(ip + 24, FRAME_SIZE - ETH_SIZE - 20);
	return f;
}

static struct ps_steer_key
key(uint32_t addr, uint16_t port)
{
	return (struct ps_steer_key){.addr_be = htonl(addr), .port_be = htons(port)};
}

/* The verdict, or a negative value when the kernel would not run it. */
static int
run(const struct frame *f)
{
	uint8_t out[512];
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = f->b, .data_size_in = f->size, .data_out = out,
		.data_size_out = sizeof(out), .repeat = 1);
	int ret = bpf_prog_test_run_opts(prog_fd, &o);

	return ret < 0 ? ret : (int)o.retval;
}

static uint64_t elsewhere; /* of the last packet passed */

/* Runs the frame and says by which of the four counters it went; the verdict must agree. */
static enum ps_steer_counter
way(const struct frame *f)
{
	struct ps_xdp_counts a, b;
	int verdict;

	CU_ASSERT_EQUAL_FATAL(ps_xdp_counts(&xdp, &a), 0);
	verdict = run(f);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_counts(&xdp, &b), 0);
	CU_ASSERT_EQUAL(b.redirected + b.passed + b.passed_stale + b.denied,
		a.redirected + a.passed + a.passed_stale + a.denied + 1);
	if (b.denied != a.denied) {
		CU_ASSERT_EQUAL(verdict, XDP_DROP);
		return PS_STEER_DENIED;
	}
	if (b.redirected != a.redirected) {
		CU_ASSERT_EQUAL(verdict, XDP_REDIRECT);
		return PS_STEER_REDIRECTED;
	}
	CU_ASSERT_EQUAL(verdict, XDP_PASS);
	elsewhere = b.elsewhere - a.elsewhere;
	return b.passed != a.passed ? PS_STEER_PASSED : PS_STEER_PASSED_STALE;
}

static void
beat_now(void)
{
	ps_xdp_beat(&xdp, 0, ps_now_ns());
}

static void
allow_usual(void)
{
	const struct ps_steer_key keys[] = {key(SERVICE, PORT), key(0, ANY_PORT)};

	CU_ASSERT_EQUAL_FATAL(ps_xdp_allow(&xdp, keys, 2, NULL), 0);
	beat_now();
}

static void
test_services(void)
{
	struct frame f = datagram(SERVICE, PORT);

	allow_usual();
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
	f = datagram(SERVICE, PORT + 100);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	f = datagram(OTHER, PORT);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	f = datagram(OTHER, ANY_PORT);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
	/* A client's source port is not the service's. */
	f = datagram(SERVICE, 40000);
	ps_be16_store(f.b + ETH_SIZE + 20, PORT);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
}

static void
test_list_changes(void)
{
	const struct ps_steer_key moved[] = {key(SERVICE, PORT + 1000), key(0, ANY_PORT)};
	struct frame old = datagram(SERVICE, PORT), new = datagram(SERVICE, PORT + 1000);
	struct frame kept = datagram(SERVICE, ANY_PORT);

	allow_usual();
	CU_ASSERT_EQUAL(way(&new), PS_STEER_PASSED);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_allow(&xdp, moved, 2, NULL), 0);
	CU_ASSERT_EQUAL(way(&old), PS_STEER_PASSED);
	CU_ASSERT_EQUAL(way(&new), PS_STEER_REDIRECTED);
	CU_ASSERT_EQUAL(way(&kept), PS_STEER_REDIRECTED);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_allow(&xdp, NULL, 0, NULL), 0);
	CU_ASSERT_EQUAL(way(&new), PS_STEER_PASSED);
	CU_ASSERT_EQUAL(way(&kept), PS_STEER_PASSED);
}

static void
test_list_too_long(void)
{
	struct ps_steer_key *keys = calloc(PS_STEER_KEYS + 1, sizeof(*keys));
	struct frame last = datagram(SERVICE + PS_STEER_KEYS - 1, PORT);
	struct ps_err err = {""};

	CU_ASSERT_PTR_NOT_NULL_FATAL(keys);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_allow(&xdp, NULL, 0, NULL), 0);
	for (uint32_t i = 0; i <= PS_STEER_KEYS; i++)
		keys[i] = key(SERVICE + i, PORT);
	CU_ASSERT_EQUAL(ps_xdp_allow(&xdp, keys, PS_STEER_KEYS, &err), 0);
	beat_now();
	CU_ASSERT_EQUAL(way(&last), PS_STEER_REDIRECTED);
	CU_ASSERT(ps_xdp_allow(&xdp, keys, PS_STEER_KEYS + 1, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "4096"));
	CU_ASSERT_EQUAL(way(&last), PS_STEER_REDIRECTED);
	for (uint32_t i = 0; i < PS_STEER_KEYS; i++)
		keys[i] = key(OTHER, (uint16_t)i);
	CU_ASSERT_EQUAL(ps_xdp_allow(&xdp, keys, PS_STEER_KEYS, &err), 0);
	CU_ASSERT_EQUAL(way(&last), PS_STEER_PASSED);
	free(keys);
}

static void
test_heartbeat(void)
{
	struct frame f = datagram(SERVICE, PORT), other = datagram(SERVICE, 9);

	allow_usual();
	ps_xdp_beat(&xdp, 0, 0);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED_STALE);
	CU_ASSERT_EQUAL(elsewhere, 1);
	CU_ASSERT_EQUAL(way(&other), PS_STEER_PASSED);
	CU_ASSERT_EQUAL(elsewhere, 0);
	/* A worker of ours that stands still: its queue is the right one. */
	ps_xdp_beat(&xdp, 0, ps_now_ns() - PS_STEER_STALE_NS - PS_MS_NS);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED_STALE);
	CU_ASSERT_EQUAL(elsewhere, 0);
	/* A beat from a clock that is a little ahead is fresh. */
	ps_xdp_beat(&xdp, 0, ps_now_ns() + PS_SEC_NS);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
	/* Another queue's worker does not speak for this one. */
	ps_xdp_beat(&xdp, 0, 0);
	ps_xdp_beat(&xdp, 1, ps_now_ns());
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED_STALE);
	ps_xdp_beat(&xdp, 1, 0);
}

static void
test_no_socket(void)
{
	const int map = bpf_object__find_map_fd_by_name(object, PS_STEER_XSKS);
	struct frame f = datagram(SERVICE, PORT);
	const uint32_t queue = 0;

	allow_usual();
	CU_ASSERT_EQUAL_FATAL(bpf_map_delete_elem(map, &queue), 0);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED_STALE);
	CU_ASSERT_EQUAL(elsewhere, 1);
	CU_ASSERT_EQUAL_FATAL(bpf_map_update_elem(map, &queue, &sock_fd, BPF_ANY), 0);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
}

static void
test_fragments(void)
{
	struct frame f = datagram(SERVICE, PORT);
	uint8_t *frag = f.b + ETH_SIZE + 6;

	allow_usual();
	ps_be16_store(frag, 0x2000);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	ps_be16_store(frag, 0x0001);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	ps_be16_store(frag, 0x4000); /* do not fragment */
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
}

static void
test_ip_header(void)
{
	struct frame f = datagram(SERVICE, PORT);
	uint8_t *ip = f.b + ETH_SIZE;

	allow_usual();
	/* Eight bytes of options: the ports move with the header length. */
	memmove(ip + 28, ip + 20, 18);
	memset(ip + 20, 1, 8);
	ip[0] = 0x47;
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
	ip[0] = 0x4f; /* a header that ends beyond the frame */
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	f = datagram(SERVICE, PORT);
	ip[0] = 0x44;
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	ip[0] = 0x65;
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
}

static void
test_other_protocols(void)
{
	static const uint16_t ether_types[] = {0x0806, 0x8100, 0x88a8, 0x86dd, 0x0100};
	static const uint8_t ip_protocols[] = {1, 2, 6, 47, 89, 132};
	struct frame f = datagram(SERVICE, PORT);

	allow_usual();
	for (size_t i = 0; i < sizeof(ether_types) / sizeof(ether_types[0]); i++) {
		ps_be16_store(f.b + 12, ether_types[i]);
		CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	}
	f = datagram(SERVICE, PORT);
	for (size_t i = 0; i < sizeof(ip_protocols); i++) {
		f.b[ETH_SIZE + 9] = ip_protocols[i];
		CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	}
	/* A VLAN tag in front of what would match. */
	f = datagram(SERVICE, PORT);
	memmove(f.b + 16, f.b + 12, FRAME_SIZE - 16);
	ps_be16_store(f.b + 12, 0x8100);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
}

static void
test_groups(void)
{
	struct frame f = datagram(0xe0000116, ANY_PORT);

	allow_usual();
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	f = datagram(0xffffffff, ANY_PORT);
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	f = datagram(SERVICE, ANY_PORT);
	f.b[0] = 0x01; /* unicast address in a group frame */
	CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	f.b[0] = 0x02;
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
}

static void
test_truncated(void)
{
	struct frame f = datagram(SERVICE, PORT);

	allow_usual();
	for (f.size = MIN_TO_TEST; f.size < ETH_SIZE + 28; f.size++)
		CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED);
	/* Headers are whole: what follows is for the classifier to judge. */
	CU_ASSERT_EQUAL(way(&f), PS_STEER_REDIRECTED);
}

static struct ps_err deny_err;

/* A deny list from a text, which is written to a file first. */
static int
load_deny(struct ps_deny *d, const char *text, size_t len)
{
	char path[] = "/tmp/ps-deny-XXXXXX";
	int fd = mkstemp(path), rc;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, len), (ssize_t)len);
	close(fd);
	deny_err.text[0] = '\0';
	rc = ps_deny_load(d, path, &deny_err);
	unlink(path);
	return rc;
}

static struct frame
from(uint32_t source, uint16_t port)
{
	struct frame f = datagram(SERVICE, port);

	ps_be32_store(f.b + ETH_SIZE + 12, source);
	return f;
}

static void
test_denied(void)
{
	static const char text[] = "# a list\n\n192.0.2.0/24 # documentation\n198.51.100.7\n"
				   "\t203.0.113.128/25\r\n10.9.0.0/16\n10.9.1.0/24";
	static const struct {
		uint32_t source;
		bool denied;
	} cases[] = {{0xc0000200, true}, {0xc00002ff, true}, {0xc0000300, false},
		{0xc00001ff, false}, {0xc6336407, true}, {0xc6336406, false}, {0xcb007180, true},
		{0xcb00717f, false}, {0x0a090001, true}, {0x0a090101, true}, {CLIENT, false}};
	const struct ps_steer_key keys[] = {key(SERVICE, PORT), key(0, ANY_PORT)};
	struct ps_deny d;

	CU_ASSERT_EQUAL_FATAL(load_deny(&d, text, sizeof(text) - 1), 0);
	CU_ASSERT_EQUAL(d.n, 5);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_deny(&xdp, &d, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_allow(&xdp, keys, 2, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame f = from(cases[i].source, PORT), any = from(cases[i].source, ANY_PORT);
		struct frame other = from(cases[i].source, 53);
		enum ps_steer_counter want =
			cases[i].denied ? PS_STEER_DENIED : PS_STEER_REDIRECTED;

		beat_now();
		CU_ASSERT_EQUAL(way(&f), want);
		CU_ASSERT_EQUAL(way(&any), want);
		/* What is no service's is the kernel's, and so is all without a worker. */
		CU_ASSERT_EQUAL(way(&other), PS_STEER_PASSED);
		ps_xdp_beat(&xdp, 0, 0);
		CU_ASSERT_EQUAL(way(&f), PS_STEER_PASSED_STALE);
	}
	for (uint32_t i = 0; i < d.n; i++)
		CU_ASSERT_EQUAL(bpf_map_delete_elem(xdp.deny_fd, &d.prefix[i]), 0);
	ps_deny_free(&d);
}

/* The kernel's list is compared whole: what is missing and what is too many. */
static void
test_deny_changed(void)
{
	static const char text[] = "10.9.0.0/16\n192.0.2.0/24\n10.9.1.0/24\n192.0.2.0/24\n";
	static const char other[] = "198.51.100.0/24\n10.9.1.0/24\n";
	const struct ps_steer_prefix inner = {.bits = 24, .addr_be = htonl(0x0a090100)};
	const struct ps_steer_prefix wider = {.bits = 8, .addr_be = htonl(0x0a000000)};
	const struct ps_deny none = {0};
	const uint32_t value = 0;
	struct ps_deny d, next;

	CU_ASSERT_EQUAL_FATAL(load_deny(&d, text, sizeof(text) - 1), 0);
	CU_ASSERT_EQUAL(d.n, 3);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &none, &deny_err), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, &deny_err), -ESTALE);
	CU_ASSERT_EQUAL_FATAL(ps_xdp_deny(&xdp, &d, NULL), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, &deny_err), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &none, &deny_err), -ESTALE);
	/* Its addresses would still be denied, by the prefix around it. */
	CU_ASSERT_EQUAL(bpf_map_delete_elem(xdp.deny_fd, &inner), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, &deny_err), -ESTALE);
	CU_ASSERT_EQUAL(bpf_map_update_elem(xdp.deny_fd, &wider, &value, BPF_ANY), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, &deny_err), -ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(deny_err.text, "10.0.0.0/8"));
	CU_ASSERT_EQUAL(ps_xdp_deny(&xdp, &d, NULL), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, &deny_err), 0);
	/* Another list in its place: exactly that one. */
	CU_ASSERT_EQUAL_FATAL(load_deny(&next, other, sizeof(other) - 1), 0);
	CU_ASSERT_EQUAL(ps_xdp_deny(&xdp, &next, NULL), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &next, &deny_err), 0);
	CU_ASSERT_EQUAL(ps_xdp_deny(&xdp, &none, NULL), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &none, &deny_err), 0);
	ps_deny_free(&next);
	ps_deny_free(&d);
}

static void
test_deny_lines(void)
{
	static const char *const bad[] = {"10.0.0.0/33", "10.0.0.0/0", "10.0.0.0/", "10.0.0.0/ 8",
		"10.0.0.0/8x", "10.0.0.0/-8", "10.0.0/8", "2001:db8::/32", "host.example",
		"10.0.0.1/8", "10.0.0.0/8 10.1.0.0/16", "10.0.0.0/99999999999999999999"};
	char text[512];
	struct ps_deny d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "192.0.2.1\n# 2\n%s\n192.0.2.2\n", bad[i]);
		CU_ASSERT_EQUAL(load_deny(&d, text, strlen(text)), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(deny_err.text, ":3: "));
		CU_ASSERT_PTR_NULL(strchr(deny_err.text, '\n'));
		CU_ASSERT_PTR_NULL(d.prefix);
	}
	/* A line that is too long, although only of spaces. */
	memset(text, ' ', sizeof(text));
	CU_ASSERT_EQUAL(load_deny(&d, text, sizeof(text)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(deny_err.text, ":1: "));
	CU_ASSERT_EQUAL(ps_deny_load(&d, "/nonexistent/list", &deny_err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(deny_err.text, "/nonexistent/list"));
	/* Not a file: reading might wait for ever. */
	CU_ASSERT_EQUAL(ps_deny_load(&d, "/dev/zero", &deny_err), -EINVAL);
}

static int
compare_addrs(const void *a, const void *b)
{
	const struct ps_steer_prefix *x = a, *y = b;

	return x->addr_be < y->addr_be ? -1 : x->addr_be > y->addr_be;
}

/* As many as there may be are all in the program; one more is refused with its line. */
static void
test_deny_limit(void)
{
	const size_t cap = (PS_STEER_DENIES + 1) * 20;
	char *text = malloc(cap);
	size_t len = 0, whole = 0;
	struct ps_deny d;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	for (uint32_t i = 0; i <= PS_STEER_DENIES; i++) {
		whole = i == PS_STEER_DENIES ? len : whole;
		len += (size_t)snprintf(
			text + len, cap - len, "11.%u.%u.%u\n", i >> 16, (i >> 8) & 255, i & 255);
	}
	CU_ASSERT_EQUAL(load_deny(&d, text, len), -E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(deny_err.text, ":65537: more than 65536"));
	CU_ASSERT_EQUAL_FATAL(load_deny(&d, text, whole), 0);
	CU_ASSERT_EQUAL(d.n, PS_STEER_DENIES);
	CU_ASSERT_EQUAL(ps_xdp_deny(&xdp, &d, NULL), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, NULL), 0);
	/* Another full list in the place of this one: there is room for both meanwhile. */
	for (uint32_t i = 0; i < PS_STEER_DENIES; i++)
		d.prefix[i].addr_be = htonl(0x0c000000 + i);
	qsort(d.prefix, d.n, sizeof(d.prefix[0]), compare_addrs);
	CU_ASSERT_EQUAL(ps_xdp_deny(&xdp, &d, &deny_err), 0);
	CU_ASSERT_EQUAL(ps_xdp_verify_deny(&xdp, &d, NULL), 0);
	allow_usual();
	for (uint32_t i = 0; i < PS_STEER_DENIES; i += 4095) {
		struct frame f = from(0x0c000000 + i, PORT);

		beat_now();
		CU_ASSERT_EQUAL(way(&f), PS_STEER_DENIED);
	}
	for (uint32_t i = 0; i < d.n; i++)
		bpf_map_delete_elem(xdp.deny_fd, &d.prefix[i]);
	ps_deny_free(&d);
	free(text);
}

/* An AF_XDP socket that may stand in the map: it needs a umem and a receive ring, no interface. */
static int
open_socket(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct xdp_umem_reg reg = {.len = size, .chunk_size = 2048};
	const int one = 1;
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	umem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.addr = (uintptr_t)umem;
	if (fd < 0 || umem == MAP_FAILED ||
		setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0 ||
		setsockopt(fd, SOL_XDP, XDP_RX_RING, &one, sizeof(one)) < 0)
		return -errno;
	return fd;
}

static int
load(void)
{
	const char *path = ps_xdp_object_path(NULL);
	const uint32_t queue = 0;
	int ret;

	libbpf_set_print(NULL);
	object = path != NULL ? bpf_object__open_file(path, NULL) : NULL;
	if (object == NULL)
		return -errno;
	ret = bpf_object__load(object);
	if (ret < 0)
		return ret;
	prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, PS_STEER_PROG));
	xdp.allow_fd = bpf_object__find_map_fd_by_name(object, PS_STEER_ALLOW);
	xdp.deny_fd = bpf_object__find_map_fd_by_name(object, PS_STEER_DENY);
	xdp.count_fd = bpf_object__find_map_fd_by_name(object, PS_STEER_COUNT);
	xdp.beat = mmap(NULL, PS_STEER_QUEUES * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		MAP_SHARED, bpf_object__find_map_fd_by_name(object, PS_STEER_HEARTBEAT), 0);
	sock_fd = open_socket();
	if (prog_fd < 0 || xdp.beat == MAP_FAILED || sock_fd < 0)
		return sock_fd < 0 ? sock_fd : -ENOENT;
	return bpf_map_update_elem(
		bpf_object__find_map_fd_by_name(object, PS_STEER_XSKS), &queue, &sock_fd, BPF_ANY);
}

int
main(void)
{
	static const CU_TestInfo tests[] = {
		{"a service's datagrams are redirected, no others", test_services},
		{"the list follows the services while running", test_list_changes},
		{"a list that is too long is refused", test_list_too_long},
		{"a queue without a fresh heartbeat is the kernel's", test_heartbeat},
		{"a queue without a socket is the kernel's", test_no_socket},
		{"fragments are the kernel's", test_fragments},
		{"IP options and bad header lengths", test_ip_header},
		{"other protocols are the kernel's", test_other_protocols},
		{"multicast and broadcast are the kernel's", test_groups},
		{"truncated headers are the kernel's", test_truncated},
		{"denied sources lose a service's datagrams, nothing else", test_denied},
		{"a deny list that somebody changed is found out", test_deny_changed},
		{"bad lines of a deny list are named", test_deny_lines},
		{"a deny list has its limit", test_deny_limit},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{.pName = "steer", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};
	unsigned int failures;
	int ret = load();

	if (ret == -EPERM || ret == -EACCES || ret == -EAFNOSUPPORT) {
		printf("skipped: this user may not load XDP programs: %s\n", strerror(-ret));
		return 77;
	}
	if (ret < 0) {
		printf("failed: the XDP program does not load: %s\n", strerror(-ret));
		return 1;
	}
	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	bpf_object__close(object);
	return failures != 0;
}
