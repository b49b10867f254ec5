#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The same service at the same load by three ways, in turn: kernel sockets, AF_XDP that copies, and a
# PMD (memif, whose packets come from shared memory). penstock load sends from the other processor.
# For each: user, system and softirq time per packet, loss, and how long acknowledgements take.
# A worker that finds nothing sleeps for 20 us. What such an empty round takes is measured before the
# load and taken off, so that what is left is the work. Exit code 0 when all was measured.

usage="usage: tests/bench/arms.sh [--rate N] [--seconds N] [--rounds N] [--conns N] [--udp] [--size MIN-MAX]"
rate=20000 seconds=5 rounds=3 conns=8 size=134-1232 udp=
while [ $# -gt 0 ]; do
	case $1 in
	--rate | --seconds | --rounds | --conns | --size)
		[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
		declare "${1#--}=$2"
		shift
		;;
	--udp) udp=--udp ;;
	-h | --help) echo "$usage"; exit 0 ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
	shift
done

. "$(dirname "$0")/lib.sh"
bench_bed
service=tpu port=8009
[ -z "$udp" ] || service=udp port=8001

# arm NAME: one measurement, a line of JSON in $TMP/arms
arm() {
	local user system soft idle idle_user idle_system idle_before
	serve "$1"
	idle_before=$(idle_rounds) idle_user=$(ticks 14) idle_system=$(ticks 15)
	sleep 2
	idle=$(($(idle_rounds) - idle_before)) idle_user=$(($(ticks 14) - idle_user)) idle_system=$(($(ticks 15) - idle_system))
	idle_before=$(idle_rounds) user=$(ticks 14) system=$(ticks 15) soft=$(softirq)
	load --to "$SERVER_ADDR:$port" $udp --rate "$rate" --seconds "$seconds" --conns "$conns" --size "$size"
	user=$(($(ticks 14) - user)) system=$(($(ticks 15) - system)) soft=$(($(softirq) - soft))
	local idle_loaded=$(($(idle_rounds) - idle_before)) packets
	sleep 0.5
	packets=$(top_value "${service}_datagrams")
	serve_no_more
	python3 - "$1" "$packets" $user $system $soft $idle $idle_user $idle_system $idle_loaded "$TMP/load.out" "$TMP/sink_$service.out" \
		>>"$TMP/arms" <<'PY' || fail "no figures of $1"
import json, sys
arm, packets, user, system, soft, idle, idle_user, idle_system, idle_loaded = sys.argv[1], *map(int, sys.argv[2:10])
load, sink = (json.loads(open(f).read().splitlines()[-1]) for f in sys.argv[10:12])
ns = lambda ticks: ticks * 1e7 / max(packets, 1)
empty = idle_loaded / max(idle, 1)
print(json.dumps(dict(arm=arm, packets=packets, sent=load["sent"], sent_per_s=load["sent_per_s"],
    user_ns=ns(user - empty * idle_user), system_ns=ns(system - empty * idle_system), softirq_ns=ns(soft), loss=1 - sink["records"] / max(load["sent"], 1),
    p50_us=load["latency_p50_us"], p99_us=load["latency_p99_us"], p999_us=load["latency_p999_us"],
    limited_by=load["limited_by"])))
PY
}

for ((i = 0; i < rounds; i++)); do
	for name in socket af_xdp memif; do
		arm $name
	done
done
python3 - "$TMP/arms" "$(cut -d' ' -f1-3 /proc/loadavg)" <<'PY'
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
print(f"load average {sys.argv[2]}; medians of {len(runs) // 3}; ns per packet of the service")
print(f"{'':8}{'sent/s':>10}{'packets':>10}{'user':>8}{'system':>8}{'softirq':>8}{'loss':>8}{'p50 us':>9}{'p99':>9}{'p99.9':>9}")
for arm in "socket", "af_xdp", "memif":
    of = lambda key: statistics.median(r[key] for r in runs if r["arm"] == arm)
    print(f"{arm:8}{of('sent_per_s'):10.0f}{of('packets'):10.0f}{of('user_ns'):8.0f}{of('system_ns'):8.0f}{of('softirq_ns'):8.0f}"
          f"{100 * of('loss'):7.2f}%{of('p50_us'):9.0f}{of('p99_us'):9.0f}{of('p999_us'):9.0f}")
for r in runs:
    print(json.dumps(r))
PY
pass "three ways, $rounds times"
