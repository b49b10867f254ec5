#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Hostile frames of every kind are counted where they should be, end nothing, and an exchange works
# afterwards. SEED=N repeats another run.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -- --no-pci
seed=${SEED:-1}
mac=$(in_server cat /sys/class/net/srv/address)

drops() { top_value "$1" || echo 0; }

# counted KIND PORT COUNTER MIN: 200 frames of a kind raise a counter by at least MIN.
counted() {
	local before
	before=$(drops "$3")
	client_wire bad cli "$mac" "$1" 200 "$seed" "$2" || fail "$1 frames cannot be sent"
	wait_for 3 rose "$3" $((before + $4)) \
		|| fail "$1: $3 went from $before to $(drops "$3"), expected $4 more (seed $seed)"
	alive "$PENSTOCK_PID" || fail "$1: penstock died (seed $seed)"
}
rose() { [ "$(drops "$1")" -ge "$2" ]; }

# The program lets these through to the kernel.
counted truncated 8001 passed 200
counted fragment 8001 passed 200
counted vlan 8001 passed 200
counted ipv6 8001 passed 200
counted noise 8001 passed 190
# These come as far as the classifier.
counted ip_length 8001 rx_short 100
counted udp_length 8001 rx_short 150
counted ip_checksum 8001 rx_ip_checksum 200
counted udp_checksum 8001 rx_udp_checksum 200
counted ip_options 8001 rx_ip_header 200
# And these as far as QUIC.
counted quic_version 8009 quic_version 70
counted quic_small_initial 8009 quic_initial_small 200
counted quic_initial 8009 quic_decrypt 200
counted quic_cid 8009 quic_cid_length 150
counted quic_long 8009 quic_cid_length 100
counted quic_short 8009 quic_no_conn 50
counted oversized 8009 redirected 200
counted garbage 8009 redirected 200
counted ip_header 8001 passed 200
# Each kind at the other port too: nothing is expected but that penstock lives.
for kind in $(wire bad --kinds); do
	client_wire bad cli "$mac" "$kind" 100 "$seed-2" 8009
	client_wire bad cli "$mac" "$kind" 100 "$seed-3" 8002
done
alive "$PENSTOCK_PID" || fail "penstock died (seed $seed)"

# The feed of 8002 now holds garbage datagrams, which are good ones there; 8001's last are ours.
client_wire send $SERVER_ADDR 8001 50 300
timeout 5 "$PENSTOCK" feed "$FEEDS/udp.0" --json --count 50 >"$TMP/udp.json" 2>"$TMP/feed.log"
[ "$(wc -l <"$TMP/udp.json")" -eq 50 ] || fail "no exchange on the UDP service afterwards"
client=$BUILD/tests/interop/tpu_client_ngtcp2
if [ -x "$client" ]; then
	in_client timeout 60 "$client" --host $SERVER_ADDR --port 8009 --count 100 \
		>"$TMP/client.out" 2>"$TMP/client.log" || fail "no QUIC exchange afterwards"
	feed_has tpu 100
fi
pass "every kind of bad frame counted, an exchange works afterwards (seed $seed)"
