#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator does not want every fourth transaction and stops its stream: that is told apart from
# what is lost with a connection, and the connections go on.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_aioquic
start_served
spawn stopper in_server_exec "$AIOQUIC_VENV/bin/python3" -B "$INTEROP_DIR/aioquic/stopper.py" 9009
STOPPER=$PID
wait_for 20 test -s "$TMP/stopper.out" || fail "the validator does not start"
start_bridge "max_age_ms = 0" "connections = 2"
wait_for 20 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 400
wait_for 30 bridge_settled 400 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
alive "$STOPPER" || fail "the validator has ended"
read -r stopped taken < <(tail -n 1 "$TMP/stopper.out")
[ "$stopped" -ge 90 ] || fail "the validator stopped $stopped of 400"
end_bridge
# one whose packet was acknowledged with an earlier one's is delivered to all that the bridge can know
rejected=$(bridge_value rejected)
[ "$rejected" -le "$stopped" ] && [ "$rejected" -ge $((stopped / 2)) ] \
	&& [ "$(bridge_value delivered)" = $((400 - rejected)) ] \
	|| fail "$stopped stopped, $taken taken; the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
[ "$(bridge_value lost) $(bridge_value failed) $(bridge_value opened)" = "0 0 2" ] \
	|| fail "connections ended: $(tail -n 1 "$TMP/bridge.out")"
pass "$rejected of 400 rejected, the others delivered"
