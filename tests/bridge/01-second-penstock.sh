#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# client, penstock, bridge, and a second penstock as the validator: every transaction arrives once.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_served
start_second
start_bridge "connections = 4"
wait_for 10 bridge_connected || fail "the bridge does not connect"
spawn check "$FEED_CHECK" --count "$COUNT" --timeout 300 "$TMP/second/tpu.0"
CHECK_PID=$PID
# it makes what it expects first
wait_for 60 grep -q "consumer is here" "$TMP/second.log" || fail "the validator's consumer does not start"
client_sends_all "$NGTCP2" --count "$COUNT" --connections 4 --timeout 140
wait "$CHECK_PID" || fail "the validator did not get what was sent: $(cat "$TMP/check.out")"
wait_for 10 bridge_settled "$COUNT" || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
[ "$(bridge_value delivered) $(bridge_value lost) $(bridge_value aged)" = "$COUNT 0 0" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
pass "$COUNT transactions, each once; half within $(bridge_value latency_p50_us) us"
