/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "seen.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int
ps_bridge_seen_new(struct ps_bridge_seen *s, uint32_t n, const uint8_t key[16])
{
	*s = (struct ps_bridge_seen){.n = n, .mask = 2 * n - 1};
	memcpy(s->key, key, sizeof(s->key));
	if (n == 0)
		return 0;
	s->table = calloc(2 * (size_t)n, sizeof(*s->table));
	s->ring = calloc(n, sizeof(*s->ring));
	return s->table == NULL || s->ring == NULL ? -ENOMEM : 0;
}

void
ps_bridge_seen_free(struct ps_bridge_seen *s)
{
	free(s->table);
	free(s->ring);
}

uint64_t
ps_bridge_seen_hash(const struct ps_bridge_seen *s, const uint8_t *bytes, size_t len)
{
	uint64_t hash;

	_Static_assert(crypto_shorthash_BYTES == sizeof(hash), "");
	_Static_assert(crypto_shorthash_KEYBYTES == sizeof(s->key), "");
	crypto_shorthash((uint8_t *)&hash, bytes, len, s->key);
	return hash != 0 ? hash : 1;
}

/* Its place, or the free one where it would be. */
static uint32_t
find(const struct ps_bridge_seen *s, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & s->mask;

	while (s->table[i].hash != 0 && s->table[i].hash != hash)
		i = (i + 1) & s->mask;
	return i;
}

/* Moves up what would no longer be found behind the hole. */
static void
empty(struct ps_bridge_seen *s, uint32_t hole)
{
	for (uint32_t i = (hole + 1) & s->mask; s->table[i].hash != 0; i = (i + 1) & s->mask) {
		const uint32_t home = (uint32_t)s->table[i].hash & s->mask;

		if (((i - home) & s->mask) < ((i - hole) & s->mask))
			continue;
		s->table[hole] = s->table[i];
		hole = i;
	}
	s->table[hole].hash = 0;
}

bool
ps_bridge_seen_add(struct ps_bridge_seen *s, uint64_t hash)
{
	uint32_t i;

	if (s->n == 0)
		return true;
	if (s->table[find(s, hash)].hash != 0)
		return false;
	i = find(s, s->ring[s->next]);
	/* the oldest one, unless it was forgotten, and perhaps added again elsewhere */
	if (s->ring[s->next] != 0 && s->table[i].hash != 0 && s->table[i].at == s->next)
		empty(s, i);
	i = find(s, hash);
	s->table[i].hash = hash;
	s->table[i].at = s->next;
	s->ring[s->next] = hash;
	s->next = (s->next + 1) & (s->n - 1);
	return true;
}

void
ps_bridge_seen_forget(struct ps_bridge_seen *s, uint64_t hash)
{
	uint32_t i;

	if (s->n == 0)
		return;
	i = find(s, hash);
	if (s->table[i].hash != 0)
		empty(s, i);
}
