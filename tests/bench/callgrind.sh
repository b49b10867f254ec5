#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Instructions per packet of ingest, feed and classify, counted by valgrind: the same from run to run,
# on a busy machine too. valgrind has no AVX-512, so that the cipher library runs its AVX2 code here.

set -u
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
PENSTOCK=${PENSTOCK_BUILD:-$ROOT/build}/app/penstock
PACKETS=16384 # of one repetition
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM

if ! command -v valgrind >/dev/null; then
	echo "skip: needs valgrind; apt-get install valgrind"
	exit 77
fi
[ -x "$PENSTOCK" ] || {
	echo "callgrind.sh: $PENSTOCK is not built; meson setup build && ninja -C build" >&2
	exit 1
}

# count REPS TOGGLES ARGS...: instructions within the functions that the toggles name.
count() {
	local reps=$1 toggles=() fn
	for fn in $2; do
		toggles+=("--toggle-collect=$fn*")
	done
	shift 2
	valgrind --tool=callgrind --callgrind-out-file="$out/calls" "${toggles[@]}" \
		"$PENSTOCK" bench "$@" --reps "$reps" >"$out/stdout" 2>"$out/stderr" || {
		tail -n 5 "$out/stderr" >&2
		exit 1
	}
	sed -n 's/^summary: \([0-9]*\).*/\1/p' "$out/calls"
}

# per_packet NAME TOGGLES ARGS...: what two repetitions take more than one, without connections and
# first uses.
per_packet() {
	local name=$1 one two
	shift
	one=$(count 1 "$@") || exit 1
	two=$(count 2 "$@") || exit 1
	echo "$name $(((two - one) / PACKETS))"
}

per_packet "ingest 176" "bench_receive bench_answer" ingest --size 176
per_packet "ingest 1024" "bench_receive bench_answer" ingest --size 1024
per_packet "feed 176" "bench_receive bench_answer" feed --size 176
per_packet "feed 1024" "bench_receive bench_answer" feed --size 1024
per_packet "classify, checksums by the card" classify_trusting classify
per_packet "classify, checksums computed" classify_computing classify
