#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# path = socket: the same services through kernel sockets, UDP and QUIC, exactly.

. "$(dirname "$0")/../interop/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
need_ngtcp2
make_bed
write_conf "$TMP/penstock.ini"
cat >>"$TMP/penstock.ini" <<CONF
[service two]
kind = udp
address = $SERVER_ADDR, 10.77.0.3
port = 8003
CONF
ip -n "$NSS" addr add 10.77.0.3/24 dev srv
ip -n "$NSS" addr add 10.77.0.4/24 dev srv
start_somehow "$TMP/penstock.ini" -o port.net.path=socket -- --no-pci

client_wire send $SERVER_ADDR 8001 300 200
client_wire send 10.77.0.4 8002 200
client_wire send $SERVER_ADDR 8003 50
client_wire send 10.77.0.3 8003 60
client_wire send 10.77.0.4 8003 70 # nobody's
feed_has udp 300
feed_has anyaddr 200
feed_has two 110
[ "$(top_value rx_no_service)" -eq 70 ] || fail "$(top_value rx_no_service) datagrams to no service, 70 were sent"
for connections in 1 4; do
	start_check 3000 --seed $connections
	client_sends_all "$NGTCP2" --count 3000 --seed $connections --connections $connections
	end_check
	[ "$(field keys "$TMP/check.out")" -eq 3000 ] || fail "records without the client's key"
done
[ "$(flows states)" = proven ] || fail "flows are $(flows states), expected proven"
[ "$(flows missteered)" -eq 0 ] || fail "$(flows missteered) packets were mis-steered"
client_wire echo $SERVER_ADDR || fail "no answer to an ICMP echo"

stop_penstock

# A port that somebody has is refused, although he would share it.
spawn holder in_server_exec python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(("0.0.0.0", 8001))
time.sleep(60)'
wait_for 5 eval '[ -n "$(in_server ss -Huln sport = :8001)" ]' || fail "the port is not taken"
refused 1 "service udp" 8001 "ss -ulnp" -- -o port.net.path=socket -- --no-pci
pass "600 datagrams and 6,000 transactions through kernel sockets, byte for byte"
