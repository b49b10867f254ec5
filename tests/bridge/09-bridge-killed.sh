#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator listens on the port that penstock serves, and feed.no_consumer = kernel. The bridge is
# killed: within three seconds the kernel brings the port's packets to the validator. The bridge comes
# back: it delivers what penstock took in between, and what comes then.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
VALIDATOR=0.0.0.0:$TPU_PORT
start_served -o feed.no_consumer=kernel
keypair "$TMP/key.json"
start_streamer --staked "$TMP/key.json" 1000000000000
VALIDATOR=127.0.0.1:$TPU_PORT
start_bridge "keys = $TMP/key.json" "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 500
wait_for 30 bridge_settled 500 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"

# tries SEED: five transactions, which the validator has soon after. Those that were acknowledged are
# in ACKED.
ACKED=
tries() {
	in_client timeout 3 "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count 5 --seed "$1" \
		--timeout 1 >/dev/null 2>&1 || return 1
	ACKED="$ACKED $1"
	sleep 0.1
	received 5 --seed "$1" | grep -q '^0 '
}

kill -KILL "$BRIDGE_PID"
killed=$(date +%s%N)
seed=100
until tries $seed; do
	seed=$((seed + 1))
	[ $(($(date +%s%N) - killed)) -lt 10000000000 ] || fail "the validator is not reached"
done
took=$((($(date +%s%N) - killed) / 1000000))
[ "$took" -le 3000 ] || fail "the kernel served after $took ms"

start_bridge "keys = $TMP/key.json" "max_age_ms = 0"
wait_for 10 grep -q "is back" "$TMP/penstock.log" || fail "penstock does not come back"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 500 --seed 3
wait_for 30 bridge_settled 500 || fail "the bridge does not go on: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
stop "$STREAMER_PID"
[ "$(received 500 --seed 3 | cut -d' ' -f1)" = 0 ] || fail "not all of the last ones arrived"
for i in $ACKED; do
	[ "$(received 5 --seed "$i" | cut -d' ' -f1)" = 0 ] || fail "what was taken in between is lost"
done
pass "the kernel served $took ms after the kill, a connection included"
