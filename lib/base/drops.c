/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ps_drops.h"

const struct ps_drop_info ps_drop_info[PS_DROP_COUNT] = {
#define X(sym, key, help) {key, help},
	PS_DROPS(X)
#undef X
};
