#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Prepares the host, runs penstock, watches it, and puts everything back at the end: init, check,
# run, wait until it serves, confirm; on SIGTERM, SIGINT, its end or its hanging: stop and fini. By
# hand or from systemd, whose readiness and watchdog it serves when NOTIFY_SOCKET is set.
#
# Binding to vfio-pci (dpdk-devbind.py) is a part of init. Which path a port takes, and what it
# falls back to, is penstock run's decision, from the configuration; it says so in its log.

set -u

usage="usage: launch.sh -c FILE [--i-have-another-way-in] [-- ARGUMENTS OF penstock run]
  PENSTOCK=PATH   the program (penstock)"
PENSTOCK=${PENSTOCK:-penstock}
START_S=60 # until it serves
STOP_S=10  # from SIGTERM to SIGKILL
LOOK_S=1   # of the watch: between two looks
ANSWER_S=2 # for an answer
MISSES=3   # of its looks until it counts as hanging: the kernel has its traffic long before

conf=
init_args=(--undo-after 5)
while [ $# -gt 0 ]; do
	case $1 in
	-c)
		conf=${2:-}
		shift
		;;
	--i-have-another-way-in) init_args+=("$1") ;;
	--)
		shift
		break
		;;
	-h | --help)
		echo "$usage"
		exit 0
		;;
	*)
		echo "launch: unknown argument $1" >&2
		echo "$usage" >&2
		exit 2
		;;
	esac
	shift
done
if [ -z "$conf" ]; then
	echo "launch: -c FILE is missing" >&2
	echo "$usage" >&2
	exit 2
fi

say() { echo "launch: $*" >&2; }
notify() { [ -z "${NOTIFY_SOCKET:-}" ] || systemd-notify "$@" || say "systemd-notify fails"; }

name=$(sed -n '/^\[penstock\]/,/^\[/s/^name *= *\([^ ;]*\).*/\1/p' "$conf" | tail -n 1)
pid=

alive() { [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; }

# The rounds of every worker, one number a line; fails when penstock does not answer in time.
rounds() {
	timeout -k 1 $ANSWER_S "$PENSTOCK" top --once --json --name "${name:-penstock}" 2>/dev/null \
		| grep -o '"loops": [0-9]*'
}

stop_penstock() {
	local i
	[ -n "$pid" ] || return 0
	kill -CONT "$pid" 2>/dev/null
	kill -TERM "$pid" 2>/dev/null
	for ((i = 0; i < STOP_S * 10; i++)); do
		alive || break
		sleep 0.1
	done
	if alive; then
		say "it does not stop; killing it"
		kill -KILL "$pid"
	fi
	wait "$pid" 2>/dev/null
	pid=
}

finish() {
	local code=$?
	trap - EXIT
	trap '' INT TERM HUP
	notify --status="stopping" STOPPING=1
	stop_penstock
	"$PENSTOCK" fini -c "$conf" || code=1
	exit "$code"
}

# Penstock's guard gives the kernel its traffic, and has done so by now where a worker stood still.
give_up() {
	say "$1"
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
	exit 1
}

# penstock reads its deny lists again.
reload() {
	[ -n "$pid" ] || exit 129
	kill -HUP "$pid" 2>/dev/null
}

trap finish EXIT
trap 'exit 0' INT TERM
trap reload HUP

"$PENSTOCK" init -c "$conf" "${init_args[@]}" || exit 1
"$PENSTOCK" check -c "$conf" >&2 || exit 1
"$PENSTOCK" run -c "$conf" "$@" &
pid=$!

for ((i = 0; i < START_S; i++)); do
	alive || give_up "penstock ended at start"
	last=$(rounds) && break
	sleep 1
done
[ -n "${last:-}" ] || give_up "penstock does not serve after $START_S s"
# Proven where the driver can prove without traffic, else created; what is lost is not confirmed.
timeout 10 "$PENSTOCK" flows --verify --name "${name:-penstock}" >&2 \
	|| give_up "the rules of the services are not all there"
"$PENSTOCK" confirm -c "$conf" >&2
say "serving"
notify --ready --status="serving"

# Every worker's count must move; equal lines are a worker that stands still.
missed=0
while alive; do
	sleep $LOOK_S &
	wait $!
	if now=$(rounds) && [ -z "$(comm -12 <(nl <<<"$last") <(nl <<<"$now"))" ]; then
		missed=0
		last=$now
		notify WATCHDOG=1
	else
		missed=$((missed + 1))
	fi
	alive || break
	[ $missed -lt $MISSES ] || give_up "penstock hangs"
done
wait "$pid"
code=$?
pid=
say "penstock ended with $code"
exit "$code"
