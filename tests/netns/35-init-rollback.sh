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
host fini -c "$CONF" >/dev/null || fail "fini"
same_as "$TMP/before.txt" "fini did not restore"
pass "rolled back from $((at - 1)) failures"
