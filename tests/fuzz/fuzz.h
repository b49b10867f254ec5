/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What every harness needs. A harness defines LLVMFuzzerTestOneInput() and nothing else; libFuzzer
 * or replay_main.c calls it. */
#ifndef PS_FUZZ_H
#define PS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a harness did with an input, in a number: the same input has to do the same again, whatever
 * came between. A harness with a state that lives longer than an input takes notes. */
__attribute__((weak)) uint64_t fuzz_notes;

static inline void
fuzz_note(uint64_t value)
{
	fuzz_notes = (fuzz_notes ^ value) * 0x9e3779b97f4a7c15;
	fuzz_notes ^= fuzz_notes >> 29;
}

/* A property that must hold for every input. */
#define FUZZ_CHECK(cond)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
