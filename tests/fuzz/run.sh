#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Fuzzes one harness or all of them, one after the other: builds with clang, AddressSanitizer and
# UndefinedBehaviorSanitizer, starts from the seeds, and says in a line per harness how many inputs
# ran and when the last of them reached a new edge. Exit code 1 when an input failed; it is kept and
# named, and belongs into seeds/ once it is mended.
#
# With --plain the sanitizers are left out: twice to three times as many inputs a second, for the long
# way to new edges; what it adds to the seeds is then run with them.
#
# RESULTS holds the sums of all sessions that ran with --until-dry. A harness is dry at 1e8
# executions, or when the last fifth of at least 1e6 found no new edge.

set -u
cd "$(dirname "$0")/../.."
build=${PENSTOCK_BUILD:-$PWD/build}-fuzz
results=tests/fuzz/RESULTS
sanitize=true
seeds_max=400 seeds_bytes=400000
# Where an input is a list of actions, to trace comparisons helps little and takes half of the time.
actions="actor client feed rx tpu"

usage() {
	echo "usage: tests/fuzz/run.sh NAME|all [--seconds N] [--update] [--until-dry] [--plain]"
	echo "NAME: $(names | xargs). N: per harness, 60 by default."
	echo "--update adds to seeds/NAME/ the inputs that reach edges the seeds do not."
	echo "--until-dry runs again and again, N seconds at a time, with --update, and counts in RESULTS."
	echo "--plain leaves the sanitizers out."
}

names() { basename -s .c tests/fuzz/fuzz_*.c | sed 's/^fuzz_//'; }

dir_of() { [[ " $actions " == *" $1 "* ]] && echo "$build-actions" || echo "$build"; }

# Out of the log of a run: executions, the one that reached the last new edge (0: the seeds), edges.
figures() {
	awk '/^#[0-9]+.*cov: / {
		for (i = 2; i < NF; i++)
			if ($i == "cov:")
				c = $(i + 1)
		n = substr($1, 2) + 0
		if ($2 == "INITED")
			last = 0
		else if (c > edges)
			last = n
		edges = c > edges ? c : edges
	}
	/^stat::number_of_executed_units:/ { n = $2 }
	END { print n + 0, last + 0, edges + 0 }' "$1"
}

# add NAME EXECUTIONS LAST EDGES: what a run did goes on where the row of RESULTS ended.
add() {
	[ -e $results ] || echo "# harness executions last-new-edge-at edges dry date" >$results
	awk -v name="$1" -v n="$2" -v last="$3" -v edges="$4" -v date="$(date +%F)" '
	$1 == name {
		if (last > 0)
			last += $2
		else
			last = $3
		n += $2
		next
	}
	{ print }
	END {
		dry = n >= 1e8 || (n >= 1e6 && last <= 0.8 * n) ? "yes" : "no"
		printf "%s %d %d %d %s %s\n", name, n, last, edges, dry, date
	}' $results >$results.$$
	LC_ALL=C sort $results.$$ | column -t >$results
	rm $results.$$
}

dry() { grep -Eq "^$1 .* yes " $results 2>/dev/null; }

update() {
	local seeds=tests/fuzz/seeds/$1 files bytes f
	rm -rf "$2/new"
	mkdir "$2/new"
	cp "$seeds"/* "$2/new"
	# Only edges count, not how often each was taken: the seeds stay few.
	"$(dir_of "$1")/tests/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=0 "$2/new" "$2/corpus" \
		>"$2/merge" 2>&1
	for f in $(ls -Sr "$2/new"); do
		files=$(ls "$seeds" | wc -l)
		bytes=$(cat "$seeds"/* "$2/new/$f" | wc -c)
		[ -e "$seeds/$f" ] || [ "$files" -ge $seeds_max ] || [ "$bytes" -gt $seeds_bytes ] ||
			cp "$2/new/$f" "$seeds/"
	done
}

# round NAME DIRECTORY
round() {
	local name=$1 tmp=$2 failed=0 n last edges
	# What decides is edges, so that no time goes into weighing how rare a feature is.
	"$(dir_of "$name")/tests/fuzz/fuzz_$name" -entropic=0 -max_total_time="$seconds" -timeout=120 \
		-print_final_stats=1 -artifact_prefix="$(dir_of "$name")/fail-$name-" "$tmp/corpus" \
		>"$tmp/log" 2>&1 || failed=1
	read -r n last edges < <(figures "$tmp/log")
	echo "$name: $n executions, $edges edges, the last new one at $last"
	if [ $failed = 1 ]; then
		grep -m1 -E 'does not hold|ERROR: |runtime error' "$tmp/log" | sed 's/^/    /'
		sed -n 's/.*Test unit written to /    /p' "$tmp/log"
		return 1
	fi
	[ -z "$merge_back" ] || update "$name" "$tmp"
	[ -z "$until_dry" ] || add "$name" "$n" "$last" "$edges"
}

fuzz() {
	local name=$1 tmp status=0
	tmp=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
	mkdir "$tmp/corpus"
	cp "tests/fuzz/seeds/$name"/* "$tmp/corpus"
	round "$name" "$tmp" || status=1
	while [ -n "$until_dry" ] && [ $status = 0 ] && ! dry "$name"; do
		round "$name" "$tmp" || status=1
	done
	rm -r "$tmp"
	return $status
}

# ready DIRECTORY NAMES [MESON OPTIONS...]
ready() {
	local dir=$1 targets
	targets=$(printf 'tests/fuzz/fuzz_%s ' $2)
	shift 2
	{ [ -e "$dir/build.ninja" ] ||
		CC=clang meson setup "$dir" -Dfuzz=true -Dfuzz_sanitize=$sanitize \
			-Dbuildtype=debugoptimized "$@"; } >"$dir.log" &&
		ninja -j2 -C "$dir" $targets >>"$dir.log" && return
	tail -20 "$dir.log" >&2
	echo "run.sh: the build with -Dfuzz=true failed; it needs clang and its libFuzzer" >&2
	exit 1
}

main() {
	local chosen= seconds=60 merge_back= until_dry= status=0 name traced= untraced=
	while [ $# -gt 0 ]; do
		case $1 in
		--seconds)
			seconds=${2:-}
			shift
			;;
		--update) merge_back=yes ;;
		--until-dry) merge_back=yes until_dry=yes ;;
		--plain) build+=-plain sanitize=false ;;
		all) chosen=$(names) ;;
		*) chosen=$(names | grep -x -- "$1") ;;
		esac
		shift
	done
	if [ -z "$chosen" ] || ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
		usage >&2
		exit 2
	fi
	for name in $chosen; do
		[ "$(dir_of "$name")" = "$build" ] && traced+=" $name" || untraced+=" $name"
	done
	[ -z "$traced" ] || ready "$build" "$traced"
	[ -z "$untraced" ] ||
		ready "$build-actions" "$untraced" -Dc_args=-fno-sanitize-coverage=trace-cmp
	for name in $chosen; do
		fuzz "$name" || status=1
	done
	return $status
}

main "$@"
