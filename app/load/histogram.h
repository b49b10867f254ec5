/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Counts of values, 16 classes to each power of two: percentiles are right within 1/16. One thread
 * adds; others may read without order. */
#ifndef PS_APP_HISTOGRAM_H
#define PS_APP_HISTOGRAM_H

#include <stdint.h>

#define PS_HISTOGRAM_SUB     16
#define PS_HISTOGRAM_CLASSES (64 * PS_HISTOGRAM_SUB)

struct ps_histogram {
	uint64_t n, max;
	uint64_t count[PS_HISTOGRAM_CLASSES];
};

static inline unsigned int
ps_histogram_class(uint64_t v)
{
	unsigned int shift;

	if (v < PS_HISTOGRAM_SUB)
		return (unsigned int)v;
	shift = 63 - (unsigned int)__builtin_clzll(v) - 4;
	return (shift + 1) * PS_HISTOGRAM_SUB + (unsigned int)(v >> shift) - PS_HISTOGRAM_SUB;
}

static inline void
ps_histogram_add(struct ps_histogram *h, uint64_t v)
{
	h->count[ps_histogram_class(v)]++;
	h->n++;
	if (v > h->max)
		h->max = v;
}

/* The lower end of a class. */
static inline uint64_t
ps_histogram_from(unsigned int class)
{
	if (class < PS_HISTOGRAM_SUB)
		return class;
	return (uint64_t)(PS_HISTOGRAM_SUB + class % PS_HISTOGRAM_SUB)
	       << (class / PS_HISTOGRAM_SUB - 1);
}

/* The lower end of the class that holds the value which a share of all is not above; 0 when there
 * is none. */
static inline uint64_t
ps_histogram_at(const struct ps_histogram *h, double share)
{
	uint64_t left = (uint64_t)((double)h->n * share);

	for (unsigned int i = 0; h->n > 0 && i < PS_HISTOGRAM_CLASSES; i++) {
		if (h->count[i] <= left) {
			left -= h->count[i];
			continue;
		}
		return ps_histogram_from(i);
	}
	return h->max;
}

#endif
