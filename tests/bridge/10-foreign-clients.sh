#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What validators and RPC nodes send with, through penstock and the bridge into what validators receive
# with: quinn, then solana-tpu-client-next, into solana-streamer.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_quinn
need_agave
need_streamer
start_served
keypair "$TMP/key.json"
start_streamer --staked "$TMP/key.json" 1000000000000
start_bridge "keys = $TMP/key.json" "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$QUINN" --count "$COUNT" --seed 31
wait_for 60 bridge_settled "$COUNT" || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
[ "$(received "$COUNT" --seed 31)" = "0 0 0" ] \
	|| fail "missing, repeated, foreign: $(received "$COUNT" --seed 31)"
transactions "$COUNT" --seed 32
client_sends_all "$AGAVE" --count "$COUNT" --from-file "$TMP/transactions"
wait_for 60 bridge_settled $((2 * COUNT)) || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
validator_reads $((2 * COUNT))
stop "$STREAMER_PID"
[ "$(received "$COUNT" --seed 32)" = "0 0 $COUNT" ] \
	|| fail "missing, repeated, of the first client: $(received "$COUNT" --seed 32)"
pass "$COUNT transactions of each, each once"
