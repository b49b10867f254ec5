#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator listens on the port that penstock serves. Penstock is killed: the kernel brings the
# port's packets to the validator within three seconds, and a sender on solana-tpu-client-next goes on
# as soon as it has noticed. Penstock comes back: the bridge delivers again.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_agave
need_streamer
VALIDATOR=0.0.0.0:$TPU_PORT
start_served
keypair "$TMP/key.json"
make_senders 1
start_streamer --staked "$TMP/key.json" 1000000000000 "${STAKED[@]}"
VALIDATOR=127.0.0.1:$TPU_PORT
start_bridge "keys = $TMP/key.json"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 500
wait_for 30 bridge_settled 500 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
[ "$(received 500)" = "0 0 0" ] || fail "missing, repeated, foreign: $(received 500)"

start_steady 50 1250 --linger 2
wait_for 10 bridge_reached delivered 550 || fail "the sender is not served: $(tail -n 1 "$TMP/steady.log")"
killed=$(monotonic_ns)
kill -KILL "$PENSTOCK_PID"
kernel_serves "$killed"
end_steady

start_penstock "$TMP/penstock.ini" -o quic.stream_deadline_ms=30000 -o feed.group=nogroup \
	-- --no-pci
client_sends_all "$NGTCP2" --count 500 --seed 3
has_all() { [ "$(received 500 --seed 3 | cut -d' ' -f1)" = 0 ]; }
wait_for 30 has_all || fail "the bridge does not go on: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
pass "the kernel served $TOOK ms after the kill, a connection included; solana-tpu-client-next went on after" \
	"$(arrival gap_ms) ms, $(arrival arrived) of $(arrival sent) arrived"
