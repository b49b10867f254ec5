#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator is killed and comes back: only what was under way is lost, and it is counted.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
start_served
keypair "$TMP/key.json"
STAKED="--staked $TMP/key.json 1000000000000"
start_streamer $STAKED
start_bridge "keys = $TMP/key.json" "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
spawn client in_client "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count "$COUNT" \
	--connections 4 --timeout 140
CLIENT_PID=$PID
wait_for 30 test -s "$TMP/received" || fail "nothing arrives"
kill -KILL "$STREAMER_PID"
sleep 3
start_streamer $STAKED
wait "$CLIENT_PID" || fail "not all streams were acknowledged: $(tail -n 1 "$TMP/client.out")"
wait_for 60 bridge_settled "$COUNT" || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
stop "$STREAMER_PID"
read -r missing repeated foreign <<<"$(received "$COUNT")"
lost=$(bridge_value lost)
# 4 connections of 128 streams; as many may have been acknowledged and not read when it was killed
[ "$lost" -le 512 ] || fail "$lost were lost, more than can be under way"
[ "$missing" -le $((lost + 512)) ] || fail "$missing are missing, $lost are counted as lost"
[ "$repeated $foreign" = "0 0" ] || fail "$repeated came twice, $foreign were never sent"
[ $(($(bridge_value delivered) + lost)) -eq "$COUNT" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
[ "$(bridge_value opened)" -ge 8 ] || fail "the connections were not opened again"
pass "$missing of $COUNT missing, $lost counted as lost, none repeated"
