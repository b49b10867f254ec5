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

. "$(dirname "$0")/../netns/lib.sh"
need_bed
SINK=$BUILD/tests/bench/feed_sink
[ -x "$SINK" ] || skip "$SINK is not built; ninja -C $BUILD"
[ "$(nproc)" -ge 2 ] || skip "needs two processors: one for the worker, one for the load"
make_bed
# or what kernel sockets send has half-made checksums
in_server ethtool -K srv tx off >/dev/null || skip "ethtool -K srv tx off fails here"
write_conf "$TMP/penstock.ini"
client_wire echo $SERVER_ADDR || fail "no answer to an ICMP echo"
service=tpu port=8009
[ -z "$udp" ] || service=udp port=8001

# ticks FIELD: of the program's threads, 14 user and 15 system, in 10 ms
ticks() { awk -v f="$1" '{ s += $f } END { print s + 0 }' /proc/"$PENSTOCK_PID"/task/*/stat; }
softirq() { awk '$1 == "cpu" { print $8 }' /proc/stat; }
is_up() { alive "$PENSTOCK_PID" && "$PENSTOCK" top --once --json --name "$INSTANCE" >/dev/null 2>&1; }

memif() { echo "--vdev=net_memif0,role=$1,id=0,socket=$TMP/memif.sock,socket-abstract=no"; }

# load ARGS... -- EAL ARGS
load() {
	in_client timeout $((seconds + 60)) "$PENSTOCK" load --from $CLIENT_ADDR:4433 --to "$SERVER_ADDR:$port" $udp \
		--rate "$rate" --seconds "$seconds" --conns "$conns" --size "$size" --json -l 0 \
		-o penstock.name=load-$INSTANCE -o penstock.memory=no-huge "$@" >"$TMP/load.out" 2>"$TMP/load.log" \
		|| fail "penstock load: $(tail -n 1 "$TMP/load.log")"
}

# idle_rounds: of the worker so far
idle_rounds() { echo $(($(top_value loops) - $(top_value busy_loops))); }

# arm NAME: one measurement, a line of JSON in $TMP/arms
arm() {
	local run=() mine=() user system soft idle idle_user idle_system idle_before
	case $1 in
	socket) run=(-o port.net.path=socket -- --no-pci) mine=(--port cli -- --no-pci) ;;
	af_xdp) run=(-o port.net.path=af_xdp -o port.net.zero_copy=off -- --no-pci) mine=(--port cli -- --no-pci) ;;
	memif) run=(--port net_memif0 -- --no-pci "$(memif server)") mine=(--port net_memif0 --mac 02:00:00:00:00:01 -- --no-pci "$(memif client)") ;;
	esac
	rm -rf "$FEEDS"
	spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" -l 1 -o feed.size_mb=64 \
		-o quic.source_per_min=0 "${run[@]}"
	PENSTOCK_PID=$PID
	wait_for 15 is_up || fail "penstock does not start for $1"
	spawn sink "$SINK" "$FEEDS/$service.0"
	local sink=$PID
	idle_before=$(idle_rounds) idle_user=$(ticks 14) idle_system=$(ticks 15)
	sleep 2
	idle=$(($(idle_rounds) - idle_before)) idle_user=$(($(ticks 14) - idle_user)) idle_system=$(($(ticks 15) - idle_system))
	idle_before=$(idle_rounds) user=$(ticks 14) system=$(ticks 15) soft=$(softirq)
	load "${mine[@]}"
	user=$(($(ticks 14) - user)) system=$(($(ticks 15) - system)) soft=$(($(softirq) - soft))
	local idle_loaded=$(($(idle_rounds) - idle_before)) packets
	sleep 0.5
	packets=$(top_value "${service}_datagrams")
	stop "$sink" "$PENSTOCK_PID"
	python3 - "$1" "$packets" $user $system $soft $idle $idle_user $idle_system $idle_loaded "$TMP/load.out" "$TMP/sink.out" \
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
