/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* An independent QUIC client for the interop suite: sends generated Solana transactions, one per
 * unidirectional stream, through Debian's ngtcp2 with GnuTLS. Exit code 0 when every stream was
 * acknowledged, 1 when not, 2 for usage. */
#include "client_cert.h"
#include "tpu_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS       1000000000ull
#define CONNECTIONS_MAX 1024
#define SPECIALS_MAX    64
#define RAW_BYTES_MAX   (1 << 20)

struct run {
	struct client cl;
	enum client_cert cert;
	unsigned connections;
	bool dump, expect_close, early_data;
	gnutls_datum_t ticket;
	struct special specials[SPECIALS_MAX];
	struct tpu_conn *conn[CONNECTIONS_MAX];
	struct pollfd poll[CONNECTIONS_MAX];
};

static volatile sig_atomic_t stop;

static const char usage[] =
	"usage: tpu_client_ngtcp2 --host ADDR --port PORT --count N [options]\n"
	"       tpu_client_ngtcp2 --dump --count N [--sizes MIN-MAX] [--seed S] [--large]\n"
	"  --sizes MIN-MAX  serialized bytes (134-1232; --large: 1233-4096)\n"
	"  --large          v1 transactions\n"
	"  --seed S         which transactions (1)\n"
	"  --connections C  spread over C connections (1)\n"
	"  --alpn A         instead of solana-tpu\n"
	"  --cipher NAME    offer only aes128, aes256 or chacha20\n"
	"  --cert KIND      none, ed25519 (default), rsa, ecdsa, chain2\n"
	"  --acked-log FILE index of each transaction when its bytes and FIN are acknowledged\n"
	"  --raw FILE       first send this file as a stream; may be repeated\n"
	"  --empty          first send an empty stream\n"
	"  --bytes-beyond-window N  first send a stream N bytes longer than the peer allows\n"
	"  --key-update-every N  update keys after each N acknowledged streams\n"
	"  --unknown-version  begin with a reserved version\n"
	"  --early-data     with a ticket of another server\n"
	"  --timeout S      give up after S seconds (60)\n"
	"  --idle S         a connection that hears nothing for S seconds is lost (10)\n"
	"  --dump           write the transactions to stdout, each after its u32 length\n";

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static bool
parse_number(const char *arg, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(arg, &end, 0);
	return *arg && *arg != '-' && !*end && !errno && *out >= min && *out <= max;
}

static struct special *
add_special(struct run *r)
{
	if (r->cl.n_specials == SPECIALS_MAX)
		return NULL;
	return &r->specials[r->cl.n_specials++];
}

static bool
add_raw(struct run *r, const char *path)
{
	struct special *sp = add_special(r);
	FILE *f = fopen(path, "rb");

	if (f && sp) {
		sp->data = malloc(RAW_BYTES_MAX);
		if (sp->data)
			sp->len = fread(sp->data, 1, RAW_BYTES_MAX, f);
	}
	if (f)
		fclose(f);
	if (!f || !sp || sp->len == 0)
		fprintf(stderr, "cannot read %s\n", path);
	return f && sp && sp->len > 0;
}

static bool
add_beyond_window(struct run *r, const char *arg)
{
	struct special *sp = add_special(r);
	uint64_t n;

	if (!sp || !parse_number(arg, 1, RAW_BYTES_MAX, &n))
		return false;
	*sp = (struct special){.len = n, .beyond_window = true};
	r->expect_close = true;
	return true;
}

static bool
open_log(struct run *r, const char *path)
{
	r->cl.acked_log = fopen(path, "w");
	if (!r->cl.acked_log) {
		fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
		return false;
	}
	setvbuf(r->cl.acked_log, NULL, _IOLBF, 0);
	return true;
}

enum {
	OPT_HOST = 1,
	OPT_PORT,
	OPT_COUNT,
	OPT_SIZES,
	OPT_SEED,
	OPT_CONNECTIONS,
	OPT_ALPN,
	OPT_CERT,
	OPT_ACKED_LOG,
	OPT_RAW,
	OPT_EMPTY,
	OPT_BEYOND,
	OPT_TIMEOUT,
	OPT_IDLE,
	OPT_CIPHER,
	OPT_LARGE,
	OPT_DUMP,
	OPT_KEY_UPDATE,
	OPT_UNKNOWN,
	OPT_EARLY,
};

static const struct option options[] = {{"host", 1, NULL, OPT_HOST}, {"port", 1, NULL, OPT_PORT},
	{"count", 1, NULL, OPT_COUNT}, {"sizes", 1, NULL, OPT_SIZES}, {"seed", 1, NULL, OPT_SEED},
	{"connections", 1, NULL, OPT_CONNECTIONS}, {"alpn", 1, NULL, OPT_ALPN},
	{"cert", 1, NULL, OPT_CERT}, {"acked-log", 1, NULL, OPT_ACKED_LOG},
	{"raw", 1, NULL, OPT_RAW}, {"empty", 0, NULL, OPT_EMPTY},
	{"bytes-beyond-window", 1, NULL, OPT_BEYOND}, {"idle", 1, NULL, OPT_IDLE},
	{"cipher", 1, NULL, OPT_CIPHER}, {"timeout", 1, NULL, OPT_TIMEOUT},
	{"large", 0, NULL, OPT_LARGE}, {"key-update-every", 1, NULL, OPT_KEY_UPDATE},
	{"dump", 0, NULL, OPT_DUMP}, {"unknown-version", 0, NULL, OPT_UNKNOWN},
	{"early-data", 0, NULL, OPT_EARLY}, {NULL, 0, NULL, 0}};

static const char *
ciphers_of(const char *name)
{
	static const struct {
		const char *name, *priority;
	} known[] = {
		{"aes128", "+AES-128-GCM"},
		{"aes256", "+AES-256-GCM"},
		{"chacha20", "+CHACHA20-POLY1305"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].priority;
	return NULL;
}

static bool
apply_option(struct run *r, int opt, const char *arg)
{
	struct client *cl = &r->cl;
	uint64_t v = 0;
	bool ok;

	switch (opt) {
	case OPT_HOST:
		return inet_pton(AF_INET, arg, &cl->peer.sin_addr) == 1;
	case OPT_PORT:
		ok = parse_number(arg, 1, 65535, &v);
		cl->peer.sin_port = htons((uint16_t)v);
		return ok;
	case OPT_COUNT:
		return parse_number(arg, 0, UINT64_MAX, &cl->count);
	case OPT_SIZES:
		return ps_txgen_parse_sizes(&cl->gen, arg);
	case OPT_SEED:
		return parse_number(arg, 0, UINT64_MAX, &cl->gen.seed);
	case OPT_CONNECTIONS:
		ok = parse_number(arg, 1, CONNECTIONS_MAX, &v);
		r->connections = (unsigned)v;
		return ok;
	case OPT_ALPN:
		cl->alpn = arg;
		return *arg && strlen(arg) < 256;
	case OPT_CIPHER:
		cl->ciphers = ciphers_of(arg);
		return cl->ciphers != NULL;
	case OPT_CERT:
		return client_cert_parse(arg, &r->cert);
	case OPT_ACKED_LOG:
		return open_log(r, arg);
	case OPT_RAW:
		return add_raw(r, arg);
	case OPT_EMPTY:
		r->expect_close = true;
		return add_special(r) != NULL;
	case OPT_BEYOND:
		return add_beyond_window(r, arg);
	case OPT_TIMEOUT:
		ok = parse_number(arg, 1, 86400, &v);
		cl->timeout_ns = v * SECOND_NS;
		return ok;
	case OPT_IDLE:
		ok = parse_number(arg, 1, 86400, &v);
		cl->idle_ns = v * SECOND_NS;
		return ok;
	case OPT_KEY_UPDATE:
		return parse_number(arg, 1, UINT64_MAX, &cl->key_update_every);
	case OPT_UNKNOWN:
		cl->unknown_version = true;
		return true;
	case OPT_EARLY:
		r->early_data = true;
		return true;
	case OPT_LARGE:
		cl->gen.large = true;
		return true;
	case OPT_DUMP:
		r->dump = true;
		return true;
	default:
		return false;
	}
}

static bool
parse(struct run *r, int argc, char **argv)
{
	struct client *cl = &r->cl;
	int opt, at;

	cl->specials = r->specials;
	cl->gen = (struct ps_txgen){.seed = 1};
	cl->count = UINT64_MAX;
	cl->alpn = "solana-tpu";
	/* the order of Solana's own clients */
	cl->ciphers = "+AES-256-GCM:+AES-128-GCM:+CHACHA20-POLY1305";
	cl->peer.sin_family = AF_INET;
	cl->timeout_ns = 60 * SECOND_NS;
	cl->idle_ns = 10 * SECOND_NS;
	r->connections = 1;
	r->cert = CLIENT_CERT_ED25519;
	while ((opt = getopt_long(argc, argv, "", options, &at)) != -1) {
		if (opt == '?')
			return false;
		if (!apply_option(r, opt, optarg)) {
			fprintf(stderr, "bad --%s %s\n", options[at].name, optarg ? optarg : "");
			return false;
		}
	}
	ps_txgen_default_sizes(&cl->gen);
	if (!ps_txgen_valid(&cl->gen)) {
		fprintf(stderr, "no transactions of %u-%u bytes\n", cl->gen.min, cl->gen.max);
		return false;
	}
	return optind == argc && cl->count != UINT64_MAX &&
	       (r->dump || (cl->peer.sin_addr.s_addr && cl->peer.sin_port));
}

static int
dump(const struct client *cl)
{
	uint8_t buf[4 + PS_TXGEN_LARGE_SIZE_MAX];

	for (uint64_t i = 0; i < cl->count; i++) {
		uint32_t len = (uint32_t)ps_txgen_make(&cl->gen, i, buf + 4);

		for (int b = 0; b < 4; b++)
			buf[b] = (uint8_t)(len >> 8 * b);
		if (fwrite(buf, 1, 4 + len, stdout) != 4 + len)
			return 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}

static void
report(const struct client *cl)
{
	bool alert = cl->closed && !cl->close_is_app && (cl->close_code >> 8) == 1;

	printf("{\"sent\":%llu,\"acked\":%llu,\"bytes\":%llu,\"close_code\":",
		(unsigned long long)cl->sent, (unsigned long long)cl->acked,
		(unsigned long long)cl->bytes);
	if (cl->closed)
		printf("%llu", (unsigned long long)cl->close_code);
	else
		printf("null");
	printf(",\"close_kind\":\"%s\",\"alert\":", !cl->closed        ? "none"
						    : cl->close_is_app ? "application"
								       : "transport");
	if (alert)
		printf("%u", (unsigned)(cl->close_code & 0xff));
	else
		printf("null");
	printf(",\"handshakes\":%u,\"retries\":%u,\"key_updates\":%u,\"cipher\":\"%s\"}\n",
		cl->handshakes, cl->retries, cl->key_updates, cl->cipher);
}

static bool
all_done(const struct run *r, bool dead_only)
{
	for (unsigned i = 0; i < r->connections; i++) {
		if (!(dead_only ? tpu_conn_dead(r->conn[i]) : tpu_conn_done(r->conn[i])))
			return false;
	}
	return true;
}

static int
poll_timeout_ms(const struct run *r, uint64_t now, uint64_t deadline)
{
	uint64_t next = deadline;

	for (unsigned i = 0; i < r->connections; i++) {
		uint64_t t = tpu_conn_expiry(r->conn[i]);

		if (t < next)
			next = t;
	}
	return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

/* A server that must close the connection may acknowledge the offending stream first, so a run
 * that expects a close waits a second longer for it. */
static void
loop(struct run *r)
{
	struct client *cl = &r->cl;
	uint64_t now = clock_ns(), deadline = now + cl->timeout_ns, next_line = now + SECOND_NS;
	uint64_t linger_end = 0;

	while (!stop && now < deadline) {
		for (unsigned i = 0; i < r->connections; i++)
			tpu_conn_run(r->conn[i]);
		now = clock_ns();
		if (now >= next_line) {
			fprintf(stderr, "sent %llu acknowledged %llu of %llu\n",
				(unsigned long long)cl->sent, (unsigned long long)cl->acked,
				(unsigned long long)(cl->count + cl->n_specials));
			next_line += SECOND_NS;
		}
		if (all_done(r, true))
			return;
		if (all_done(r, false)) {
			if (!r->expect_close)
				return;
			if (linger_end == 0)
				linger_end = now + SECOND_NS;
			if (now >= linger_end)
				return;
		}
		poll(r->poll, r->connections,
			poll_timeout_ms(r, now, next_line < deadline ? next_line : deadline));
	}
}

static int
run(struct run *r)
{
	int rc = gnutls_certificate_allocate_credentials(&r->cl.cred);
	unsigned opened = 0;

	if (rc == 0)
		rc = client_cert_load(r->cl.cred, r->cert, r->cl.gen.seed);
	if (rc == 0 && r->early_data) {
		rc = tpu_tls_ticket(r->cl.cred, &r->ticket);
		r->cl.ticket = &r->ticket;
	}
	if (rc != 0) {
		fprintf(stderr, "client certificate or ticket: %s\n", gnutls_strerror(rc));
		return 1;
	}
	for (; opened < r->connections; opened++) {
		r->conn[opened] = tpu_conn_open(&r->cl);
		if (!r->conn[opened])
			break;
		r->poll[opened] =
			(struct pollfd){.fd = tpu_conn_fd(r->conn[opened]), .events = POLLIN};
	}
	if (opened == r->connections)
		loop(r);
	for (unsigned i = 0; i < opened; i++)
		tpu_conn_close(r->conn[i]);
	gnutls_certificate_free_credentials(r->cl.cred);
	gnutls_free(r->ticket.data);
	report(&r->cl);
	return r->cl.acked == r->cl.count + r->cl.n_specials ? 0 : 1;
}

int
main(int argc, char **argv)
{
	static struct run r;
	struct sigaction sa = {.sa_handler = on_signal};
	int rc = 2;

	if (sodium_init() < 0)
		return 1;
	if (!parse(&r, argc, argv)) {
		fputs(usage, stderr);
	} else if (r.dump) {
		rc = dump(&r.cl);
	} else {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
		rc = run(&r);
	}
	for (unsigned i = 0; i < r.cl.n_specials; i++)
		free(r.specials[i].data);
	if (r.cl.acked_log)
		fclose(r.cl.acked_log);
	return rc;
}
