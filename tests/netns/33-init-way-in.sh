#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# init does not touch the way in: default route, SSH session, bridge; and fini not a port in use.

. "$(dirname "$0")/host.sh"
host_begin
snapshot >"$TMP/before.txt"

# refused WORD: init says no, names the word and the interface, and changed nothing.
refused() {
	host init -c "$CONF" >"$TMP/refused.txt" 2>&1
	[ $? -eq 1 ] || fail "init took an interface with $1"
	grep -q "srv.*$1.*--i-have-another-way-in" "$TMP/refused.txt" || fail "$1 is not named: $(cat "$TMP/refused.txt")"
	same_as "$TMP/before.txt" "init refused and changed something"
	no_state || fail "init refused and left a state file"
}

ip -n "$NSS" route add default via $CLIENT_ADDR
refused 'default route'
host init -c "$CONF" --i-have-another-way-in --undo-after 0 >"$TMP/told.txt" 2>&1 \
	|| fail "init refuses although told: $(cat "$TMP/told.txt")"
[ "$(mtu srv)" = 1500 ] || fail "init told did nothing"
# What is done already needs no permission.
host init -c "$CONF" --undo-after 0 | grep -q 'nothing to change' || fail "a second init refuses"
host fini -c "$CONF" >/dev/null || fail "fini"
ip -n "$NSS" route del default
same_as "$TMP/before.txt" "fini did not restore"

# A session on port 22 of this host, whatever answers there.
spawn sshd in_server_exec python3 -c '
import socket, time
s = socket.create_server(("0.0.0.0", 22))
print("ready", flush=True)
c = s.accept()
time.sleep(60)'
SSHD=$PID
wait_for 5 grep -q ready "$TMP/sshd.out" || fail "nothing listens on port 22"
spawn ssh in_client_exec python3 -c "
import socket, time
c = socket.create_connection(('$SERVER_ADDR', 22))
print('ready', flush=True)
time.sleep(60)"
wait_for 5 grep -q ready "$TMP/ssh.out" || fail "no session on port 22"
refused SSH
stop "$PID" "$SSHD"

ip -n "$NSS" link add br0 type bridge || skip "bridges cannot be made here"
ip -n "$NSS" link set srv master br0
snapshot >"$TMP/before.txt"
refused bridge
host check -c "$CONF" | grep -q '^not *stacked *srv' || fail "check does not name the bridge"
ip -n "$NSS" link set srv nomaster
ip -n "$NSS" link del br0
snapshot >"$TMP/before.txt"

# While penstock runs, neither init nor fini touches its port.
host init -c "$CONF" --undo-after 0 >/dev/null || fail "init"
write_conf "$TMP/run.ini"
start_penstock "$TMP/run.ini"
for c in init fini; do
	host $c -c "$CONF" >"$TMP/busy.txt" 2>&1
	[ $? -eq 1 ] || fail "$c goes on while penstock runs"
	grep -q "penstock $INSTANCE is running" "$TMP/busy.txt" || fail "$c does not say why"
done
kill -STOP "$PENSTOCK_PID"
host fini -c "$CONF" >"$TMP/busy.txt" 2>&1 && fail "fini goes on while penstock is stopped"
kill -CONT "$PENSTOCK_PID"
stop "$PENSTOCK_PID"
host fini -c "$CONF" >/dev/null || fail "fini after the end"
same_as "$TMP/before.txt" "fini after the end did not restore"
pass "default route, SSH, bridge and a running penstock are left alone"
