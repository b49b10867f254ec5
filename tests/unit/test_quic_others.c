/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Two workers of one process: the client's address changes, and its datagrams reach the worker that
 * does not have its connection. */

#include <string.h>

#include "cunit_run.h"
#include "raw_peer.h"

static struct raw_server mine, other;
static bool room;
static unsigned int given;
static uint8_t copy[PS_UDP_PAYLOAD_MAX];
static size_t copy_len;
static struct ps_flow4 copy_flow;

static bool
give(void *ctx, uint8_t worker, const struct ps_datagram *dg)
{
	CU_ASSERT_PTR_EQUAL(ctx, &given);
	CU_ASSERT_EQUAL(worker, 3);
	given++;
	copy_len = dg->len;
	copy_flow = dg->flow;
	memcpy(copy, dg->data, dg->len);
	return room;
}

/* A client of worker 3, whose datagrams from now on come from another port to worker 4. */
static struct raw_peer *
start(void)
{
	struct raw_peer *p;

	raw_server_defaults(&mine);
	mine.config.worker = 3;
	raw_server_start(&mine);
	raw_server_defaults(&other);
	other.config.worker = 4;
	other.config.others = (struct ps_quic_others){&given, give};
	raw_server_start(&other);
	given = 0;
	room = true;
	p = raw_handshake(raw_peer_new(&mine, NULL)) ? mine.peer[0] : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	raw_ack(p, PS_LEVEL_APP);
	raw_peer_clear(p);
	raw_move(p, 0, 4711);
	return p;
}

static void
stop(void)
{
	raw_server_stop(&mine);
	raw_server_stop(&other);
}

static size_t
stream(uint8_t *frame, uint64_t id)
{
	size_t n = 0;

	frame[n++] = PS_FRAME_STREAM | 1;
	frame[n++] = (uint8_t)id;
	for (unsigned int i = 0; i < 200; i++)
		frame[n++] = raw_content(id, i);
	return n;
}

static void
test_passed_on(void)
{
	uint8_t frame[300], pkt[PS_UDP_PAYLOAD_MAX], long_pkt[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n = raw_packet(p, PS_LEVEL_APP, frame, stream(frame, 2), NULL, pkt);

	raw_inject(&other, p->flow, pkt, n);
	CU_ASSERT_EQUAL_FATAL(given, 1);
	CU_ASSERT_EQUAL(copy_len, n);
	CU_ASSERT_EQUAL(memcmp(copy, pkt, n), 0); /* as it came */
	CU_ASSERT_EQUAL(copy_flow.sport_be, p->flow.sport_be);
	CU_ASSERT_EQUAL(other.stats->handed_over, 1);
	CU_ASSERT_EQUAL(other.stats->packets_rx, 0);
	raw_inject(&mine, copy_flow, copy, copy_len);
	raw_pump(&mine);
	CU_ASSERT_EQUAL(mine.delivered, 1);
	CU_ASSERT_PTR_NOT_NULL(raw_last(p, PS_FRAME_PATH_CHALLENGE));
	/* a long header names its connection likewise */
	n = raw_packet(p, PS_LEVEL_HANDSHAKE, "\x01", 1, NULL, long_pkt);
	raw_inject(&other, p->flow, long_pkt, n);
	CU_ASSERT_EQUAL(given, 2);
	CU_ASSERT_EQUAL(other.stats->handed_over, 2);
	stop();
}

static void
test_no_room(void)
{
	uint8_t pkt[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, NULL, pkt);

	room = false;
	raw_inject(&other, p->flow, pkt, n);
	CU_ASSERT_EQUAL(given, 1);
	CU_ASSERT_EQUAL(other.stats->handed_over, 0);
	CU_ASSERT_EQUAL(other.drops.n[PS_DROP_QUIC_OTHER_WORKER], 1);
	stop();
}

/* What is passed on is known to be ours, or a stranger could fill the rings. */
static void
test_only_ids_we_made(void)
{
	uint8_t pkt[PS_UDP_PAYLOAD_MAX];
	struct raw_peer *p = start();
	size_t n = raw_packet(p, PS_LEVEL_APP, "\x01", 1, NULL, pkt);

	for (unsigned int bit = 0; bit < 128; bit++) {
		pkt[1 + bit / 8] ^= 1u << (bit % 8);
		raw_inject(&other, p->flow, pkt, n);
		pkt[1 + bit / 8] ^= 1u << (bit % 8);
	}
	CU_ASSERT_EQUAL(given, 0);
	CU_ASSERT_EQUAL(other.drops.n[PS_DROP_QUIC_NO_CONN], 128);
	stop();
}

static CU_TestInfo tests[] = {
	{"passed on, and served there", test_passed_on},
	{"no room", test_no_room},
	{"only ids that we made", test_only_ids_we_made},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	CU_SuiteInfo suites[] = {
		{"quic_others", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	return cunit_run(suites);
}
