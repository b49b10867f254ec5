/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The state file of init and fini. What is read, written again, is read as the same. */

#include <inttypes.h>
#include <string.h>

#include "fuzz.h"
#include "state.h"

static int
parse(struct ps_state *s, const void *text, size_t len)
{
	char *copy = calloc(1, len + 1);
	struct ps_err e = {""};
	int rc;

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, text, len);
	ps_state_close(s);
	memset(s, 0, offsetof(struct ps_state, change));
	s->lock_fd = -1;
	rc = ps_state_parse(s, copy, &e);
	FUZZ_CHECK(rc <= 0 && (rc == 0) == (e.text[0] == '\0'));
	free(copy);
	return rc;
}

static char *
write_text(const struct ps_state *s, size_t *len)
{
	char *text;
	FILE *f = open_memstream(&text, len);

	FUZZ_CHECK(f != NULL);
	fprintf(f, "penstock-state 1\nboot %s\n", s->boot);
	if (s->undo_ns != 0)
		fprintf(f, "undo %" PRIu64 "\n", s->undo_ns);
	for (unsigned int i = 0; i < s->n; i++) {
		const struct ps_change *c = &s->change[i];

		fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\n", c->done ? "done" : "open", c->kind,
			c->target, c->key, c->old, c->new_value);
	}
	fprintf(f, "end %u\n", s->n);
	fclose(f);
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ps_state s = {.lock_fd = -1}, again = {.lock_fd = -1};
	size_t len, again_len;
	char *text, *again_text;

	if (parse(&s, data, size) != 0)
		return 0;
	FUZZ_CHECK(s.n <= PS_STATE_CHANGES && memchr(s.boot, '\0', sizeof(s.boot)) != NULL);
	text = write_text(&s, &len);
	FUZZ_CHECK(parse(&again, text, len) == 0);
	again_text = write_text(&again, &again_len);
	FUZZ_CHECK(len == again_len && memcmp(text, again_text, len) == 0);
	for (unsigned int i = 0; i < s.n; i++) {
		const struct ps_change *c = &s.change[i];

		FUZZ_CHECK(ps_state_find(&s, c->kind, c->target, c->key) != NULL);
	}
	free(text);
	free(again_text);
	return 0;
}
