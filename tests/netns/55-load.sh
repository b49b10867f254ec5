#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock load on one end, penstock run on the other, both on AF_XDP: every transaction is in the
# feed once and as it was signed, over QUIC, in version 1, and as plain UDP.

. "$(dirname "$0")/../interop/lib.sh"
need_bed
[ -x "$FEED_CHECK" ] || skip "$FEED_CHECK is not built; ninja -C $BUILD"
start_tpu
client_wire echo $SERVER_ADDR || fail "no answer to an ICMP echo"

# load PORT ARGS...: its summary in $TMP/load.out
load() {
	local port=$1
	shift
	in_client timeout 60 "$PENSTOCK" load --port cli --from $CLIENT_ADDR:4433 --to $SERVER_ADDR:"$port" \
		-o penstock.name=load-$INSTANCE -o penstock.memory=no-huge --json "$@" -- --no-pci \
		>"$TMP/load.out" 2>"$TMP/load.log" || fail "penstock load ended with $?"
}

for connections in 1 8; do
	start_check 20000 --seed $connections
	load $TPU_PORT --count 20000 --seed $connections --conns $connections --rate 20000
	end_check
	[ "$(field acked "$TMP/load.out")" -eq 20000 ] || fail "not all were acknowledged: $(cat "$TMP/load.out")"
	[ "$(field keys "$TMP/check.out")" -eq 20000 ] || fail "records without the client's key"
done
start_check 500 --seed 7 --large --sizes 1233-4096
load $TPU_PORT --count 500 --seed 7 --size 1233-4096 --rate 1000
end_check

spawn reader "$PENSTOCK" feed "$FEEDS/udp.0" --json --count 1000
load 8001 --udp --count 1000 --rate 5000 --size 200-300
wait_for 10 gone "$PID" || fail "$(wc -l <"$TMP/reader.out") of 1,000 datagrams are in the feed"
[ "$(field sent "$TMP/load.out")" -eq 1000 ] || fail "not all were sent: $(cat "$TMP/load.out")"
sizes=$(python3 -c '
import json, sys
print(*sorted({json.loads(line)["size"] for line in open(sys.argv[1])})[::100])' "$TMP/reader.out")
[ "${sizes%% *}" -ge 200 ] || fail "sizes of datagrams are $sizes"

# nobody reads the feed: credit ends, and with it the load
load $TPU_PORT --seconds 2 --conns 4
[ "$(field limited_by "$TMP/load.out")" = credit ] || fail "it is not credit that limits: $(cat "$TMP/load.out")"

in_client "$PENSTOCK" load --port cli --from $CLIENT_ADDR:4433 --to 10.77.0.99:$TPU_PORT --count 1 -o penstock.memory=no-huge \
	>/dev/null 2>"$TMP/nomac.log" && fail "load goes on without a next hop"
grep -q -- "--mac" "$TMP/nomac.log" || fail "load does not say that a MAC address is missing"
! ip -n "$NSC" -d link show cli | grep -q prog/xdp || fail "load leaves its program on the interface"
pass "40,500 transactions over QUIC, byte for byte, and 1,000 datagrams; a full feed limits by credit"
