#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Measures every row of deploy/doc/performance.md in memory and prints it beside its target and what
# Firedancer was measured to take: a table, bench.json and, with gnuplot, bench.svg. Rows are measured
# in turn, round after round, so that a machine that slows down slows all of them. Exit code 0 when
# all was measured, whatever the figures.

set -u
HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
PENSTOCK=${PENSTOCK_BUILD:-$ROOT/build}/app/penstock
rounds=7 conns=100000 out=.

usage() {
	echo "usage: tests/bench/run.sh [--rounds N] [--conns N] [--out DIR]"
	echo "N rounds (7); conns and timers up to N connections (100000, which take minutes to open); bench.json and"
	echo "bench.svg go to DIR (.). PENSTOCK_BUILD names another build directory than build/."
}

while [ $# -gt 0 ]; do
	case $1 in
	--rounds) rounds=${2:-} ;;
	--conns) conns=${2:-} ;;
	--out) out=${2:-} ;;
	-h | --help)
		usage
		exit 0
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
	shift 2 || {
		usage >&2
		exit 2
	}
done
if [ ! -x "$PENSTOCK" ]; then
	echo "run.sh: $PENSTOCK is not built; meson setup build && ninja -C build" >&2
	exit 1
fi
mkdir -p "$out" || exit 1
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
trap 'exit 130' INT TERM

bench() {
	if ! "$PENSTOCK" bench "$@" --json >>"$lines"; then
		echo "run.sh: penstock bench $* failed" >&2
		exit 1
	fi
}

load_before=$(cut -d' ' -f1-3 /proc/loadavg)
for ((i = 1; i <= rounds; i++)); do
	echo "round $i of $rounds" >&2
	bench cores --reps 1
	for size in 176 1024; do
		bench open --size $size --reps 1
		bench ingest --size $size --reps 1
		bench feed --size $size --reps 1
	done
	bench ingest --size 1160 --reps 1
	bench packed --size 176 --reps 1
	bench handshake --reps 1
	bench retry --reps 1
	bench unknown-cid --size 176 --reps 1
	bench classify --reps 1
	bench scale --size 176 --reps 1
	bench flood --size 176 --reps 1
	bench stages --size 176 --reps 1
done
echo "conns and timers, up to $conns connections" >&2
bench conns --size 176 --conns "$conns" --reps "$rounds"
bench timers --conns "$conns" --reps "$rounds"
load_after=$(cut -d' ' -f1-3 /proc/loadavg)

python3 "$HERE/table.py" "$lines" "$out/bench.json" "$out/bench.dat" "$load_before" "$load_after" || exit 1
if command -v gnuplot >/dev/null; then
	gnuplot -e "data='$out/bench.dat'; picture='$out/bench.svg'" "$HERE/chart.gp" || exit 1
	echo "$out/bench.json and $out/bench.svg written"
else
	echo "$out/bench.json written; apt-get install gnuplot-nox for bench.svg"
fi
rm -f "$out/bench.dat"
