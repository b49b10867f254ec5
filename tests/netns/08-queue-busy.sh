#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A queue that a dying process still holds is waited for; one that stays taken is refused in one
# line, and nothing is left.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

hold() {
	spawn holder in_server_exec python3 "$NETNS_DIR/xsk_hold.py" srv 0
	HOLDER=$PID
	wait_for 10 grep -q held "$TMP/holder.out" || skip "no AF_XDP socket on a veth here"
}

hold
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" -- --no-pci
PENSTOCK_PID=$PID
sleep 1
alive "$PENSTOCK_PID" || fail "penstock does not wait for the queue"
! has_program || fail "penstock serves although the queue is taken, so nothing was tested"
kill -KILL "$HOLDER"
wait "$HOLDER" 2>/dev/null
wait_for 20 is_serving || fail "penstock does not take the queue once it is free"
client_wire send $SERVER_ADDR 8001 50
feed_has udp 50
stop "$PENSTOCK_PID"

hold
in_server timeout 30 "$PENSTOCK" run -c "$TMP/penstock.ini" -- --no-pci >"$TMP/refused.log" 2>&1
code=$?
[ $code -eq 1 ] || fail "exit code $code with a queue that stays taken"
[ "$(wc -l <"$TMP/refused.log")" = 1 ] || fail "not one line"
grep -q 'queue 0 of interface srv is in use' "$TMP/refused.log" || fail "the queue is not named"
alive "$HOLDER" || fail "the holder ended, so nothing was tested"
has_no_program || fail "a program is left"
pass "waited for, taken, and refused in one line"
