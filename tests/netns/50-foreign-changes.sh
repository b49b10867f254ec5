#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Somebody changes what the interface's packets depend on while penstock runs: channels; a socket
# taken out of the program's map, which no readback shows, only that packets go elsewhere. Noticed
# within two periods of the watch, said in log, telemetry and top, and put back or stopped.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

channels() { in_server ethtool -l srv | awk '/^Current/ { now = 1 } now && /^RX:/ { print $2 }'; }
[ "$(channels)" = 1 ] || in_server ethtool -L srv rx 1 || skip "veth has no channels to set here"
in_server ethtool -L srv rx 2 2>/dev/null || skip "veth has no channels to set here"
in_server ethtool -L srv rx 1
says() { tail -n +$((READ + 1)) "$TMP/penstock.log" | grep -q -- "$1"; }
READ=0

# A period far too long: the announcement is enough.
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=60000 -- --no-pci
in_server ethtool -L srv rx 2 || fail "ethtool -L"
wait_for 5 says "its channels were changed by somebody: .*rx=1.* -> .*rx=2" || fail "the log does not say what was changed"
says "alarm: the kernel has other rules or settings" || fail "there is no alarm"
wait_for 5 eval '[ "$(channels)" = 1 ]' || fail "there are $(channels) channels, not 1 as before"
# To put them back is announced too, and looked at.
wait_for 5 says "rules are in place again" || fail "the end of the alarm is not said"
[ "$(info port0_losses)" = 1 ] && [ "$(info port0_alarm)" = 0 ] || fail "telemetry does not count the loss"
client_wire send $SERVER_ADDR 8001 10
feed_has udp 10
# Mended, and not yet seen again: the alarm stands, with its cause.
map=$(program_map ps_allow)
if [ -n "$map" ]; then
	bpftool map delete id "$map" key hex 0a 4d 00 02 1f 41 00 00 || fail "bpftool map delete"
	"$PENSTOCK" flows --verify --name "$INSTANCE" >/dev/null || fail "flows --verify ends with $?"
	[ "$(info port0_alarm)" = 1 ] && [ "$(info alarms)" = 1 ] || fail "telemetry does not tell the alarm"
	[ "$(info port0_cause)" = "the kernel has other rules or settings" ] || fail "telemetry does not tell the cause"
	"$PENSTOCK" top --once --name "$INSTANCE" | grep -q "srv .*; ALARM: the kernel has other" || fail "top does not show the cause"
	"$PENSTOCK" flows --verify --name "$INSTANCE" >/dev/null || fail "flows --verify ends with $?"
	[ "$(info port0_alarm)" = 0 ] && [ -z "$(info port0_cause)" ] || fail "the alarm does not end"
fi
stop_penstock

# The socket leaves the map: all reads back as it was, and the kernel gets every packet.
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=500 -- --no-pci
map=$(program_map xsks_map)
if [ -n "$map" ]; then
	client_wire send $SERVER_ADDR 8001 10
	wait_for 3 eval '[ "$(flows right)" -eq 10 ]' || fail "$(flows right) packets before, expected 10"
	bpftool map delete id "$map" key hex 00 00 00 00 || fail "bpftool map delete"
	[ "$(flows states --verify)" = proven ] || fail "the readback shows it, so this shows nothing"
	spawn sender in_client python3 "$NETNS_DIR/wire.py" send $SERVER_ADDR 8001 200 100 20
	# Two periods, and a slow machine's time.
	wait_for 4 says "alarm: packets arrive by another way" || fail "packets that go elsewhere are not noticed"
	wait_for 5 says "rules are in place again" || fail "the alarm stays"
	wait "$PID"
	before=$(flows right)
	client_wire send $SERVER_ADDR 8001 10
	wait_for 3 eval '[ "$(flows right)" -eq $((before + 10)) ]' || fail "$(flows right) packets after, expected $((before + 10))"
	has_flows losses 1 || fail "$(flows losses) losses, expected 1"
fi
stop_penstock

# on_rule_loss = stop: with code 1, and the kernel has the traffic.
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=500 -o penstock.on_rule_loss=stop -- --no-pci
in_server ethtool -L srv rx 2
wait_for 5 gone "$PENSTOCK_PID" || fail "penstock goes on"
wait "$PENSTOCK_PID"
[ $? -eq 1 ] || fail "penstock did not end with code 1"
log_says "other rules or settings: its traffic is left to the kernel" || fail "the last line does not say what follows"
has_no_program || fail "a program is on the interface"
[ "$(channels)" = 2 ] || fail "the channels of somebody else are set at the end"
[ "$(kernel_gets)" -eq 50 ] || fail "the kernel does not have the traffic"
pass "channels, and a socket that left the program's map: noticed, put back or stopped as configured"
