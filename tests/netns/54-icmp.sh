#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Row 3 of the catalogue of hostile input: forged ICMP errors about the connections of a client, an
# MTU of 68 among them. They reach the kernel and nobody else: handshakes keep their 1,200 bytes,
# nothing is cut into fragments, no connection ends, every transaction arrives.

. "$(dirname "$0")/../interop/lib.sh"
need_bed
need_ngtcp2
start_tpu
in_client sh -c 'echo "40000 40007" >/proc/sys/net/ipv4/ip_local_port_range' || skip "the ports of clients cannot be set here"
# The errors are about the server's datagrams; its kernel must not answer or forget them unseen.
in_server sh -c 'echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv4/icmp_errors_use_inbound_ifaddr'
mac=$(ip -n "$NSS" -j link show srv | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])')
icmp() { spawn "$1" ip netns exec "$NSC" python3 "$NETNS_DIR/icmp.py" "$@"; }
server_got() { in_server awk '/^Icmp:/ { if (n++) print $2; else for (i = 1; i <= NF; i++) if ($i == "InMsgs") c = i }' /proc/net/snmp; }

icmp sizes cli 14
SIZES=$PID
icmp forge cli "$mac" 40000-40007 12
FORGE=$PID
sleep 0.5
for seed in 1 2 3; do
	start_check 1000 --seed $seed
	client_sends_all "$NGTCP2" --count 1000 --seed $seed
	end_check
done
wait "$FORGE" "$SIZES"

forged=$(cat "$TMP/forge.out")
got=$(server_got)
value() { wire value "$1" <"$TMP/sizes.out"; }
[ "$forged" -gt 1000 ] || fail "only $forged ICMP errors were sent"
[ "$got" -ge $((forged / 2)) ] || fail "the kernel of the server got $got of $forged ICMP errors"
[ "$(value long)" -ge 3 ] || fail "no handshake was seen: $(cat "$TMP/sizes.out")"
[ "$(value long_max)" -eq 1200 ] || fail "the largest Initial has $(value long_max) bytes, not 1200"
[ "$(value short_max)" -le 1200 ] || fail "a datagram has $(value short_max) bytes"
[ "$(value fragments)" -eq 0 ] || fail "$(value fragments) fragments were sent"
[ "$(top_value closed_transport)" = 0 ] || fail "closed_transport counts $(top_value closed_transport)"
pass "$forged forged ICMP errors changed nothing: 3 handshakes of 1200 bytes, 3000 transactions exact, no fragment"
