/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "relay.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>

#define LINKTYPE_RAW   101
#define IP_UDP_BYTES   28
#define REORDER_NS     (5 * RELAY_MS) /* held back for so long */
#define PACKET_BITS(n) (8ull * ((n) + IP_UDP_BYTES))

/* splitmix64 */
uint64_t
relay_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool
chance(uint64_t random, double p)
{
	return (double)(random >> 11) < p * (double)(1ull << 53);
}

static bool
is_lost(const struct relay_link *link, struct relay_dir_state *d, uint64_t random)
{
	if (d->run_left > 0) {
		d->run_left--;
		return true;
	}
	if (!chance(random, link->loss))
		return false;
	d->run_left = link->loss_run - 1;
	return true;
}

static bool
is_swallowed(const struct relay_link *link, uint64_t now)
{
	uint64_t period = link->blackhole_on_ns + link->blackhole_off_ns;

	return link->blackhole_off_ns > 0 && (now - link->start) % period >= link->blackhole_on_ns;
}

/* False when the queue is full. */
static bool
queue(const struct relay_link *link, struct relay_dir_state *d, struct relay_datagram *g,
	uint64_t now)
{
	if (link->rate_bps == 0) {
		g->arrive = now + link->delay_ns;
		return true;
	}
	while (d->waiting > 0 && d->departure[d->first] <= now) {
		d->first = (d->first + 1) % RELAY_QUEUE_MAX;
		d->waiting--;
	}
	if (d->waiting == RELAY_QUEUE_MAX || (link->queue > 0 && d->waiting >= link->queue))
		return false;
	if (d->free_at < now)
		d->free_at = now;
	d->departure[(d->first + d->waiting++) % RELAY_QUEUE_MAX] = d->free_at;
	d->free_at += PACKET_BITS(g->len) * 1000000000ull / link->rate_bps;
	g->arrive = d->free_at + link->delay_ns;
	return true;
}

/* The same draws for every datagram, whatever becomes of it. */
bool
relay_link_take(const struct relay_link *link, struct relay_dir_state *d, struct relay_datagram *g,
	uint64_t now, bool *again)
{
	uint64_t loss = relay_random(&d->random), corrupt = relay_random(&d->random);
	uint64_t place = relay_random(&d->random), reorder = relay_random(&d->random);
	uint64_t dup = relay_random(&d->random);
	unsigned *in_row = &g->flow->spoiled_in_row[g->dir];
	bool may_spoil = link->spoil_max == 0 || *in_row < link->spoil_max;
	bool lost = is_lost(link, d, loss) && may_spoil;
	bool spoiled = !lost && may_spoil && g->len > 0 && chance(corrupt, link->corrupt);

	*again = false;
	*in_row = lost || spoiled ? *in_row + 1 : 0;
	d->n++;
	if (is_swallowed(link, now)) {
		d->swallowed++;
		return false;
	}
	if (lost || (g->dir == RELAY_TO_SERVER && d->n >= link->drop_first &&
			    d->n <= link->drop_last)) {
		d->lost++;
		return false;
	}
	if (!queue(link, d, g, now)) {
		d->overflow++;
		return false;
	}
	if (spoiled) {
		g->data[place % g->len] ^= (uint8_t)(1 + (place >> 32) % 255);
		d->corrupted++;
	}
	if (chance(reorder, link->reorder)) {
		g->arrive += REORDER_NS;
		d->reordered++;
	}
	if (chance(dup, link->dup)) {
		*again = true;
		d->duplicated++;
	}
	d->passed++;
	return true;
}

FILE *
relay_pcap_open(const char *path)
{
	const uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, LINKTYPE_RAW};
	FILE *f = fopen(path, "wb");

	if (f && fwrite(header, sizeof(header), 1, f) != 1) {
		fclose(f);
		return NULL;
	}
	return f;
}

static void
put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Checksums stay 0. */
void
relay_pcap_write(FILE *f, const struct relay_datagram *g, const struct sockaddr_in *from,
	const struct sockaddr_in *to)
{
	uint8_t ip[IP_UDP_BYTES] = {0x45, g->ecn, [8] = 64, [9] = IPPROTO_UDP};
	uint32_t len = (uint32_t)sizeof(ip) + g->len;
	struct timespec ts;
	uint32_t record[4];

	clock_gettime(CLOCK_REALTIME, &ts);
	record[0] = (uint32_t)ts.tv_sec;
	record[1] = (uint32_t)(ts.tv_nsec / 1000);
	record[2] = record[3] = len;
	put16(ip + 2, len);
	memcpy(ip + 12, &from->sin_addr, 4);
	memcpy(ip + 16, &to->sin_addr, 4);
	memcpy(ip + 20, &from->sin_port, 2);
	memcpy(ip + 22, &to->sin_port, 2);
	put16(ip + 24, 8u + g->len);
	fwrite(record, sizeof(record), 1, f);
	fwrite(ip, sizeof(ip), 1, f);
	fwrite(g->data, g->len, 1, f);
}
