#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The units are ones that systemd understands, and their programs know the arguments they give them. What
# launch.sh tells a service manager, over a socket like systemd's: ready once it serves, and no more
# beats of the watchdog once a worker is stuck. (Under systemd itself: tests/lab/24.)

. "$(dirname "$0")/host.sh"
need_bed
command -v systemd-analyze >/dev/null || skip "needs systemd-analyze; apt-get install systemd"
begin
for unit in penstock.service penstock-bridge@.service; do
	sed "s|/usr/local/lib/penstock/launch.sh|$ROOT/deploy/launch.sh|; s|/usr/local/bin/penstock|$PENSTOCK|" \
		"$ROOT/deploy/systemd/$unit" >"$TMP/$unit"
	systemd-analyze verify --man=no --recursive-errors=no "$TMP/$unit" >"$TMP/verify.log" 2>&1 \
		|| fail "systemd-analyze refuses $unit"
	[ ! -s "$TMP/verify.log" ] || fail "systemd-analyze complains of $unit"
done

# Their commands, with a configuration that is not there: an error of ours, not of usage.
grep -hE '^Exec(Start|Stop)' "$TMP"/*.service | sed 's/^[^=]*=-\?//; s|/etc/penstock/|/nonexistent/|' >"$TMP/commands"
[ "$(wc -l <"$TMP/commands")" -eq 4 ] || fail "the units have other commands than expected"
while read -r line; do
	PENSTOCK=$PENSTOCK $line >"$TMP/command.log" 2>&1
	[ $? -eq 1 ] || fail "'$line' does not end with 1"
done <"$TMP/commands"

make_bed
mkdir "$TMP/state"
write_conf "$TMP/penstock.ini"
spawn manager python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)' "$TMP/notify"
wait_for 5 test -S "$TMP/notify"
beats() { grep -c 'WATCHDOG=1' "$TMP/manager.out"; }
more_than() { [ "$(beats)" -gt "$1" ]; }
spawn launch in_server_exec env PENSTOCK="$PENSTOCK" STATE_DIRECTORY="$TMP/state" \
	NOTIFY_SOCKET="$TMP/notify" bash "$ROOT/deploy/launch.sh" -c "$TMP/penstock.ini"
LAUNCH=$PID
wait_for 90 grep -q "READY=1" "$TMP/manager.out" || fail "systemd is not told that it serves"
[ "$(kernel_gets)" = 0 ] || fail "ready, and the kernel gets datagrams"
wait_for 60 more_than 1 || fail "the watchdog is not beaten"
penstock=$(pgrep -f "^$PENSTOCK run -c $TMP/penstock.ini")
task=$(grep -l worker /proc/"$penstock"/task/*/comm | head -n 1)
spawn tracer python3 "$NETNS_DIR/hold.py" "$(basename "$(dirname "$task")")"
TRACER=$PID
wait_for 10 grep -q held "$TMP/tracer.out" || skip "a thread cannot be held here: $(cat "$TMP/tracer.log")"
sleep 0.3
before=$(beats)
wait_for 30 grep -q 'penstock hangs' "$TMP/launch.log" || fail "a stuck worker is not noticed"
# One look may have been under way.
[ "$(beats)" -le $((before + 1)) ] || fail "the watchdog is beaten for a worker that is stuck"
wait_for 20 gone "$LAUNCH" || fail "launch.sh goes on beside a worker that is stuck"
wait_for 5 grep -q 'STOPPING=1' "$TMP/manager.out" || fail "systemd is not told that it stops"
stop "$TRACER"
pass "the units parse, their commands run; ready, beats, and none for a stuck worker"
