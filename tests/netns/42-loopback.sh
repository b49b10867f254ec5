#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Senders on the host itself reach its address through lo only: a second port there, in generic mode
# with buffers of its own, serves them beside the real one.

. "$(dirname "$0")/../interop/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
need_ngtcp2
make_bed
write_conf "$TMP/penstock.ini"
cat >>"$TMP/penstock.ini" <<CONF
[port here]
device = lo
CONF

refused 1 "port here" "sysctl net.ipv4.conf.lo.accept_local=1" -- -- --no-pci
# check says so too, with the command, and asks nothing of lo that its other traffic would suffer from.
in_server "$PENSTOCK" check -c "$TMP/penstock.ini" >"$TMP/check.txt"
grep -q '^not *sysctl *net/ipv4/conf/lo/accept_local' "$TMP/check.txt" || fail "check does not ask for accept_local"
grep -q '^ok *mtu *lo' "$TMP/check.txt" || fail "check would have another MTU on lo"
sed -n 's/^ *\* \(.*[ .]lo[ .].*\)/\1/p' "$TMP/check.txt" >"$TMP/advice.sh"
grep -q 'tx-udp-segmentation off' "$TMP/advice.sh" || fail "check does not name segmentation on lo"
in_server sh -e "$TMP/advice.sh" >/dev/null || fail "the advice cannot be followed: $(cat "$TMP/advice.sh")"
in_server "$PENSTOCK" check -c "$TMP/penstock.ini" | grep -E '^(not|partial) .* (lo |net/ipv4)' && fail "check asks for more on lo"
in_server sysctl -q -w net.ipv4.conf.lo.accept_local=1 || skip "sysctl net.ipv4.conf.lo.accept_local fails here"
start_penstock "$TMP/penstock.ini" -- --no-pci
[ "$(info port0_mode)" = "af_xdp driver copy" ] || fail "the first port is $(info port0_mode)"
[ "$(info port1_mode)" = "af_xdp generic copy" ] || fail "lo is $(info port1_mode)"
log_says "driver mode -> generic" || fail "generic mode is not announced"

client_wire send $SERVER_ADDR 8001 100
server_wire send $SERVER_ADDR 8001 150
feed_has udp 250

# The same service by both ports at once, from a client on each side.
start_check 2000 --seed 7
client_sends_all "$NGTCP2" --count 2000 --seed 7
end_check
start_check 2000 --seed 8
in_server timeout 150 "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count 2000 --seed 8 \
	>"$TMP/client.out" 2>"$TMP/client.log" || fail "a client on the host: $(tail -n 1 "$TMP/client.out")"
end_check
[ "$(top_value rx_udp_checksum)" -eq 0 ] || fail "packets on lo were refused by their checksum"
server_wire echo 127.0.0.1 || fail "lo does not carry other traffic"
stop_penstock
ip -n "$NSS" -d link show lo | grep -q prog/xdp && fail "a program is left on lo"
has_no_program || fail "a program is left on srv"

# Beside a port that no kernel has, as a VF is: what the host sends is served through lo alone, and
# its kernel gets none of it.
sed -i 's/^device = srv/device = net_ring0/' "$TMP/penstock.ini"
rm -rf "$FEEDS"
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" -- --no-pci --vdev net_ring0
PENSTOCK_PID=$PID
wait_for 20 serving_somehow || fail "penstock does not start on net_ring0 and lo"
[ "$(info port0_path)" = pmd ] && [ "$(info port1_mode)" = "af_xdp generic copy" ] \
	|| fail "the ports are $(info port0_path) and $(info port1_mode)"
spawn kernel in_server_exec python3 "$NETNS_DIR/wire.py" receive 8001 4 60
wait_for 5 in_server sh -c 'ss -lun | grep -q ":8001 "' || fail "no socket on port 8001"
KERNEL=$PID
server_wire send $SERVER_ADDR 8001 60
feed_has udp 60
wait "$KERNEL"
[ "$(cat "$TMP/kernel.out")" = 0 ] || fail "the kernel got $(cat "$TMP/kernel.out") of the datagrams"
stop_penstock
pass "local and remote senders, 310 datagrams and 4,000 transactions; beside a port without a kernel too"
