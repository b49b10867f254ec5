#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Over plain UDP: every transaction is one datagram; when the port is closed that is counted.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_served
cat >"$TMP/second.ini" <<CONF
[penstock]
name = $INSTANCE-2
memory = no-huge
idle = sleep
[port here]
device = lo
path = socket
[feed]
dir = $TMP/second
size_mb = 16
[service tpu]
kind = udp
address = 127.0.0.1
port = 9009
CONF
start_bridge "protocol = udp" "max_age_ms = 0"
client_sends_all "$NGTCP2" --count 50
wait_for 10 bridge_settled 50 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
bridge_reached refused 1 || fail "a closed port was not seen"
spawn second in_server_exec "$PENSTOCK" run -c "$TMP/second.ini" -- --no-pci
wait_for 15 test -e "$TMP/second/tpu.0" || fail "the validator does not start"
sleep 1
client_sends_all "$NGTCP2" --count 2000 --seed 2
wait_for 10 bridge_settled 2050 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
end_bridge
[ "$(bridge_value delivered)" = 2050 ] || fail "the bridge counts: $(tail -n 1 "$TMP/bridge.out")"
timeout 20 "$PENSTOCK" feed "$TMP/second/tpu.0" --json --count 2000 >"$TMP/records.json" \
	|| fail "$(wc -l <"$TMP/records.json") of 2000 datagrams arrived"
[ "$(python3 -c 'import json, sys; print(len({json.loads(l)["sequence"] for l in sys.stdin}), sep="")' \
	<"$TMP/records.json")" = 2000 ] || fail "records are missing"
pass "2000 datagrams"
