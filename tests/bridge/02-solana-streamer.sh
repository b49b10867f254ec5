#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Agave's own QUIC server as the validator, the bridge as a peer with stake: byte-identical, each once.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
start_served
keypair "$TMP/key.json"
start_streamer --staked "$TMP/key.json" 1000000000000
start_bridge "keys = $TMP/key.json" "connections = 8"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count "$COUNT" --connections 4 --timeout 140
wait_for 60 bridge_settled "$COUNT" || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
validator_reads "$COUNT"
stop "$STREAMER_PID"
[ "$(received "$COUNT")" = "0 0 0" ] || fail "missing, repeated, foreign: $(received "$COUNT")"
[ "$(bridge_value delivered) $(bridge_value lost)" = "$COUNT 0" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
pass "$COUNT transactions, each once; half within $(bridge_value latency_p50_us) us"
