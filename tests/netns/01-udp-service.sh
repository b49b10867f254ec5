#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Datagrams of a configured UDP port arrive in its feed; everything else reaches the kernel.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -- --no-pci

ip -n "$NSC" neigh flush dev cli
spawn sniff in_server_exec python3 "$NETNS_DIR/wire.py" sniff srv 4
SNIFF=$PID
spawn kernel9000 in_server_exec python3 "$NETNS_DIR/wire.py" receive 9000 4
K9000=$PID
spawn kernel8001 in_server_exec python3 "$NETNS_DIR/wire.py" receive 8001 4
K8001=$PID
sleep 0.7
client_wire send $SERVER_ADDR 8001 300 200
client_wire send $SERVER_ADDR 8002 200
client_wire send $SERVER_ADDR 9000 250
client_wire gre $SERVER_ADDR 20
client_wire multicast 8002 30
client_wire echo $SERVER_ADDR || fail "no answer to an ICMP echo"
client_wire tcp $SERVER_ADDR 8001 || fail "no answer to a TCP connection to the service's port"
ip -n "$NSC" neigh show $SERVER_ADDR dev cli | grep -q lladdr || fail "ARP was not answered"
wait $SNIFF $K9000 $K8001

feed_has udp 300
feed_has anyaddr 200
kernel() { wire value "$1" <"$TMP/sniff.out" || echo 0; }
[ "$(cat "$TMP/kernel9000.out")" -eq 250 ] || fail "a kernel socket on port 9000 got $(cat "$TMP/kernel9000.out") of 250"
[ "$(cat "$TMP/kernel8001.out")" -eq 0 ] || fail "the kernel also got datagrams of the service"
[ "$(kernel gre)" -eq 20 ] || fail "the kernel got $(kernel gre) of 20 GRE packets"
[ "$(kernel multicast)" -ge 30 ] || fail "the kernel got $(kernel multicast) of 30 multicast packets"
[ "$(kernel arp)" -ge 1 ] || fail "the kernel got no ARP"
[ "$(kernel udp8001)" -eq 0 ] || fail "the kernel got $(kernel udp8001) datagrams of the service"
[ "$(top_value redirected)" -eq 500 ] || fail "redirected counts $(top_value redirected), 500 were sent"
[ "$(top_value passed)" -ge 300 ] || fail "passed counts $(top_value passed), at least 300 were not ours"
pass "500 datagrams in the feeds; UDP, GRE, multicast, ARP, ICMP and TCP of others reached the kernel"
