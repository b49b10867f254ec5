#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# deploy/launch.sh: prepares, serves, confirms, tells systemd; gives all back at SIGTERM, after a
# kill of penstock, and when penstock hangs.

. "$(dirname "$0")/host.sh"
need_bed
make_bed
STATE=$TMP/state
mkdir "$STATE"
CONF=$TMP/penstock.ini
write_conf "$CONF"
ip -n "$NSS" link set srv mtu 9000
snapshot >"$TMP/before.txt"
restored() { snapshot | cmp -s "$TMP/before.txt" - && no_state; }
serves() { grep -q 'launch: serving' "$TMP/launch.log"; }
# What launch.sh runs; a stubborn one stays for as long as $TMP/stubborn does.
cat >"$TMP/penstock" <<SH
#!/bin/bash
if [ "\$1" = run ] && [ -e "$TMP/stubborn" ]; then
	trap : TERM
	"$PENSTOCK" "\$@" &
	while [ -e "$TMP/stubborn" ]; do sleep 0.1; done
	kill -TERM \$!
	wait \$!
	exit
fi
exec "$PENSTOCK" "\$@"
SH
chmod 755 "$TMP/penstock"
kernel_has_all() { [ "$(kernel_gets)" -eq 50 ]; }
run_pid() { pgrep -f "^$PENSTOCK run -c $CONF"; }

# The last messages for systemd, as a service manager would get them.
cat >"$TMP/manager.py" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)
PY
spawn manager python3 "$TMP/manager.py" "$TMP/notify"
wait_for 5 test -S "$TMP/notify"

launch() {
	rm -f "$TMP/launch.log"
	spawn launch in_server_exec env PENSTOCK="$TMP/penstock" STATE_DIRECTORY="$STATE" \
		NOTIFY_SOCKET="$TMP/notify" bash "$ROOT/deploy/launch.sh" -c "$CONF"
	LAUNCH=$PID
	wait_for 90 serves || fail "launch.sh does not come to serve"
}

# Ordinary.
launch
[ "$(mtu srv)" = 1500 ] || fail "the host was not prepared"
! grep -q '^undo' "$STATE/$INSTANCE.state" || fail "not confirmed"
client_wire send $SERVER_ADDR 8001 20
feed_has udp 20
if command -v systemd-notify >/dev/null; then
	wait_for 5 grep -q 'READY=1' "$TMP/manager.out" || fail "systemd is not told"
	wait_for 5 grep -q 'WATCHDOG=1' "$TMP/manager.out" || fail "the watchdog is not beaten"
fi
# Reload reaches penstock, and ends neither.
kill -HUP "$LAUNCH"
wait_for 5 grep -q 'SIGHUP: no port has a deny list' "$TMP/launch.log" || fail "SIGHUP does not reach penstock"
sleep 1
alive "$LAUNCH" && alive "$(run_pid)" || fail "SIGHUP ends it"
kill -TERM "$LAUNCH"
wait "$LAUNCH"
code=$?
[ $code -eq 0 ] || fail "exit code $code after SIGTERM"
restored || fail "SIGTERM: the host is not as it was"
has_no_program || fail "SIGTERM: the program is left"

# It takes its time to stop.
touch "$TMP/stubborn"
launch
kill -TERM "$LAUNCH"
sleep 2
alive "$(run_pid)" || fail "stubborn: penstock ended all the same, so this shows nothing"
alive "$LAUNCH" || fail "stubborn: launch.sh does not wait for it"
rm "$TMP/stubborn"
wait_for 15 gone "$LAUNCH" || fail "stubborn: launch.sh does not end"
restored || fail "stubborn: the host is not as it was"

# Penstock is killed.
launch
kill -KILL "$(run_pid)"
wait "$LAUNCH"
code=$?
[ $code -ne 0 ] || fail "exit code 0 after penstock was killed"
restored || fail "SIGKILL: the host is not as it was"

# Penstock stands still: the kernel has its port back within three seconds, then the rest follows. It
# may take the program off while the first datagrams are on their way. (Drop rules: tests/lab/23.)
launch
victim=$(run_pid)
kill -STOP "$victim"
sleep 3
kernel_has_all || kernel_has_all || fail "stopped: the kernel does not get the packets"
wait_for 30 gone "$LAUNCH" || fail "launch.sh goes on beside a penstock that hangs"
grep -q 'penstock hangs' "$TMP/launch.log" || fail "the hanging is not said"
gone "$victim" || fail "the hanging penstock is left"
restored || fail "hanging: the host is not as it was"

# What cannot start is taken back too.
printf '[port none]\ndevice = nowhere0\n' >>"$CONF"
in_server env PENSTOCK="$PENSTOCK" STATE_DIRECTORY="$STATE" \
	bash "$ROOT/deploy/launch.sh" -c "$CONF" >"$TMP/bad.log" 2>&1 && fail "a bad port starts"
restored || fail "a failed start left something"
for args in "" "-x" "-c"; do
	bash "$ROOT/deploy/launch.sh" $args >/dev/null 2>&1
	[ $? -eq 2 ] || fail "launch.sh $args does not exit with 2"
done
pass "served, stopped, killed, hung: given back each time"
