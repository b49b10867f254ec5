#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Fuzzes one harness or all of them, one after the other: builds with clang, AddressSanitizer and
# UndefinedBehaviorSanitizer, starts from the seeds, and says in a line per harness how many inputs
# ran, how many edges they reached and how many of those were found by the last fifth of them. Exit
# code 1 when an input failed; it is kept and named, and belongs into seeds/ once it is mended.

set -u
cd "$(dirname "$0")/../.."
build=${PENSTOCK_BUILD:-$PWD/build}-fuzz
seeds_max=200 seeds_bytes=300000

usage() {
	echo "usage: tests/fuzz/run.sh NAME|all [--seconds N] [--update]"
	echo "NAME: $(names | xargs). N: per harness, 60 by default."
	echo "--update adds to seeds/NAME/ the inputs that reach edges the seeds do not."
}

names() { sed -n "s/^  '\([a-z_]*\)': \[.*/\1/p" tests/fuzz/meson.build; }

# Edges and the share of the last fifth of the executions, out of the log of a run.
edges() {
	awk '/^#[0-9]+.*cov: / {
		n = substr($1, 2) + 0
		for (i = 2; i < NF; i++)
			if ($i == "cov:")
				c = $(i + 1)
		at[++rows] = n; cov[rows] = c
	}
	END {
		for (i = 1; i <= rows && at[i] <= at[rows] * 0.8; i++)
			before = cov[i]
		printf "%d executions, %d edges, %d of them new in the last fifth", at[rows], c, c - before
	}' "$1"
}

update() {
	local seeds=tests/fuzz/seeds/$1 files bytes f
	mkdir "$2/new"
	cp "$seeds"/* "$2/new"
	# Only edges count, not how often each was taken: the seeds stay few.
	"$build/tests/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=0 "$2/new" "$2/corpus" >"$2/merge" 2>&1
	for f in $(ls -Sr "$2/new"); do
		files=$(ls "$seeds" | wc -l)
		bytes=$(cat "$seeds"/* "$2/new/$f" | wc -c)
		[ -e "$seeds/$f" ] || [ "$files" -ge $seeds_max ] || [ "$bytes" -gt $seeds_bytes ] ||
			cp "$2/new/$f" "$seeds/"
	done
}

fuzz() {
	local name=$1 tmp failed=0
	tmp=$(mktemp -d)
	mkdir "$tmp/corpus" "$tmp/small"
	cp "tests/fuzz/seeds/$name"/* "$tmp/corpus"
	"$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
		-artifact_prefix="$build/fail-$name-" "$tmp/corpus" >"$tmp/log" 2>&1 || failed=1
	# Without new lines for a while the log ends early: the count of the final statistics is true.
	sed -n 's/^stat::number_of_executed_units: \([0-9]*\)/#\1 END/p' "$tmp/log" >"$tmp/end"
	awk 'FNR == NR { end = $1; next } { print } /cov: / { last = $0 }
		END { if (end != "") { sub(/^#[0-9]+/, end, last); print last } }' \
		"$tmp/end" "$tmp/log" >"$tmp/log.whole"
	"$build/tests/fuzz/fuzz_$name" -merge=1 "$tmp/small" "$tmp/corpus" >"$tmp/merge" 2>&1
	echo "$name: $(edges "$tmp/log.whole"), corpus $(ls "$tmp/small" | wc -l) inputs"
	if [ $failed = 1 ]; then
		grep -m1 -E 'does not hold|ERROR: |runtime error' "$tmp/log" | sed 's/^/    /'
		sed -n 's/.*Test unit written to /    /p' "$tmp/log"
	elif [ -n "$merge_back" ]; then
		update "$name" "$tmp"
	fi
	rm -r "$tmp"
	return $failed
}

chosen= seconds=60 merge_back=
while [ $# -gt 0 ]; do
	case $1 in
	--seconds)
		seconds=${2:-}
		shift
		;;
	--update) merge_back=yes ;;
	all) chosen=$(names) ;;
	*) chosen=$(names | grep -x -- "$1") ;;
	esac
	shift
done
if [ -z "$chosen" ] || ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
	usage >&2
	exit 2
fi
if ! { [ -d "$build" ] || CC=clang meson setup "$build" -Dfuzz=true -Dbuildtype=debugoptimized; } \
	>/dev/null || ! ninja -j2 -C "$build" $(printf 'tests/fuzz/fuzz_%s ' $chosen) >"$build/log"; then
	tail -20 "$build/log" >&2
	echo "run.sh: the build with -Dfuzz=true failed; it needs clang and its libFuzzer" >&2
	exit 1
fi
status=0
for name in $chosen; do
	fuzz "$name" || status=1
done
exit $status
