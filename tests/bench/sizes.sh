#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What the lengths of queues and bursts and AF_XDP's busy budget do to the real program, one of them
# at a time, on AF_XDP over veth and on memif. Values take turns in each round; the table has medians:
#   loss     of datagrams at a steady rate, while the program is stopped for PAUSE ms ten times a second,
#            as a scheduler might do: what the queue has to hold meanwhile
#   sat/s    transactions a second, as many as go, over 32 connections
#   p50, p99 from a transaction's start to its acknowledgement at the rate, over one connection
#   user..   processor time per packet at the rate, softirq of the whole machine. Empty rounds are
#            included: the worker sleeps for 20 us in each, and with busy_budget it polls, as it would
# and of rx_burst the cost of a packet in memory, by penstock bench ingest.
# Sizes that are no options are compiled in: a copy of the tree is built once for each value.
# Exit code 0 when all was measured. --keep FILE adds each measurement to FILE and prints the table
# of all that it holds, so that rounds may be taken at different times.

usage="usage: tests/bench/sizes.sh [--what descriptors|rx_burst|tx_burst|busy_budget]... [--path af_xdp|memif] [--rounds N] [--seconds N] [--rate N] [--pause MS] [--keep FILE]"
rate=100000 seconds=4 rounds=3 pause=15 keep= path= what=()
while [ $# -gt 0 ]; do
	case $1 in
	--what | --path | --rate | --seconds | --rounds | --pause | --keep)
		[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
		if [ "$1" = --what ]; then what+=("$2"); else declare "${1#--}=$2"; fi
		shift
		;;
	-h | --help) echo "$usage"; exit 0 ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
	shift
done
sizes="descriptors rx_burst tx_burst busy_budget"
[ ${#what[@]} -gt 0 ] || read -ra what <<<"$sizes"
for name in "${what[@]}"; do
	[[ " $sizes " = *" $name "* ]] || { echo "$usage" >&2; exit 2; }
done

. "$(dirname "$0")/lib.sh"
bench_bed
: "${keep:=$TMP/runs}"

# variant NAME SED: the program built with its sizes edited, in $BUILDS, where it stays for the next time
BUILDS=$BUILD/sizes
variant() {
	local tree=$BUILDS/tree file
	SERVER=$BUILDS/penstock.$1
	[ "$SERVER" -nt "$PENSTOCK" ] && return
	mkdir -p "$tree"
	find "$ROOT" -mindepth 1 -maxdepth 1 ! -name build ! -name '.*' -exec cp -ru -t "$tree" {} + || fail "the tree cannot be copied"
	for file in lib/net/net.h lib/quic/quic.h app/worker.h app/port_path.c; do
		sed "$2" "$ROOT/$file" >"$TMP/edited"
		cmp -s "$TMP/edited" "$tree/$file" || cp "$TMP/edited" "$tree/$file"
	done
	[ -f "$BUILDS/ninja/build.ninja" ] || meson setup "$BUILDS/ninja" "$tree" >"$TMP/build.log" || fail "meson setup"
	ninja -C "$BUILDS/ninja" app/penstock >"$TMP/build.log" || fail "$1 does not build"
	cp "$BUILDS/ninja/app/penstock" "$SERVER"
}

# choose SIZE VALUE: sets SERVER, RSIZE and OPTIONS
choose() {
	SERVER=$PENSTOCK RSIZE=10 OPTIONS=()
	case $1 in
	descriptors)
		OPTIONS=(-o port.net.descriptors="$2" -o port.net.mbufs=16384)
		RSIZE=$(python3 -c "print(($2).bit_length() - 1)")
		;;
	rx_burst) variant "$1.$2" "s/^\(#define PS_\(NET\|QUIC\)_BURST *\)[0-9]*/\1$2/" ;;
	tx_burst) variant "$1.$2" "s/^\(#define PS_TX_BURST *\)[0-9]*/\1$2/" ;;
	busy_budget) OPTIONS=(-o penstock.idle=poll) && variant "$1.$2" "s/busy_budget=[0-9]*/busy_budget=$2/" ;;
	esac
}
values() {
	case $1 in
	descriptors) echo 512 1024 2048 4096 ;;
	rx_burst | tx_burst) echo 16 32 64 128 ;;
	busy_budget) echo 0 16 64 256 ;;
	esac
}
paths() {
	[ -z "$path" ] || { echo "$path"; return; }
	[ "$1" = busy_budget ] && echo af_xdp || echo af_xdp memif
}

# stumble PID: stops it for $pause ms ten times a second, until this is killed
stumble() {
	exec python3 -c '
import os, signal, sys, time
pid, pause = int(sys.argv[1]), float(sys.argv[2]) / 1000
while True:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(pause)
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.1 - pause)' "$1" "$pause"
}

field() { python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read().splitlines()[-1])[sys.argv[2]])' "$TMP/load.out" "$1"; }

# measure SIZE VALUE PATH: a line of JSON in $keep
measure() {
	local user system soft packets before sat p50 p99 sent got loader
	choose "$1" "$2"
	serve "$3" "${OPTIONS[@]}"
	load --to $SERVER_ADDR:8009 --rate "$rate" --seconds "$seconds" --conns 1 &
	loader=$!
	wait_for 30 grep -q ' [1-9][0-9]* transactions/s sent' "$TMP/load.log" || fail "penstock load says nothing"
	user=$(ticks 14) system=$(ticks 15) soft=$(softirq) packets=$(top_value tpu_datagrams)
	sleep $((seconds - 2))
	user=$(($(ticks 14) - user)) system=$(($(ticks 15) - system)) soft=$(($(softirq) - soft))
	packets=$(($(top_value tpu_datagrams) - packets))
	wait $loader || fail "penstock load: $(tail -n 1 "$TMP/load.log")"
	p50=$(field latency_p50_us) p99=$(field latency_p99_us)
	load --to $SERVER_ADDR:8009 --rate 0 --seconds "$seconds" --conns 32
	sat=$(field sent_per_s)
	before=$(top_value udp_datagrams)
	spawn stumble stumble "$PENSTOCK_PID"
	local stumbler=$PID
	load --udp --to $SERVER_ADDR:8001 --rate "$rate" --seconds "$seconds"
	stop "$stumbler"
	kill -CONT "$PENSTOCK_PID"
	sleep 0.5
	sent=$(field sent) got=$(($(top_value udp_datagrams) - before))
	serve_no_more
	python3 - "$@" $sat $p50 $p99 $user $system $soft $packets $sent $got >>"$keep" <<'PY'
import json, sys
if int(sys.argv[10]) == 0 or int(sys.argv[11]) == 0:
    sys.exit("sizes.sh: " + " ".join(sys.argv[1:4]) + ": nothing was counted, left out; was the machine busy?")
sat, p50, p99, *rest = map(float, sys.argv[4:])
user, system, softirq, packets, sent, got = rest
ns = lambda ticks: round(ticks * 1e7 / max(packets, 1))
print(json.dumps(dict(size=sys.argv[1], value=int(sys.argv[2]), path=sys.argv[3], loss=1 - got / sent, sat=sat, p50=p50, p99=p99,
    user=ns(user), system=ns(system), softirq=ns(softirq))))
PY
}

# in_memory VALUE: the cost of a packet in bursts of so many by penstock bench, a line of JSON in $keep
in_memory() {
	local size
	choose rx_burst "$1"
	for size in 176 1024; do
		"$SERVER" bench ingest --size $size --reps 7 --json | python3 -c '
import json, sys
print(json.dumps(dict(size="ingest", value=int(sys.argv[1]), path=int(sys.argv[2]), ns=json.load(sys.stdin)["rows"][0]["median"])))' "$1" $size >>"$keep" || fail "penstock bench"
	done
}

for name in "${what[@]}"; do
	for value in $(values "$name"); do
		choose "$name" "$value" # builds
	done
done
for ((i = 0; i < rounds; i++)); do
	for name in "${what[@]}"; do
		for value in $([ "$name" != rx_burst ] || [ -n "$path" ] || values rx_burst); do
			in_memory "$value"
		done
		for way in $(paths "$name"); do
			for value in $(values "$name"); do
				measure "$name" "$value" "$way"
			done
		done
	done
done
python3 - "$keep" "$(cut -d' ' -f1-3 /proc/loadavg)" "$rate" "$pause" <<'PY'
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
print(f"load average {sys.argv[2]}; {sys.argv[3]} a second; pauses of {sys.argv[4]} ms\n")
print("| size | path | value | rounds | loss | sat/s | p50, p99 us | user, system, softirq ns |\n|---|---|---|---|---|---|---|---|")
ingest = [r for r in runs if r["size"] == "ingest"]
runs = [r for r in runs if r["size"] != "ingest"]
for row in dict.fromkeys((r["size"], r["path"], r["value"]) for r in runs):
    of = [r for r in runs if (r["size"], r["path"], r["value"]) == row]
    m = {key: statistics.median(r[key] for r in of) for key in of[0] if key not in ("size", "path")}
    print(f"| {row[0]} | {row[1]} | {row[2]} | {len(of)} | {100 * m['loss']:.1f} % | {m['sat']:,.0f} | {m['p50']:.0f}, {m['p99']:.0f} | "
          f"{m['user']:.0f}, {m['system']:.0f}, {m['softirq']:.0f} |")
if ingest:
    print("\n| rx_burst, in memory | 176 bytes | 1,024 bytes |\n|---|---|---|")
for value in dict.fromkeys(r["value"] for r in ingest):
    ns = lambda size: statistics.median(r["ns"] for r in ingest if (r["value"], r["path"]) == (value, size))
    print(f"| {value} | {ns(176):.0f} ns | {ns(1024):.0f} ns |")
PY
pass "measured"
