#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A validator that throttles gets the sender with the most stake first, and a share of the turns goes
# to those without. SIGHUP reads the stakes again; a bad file changes nothing.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer

has_read_all() { [ "$(received 300 --seed 11 | cut -d' ' -f1)" = 0 ] \
	&& [ "$(received 300 --seed 12 | cut -d' ' -f1)" = 0 ]; }

start_served
printf 'staked_map_id:\n  %s: 9\n' "$(seed_key 11)" >"$TMP/stakes"
start_bridge "stakes = $TMP/stakes" "max_age_ms = 0" "connections = 1" "streams = 16"
wait_for 10 bridge_has feeds 1 || fail "the bridge does not read the feed"
echo nonsense >"$TMP/stakes"
kill -HUP "$BRIDGE_PID"
wait_for 5 grep -q "stay as they were" "$TMP/bridge.log" || fail "a bad file was taken"
printf 'staked_map_id:\n  %s: 5\n  %s: 9\n' "$(seed_key 12)" "$(seed_key 13)" >"$TMP/stakes"
kill -HUP "$BRIDGE_PID"
wait_for 5 grep -q "2 stakes" "$TMP/bridge.log" || fail "the stakes were not read again"
for seed in 11 12 13; do
	client_sends_all "$NGTCP2" --count 300 --seed $seed
done
wait_for 10 bridge_has waiting 900 || fail "the bridge does not hold: $(tail -n 1 "$TMP/bridge.out")"
start_streamer
wait_for 60 has_read_all || fail "not everything arrived: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
read -r without _ <<<"$(order 200 300 --seed 11)"
read -r _ less <<<"$(order 200 300 --seed 12)"
read -r most_first most <<<"$(order 200 300 --seed 13)"
[ "$without" -ge 25 ] && [ "$without" -le 55 ] || fail "$without of the first 200 are of the client without stake"
[ "$most_first" -ge 130 ] || fail "$most_first of the first 200 are of the client with the most stake"
[ "$most" -lt "$less" ] || fail "the larger stake came later: $most, $less"
pass "of the first 200: $most_first of the largest stake, $without without stake"
