/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The built-in server inline with a budget: how many public-key operations a turn does, who comes
 * first, and what goes to the helper thread. */

#include <gnutls/abstract.h>

#include "cunit_run.h"
#include "tls_craft.h"
#include "tls_raw.h"

static const struct hello plain;

static struct ps_tls_config
budgeted(uint32_t budget, bool threaded)
{
	struct ps_tls_config c = config(true, threaded);

	c.budget = budget;
	return c;
}

static enum ps_tls_result
give(struct craft *c, struct ps_tls *t, enum ps_level level, const uint8_t *in, uint16_t len)
{
	c->to.io.in_level = level;
	c->to.io.in = in;
	c->to.io.in_len = len;
	c->to.result = ps_tls_step(t, &c->to.io);
	return c->to.result;
}

static enum ps_tls_result
give_hello(struct craft *c, struct ps_tls *t, const struct hello *h)
{
	craft_make_hello(c, h);
	return give(c, t, PS_LEVEL_INITIAL, c->hello[0], c->hello_len[0]);
}

static enum ps_tls_result
give_flight(struct craft *c, struct ps_tls *t)
{
	craft_keys(c);
	craft_good_flight(c);
	return give(c, t, PS_LEVEL_HANDSHAKE, c->flight, c->flight_len);
}

/* Turns until an io comes back. */
static unsigned int
turns(struct ps_tls *t, struct ps_tls_io **io)
{
	for (unsigned int n = 1; n < 100; n++) {
		ps_tls_poll(t, false);
		*io = ps_tls_completed(t);
		if (*io != NULL)
			return n;
	}
	return 100;
}

static void
test_one_operation_a_turn(void)
{
	struct ps_tls_config s = budgeted(1, false);
	struct ps_tls_io *io;
	struct craft c;

	craft_open_with(&c, &s);
	CU_ASSERT_FALSE(ps_tls_waiting(c.to.tls));
	CU_ASSERT_EQUAL(give_hello(&c, c.to.tls, &plain), PS_TLS_PENDING);
	CU_ASSERT_TRUE(ps_tls_waiting(c.to.tls));
	/* The budget is spent: nothing moves before the next turn. */
	CU_ASSERT_PTR_NULL(ps_tls_completed(c.to.tls));
	CU_ASSERT_PTR_NULL(ps_tls_completed(c.to.tls));
	/* The share was the first; Diffie-Hellman and the signature take one turn each. */
	CU_ASSERT_EQUAL(turns(c.to.tls, &io), 2);
	CU_ASSERT_PTR_EQUAL(io, &c.to.io);
	CU_ASSERT_EQUAL(io->result, PS_TLS_MORE);
	CU_ASSERT_FALSE(ps_tls_waiting(c.to.tls));
	CU_ASSERT_EQUAL(give_flight(&c, c.to.tls), PS_TLS_PENDING);
	CU_ASSERT_EQUAL(turns(c.to.tls, &io), 1);
	CU_ASSERT_EQUAL(io->result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(memcmp(io->secret[PS_LEVEL_APP].rx, c.client_app, 32), 0);
	craft_close(&c);
}

static void
test_enough_budget(void)
{
	struct ps_tls_config s = budgeted(4, false);
	struct ps_tls_io *io;
	struct craft c;

	craft_open_with(&c, &s);
	CU_ASSERT_EQUAL(give_hello(&c, c.to.tls, &plain), PS_TLS_MORE);
	CU_ASSERT_EQUAL(give_flight(&c, c.to.tls), PS_TLS_DONE);
	craft_again(&c); /* all four are spent */
	CU_ASSERT_EQUAL(give_hello(&c, c.to.tls, &plain), PS_TLS_PENDING);
	CU_ASSERT_EQUAL(turns(c.to.tls, &io), 1);
	CU_ASSERT_EQUAL(give_flight(&c, c.to.tls), PS_TLS_DONE);
	craft_close(&c);
}

/* A share made ahead saves one operation, once, and is nobody else's. */
static void
test_prepared_share(void)
{
	struct ps_tls_config s = budgeted(2, false);
	uint8_t first[32];
	struct craft c;

	craft_open_with(&c, &s);
	ps_tls_poll(c.to.tls, true);
	ps_tls_poll(c.to.tls, false);
	CU_ASSERT_EQUAL(give_hello(&c, c.to.tls, &plain), PS_TLS_MORE);
	memcpy(first, find_share(&c), 32);
	craft_again(&c);
	ps_tls_poll(c.to.tls, true);
	ps_tls_poll(c.to.tls, false);
	CU_ASSERT_EQUAL(give_hello(&c, c.to.tls, &plain), PS_TLS_MORE);
	CU_ASSERT_NOT_EQUAL(memcmp(first, find_share(&c), 32), 0);
	craft_again(&c);
	ps_tls_poll(c.to.tls, false);
	CU_ASSERT_EQUAL(give_hello(&c, c.to.tls, &plain), PS_TLS_PENDING);
	ps_tls_poll(c.to.tls, false);
	CU_ASSERT_PTR_NOT_NULL(ps_tls_completed(c.to.tls));
	craft_close(&c);
}

static void
begin(struct craft *c, struct ps_tls *t)
{
	uint8_t seed[32];

	memset(c, 0, sizeof(*c));
	ps_hash_init(&c->transcript, 32);
	c->secret[0] = 8;
	memset(seed, SEED_CLIENT, sizeof(seed));
	ps_ed25519_key(c->key, seed);
	c->to.io.tp_len = 10;
	CU_ASSERT_TRUE_FATAL(ps_tls_begin(t, &c->to.io));
}

/* Those that wait are served in the order they came, before anything new; what costs nothing is
 * answered at once. */
static void
test_order(void)
{
	static const struct hello bad = {.drop = 16};
	struct ps_tls_config s = budgeted(3, false);
	struct ps_tls *t = ps_tls_new(&s, NULL);
	static struct craft c[4];
	struct ps_tls_io *io;

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	for (int i = 0; i < 4; i++)
		begin(&c[i], t);
	CU_ASSERT_EQUAL(give_hello(&c[0], t, &plain), PS_TLS_MORE);
	CU_ASSERT_EQUAL(give_hello(&c[1], t, &plain), PS_TLS_PENDING);
	CU_ASSERT_EQUAL(give_hello(&c[2], t, &plain), PS_TLS_PENDING);
	ps_tls_poll(t, false);
	/* There is budget again, but it is theirs. */
	CU_ASSERT_EQUAL(give_flight(&c[0], t), PS_TLS_PENDING);
	CU_ASSERT_EQUAL(give_hello(&c[3], t, &bad), PS_TLS_ALERT);
	CU_ASSERT_EQUAL(c[3].to.io.alert, 120);
	CU_ASSERT_PTR_EQUAL(ps_tls_completed(t), &c[1].to.io);
	CU_ASSERT_PTR_NULL(ps_tls_completed(t));
	CU_ASSERT_EQUAL(turns(t, &io), 1);
	CU_ASSERT_PTR_EQUAL(io, &c[2].to.io);
	CU_ASSERT_PTR_NULL(ps_tls_completed(t));
	CU_ASSERT_EQUAL(turns(t, &io), 1);
	CU_ASSERT_PTR_EQUAL(io, &c[0].to.io);
	CU_ASSERT_EQUAL(io->result, PS_TLS_DONE);
	CU_ASSERT_EQUAL(give_flight(&c[1], t), PS_TLS_DONE);
	CU_ASSERT_EQUAL(give_flight(&c[2], t), PS_TLS_DONE);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_TRUE(ps_tls_end(t, &c[i].to.io));
	ps_tls_free(t);
}

/* Ended while it waits: it comes back at the next opportunity, at no cost. */
static void
test_end_while_waiting(void)
{
	struct ps_tls_config s = budgeted(1, false);
	struct ps_tls *t = ps_tls_new(&s, NULL);
	static struct craft c[3];

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	for (int i = 0; i < 3; i++) {
		begin(&c[i], t);
		CU_ASSERT_EQUAL(give_hello(&c[i], t, &plain), PS_TLS_PENDING);
	}
	for (int i = 0; i < 2; i++)
		CU_ASSERT_FALSE(ps_tls_end(t, &c[i].to.io));
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_PTR_EQUAL(ps_tls_completed(t), &c[i].to.io);
		CU_ASSERT_TRUE(c[i].to.io.ended);
		CU_ASSERT_PTR_NULL(c[i].to.io.session);
	}
	CU_ASSERT_PTR_NULL(ps_tls_completed(t));
	for (int i = 0; i < 2; i++)
		CU_ASSERT_TRUE(ps_tls_begin(t, &c[i].to.io));
	ps_tls_free(t); /* one of them still waits */
}

/* Signatures of other keys than Ed25519 go to the helper, and meanwhile the rest goes on inline. */
static void
test_slow_signature(void)
{
	struct ps_tls_config s = budgeted(100, true);
	static struct craft quick;
	struct raw r;

	raw_open_with(&r, true, true, false, &s);
	raw_certificate(&r, GNUTLS_PK_RSA, 2048, 1);
	raw_step(&r);
	CU_ASSERT_EQUAL(raw_give(&r, PS_LEVEL_INITIAL), PS_TLS_MORE);
	raw_answer(&r);
	CU_ASSERT_EQUAL(raw_give(&r, PS_LEVEL_HANDSHAKE), PS_TLS_PENDING);
	CU_ASSERT_FALSE(ps_tls_waiting(r.to.tls));
	begin(&quick, r.to.tls);
	CU_ASSERT_EQUAL(give_hello(&quick, r.to.tls, &plain), PS_TLS_MORE);
	CU_ASSERT_EQUAL(give_flight(&quick, r.to.tls), PS_TLS_DONE);
	CU_ASSERT_PTR_EQUAL(wait_completed(r.to.tls), &r.to.io);
	CU_ASSERT_EQUAL(r.to.io.result, PS_TLS_DONE);
	CU_ASSERT_FALSE(r.to.io.peer_has_key);
	CU_ASSERT_TRUE(ps_tls_end(r.to.tls, &quick.to.io));
	raw_close(&r);
}

static void
test_end_while_helper_works(void)
{
	struct ps_tls_config s = budgeted(100, true);
	struct raw r;

	raw_open_with(&r, true, true, false, &s);
	raw_certificate(&r, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1), 1);
	raw_step(&r);
	CU_ASSERT_EQUAL(raw_give(&r, PS_LEVEL_INITIAL), PS_TLS_MORE);
	raw_answer(&r);
	CU_ASSERT_EQUAL(raw_give(&r, PS_LEVEL_HANDSHAKE), PS_TLS_PENDING);
	CU_ASSERT_FALSE(ps_tls_end(r.to.tls, &r.to.io));
	CU_ASSERT_PTR_EQUAL(wait_completed(r.to.tls), &r.to.io);
	CU_ASSERT_TRUE(r.to.io.ended);
	CU_ASSERT_TRUE(ps_tls_begin(r.to.tls, &r.to.io));
	raw_close(&r);
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"one operation a turn", test_one_operation_a_turn},
		{"budget for a whole handshake", test_enough_budget},
		{"share made ahead", test_prepared_share},
		{"order", test_order},
		{"end while waiting", test_end_while_waiting},
		{"slow signature", test_slow_signature},
		{"end while the helper works", test_end_while_helper_works},
		CU_TEST_INFO_NULL,
	};
	static CU_SuiteInfo suites[] = {
		{"tls turns", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
