#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator listens on the port that penstock serves. Penstock is killed: the kernel brings the
# port's packets to the validator within three seconds. It comes back: the bridge delivers again.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
VALIDATOR=0.0.0.0:$TPU_PORT
start_served
keypair "$TMP/key.json"
start_streamer --staked "$TMP/key.json" 1000000000000
VALIDATOR=127.0.0.1:$TPU_PORT
start_bridge "keys = $TMP/key.json"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 500
wait_for 30 bridge_settled 500 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
[ "$(received 500)" = "0 0 0" ] || fail "missing, repeated, foreign: $(received 500)"

kill -KILL "$PENSTOCK_PID"
killed=$(date +%s%N)
until in_client timeout 3 "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count 5 --seed 2 \
	--timeout 1 >/dev/null 2>&1; do
	[ $(($(date +%s%N) - killed)) -lt 10000000000 ] || fail "nobody serves the port"
done
took=$((($(date +%s%N) - killed) / 1000000))
[ "$took" -le 3000 ] || fail "the kernel served after $took ms"
bridge_reached taken 501 && fail "these came through the bridge"

start_penstock "$TMP/penstock.ini" -o quic.stream_deadline_ms=30000 -o feed.group=nogroup \
	-- --no-pci
client_sends_all "$NGTCP2" --count 500 --seed 3
wait_for 30 bridge_settled 1000 || fail "the bridge does not go on: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
pass "the kernel served $took ms after the kill, a connection included"
