#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator throttles (it takes 200 a second from a peer without stake): what is too old is
# discarded and counted, all else arrives once, and with max_age_ms = 0 the senders are held back.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_streamer
all_read() { [ "$(received 3000 | cut -d' ' -f1)" = "$(bridge_value aged)" ]; }
start_served
start_streamer
start_bridge "connections = 2" "max_age_ms = 1500"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 3000 --timeout 140
wait_for 60 bridge_settled 3000 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
# what was acknowledged waits in the validator until it may be read
wait_for 60 all_read || fail "the validator read $(received 3000)"
end_bridge
stop "$STREAMER_PID"
read -r missing repeated foreign <<<"$(received 3000)"
aged=$(bridge_value aged)
[ "$missing $repeated $foreign" = "$aged 0 0" ] \
	|| fail "$missing missing, $aged discarded, $repeated repeated, $foreign foreign"
[ "$aged" -gt 0 ] || fail "nothing was discarded: the validator did not throttle"
[ "$(bridge_value throttle_ms)" -gt 0 ] || fail "the bridge did not see that it is throttled"
[ "$(bridge_value delivered) $(bridge_value lost)" = "$((3000 - aged)) 0" ] \
	|| fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
pass "$((3000 - aged)) delivered, $aged too old"
