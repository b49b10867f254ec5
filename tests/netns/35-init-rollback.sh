#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A failure in the middle of init, here of the state's disk, takes everything back.

. "$(dirname "$0")/host.sh"
host_begin
build_hook
snapshot >"$TMP/before.txt"

at=1
while :; do
	HOOK="LD_PRELOAD=$TMP/hook.so HOOK_AT=$at HOOK_DO=fail" \
		host init -c "$CONF" --undo-after 0 >"$TMP/init.txt" 2>&1
	code=$?
	[ $code -ne 0 ] || break
	[ $code -eq 1 ] || fail "init ended with $code"
	grep -q "cannot write .*No space left" "$TMP/init.txt" || fail "the cause is not said"
	same_as "$TMP/before.txt" "failure $at was not rolled back"
	no_state || fail "failure $at left a state file"
	at=$((at + 1))
done
[ $at -ge 5 ] || fail "only $((at - 1)) failures"

# A later init that fails takes back what it has done, to what it had found; what the first one
# saved is still what fini restores.
again() {
	ip -n "$NSS" link set srv mtu 3000
	in_server ethtool -K mq rx-udp-gro-forwarding on >/dev/null 2>&1
}
again
snapshot >"$TMP/second.txt"
second=1
while :; do
	HOOK="LD_PRELOAD=$TMP/hook.so HOOK_AT=$second HOOK_DO=fail" \
		host init -c "$CONF" --undo-after 0 --json >"$TMP/init.json" 2>"$TMP/init.txt"
	code=$?
	[ $code -ne 0 ] || break
	[ $code -eq 1 ] || fail "the second init ended with $code"
	rows "$TMP/init.json" 'not d["ok"] and [r for r in d["steps"] if r["outcome"] == "refused"]' \
		|| fail "the JSON does not say what was refused"
	same_as "$TMP/second.txt" "failure $second of the second init was not rolled back to before it"
	second=$((second + 1))
done
[ $second -ge 3 ] || fail "only $((second - 1)) failures of the second init"
host fini -c "$CONF" >"$TMP/fini.txt" || fail "fini"
! grep -q '^foreign' "$TMP/fini.txt" || fail "fini takes a rolled back change for a foreign one"
same_as "$TMP/before.txt" "fini did not restore what was before the first init"
no_state || fail "a state file remains"
pass "rolled back from $((at - 1)) failures, and $((second - 1)) of a second init"
