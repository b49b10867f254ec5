#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Twenty senders with stake connect while forged Initials and clients that come and go flood the port:
# with Penstock before the validator every transaction of theirs arrives once. tests/bench/bridge.sh
# tells what happens without it.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_agave
need_streamer
start_served
make_senders 20
open_ways
keypair "$TMP/key.json"
start_streamer --staked "$TMP/key.json" 1000000000000
start_bridge "keys = $TMP/key.json" "stakes = $TMP/stakes" "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
start_flood 12 1000 50
flooded() { [ "$(top_value handshakes_started)" -ge 100 ]; }
wait_for 10 flooded || fail "the flood does not come: $(tail -n 1 "$TMP/flood.log")"
start_steady 200 1000 --linger 8
wait "$STEADY_PID" || fail "the senders: $(tail -n 1 "$TMP/steady.log")"
wait "$FLOOD_PID" || fail "the flood: $(tail -n 1 "$TMP/flood.log")"
wait_for 30 bridge_reached taken 1000 || fail "the bridge took: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
arrivals
[ "$(arrival arrived) $(arrival repeated) $(arrival foreign)" = "1000 0 0" ] || fail "of 1000: $(cat "$TMP/arrivals.out")"
spoofed=$(field spoofed "$TMP/flood.out") churned=$(field churn_done "$TMP/flood.out")
[ "$spoofed" -ge 6000 ] && [ "$churned" -ge 300 ] || fail "the flood was none: $(cat "$TMP/flood.out")"
[ "$(top_value retries_tx)" -gt 0 ] || fail "no client had to prove its address"
all_progress
pass "1000 of 1000 beside $spoofed forged Initials and $churned clients"
