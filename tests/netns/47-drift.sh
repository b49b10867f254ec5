#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The validator's ports change under a running penstock: an alarm in log, telemetry and top, once,
# that ends when they fit again. A file that is missing or half written is told, and changes nothing.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
CONTACT=$TMP/contact.json
sed -i "s|^\[penstock\]|&\ncontact_info = $CONTACT|" "$TMP/penstock.ini"

# contact TPU [NAME]: the validator announces these ports; its QUIC is six above TPU.
contact() {
	printf '{"id":"Vote111111111111111111111111111111111111111","gossip":"%s:8000","tpu":"%s:%s","%s":"%s:8001"}\n' \
		$SERVER_ADDR $SERVER_ADDR "$1" "${2:-tpu_forwards}" $SERVER_ADDR >"$CONTACT.new"
	mv "$CONTACT.new" "$CONTACT"
}
drifts() { [ "$(info contact_drifts)" = "$1" ]; }
said() { grep -c -- "$1" "$TMP/penstock.log"; }

contact 8003
in_server "$PENSTOCK" check -c "$TMP/penstock.ini" | grep -q "^ok *contact *tpu" || fail "check does not read the file"
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=200 -- --no-pci
sleep 1
drifts 0 || fail "an alarm although all ports fit"

# The TPU moves.
contact 8004 tpu_forwards
wait_for 5 drifts 1 || fail "$(info contact_drifts) services drifted, expected 1"
[ "$(info alarms)" -eq 1 ] || fail "$(info alarms) alarms, expected 1"
log_says "alarm: \[service tpu\] .*$SERVER_ADDR:8010, and port 8009 is served" || fail "the log does not say what differs"
"$PENSTOCK" top --once --name "$INSTANCE" | grep -q ALARM || fail "top does not show the alarm"
touch "$CONTACT"
sleep 1
[ "$(said 'alarm: ')" -eq 1 ] || fail "the alarm is said $(said 'alarm: ') times"
client_wire send $SERVER_ADDR 8001 10
feed_has udp 10

contact 8004 tvu
wait_for 5 drifts 2 || fail "the validator's tvu on a service's port is not seen"
log_says "alarm: \[service udp\] .*tvu" || fail "the log does not name tvu"
printf '{"id":' >"$CONTACT"
wait_for 5 log_says "is not JSON" || fail "half a file is not told"
drifts 2 || fail "half a file changes the alarm"
rm "$CONTACT"
mkfifo "$CONTACT"
sleep 1
drifts 2 || fail "a pipe changes the alarm"
contact 8003
wait_for 5 drifts 0 || fail "the alarm does not end"
log_says "\[service tpu\] fits" || fail "the end of the alarm is not said"

# A udp service that was the validator's, and is no longer.
printf '{"id":"V","gossip":"%s:8000","tpu":"%s:8003"}\n' $SERVER_ADDR $SERVER_ADDR >"$CONTACT.new"
mv "$CONTACT.new" "$CONTACT"
wait_for 5 drifts 1 || fail "a socket that is announced no more is not seen"
stop_penstock
pass "the validator's ports moved, and moved back: an alarm, and its end"
