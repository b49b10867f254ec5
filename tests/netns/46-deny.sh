#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A deny list: datagrams to a service from a source in it are dropped and counted, others are
# delivered; what else the source sends is the kernel's, and so is everything once penstock ended.
# The list that somebody changed in the kernel is put back. SIGHUP reads the file again, whole or not.
# Bad lists, and paths that cannot drop, are refused in one line.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
DENY="-o port.net.deny=$TMP/deny"

refused 1 "port net" "$TMP/deny" "No such file" -- $DENY -- --no-pci
printf '# one\n10.77.1.0/24\n10.77.1.1/24\n' >"$TMP/deny"
refused 1 "port net" "$TMP/deny:3: '10.77.1.1/24'" -- $DENY -- --no-pci
sed "s|^device = srv|&\ndeny = $TMP/deny|" "$TMP/penstock.ini" >"$TMP/deny.ini"
in_server "$PENSTOCK" check -c "$TMP/deny.ini" | grep -q "^not *deny *net .*deny:3: '10.77.1.1/24'" || fail "check does not find the bad line"
printf '10.77.0.128/25 # half of them\n' >"$TMP/deny"
in_server "$PENSTOCK" check -c "$TMP/deny.ini" | grep -q "^ok *deny *net .*1 prefix" || fail "check does not show the list"
refused 1 "port net" "deny: only AF_XDP" "path = af_xdp" -- $DENY -o port.net.path=socket -- --no-pci
timeout 30 ip netns exec "$NSS" "$PENSTOCK" run -c "$TMP/penstock.ini" $DENY \
	-o port.net.device=net_ring0 -- --no-pci --vdev net_ring0 >/dev/null 2>"$TMP/ring.log" &&
	fail "a deny list on net_ring0 is not refused"
grep -q "deny: only AF_XDP" "$TMP/ring.log" || fail "net_ring0: $(cat "$TMP/ring.log")"

start_penstock "$TMP/penstock.ini" $DENY -o penstock.watch_ms=500 -- --no-pci
client_wire send $SERVER_ADDR 8001 40
wait_for 3 eval '[ "$(top_value redirected)" -ge 40 ]' || fail "an address that is not in the list is not served"
[ "$(top_value denied)" -eq 0 ] || fail "$(top_value denied) denied, expected none"

# The client moves to an address of the list.
ip -n "$NSC" addr add 10.77.0.200/24 dev cli
ip -n "$NSC" addr del "$CLIENT_ADDR/24" dev cli
ip -n "$NSC" addr show dev cli | grep -q 10.77.0.200 || ip -n "$NSC" addr add 10.77.0.200/24 dev cli
client_wire send $SERVER_ADDR 8001 30
client_wire send $SERVER_ADDR 8002 20
wait_for 3 eval '[ "$(top_value denied)" -eq 50 ]' || fail "$(top_value denied) denied, expected 50"
"$PENSTOCK" top --once --name "$INSTANCE" | grep -q "denied by source .*50" || fail "top does not show it"
client_wire echo $SERVER_ADDR || fail "other traffic of a denied source does not reach the kernel"
feed_has udp 40
[ "$(top_value published)" -eq 40 ] || fail "$(top_value published) records published, expected 40"

# Somebody takes the prefix out of the kernel's list, and puts one in that denies nobody's friend.
map=$(program_map ps_deny)
entries() { bpftool -j map dump id "$map" | python3 -c 'import json, sys; print(*sorted(int.from_bytes(bytes(int(x, 16) for x in e["key"][:4]), "little") for e in json.load(sys.stdin)))'; }
losses=0
if [ -n "$map" ]; then
	bpftool map delete id "$map" key hex 19 00 00 00 0a 4d 00 80 || fail "bpftool map delete"
	wait_for 3 log_says "deny list has 0 prefixes, not the 1" || fail "a prefix that is gone is not noticed"
	wait_for 3 eval '[ "$(entries)" = 25 ]' || fail "the kernel's list has prefixes of length $(entries), expected 25"
	wait_for 3 eval '[ "$(info port0_alarm)" = 0 ]' || fail "the alarm does not end"
	bpftool map update id "$map" key hex 08 00 00 00 0a 00 00 00 value hex 00 00 00 00 || fail "bpftool map update"
	wait_for 3 log_says "somebody put 10.0.0.0/8 into" || fail "a prefix of somebody else's is not noticed"
	wait_for 3 eval '[ "$(entries)" = 25 ]' || fail "the kernel's list has prefixes of length $(entries), expected 25"
	losses=2
	has_flows losses 2 || fail "$(flows losses) losses, expected 2"
fi
client_wire send $SERVER_ADDR 8001 10
wait_for 3 eval '[ "$(top_value denied)" -eq 60 ]' || fail "$(top_value denied) denied, expected 60"

# A bad file changes nothing, and costs one line; a good one is taken.
printf '10.77.1.0/24\nnonsense\n' >"$TMP/deny"
kill -HUP "$PENSTOCK_PID"
wait_for 3 log_says "deny:2: 'nonsense' is no IPv4 prefix.*the list of 1 prefixes stays" || fail "a bad list is not told in one line"
client_wire send $SERVER_ADDR 8001 10
wait_for 3 eval '[ "$(top_value denied)" -eq 70 ]' || fail "$(top_value denied) denied after a bad list, expected 70"
printf '10.77.1.0/24\n192.0.2.0/24\n' >"$TMP/deny"
kill -HUP "$PENSTOCK_PID"
wait_for 3 eval '[ "$(info port0_deny_loads)" = 2 ]' || fail "the new list is not read"
[ "$(info port0_deny_prefixes)" = 2 ] || fail "$(info port0_deny_prefixes) prefixes, expected 2"
client_wire send $SERVER_ADDR 8001 5
feed_has udp 5
rm "$TMP/deny" && mkfifo "$TMP/deny"
kill -HUP "$PENSTOCK_PID"
wait_for 3 log_says "the list of 2 prefixes stays" || fail "a pipe is not refused"
[ "$(flows states --verify)" = proven ] && has_flows losses $losses || fail "$(flows losses) losses after reading again, expected $losses"
alive "$PENSTOCK_PID" || fail "SIGHUP ends penstock"

stop_penstock
[ "$(kernel_gets)" -eq 50 ] || fail "the kernel does not have the traffic of the denied source after the end"
pass "datagrams of a denied source dropped, others delivered; a changed list put back, another one read, bad ones refused"
