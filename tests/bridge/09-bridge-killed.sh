#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator listens on the port that penstock serves, and feed.no_consumer = kernel. The bridge is
# killed: within three seconds the kernel brings the port's packets to the validator, and penstock's
# clients are told that their connections are over, so that one on solana-tpu-client-next goes on. The
# bridge comes back: it delivers what penstock took in between, and what comes then.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_agave
need_streamer
VALIDATOR=0.0.0.0:$TPU_PORT
start_served -o feed.no_consumer=kernel
keypair "$TMP/key.json"
make_senders 1
start_streamer --staked "$TMP/key.json" 1000000000000 "${STAKED[@]}"
VALIDATOR=127.0.0.1:$TPU_PORT
start_bridge "keys = $TMP/key.json" "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 500
wait_for 30 bridge_settled 500 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"

start_steady 50 1000 --linger 2
wait_for 10 bridge_reached delivered 550 || fail "the sender is not served: $(tail -n 1 "$TMP/steady.log")"
[ "$(top_value closed_app)" = 0 ] || fail "penstock closed connections before"
killed=$(monotonic_ns)
kill -KILL "$BRIDGE_PID"
kernel_serves "$killed"
end_steady
told() { [ "$(top_value closed_app)" -ge 1 ] 2>/dev/null; }
wait_for 10 told || fail "penstock did not tell its clients"

start_bridge "keys = $TMP/key.json" "max_age_ms = 0"
wait_for 10 grep -q "is back" "$TMP/penstock.log" || fail "penstock does not come back"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 500 --seed 3
has_all() { [ "$(received 500 --seed 3 | cut -d' ' -f1)" = 0 ]; }
wait_for 30 has_all || fail "the bridge does not go on: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
stop "$STREAMER_PID"
for try in "${TRIED[@]}"; do
	wait "${try#*:}" || continue
	[ "$(received 5 --seed "${try%:*}" | cut -d' ' -f1)" = 0 ] || fail "what was taken in between is lost"
done
pass "the kernel served $TOOK ms after the kill, a connection included; solana-tpu-client-next went on after" \
	"$(arrival gap_ms) ms, $(arrival arrived) of $(arrival sent) arrived"
