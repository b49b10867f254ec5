#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator takes 1,000 a second (--tpu-max-streams-per-ms), far below a tenth of what the bridge
# delivers to one that does not throttle, from a bridge with stake and max_age_ms = 0: what the feed
# holds goes in the order of stakes, what it has no room for waits with its sender, and all of it
# arrives once.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
start_served
keypair "$TMP/key.json"
printf 'staked_map_id:\n  %s: 5\n  %s: 9\n' "$(seed_key 22)" "$(seed_key 23)" >"$TMP/stakes"
start_bridge "keys = $TMP/key.json" "stakes = $TMP/stakes" "max_age_ms = 0" "connections = 2" "streams = 64" \
	"unstaked_percent = 0"
for seed in 21 22 23; do
	client_sends_all "$NGTCP2" --count 1000 --seed $seed
done
CLIENTS=()
for seed in 31 32 33; do
	spawn "client.$seed" in_client_exec "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count 3000 --seed $seed \
		--timeout 140 --idle 60
	CLIENTS+=("$PID")
done
# 4 MB in the feed, which has what the bridge holds, too, and 512 streams of each client: not half of it
refused() { [ "$(top_value credit_refused)" -gt 0 ] 2>/dev/null; }
wait_for 60 refused || fail "no sender was held back"
start_streamer --staked "$TMP/key.json" 1000000000000 --streams-per-ms 1
wait_for 60 bridge_reached delivered 1000 || fail "the bridge does not deliver: $(tail -n 1 "$TMP/bridge.out")"
alive "${CLIENTS[0]}" || alive "${CLIENTS[1]}" || alive "${CLIENTS[2]}" || fail "no sender had to wait"
for client in "${CLIENTS[@]}"; do
	wait "$client" || fail "a sender was cut off"
done
wait_for 60 bridge_settled 12000 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
validator_reads 12000
end_bridge
stop "$STREAMER_PID"
for seed in 21:1000 22:1000 23:1000 31:3000 32:3000 33:3000; do
	got=$(received "${seed#*:}" --seed "${seed%:*}")
	[ "${got% *}" = "0 0" ] || fail "missing, repeated, others of $seed: $got"
done
[ "$(bridge_value delivered) $(bridge_value lost) $(bridge_value aged)" = "12000 0 0" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
[ "$(bridge_value throttle_ms)" -gt 0 ] || fail "the bridge did not see that it is throttled"
read -r without_first without <<<"$(order 1000 1000 --seed 21)"
read -r _ less <<<"$(order 1000 1000 --seed 22)"
read -r most_first most <<<"$(order 1000 1000 --seed 23)"
[ "$most" -lt "$less" ] && [ "$less" -lt "$without" ] || fail "half of each had come after $most, $less, $without"
[ "$most_first" -ge 700 ] || fail "of the first 1000 $most_first are of the largest stake, $without_first without"
pass "half of each had come after $most, $less, $without; of the first 1000 $most_first are of the largest stake"
