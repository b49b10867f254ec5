#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Legacy and v0 transactions above 1,232 bytes are dropped and counted; the connection lives.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
"$NGTCP2" --dump --count 1 --sizes 1233-1233 | tail -c +5 >"$TMP/legacy.bin"
"$NGTCP2" --dump --count 2 --sizes 4000-4000 | tail -c 4000 >"$TMP/v0.bin"
start_check 100
client_sends_all "$NGTCP2" --raw "$TMP/legacy.bin" --raw "$TMP/v0.bin" --count 100
end_check
dropped=$(top_value tpu_oversized)
[ "$dropped" -eq 2 ] || fail "tpu_oversized counts $dropped, 2 were sent"
pass "an oversized legacy and a v0 transaction were dropped and counted, the next 100 arrived"
