#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# ECN between the bridge and the validator: datagrams carry ECT(0) both ways, and go on to do so after
# both sides have looked whether the other one saw the marks (RFC 9000 section 13.4.2).

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_served
spawn marks in_server_exec python3 -c '
import collections, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
print("ready", file=sys.stderr, flush=True)
s.settimeout(1)
seen = {"to": collections.deque(maxlen=200), "from": collections.deque(maxlen=200)}
while True:
    try:
        p = s.recv(65536)
    except TimeoutError:
        to, of = (sum(m == 2 for m in seen[k]) for k in ("to", "from"))
        print(to, len(seen["to"]), of, len(seen["from"]), flush=True)
        continue
    source, target = int.from_bytes(p[20:22], "big"), int.from_bytes(p[22:24], "big")
    if 9009 in (source, target):
        seen["to" if target == 9009 else "from"].append(p[1] & 3)'
MARKS=$PID
wait_for 5 grep -q ready "$TMP/marks.log" || fail "the watch does not start"
start_second
start_bridge "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
client_sends_all "$NGTCP2" --count 2000
wait_for 20 bridge_settled 2000 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
counted() { [ -s "$TMP/marks.out" ] && read -r to_n to from_n from < <(tail -n 1 "$TMP/marks.out") && [ "$to" = 200 ]; }
wait_for 10 counted || fail "the watch saw: $(tail -n 1 "$TMP/marks.out")"
[ "$to_n" = 200 ] || fail "of the last 200 datagrams to the validator $to_n are marked"
[ "$from" -gt 0 ] && [ "$from_n" = "$from" ] || fail "of the last $from datagrams from the validator $from_n are marked"
end_bridge
pass "the last $to datagrams to the validator and $from from it carry ECT(0)"
