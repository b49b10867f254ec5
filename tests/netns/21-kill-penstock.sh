#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# kill -9 of penstock in the middle of traffic, sometimes of its consumer too: whatever a client saw
# acknowledged is in the feed, once, over all lives of penstock. The ring's size changes with every
# second life: half of them take a ring up, the others begin a generation. A client of a dead
# penstock lives on into the next one's time.

. "$(dirname "$0")/lib.sh"
. "$NETNS_DIR/kill.sh"
KILLS=6

program_id() { ip -n "$NSS" -d link show srv | sed -n 's/.*prog\/xdp[a-z]* id \([0-9]*\).*/\1/p'; }

need_kill
command -v bpftool >/dev/null || skip "needs bpftool; apt-get install bpftool"
make_bed
seed_random
write_conf "$TMP/penstock.ini"
programs=()
previous=
start_consumer
for life in $(seq $((KILLS + 1))); do
	start_penstock "$TMP/penstock.ini" -o feed.size_mb=$((1 + life / 2 % 2)) -- --no-pci
	programs+=("$(program_id)")
	start_client
	wait_for 10 acknowledged 100 || fail "client $CLIENTS is not served in life $life"
	[ -z "$previous" ] || stop "$previous"
	previous=$CLIENT_PID
	random_nap 200 700
	# The consumer dies in every third life, and in every third death of penstock.
	if [ $((RANDOM % 3)) -eq 0 ]; then
		kill_now "$CONSUMER_PID"
		start_consumer
	fi
	random_nap 200 700
	[ "$life" -le $KILLS ] || break
	both=$((RANDOM % 3 == 0))
	[ $both = 0 ] || kill_now "$CONSUMER_PID"
	kill_now "$PENSTOCK_PID"
	[ $both = 0 ] || start_consumer
done
stop "$CLIENT_PID"
judge

# The end of the last life is the end of everything that the others left.
kill -TERM "$PENSTOCK_PID"
wait "$PENSTOCK_PID" || fail "exit code of the last penstock"
has_no_program || fail "a program is left on the interface"
for id in "${programs[@]}"; do
	! bpftool prog show id "$id" >/dev/null 2>&1 || fail "XDP program $id of a killed penstock is still loaded"
done
[ -z "$(ip netns pids "$NSS")" ] || fail "processes are left: $(ip netns pids "$NSS")"
left=$(cd "$FEEDS" && ls tpu.0*)
[ "$left" = $'tpu.0\ntpu.0.consumer\ntpu.0.lock' ] || fail "files are left:" $left
pass "$VERDICT, penstock killed $KILLS times"
