/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ranges.h"

#include <string.h>

void
ps_ranges_init(struct ps_ranges *s)
{
	s->floor = 0;
	s->n = 0;
}

/* Index of the first range that holds v, touches it or lies below it; s->n when none does. */
static uint32_t
find(const struct ps_ranges *s, uint64_t v)
{
	uint32_t i = 0;

	while (i < s->n && s->r[i].lo > v + 1)
		i++;
	return i;
}

bool
ps_ranges_contains(const struct ps_ranges *s, uint64_t v)
{
	if (v < s->floor)
		return true;
	for (uint32_t i = 0; i < s->n; i++) {
		if (v >= s->r[i].lo)
			return v <= s->r[i].hi;
	}
	return false;
}

static void
remove_at(struct ps_ranges *s, uint32_t i)
{
	s->n--;
	memmove(&s->r[i], &s->r[i + 1], (s->n - i) * sizeof(s->r[0]));
}

static void
insert_at(struct ps_ranges *s, uint32_t i, uint64_t v)
{
	if (s->n == PS_RANGES_MAX) {
		/* Room is made at the low end, where v itself may stand. */
		if (i == s->n) {
			s->floor = v + 1;
			return;
		}
		s->n--;
		s->floor = s->r[s->n].hi + 1;
	}
	memmove(&s->r[i + 1], &s->r[i], (s->n - i) * sizeof(s->r[0]));
	s->r[i].lo = s->r[i].hi = v;
	s->n++;
}

bool
ps_ranges_add(struct ps_ranges *s, uint64_t v)
{
	uint32_t i;

	if (s->n > 0 && v == s->r[0].hi + 1) {
		s->r[0].hi = v;
		return true;
	}
	if (v < s->floor)
		return false;
	i = find(s, v);
	if (i == s->n || v > s->r[i].hi + 1) {
		insert_at(s, i, v);
		return true;
	}
	if (v == s->r[i].hi + 1) {
		s->r[i].hi = v;
		return true;
	}
	if (v >= s->r[i].lo)
		return false;
	s->r[i].lo = v;
	if (i + 1 < s->n && s->r[i + 1].hi + 1 == v) {
		s->r[i].lo = s->r[i + 1].lo;
		remove_at(s, i + 1);
	}
	return true;
}

void
ps_ranges_forget(struct ps_ranges *s, uint64_t v)
{
	if (v < s->floor)
		return;
	s->floor = v + 1;
	while (s->n > 0 && s->r[s->n - 1].hi <= v)
		s->n--;
	if (s->n > 0 && s->r[s->n - 1].lo <= v)
		s->r[s->n - 1].lo = v + 1;
}
