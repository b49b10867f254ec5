#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A deny list: datagrams to a service from a source in it are dropped and counted, others are
# delivered; what else the source sends is the kernel's, and so is everything once penstock ended.
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
printf '10.77.0.128/25 # half of them\n' >"$TMP/deny"
refused 1 "port net" "deny: only AF_XDP" "path = af_xdp" -- $DENY -o port.net.path=socket -- --no-pci
timeout 30 ip netns exec "$NSS" "$PENSTOCK" run -c "$TMP/penstock.ini" $DENY \
	-o port.net.device=net_ring0 -- --no-pci --vdev net_ring0 >/dev/null 2>"$TMP/ring.log" &&
	fail "a deny list on net_ring0 is not refused"
grep -q "deny: only AF_XDP" "$TMP/ring.log" || fail "net_ring0: $(cat "$TMP/ring.log")"

start_penstock "$TMP/penstock.ini" $DENY -- --no-pci
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

stop_penstock
[ "$(kernel_gets)" -eq 50 ] || fail "the kernel does not have the traffic of the denied source after the end"
pass "50 datagrams of a denied source dropped, 40 of another delivered"
