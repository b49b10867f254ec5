/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "cunit_run.h"
#include "conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOOD                                                                                       \
	"; a comment\n[penstock]\nname = lab\nidle = sleep ; and why\n\n"                          \
	"[port a]\ndevice = veth0\n"                                                               \
	"[service tpu]\nkind = tpu-quic\naddress = 10.0.0.1, 10.0.0.2\naddress1 = 10.0.0.3\n"      \
	"port = 8009\nworkers = 0,2-3\n"

static struct ps_conf conf;
static struct ps_err err;

static int
load(const char *text, const char *override)
{
	char path[] = "/tmp/ps-conf-XXXXXX";
	int fd = mkstemp(path), rc;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	err.text[0] = '\0';
	rc = ps_conf_load(&conf, path, &override, override != NULL, &err);
	if (rc == 0)
		rc = ps_conf_check(&conf, &err);
	unlink(path);
	return rc;
}

/* One line that says all of the words, which are separated by '|'. */
static void
expect_words(const char *words)
{
	char copy[256], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", words);
	CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
	while ((word = strsep(&rest, "|")) != NULL) {
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, word));
		if (strstr(err.text, word) == NULL)
			printf("\n'%s' lacks '%s'\n", err.text, word);
	}
}

static void
refuse(const char *text, const char *words)
{
	CU_ASSERT(load(text, NULL) < 0);
	expect_words(words);
}

static void
refuse_override(const char *override, const char *words)
{
	CU_ASSERT(load(GOOD, override) < 0);
	expect_words(words);
}

static void
test_good(void)
{
	const struct ps_conf_service *s = &conf.service[0];

	CU_ASSERT_EQUAL_FATAL(load(GOOD, NULL), 0);
	CU_ASSERT_STRING_EQUAL(conf.name, "lab");
	CU_ASSERT_EQUAL(conf.idle, PS_IDLE_SLEEP);
	CU_ASSERT_EQUAL(conf.log, PS_LOG_INFO);
	CU_ASSERT_EQUAL(conf.memory, PS_MEMORY_HUGE);
	CU_ASSERT_EQUAL(conf.n_ports, 1);
	CU_ASSERT_STRING_EQUAL(conf.port[0].name, "a");
	CU_ASSERT_STRING_EQUAL(conf.port[0].device, "veth0");
	CU_ASSERT_EQUAL(conf.port[0].queues, 1);
	CU_ASSERT_EQUAL(conf.n_services, 1);
	CU_ASSERT_EQUAL(s->kind, PS_SERVICE_TPU_QUIC);
	CU_ASSERT_EQUAL(s->port, 8009);
	CU_ASSERT_EQUAL(s->n_addrs, 3);
	CU_ASSERT_EQUAL(s->addr_be[2], htonl(0x0a000003));
	CU_ASSERT_FALSE(s->all_workers);
	CU_ASSERT_EQUAL(CPU_COUNT(&s->workers), 3);
	CU_ASSERT(CPU_ISSET(3, &s->workers));
	CU_ASSERT_STRING_EQUAL(conf.feed.dir, "/dev/shm/penstock");
	CU_ASSERT_STRING_EQUAL(conf.tls.keypair, "");
}

static void
test_overrides(void)
{
	CU_ASSERT_EQUAL(load(GOOD, "service.tpu.port=9"), 0);
	CU_ASSERT_EQUAL(conf.service[0].port, 9);
	CU_ASSERT_EQUAL(load(GOOD, "quic.retry=always"), 0);
	CU_ASSERT_EQUAL(conf.quic.retry, 1);
	CU_ASSERT_EQUAL(load(GOOD, "service.tpu.address=any"), 0);
	CU_ASSERT(conf.service[0].any);
	CU_ASSERT_EQUAL(conf.service[0].n_addrs, 0);
	CU_ASSERT_EQUAL(load(GOOD, "port.b.device=0000:01:00.0"), 0);
	CU_ASSERT_EQUAL(conf.n_ports, 2);
	CU_ASSERT_EQUAL(load(GOOD, "tls.keypair=/a=b.c"), 0);
	CU_ASSERT_STRING_EQUAL(conf.tls.keypair, "/a=b.c");
	CU_ASSERT_EQUAL(load(GOOD, "quic.retry=maybe"), -EDOM); /* not a mistake of the file */
	CU_ASSERT_EQUAL(load(GOOD "[quic]\nretry = maybe\n", NULL), -EINVAL);
	refuse_override("quic.retry", "-o|section.key=value");
	refuse_override("retry=always", "-o|section.key=value");
	refuse_override("quic.retry=", "-o|section.key=value");
	refuse_override("quic.retries=1", "-o|[quic]|retries|penstock help config");
	refuse_override("quick.retry=1", "-o|[quick]|unknown section");
	refuse_override("service.port=1", "-o|[service]|NAME");
	refuse_override("quic.x.retry=off", "-o|[quic x]|takes no name");
	refuse_override("quic.retry=maybe", "-o|[quic]|retry|maybe|off always auto");
	refuse_override("service.new.port=1", "[service new]|kind|missing");
}

static void
test_values(void)
{
	refuse("[service a]\nport = 0\n", "[service a]|port|'0'|1 to 65535");
	refuse("[service a]\nport = 65536\n", "[service a]|port|65536");
	refuse("[service a]\nport = -1\n", "port|-1");
	refuse("[service a]\nport = 80 90\n", "port|80 90");
	refuse("[service a]\nport = 0x50\n", "port|0x50");
	refuse("[service a]\nport = 99999999999999999999999\n", "port|99999999999999999999999");
	refuse("[feed]\nsize_mb = 3\n", "[feed]|size_mb|'3'|power of two");
	refuse("[service a]\naddress = 10.0.0\n", "[service a]|address|10.0.0");
	refuse("[service a]\naddress = 10.0.0.1,,\n", "address|''");
	refuse("[service a]\naddress = ::1\n", "address|::1|IPv4");
	refuse("[service a]\naddress = 10.0.0.1\naddress1 = 10.0.0.1\n", "address1|twice");
	refuse("[service a]\naddress0x = 10.0.0.1\n", "unknown key|address0x");
	refuse("[service a]\nworkers = 64\n", "workers|64");
	refuse("[service a]\nworkers = 3-1\n", "workers|3-1");
	refuse("[service a]\nworkers = 1,\n", "workers|1,");
	refuse("[service a]\nkind = tcp\n", "kind|tcp|udp tpu-quic");
	refuse("[penstock]\nname = 12345678901234567890123456789012\n", "name|too long");
}

static void
test_syntax(void)
{
	char longer[600] = "[service a]\naddress = ";

	refuse("port = 1\n", "line 1|[section]");
	refuse("\n\n[service a\n", "line 3|]");
	refuse("[service a]\nport 1\n", "line 2|key = value");
	refuse("[service a]\nport =\n", "line 2|no value");
	refuse("[service a]\nport = ; 8009\n", "line 2|no value");
	while (strlen(longer) < 400)
		strcat(longer, "10.0.0.1,");
	refuse(longer, "line 2|255|address1");
	refuse("[nothing]\na = 1\n", "[nothing]|unknown section");
	refuse("[service]\nport = 1\n", "[service]|NAME");
	refuse("[service a b]\nport = 1\n", "[service a b]|NAME");
	refuse("[service a.b]\nport = 1\n", "[service a.b]|NAME");
	refuse("[quic]\nretry = off\nretry = always\n", "[quic]|retry|twice");
	refuse("[service a]\nport = 1\n[service a]\nport = 2\n", "[service a]|twice");
	refuse("", "no service");
	CU_ASSERT(ps_conf_load(&conf, "/nonexistent/x.ini", NULL, 0, &err) < 0);
	expect_words("/nonexistent/x.ini|No such file|-c FILE");
	CU_ASSERT(ps_conf_load(&conf, "/tmp", NULL, 0, &err) < 0);
	expect_words("/tmp|directory");
}

static void
test_whole(void)
{
#define S(name, addr, port) "[service " name "]\nkind = udp\naddress = " addr "\nport = " port "\n"
	CU_ASSERT_EQUAL(load(S("a", "10.0.0.1", "1") S("b", "10.0.0.2", "1"), NULL), 0);
	CU_ASSERT_EQUAL(load(S("a", "any", "1") S("b", "any", "2"), NULL), 0);
	refuse(S("a", "10.0.0.1", "1") S("b", "10.0.0.2,10.0.0.1", "1"),
		"[service a]|[service b]|port 1|10.0.0.1");
	refuse(S("a", "10.0.0.1", "1") S("b", "any", "1"), "[service a]|[service b]|any");
	refuse(S("a", "any,10.0.0.1", "1"), "[service a]|any");
	refuse("[service a]\naddress = any\nport = 1\n", "[service a]|kind");
	refuse("[service a]\nkind = udp\nport = 1\n", "[service a]|address");
	refuse("[service a]\nkind = udp\naddress = any\n", "[service a]|port");
	refuse("[port p]\nqueues = 1\n" S("a", "any", "1"), "[port p]|device");
	refuse("[port p]\ndevice = x\n[port q]\ndevice = x\n" S("a", "any", "1"),
		"[port p]|[port q]|x");
	CU_ASSERT_EQUAL(
		load("[port p]\ndevice = x\nlayout = dedicated\n" S("a", "any", "1"), NULL), 0);
	CU_ASSERT_EQUAL(conf.port[0].layout, PS_LAYOUT_DEDICATED);
	refuse("[port p]\ndevice = x\npath = socket\nlayout = dedicated\n" S("a", "any", "1"),
		"[port p]|layout = dedicated|path = af_xdp");
	CU_ASSERT_EQUAL(load("[port p]\ndevice = lo\n" S("a", "any", "1"), NULL), 0);
	CU_ASSERT_EQUAL(
		load("[port p]\ndevice = lo\npath = socket\nqueues = 2\n" S("a", "any", "1"), NULL),
		0);
	refuse("[port p]\ndevice = lo\nqueues = 2\n" S("a", "any", "1"),
		"[port p]|lo has one queue|remove queues");
	refuse("[port p]\ndevice = lo\nfirst_queue = 1\n" S("a", "any", "1"),
		"[port p]|lo has one queue|first_queue");
	refuse("[port p]\ndevice = lo\nlayout = dedicated\n" S("a", "any", "1"),
		"[port p]|lo has one queue|layout");
	refuse("[port p]\ndevice = x\npath = pmd\nlayout = dedicated\n" S("a", "any", "1"),
		"[port p]|layout = dedicated|path = af_xdp");
	refuse("[quic]\nconnections = 8\n" S("a", "any", "1"), "handshakes|connections");
	refuse("[penstock]\nname = a/b\n" S("a", "any", "1"), "name|a/b");
	refuse("[penstock]\nname = ..\n" S("a", "any", "1"), "name|'..'");
#undef S
}

static void
test_ports(void)
{
	const char *names[] = {"a", "0000:01:00.0"};

	CU_ASSERT_EQUAL_FATAL(load(GOOD, "port.a.queues=4"), 0);
	CU_ASSERT_EQUAL(ps_conf_select_ports(&conf, names, 2, &err), 0);
	CU_ASSERT_EQUAL(conf.n_ports, 2);
	CU_ASSERT_STRING_EQUAL(conf.port[0].device, "veth0");
	CU_ASSERT_EQUAL(conf.port[0].queues, 4);
	CU_ASSERT_STRING_EQUAL(conf.port[1].device, "0000:01:00.0");
	CU_ASSERT_EQUAL(conf.port[1].queues, 1);
	CU_ASSERT_EQUAL(ps_conf_check(&conf, &err), 0);
	CU_ASSERT_EQUAL(ps_conf_select_ports(&conf, &names[1], 1, &err), 0);
	CU_ASSERT_EQUAL(conf.n_ports, 1);
}

static int
keypair(const char *text)
{
	char path[] = "/tmp/ps-key-XXXXXX";
	uint8_t seed[32];
	int fd = mkstemp(path), rc;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	strcpy(conf.tls.keypair, path);
	rc = ps_conf_keypair(&conf, seed, &err);
	unlink(path);
	if (rc == 0) {
		CU_ASSERT_EQUAL(seed[0], 1);
		CU_ASSERT_EQUAL(seed[31], 32);
	}
	return rc;
}

static void
test_keypair(void)
{
	char text[512] = "[1";

	for (int i = 2; i <= 64; i++)
		snprintf(text + strlen(text), 8, i % 7 ? ",%d" : " ,\n %d", i);
	CU_ASSERT(keypair(text) < 0); /* no end */
	strcat(text, "]\n");
	CU_ASSERT_EQUAL(keypair(text), 0);
	text[1] = '-';
	CU_ASSERT(keypair(text) < 0);
	expect_words("[tls]|keypair|64");
	CU_ASSERT(keypair("[1,2]") < 0);
	CU_ASSERT(keypair("") < 0);
	strcpy(conf.tls.keypair, "/nonexistent");
	CU_ASSERT(ps_conf_keypair(&conf, (uint8_t[32]){0}, &err) < 0);
	expect_words("/nonexistent|No such file");
}

static void
test_paths(void)
{
	CU_ASSERT_EQUAL_FATAL(load(GOOD, NULL), 0);
	CU_ASSERT_EQUAL(conf.port[0].path, PS_PATH_AUTO);
	CU_ASSERT_EQUAL(conf.port[0].zero_copy, PS_ZERO_COPY_PREFER);
	CU_ASSERT_EQUAL(conf.watch_ms, 1000);
	CU_ASSERT_EQUAL(conf.on_rule_loss, 0);
	CU_ASSERT_EQUAL(load(GOOD, "port.a.path=socket"), 0);
	CU_ASSERT_EQUAL(conf.port[0].path, PS_PATH_SOCKET);
	CU_ASSERT_EQUAL(load(GOOD, "port.a.path=af_xdp"), 0);
	CU_ASSERT_EQUAL(conf.port[0].path, PS_PATH_AF_XDP);
	CU_ASSERT_EQUAL(load(GOOD, "port.a.path=pmd"), 0);
	CU_ASSERT_EQUAL(conf.port[0].path, PS_PATH_PMD);
	CU_ASSERT_EQUAL(load(GOOD, "port.a.zero_copy=require"), 0);
	CU_ASSERT_EQUAL(conf.port[0].zero_copy, PS_ZERO_COPY_REQUIRE);
	CU_ASSERT_EQUAL(load(GOOD, "port.a.zero_copy=off"), 0);
	CU_ASSERT_EQUAL(conf.port[0].zero_copy, PS_ZERO_COPY_OFF);
	CU_ASSERT_EQUAL(load(GOOD, "penstock.on_rule_loss=stop"), 0);
	CU_ASSERT_EQUAL(conf.on_rule_loss, 1);
	CU_ASSERT_EQUAL(load(GOOD, "penstock.watch_ms=250"), 0);
	CU_ASSERT_EQUAL(conf.watch_ms, 250);
	refuse_override("port.a.path=vfio", "[port a]|path|vfio|auto pmd af_xdp socket");
	refuse_override("port.a.zero_copy=yes", "[port a]|zero_copy|require prefer off");
	refuse_override("penstock.watch_ms=99", "[penstock]|watch_ms|'99'|100 to 60000");
	refuse_override("penstock.on_rule_loss=ignore", "on_rule_loss|ignore|reinstall stop");
}

/* Every default is inside its own range, and help names every key. */
static void
test_table(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	ps_conf_help(f);
	fclose(f);
	for (unsigned int i = 0; i < ps_n_options; i++) {
		const struct ps_option *o = &ps_options[i];
		char override[256];

		CU_ASSERT_PTR_NOT_NULL(strstr(text, o->help));
		if (o->def == NULL || o->def[0] == '\0')
			continue;
		snprintf(override, sizeof(override), "%s%s.%s=%s", o->section,
			!ps_section_named(o->section)     ? ""
			: strcmp(o->section, "port") == 0 ? ".a"
							  : ".tpu",
			o->key, o->def);
		CU_ASSERT_EQUAL(load(GOOD, override), 0);
		if (err.text[0] != '\0')
			printf("\n%s\n", err.text);
	}
	free(text);
}

/* What the repository ships to be copied. */
static void
test_examples(void)
{
	glob_t g;

	CU_ASSERT_EQUAL_FATAL(glob(PS_CONFIG_DIR "/*.ini", 0, NULL, &g), 0);
	CU_ASSERT(g.gl_pathc >= 6);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		int rc = ps_conf_load(&conf, g.gl_pathv[i], NULL, 0, &err);

		if (rc == 0)
			rc = ps_conf_check(&conf, &err);
		CU_ASSERT_EQUAL(rc, 0);
		CU_ASSERT_EQUAL(conf.n_ports, 1);
		CU_ASSERT(conf.n_services >= 2);
		if (rc != 0)
			printf("\n%s: %s\n", g.gl_pathv[i], err.text);
	}
	globfree(&g);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"a good file", test_good},
		{"overrides", test_overrides},
		{"values", test_values},
		{"syntax", test_syntax},
		{"the whole", test_whole},
		{"--port", test_ports},
		{"keypair", test_keypair},
		{"paths and watch", test_paths},
		{"table", test_table},
		{"examples", test_examples},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {
		{"conf", NULL, NULL, NULL, NULL, tests},
		CU_SUITE_INFO_NULL,
	};

	return cunit_run(suites);
}
