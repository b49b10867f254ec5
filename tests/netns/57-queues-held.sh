#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# AF_XDP sockets of others on the queues that penstock is to have: check names the queues, and the
# first_queue that is free, or says that there is none.

. "$(dirname "$0")/lib.sh"
XSK=$NETNS_DIR/../lab/guest/xsk.py
need_bed
[ -c /dev/net/tun ] || skip "needs /dev/net/tun"
make_bed
spawn tap in_server_exec python3 -u "$NETNS_DIR/mqtap.py" mq 4
wait_for 20 grep -q ready "$TMP/tap.out" || skip "a TAP with four queues cannot be made here"
ip -n "$NSS" link set mq mtu 1500 up

cat >"$TMP/penstock.ini" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
lcores = 0
[port tap]
device = mq
queues = 1
first_queue = 0
[feed]
dir = $FEEDS
[service udp]
kind = udp
address = $SERVER_ADDR
port = 8001
CONF

# hold QUEUE...: sockets on these, in $HOLDER.
hold() {
	spawn hold in_server_exec python3 "$XSK" hold mq "$@"
	HOLDER=$PID
	wait_for 20 grep -q held "$TMP/hold.out" || skip "an AF_XDP socket cannot be bound to a TAP here"
}

# told TEXT [OPTION=VALUE...]: check's rows about sockets have this, with such a configuration.
told() {
	local text=$1 o
	shift
	cp "$TMP/penstock.ini" "$TMP/other.ini"
	for o in "$@"; do
		sed -i "/^${o%%=*} =/d; s/^device = .*/&\n${o%%=*} = ${o#*=}/" "$TMP/other.ini"
	done
	in_server "$PENSTOCK" check -c "$TMP/other.ini" >"$TMP/check.txt" 2>&1
	grep -A 1 ' xdp ' "$TMP/check.txt" >"$TMP/rows.log"
	grep -q "$text" "$TMP/rows.log" || fail "not told: $text"
}

told '^ok *xdp *mq *no AF_XDP socket on its queues'
hold 0 1
told '^not *xdp *mq *queue 0 is held by an AF_XDP socket of'
told 'set first_queue = 2 and layout = dedicated in \[port tap\]'
told 'set first_queue = 2 in \[port tap\]' layout=dedicated
told '^not *xdp *mq *queue 1 is held' queues=2
told 'set first_queue = 2 and layout' queues=2
told 'start Agave with --no-xdp, or choose another port: no 63 neighbouring queues of [0-9]* are free' queues=63
told '^ok *xdp *mq *no AF_XDP socket' first_queue=2 layout=dedicated
told "^partial *xdp *mq *others hold queues of it, and RSS leads the services' packets there too" first_queue=2
stop "$HOLDER"
hold 0 2
told 'set first_queue = 1 and layout'
told 'set first_queue = 3 and layout' queues=2
stop "$HOLDER"
told '^ok *xdp *mq *no AF_XDP socket on its queues'
pass "held queues are named, and the place that is free"
