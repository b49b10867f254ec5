#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Half of what comes are duplicates, from a second client: the validator gets each once.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
start_served
keypair "$TMP/key.json"
start_streamer --staked "$TMP/key.json" 1000000000000
start_bridge "keys = $TMP/key.json" "duplicates = 131072"
wait_for 10 bridge_connected || fail "the bridge does not connect"
spawn first in_client "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count "$COUNT" --timeout 140
FIRST_PID=$PID
client_sends_all "$NGTCP2" --count "$COUNT" --timeout 140
wait "$FIRST_PID" || fail "not all streams were acknowledged: $(tail -n 1 "$TMP/first.out")"
wait_for 60 bridge_settled $((2 * COUNT)) || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
validator_reads "$COUNT"
stop "$STREAMER_PID"
[ "$(received "$COUNT")" = "0 0 0" ] || fail "missing, repeated, foreign: $(received "$COUNT")"
[ "$(bridge_value delivered) $(bridge_value duplicate)" = "$COUNT $COUNT" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
pass "$COUNT of $((2 * COUNT)) delivered, the others were duplicates"
