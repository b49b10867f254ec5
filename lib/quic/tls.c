/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ps_be.h"
#include "ps_privilege.h"
#include "ps_spsc.h"
#include "tls_backend.h"

/* The helper naps when it has nothing to do, so that handing it work costs no system call. */
#define NAP_MIN_NS 10000
#define NAP_MAX_NS 100000

enum { CLIENT_HELLO = 1, SERVER_HELLO = 2 };

enum job { JOB_STEP, JOB_END };

/* The peer's handshake messages, RFC 8446 section 4: type, 24-bit length, body. */
struct framing {
	enum ps_level level;
	uint8_t header[4], header_len;
	uint32_t body_left;
};

/* At any time a session is in one place: free, idle with its io, waiting for the budget, or in the
 * rings. The thread that runs the jobs owns h, framing and over; the engine's thread pending and
 * ending; the rest passes between them with the session through the rings. */
struct session {
	struct ps_tls_io *io;       /* NULL once ended */
	struct ps_tls_handshake *h; /* made by the first step */
	struct framing framing;
	enum job job;
	bool over;            /* a step answered DONE or ALERT */
	bool pending;         /* a step is waiting or in the rings */
	bool ending;          /* ps_tls_end() came meanwhile */
	struct session *next; /* of those that wait */
};

struct ps_tls {
	struct ps_spsc todo, done; /* of struct session */
	atomic_bool stop;
	bool server, threaded;
	bool by_helper; /* every step is the helper's, not only slow ones */
	const struct ps_tls_backend *backend;
	struct ps_tls_lib *lib;
	uint32_t budget, ops_left;            /* public-key operations a turn; UINT32_MAX: any */
	struct session *waiting, **last_link; /* list, oldest first */
	uint32_t sessions, free_count;
	struct session *session; /* array */
	struct session **free;   /* stack */
	void **slots;            /* of both rings */
	pthread_t thread;
};

/* Libraries buffer what a message's length announces and join the bytes of different levels, so
 * both are checked here: nothing longer than PS_TLS_IN_MAX, no message across a change of keys
 * (RFC 8446 section 5.1), nothing but hellos before there are keys. 0 or an alert. */
static uint8_t
check_framing(struct framing *f, enum ps_level level, uint8_t hello, const uint8_t *p, size_t len)
{
	if (level != f->level && (f->header_len > 0 || f->body_left > 0))
		return PS_TLS_ALERT_UNEXPECTED_MESSAGE;
	f->level = level;
	while (len > 0) {
		size_t n = len < f->body_left ? len : f->body_left;

		if (n == 0) {
			n = 1;
			f->header[f->header_len++] = *p;
		} else {
			f->body_left -= n;
		}
		p += n;
		len -= n;
		if (f->header_len < sizeof(f->header))
			continue;
		f->header_len = 0;
		f->body_left = ps_be32_load(f->header) & 0xffffff;
		if (level == PS_LEVEL_INITIAL && f->header[0] != hello)
			return PS_TLS_ALERT_UNEXPECTED_MESSAGE;
		if (f->body_left > PS_TLS_IN_MAX)
			return PS_TLS_ALERT_DECODE_ERROR;
	}
	return 0;
}

static enum ps_tls_result
advance(struct ps_tls *t, struct session *s, struct ps_tls_work *w)
{
	struct ps_tls_io *io = s->io;
	enum ps_level level =
		io->secret[PS_LEVEL_HANDSHAKE].ready ? PS_LEVEL_HANDSHAKE : PS_LEVEL_INITIAL;

	if (s->h == NULL)
		s->h = t->backend->begin(t->lib, (uint32_t)(s - t->session), io);
	if (s->h == NULL) {
		io->alert = PS_TLS_ALERT_INTERNAL_ERROR;
		return PS_TLS_ALERT;
	}
	if (io->in_len > 0) {
		io->alert = io->in_level != level ? PS_TLS_ALERT_UNEXPECTED_MESSAGE
						  : check_framing(&s->framing, level,
							    t->server ? CLIENT_HELLO : SERVER_HELLO,
							    io->in, io->in_len);
		if (io->alert != 0)
			return PS_TLS_ALERT;
	}
	return t->backend->step(s->h, w);
}

static void
run_step(struct ps_tls *t, struct session *s, struct ps_tls_work *w)
{
	if (s->over)
		return;
	s->io->result = advance(t, s, w);
	s->over = s->io->result == PS_TLS_DONE || s->io->result == PS_TLS_ALERT;
}

static void
let_go(struct ps_tls *t, struct session *s)
{
	if (s->h != NULL)
		t->backend->end(s->h);
	s->h = NULL;
}

static void *
helper_main(void *arg)
{
	struct ps_tls *t = arg;
	struct timespec nap = {.tv_nsec = NAP_MIN_NS};

	pthread_setname_np(pthread_self(), "ps-tls");
	ps_privilege_keep(0);
	while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
		struct ps_tls_work all = {.ops = UINT32_MAX, .slow = true};
		struct session *s = ps_spsc_pop(&t->todo);

		if (s == NULL) {
			if (t->by_helper && t->backend->prepare != NULL &&
				t->backend->prepare(t->lib))
				continue;
			nanosleep(&nap, NULL);
			nap.tv_nsec = nap.tv_nsec * 2 < NAP_MAX_NS ? nap.tv_nsec * 2 : NAP_MAX_NS;
			continue;
		}
		nap.tv_nsec = NAP_MIN_NS;
		if (s->job == JOB_END)
			let_go(t, s);
		else
			run_step(t, s, &all);
		ps_spsc_push(&t->done, s); /* has room: one entry per session */
	}
	return NULL;
}

bool
ps_tls_begin(struct ps_tls *t, struct ps_tls_io *io)
{
	struct session *s;

	if (t->free_count == 0)
		return false;
	s = t->free[--t->free_count];
	*s = (struct session){.io = io};
	io->session = s;
	io->result = PS_TLS_MORE;
	io->alert = 0;
	io->ended = false;
	memset(io->out_len, 0, sizeof(io->out_len));
	memset(io->secret, 0, sizeof(io->secret));
	io->peer_tp_len = 0;
	io->peer_has_key = false;
	memset(io->peer_key, 0, sizeof(io->peer_key));
	return true;
}

void
ps_tls_poll(struct ps_tls *t, bool idle)
{
	t->ops_left = t->budget;
	if (idle && t->budget != UINT32_MAX && !t->by_helper && t->waiting == NULL &&
		t->backend->prepare(t->lib))
		t->ops_left--;
}

bool
ps_tls_waiting(const struct ps_tls *t)
{
	return t->waiting != NULL;
}

enum outcome {
	ENDED,  /* the step did, io->result says how */
	WAITS,  /* for more operations */
	HANDED, /* to the helper: session and io are not to be touched */
};

/* Runs a step on the engine's thread as far as ops allow. */
static enum outcome
run_inline(struct ps_tls *t, struct session *s, uint32_t *ops)
{
	struct ps_tls_work w = {.ops = *ops, .slow = !t->threaded};

	run_step(t, s, &w);
	if (t->budget != UINT32_MAX)
		*ops = w.ops;
	if (s->io->result != PS_TLS_PENDING)
		return ENDED;
	if (!w.wants_slow)
		return WAITS;
	ps_spsc_push(&t->todo, s); /* has room: one entry per session */
	return HANDED;
}

enum ps_tls_result
ps_tls_step(struct ps_tls *t, struct ps_tls_io *io)
{
	struct session *s = io->session;
	uint32_t none = 0;

	s->job = JOB_STEP;
	s->pending = true;
	if (t->by_helper) {
		ps_spsc_push(&t->todo, s); /* has room: one entry per session */
		return PS_TLS_PENDING;
	}
	/* What is left of the budget belongs to those that wait. */
	switch (run_inline(t, s, t->waiting == NULL ? &t->ops_left : &none)) {
	case ENDED:
		s->pending = false;
		return io->result;
	case WAITS:
		s->next = NULL;
		*t->last_link = s;
		t->last_link = &s->next;
		break;
	case HANDED:
		break;
	}
	return PS_TLS_PENDING;
}

/* Parts session and io; the session becomes free when the library let go of it. */
static void
retire(struct ps_tls *t, struct session *s)
{
	s->io->session = NULL;
	s->io = NULL;
	s->job = JOB_END;
	if (t->by_helper) {
		ps_spsc_push(&t->todo, s);
	} else {
		let_go(t, s);
		t->free[t->free_count++] = s;
	}
}

static struct ps_tls_io *
complete(struct ps_tls *t, struct session *s)
{
	struct ps_tls_io *io = s->io;

	s->pending = false;
	if (s->ending) {
		io->ended = true;
		retire(t, s);
	}
	return io;
}

/* The oldest of those that wait. */
static enum outcome
run_waiting(struct ps_tls *t, struct session *s)
{
	enum outcome o = ENDED;

	if (!s->ending)
		o = t->ops_left == 0 ? WAITS : run_inline(t, s, &t->ops_left);
	if (o == WAITS)
		return o;
	t->waiting = s->next;
	if (t->waiting == NULL)
		t->last_link = &t->waiting;
	return o;
}

struct ps_tls_io *
ps_tls_completed(struct ps_tls *t)
{
	struct session *s;

	while ((s = ps_spsc_pop(&t->done)) != NULL) {
		if (s->job != JOB_END)
			return complete(t, s);
		t->free[t->free_count++] = s;
	}
	while ((s = t->waiting) != NULL) {
		enum outcome o = run_waiting(t, s);

		if (o == ENDED)
			return complete(t, s);
		if (o == WAITS)
			break;
	}
	return NULL;
}

bool
ps_tls_end(struct ps_tls *t, struct ps_tls_io *io)
{
	struct session *s = io->session;

	if (s == NULL)
		return true;
	if (s->pending) {
		s->ending = true;
		return false;
	}
	retire(t, s);
	return true;
}

static bool
allocate_sessions(struct ps_tls *t, uint32_t sessions)
{
	uint32_t capacity = 1;

	while (capacity < sessions)
		capacity *= 2;
	t->session = calloc(sessions, sizeof(t->session[0]));
	t->free = calloc(sessions, sizeof(t->free[0]));
	t->slots = calloc(2 * (size_t)capacity, sizeof(t->slots[0]));
	if (t->session == NULL || t->free == NULL || t->slots == NULL)
		return false;
	ps_spsc_init(&t->todo, t->slots, capacity);
	ps_spsc_init(&t->done, t->slots + capacity, capacity);
	t->sessions = sessions;
	for (uint32_t i = sessions; i > 0; i--)
		t->free[t->free_count++] = &t->session[i - 1];
	return true;
}

static int
start_helper(struct ps_tls *t)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t->thread, NULL, helper_main, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	t->threaded = rc == 0;
	return -rc;
}

static int
set_up(struct ps_tls *t, const struct ps_tls_config *c, struct ps_err *e)
{
	int rc;

	t->server = c->server;
	t->backend = c->server && c->backend == PS_TLS_BUILTIN ? &ps_tls_builtin : &ps_tls_gnutls;
	t->by_helper = c->threaded && (c->budget == 0 || !t->backend->steps_inline);
	t->budget = c->budget == 0 || !t->backend->steps_inline ? UINT32_MAX : c->budget;
	t->ops_left = t->budget;
	t->last_link = &t->waiting;
	if (!allocate_sessions(t, c->sessions))
		return ps_fail(e, ENOMEM, "no memory for %u TLS sessions", c->sessions);
	t->lib = t->backend->lib_new(c, e);
	if (t->lib == NULL)
		return -EINVAL;
	rc = c->threaded ? start_helper(t) : 0;
	return rc < 0 ? ps_fail(e, -rc, "cannot start the TLS thread: %s", strerror(-rc)) : 0;
}

struct ps_tls *
ps_tls_new(const struct ps_tls_config *c, struct ps_err *e)
{
	struct ps_tls *t;

	if (c->sessions == 0 || c->sessions > PS_TLS_SESSIONS_MAX || c->alpn[0] == '\0' ||
		strlen(c->alpn) > PS_ALPN_MAX) {
		ps_fail(e, EINVAL, "TLS needs 1 to %u sessions and an ALPN of 1 to %d bytes",
			PS_TLS_SESSIONS_MAX, PS_ALPN_MAX);
		return NULL;
	}
	t = aligned_alloc(_Alignof(struct ps_tls), sizeof(*t));
	if (t == NULL) {
		ps_fail(e, ENOMEM, "no memory for TLS");
		return NULL;
	}
	memset(t, 0, sizeof(*t));
	if (set_up(t, c, e) < 0) {
		ps_tls_free(t);
		return NULL;
	}
	return t;
}

void
ps_tls_free(struct ps_tls *t)
{
	if (t == NULL)
		return;
	if (t->threaded) {
		atomic_store_explicit(&t->stop, true, memory_order_relaxed);
		pthread_join(t->thread, NULL);
	}
	for (uint32_t i = 0; i < t->sessions; i++)
		let_go(t, &t->session[i]);
	if (t->backend != NULL)
		t->backend->lib_free(t->lib);
	free(t->slots);
	free(t->free);
	free(t->session);
	free(t);
}

void
ps_tls_key_log_line(const struct ps_tls_config *c, const char *label,
	const uint8_t client_random[32], const uint8_t *secret, size_t len)
{
	char line[256];
	int n;

	if (c->key_log == NULL)
		return;
	n = snprintf(line, sizeof(line) - 2 * (32 + PS_HASH_MAX) - 1, "%.64s ", label);
	for (int i = 0; i < 32; i++)
		n += snprintf(line + n, 3, "%02x", client_random[i]);
	line[n++] = ' ';
	for (size_t i = 0; i < len; i++)
		n += snprintf(line + n, 3, "%02x", secret[i]);
	c->key_log(c->key_log_ctx, line);
	explicit_bzero(line, sizeof(line));
}
