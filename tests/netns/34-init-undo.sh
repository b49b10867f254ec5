#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What init did is taken back by itself unless it is confirmed, even when the shell is gone.

. "$(dirname "$0")/host.sh"
host_begin
snapshot >"$TMP/before.txt"
restored() { snapshot | cmp -s "$TMP/before.txt" - && no_state; }

# The shell that ran init is killed with its whole session, as a lost connection would.
setsid bash -c '. "$0/host.sh"; STATE=$1 NSS=$2
	host init -c "$3" --undo-after 0.05 >/dev/null; kill -HUP 0; sleep 60' \
	"$NETNS_DIR" "$STATE" "$NSS" "$CONF" >/dev/null 2>&1 &
SHELL_PID=$!
wait_for 5 test -s "$STATE/$INSTANCE.state" || fail "init did not begin"
wait_for 20 restored || fail "it was not taken back"
gone "$SHELL_PID" || fail "the shell that ran init lives on, so this shows nothing"

# So is the program of a penstock that was killed meanwhile.
sed '/^\[port tap\]/,/^queues/d; s/^lcores.*/lcores = 0/' "$CONF" >"$TMP/one.ini"
host init -c "$TMP/one.ini" --undo-after 0.4 >/dev/null || fail "init before a kill"
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/one.ini"
PENSTOCK_PID=$PID
wait_for 20 is_serving || fail "penstock does not start"
kill -KILL "$PENSTOCK_PID"
wait "$PENSTOCK_PID" 2>/dev/null
[ "$(mtu srv)" = 1500 ] || fail "taken back too early, so this shows nothing"
wait_for 40 restored || fail "it was not taken back after a kill"
has_no_program || fail "the killed penstock's program stays"

# Confirmed: it stays. The second deadline is far enough away for a slow machine.
host init -c "$CONF" --undo-after 0.25 >"$TMP/init.txt" || fail "init"
grep -q 'taken back in 0.25 minutes unless penstock confirm' "$TMP/init.txt" || fail "no warning"
host confirm -c "$CONF" --json >"$TMP/confirm.json" || fail "confirm does not confirm"
rows "$TMP/confirm.json" 'd["ok"] and d["text"].startswith("kept: ") and row("mtu", "srv")["outcome"] == "kept"' \
	|| fail "confirm does not say what it keeps"
host confirm -c "$CONF" | grep -q '^nothing waits' || fail "a second confirm does something"
sleep 17
[ "$(mtu srv)" = 1500 ] || fail "taken back although confirmed"
host fini -c "$CONF" >/dev/null || fail "fini"
same_as "$TMP/before.txt" "fini did not restore"

# fini before the deadline: the timer finds nothing to do, and later changes are safe from it.
host init -c "$CONF" --undo-after 0.05 >/dev/null || fail "init"
host fini -c "$CONF" >/dev/null || fail "fini before the deadline"
host init -c "$CONF" --undo-after 0 >/dev/null || fail "init without a deadline"
sleep 5
[ "$(mtu srv)" = 1500 ] || fail "an old timer took back what it did not guard"
host fini -c "$CONF" >/dev/null

# A timer whose state directory is gone has nothing to undo, and ends.
mkdir "$TMP/short"
in_server env STATE_DIRECTORY="$TMP/short" "$PENSTOCK" init -c "$CONF" --undo-after 0.05 >/dev/null || fail "init"
timer() { pgrep -f "^$PENSTOCK init -c $CONF --undo-after 0.05" >/dev/null; }
timer || fail "there is no timer, so this shows nothing"
mv "$TMP/short" "$TMP/kept" && ln -s "$TMP/nowhere/below" "$TMP/short"
wait_for 20 eval '! timer' || fail "a timer without its state directory goes on"
rm "$TMP/short" && mv "$TMP/kept" "$TMP/short"
in_server env STATE_DIRECTORY="$TMP/short" "$PENSTOCK" fini -c "$CONF" >/dev/null || fail "fini after a timer that ended"

for bad in -1 x 1e9 ""; do
	host init -c "$CONF" --undo-after "$bad" >/dev/null 2>&1
	[ $? -eq 2 ] || fail "--undo-after '$bad' is not a usage mistake"
done
pass "taken back, confirmed, and old timers harmless"
