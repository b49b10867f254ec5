#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Several feeds, keys and connections; feeds that are made later are found.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
begin
BRIDGE_FEEDS="$FEEDS/tpu.*, $FEEDS/udp.0"
mkdir -p "$FEEDS"
keypair "$TMP/a.json"
keypair "$TMP/b.json"
make_bed
start_streamer --staked "$TMP/a.json" 1000000000000 --staked "$TMP/b.json" 1000000000000
chmod 755 "$TMP"
start_bridge "keys = $TMP/a.json, $TMP/b.json" "connections = 3" "duplicates = 0" "max_age_ms = 0"
wait_for 10 bridge_has connections 6 || fail "not all connect: $(tail -n 1 "$TMP/bridge.out")"
bridge_has feeds 0 || fail "there are feeds already"
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -o feed.group=nogroup -- --no-pci
wait_for 10 bridge_has feeds 2 || fail "the feeds are not found: $(tail -n 1 "$TMP/bridge.out")"
client_wire send $SERVER_ADDR 8001 100
client_sends_all "$NGTCP2" --count 2000
wait_for 30 bridge_settled 2100 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
validator_reads 2100
stop "$STREAMER_PID"
[ "$(received 2000 | cut -d' ' -f1)" = 0 ] || fail "missing, repeated, others: $(received 2000)"
[ "$(bridge_value delivered) $(bridge_value lost)" = "2100 0" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
pass "two feeds over six connections of two keys"
