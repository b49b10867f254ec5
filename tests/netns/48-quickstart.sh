#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# deploy/quickstart.sh --json: its last line and what it counts; and nothing of it stays, neither
# after its end nor after ^C in the middle.

. "$(dirname "$0")/../interop/lib.sh"
need_bed
need_ngtcp2
begin

# quickstart ARGS...: in a session of its own, where SIGINT is not ignored as it is for what a script
# runs in the background. What it makes for itself goes to $TMP/own.
quickstart() {
	mkdir -p "$TMP/own"
	spawn quickstart env PENSTOCK_BUILD="$BUILD" TMPDIR="$TMP/own" python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])' bash "$ROOT/deploy/quickstart.sh" --json "$@"
	QUICKSTART=$PID
}

# Its names carry its process id.
nothing_left() {
	[ -z "$(ip netns list | grep "ps[cs]$QUICKSTART\b")" ] || fail "$1: namespaces are left"
	[ -z "$(pgrep -s "$QUICKSTART")" ] || fail "$1: processes are left: $(pgrep -a -s "$QUICKSTART")"
	[ ! -e "/var/run/dpdk/penstock-quickstart$QUICKSTART" ] || fail "$1: EAL's directory is left"
	[ -z "$(ls -A "$TMP/own")" ] || fail "$1: files are left: $(find "$TMP/own")"
}

quickstart --count 50
wait "$QUICKSTART"
code=$?
[ $code -eq 0 ] || fail "exit code $code"
tail -n 1 "$TMP/quickstart.out" | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert sorted(r) == ["bytes", "feed", "mode", "passed_to_kernel", "received", "sent"], sorted(r)
assert r["sent"] == r["received"] == r["feed"] == 50, r
assert 50 * 134 <= r["bytes"] <= 50 * 1232, r
assert type(r["passed_to_kernel"]) is int and r["mode"], r' 2>"$TMP/json" ||
	fail "the last line \"$(tail -n 1 "$TMP/quickstart.out")\": $(tail -n 1 "$TMP/json")"
nothing_left "after its end"

feed_grows() { [ "$(wc -l <"$(echo "$TMP"/own/*/feed.out)")" -ge 100 ]; } 2>/dev/null
quickstart --count 1000000
wait_for 120 feed_grows || fail "no transaction arrives"
ip netns list | grep -q "pss$QUICKSTART\b" || fail "it was not interrupted in the middle"
kill -INT -- "-$QUICKSTART"
wait_for 20 gone "$QUICKSTART" || fail "it goes on after SIGINT"
wait "$QUICKSTART"
code=$?
[ $code -eq 130 ] || fail "exit code $code after SIGINT"
nothing_left "after SIGINT"
pass "50 sent, received and in the feed; interrupted with code 130; nothing is left either time"
