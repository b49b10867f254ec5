#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# kill -9 at every step of init, before and after the state file is replaced, then fini: everything
# is as it was. Between two replacements lies exactly one change.

. "$(dirname "$0")/host.sh"
host_begin
build_hook
snapshot >"$TMP/before.txt"

at=1 kills=0
while :; do
	ended=0
	for what in kill-before kill-after; do
		HOOK="LD_PRELOAD=$TMP/hook.so HOOK_AT=$at HOOK_DO=$what" \
			host init -c "$CONF" --undo-after 0 >"$TMP/init.txt" 2>&1
		code=$?
		[ $code -eq 137 ] || ended=1
		[ $code -eq 137 ] || [ $code -eq 0 ] || fail "init ended with $code at $what $at"
		kills=$((kills + 1 - ended))
		# Half of it is there; a plain init brings it to its end, every other time.
		if [ $((at % 2)) -eq 0 ] && [ $ended -eq 0 ]; then
			host init -c "$CONF" --undo-after 0 >/dev/null || fail "init after $what $at"
			host check -c "$CONF" >/dev/null || fail "not ready after $what $at and init"
		fi
		host fini -c "$CONF" >"$TMP/fini.txt" 2>&1 || fail "fini after $what $at fails"
		! grep -q '^foreign' "$TMP/fini.txt" || fail "fini after $what $at gives up a change"
		same_as "$TMP/before.txt" "after $what $at and fini something is different"
		no_state || fail "a state file remains after $what $at"
	done
	[ $ended -eq 0 ] || break
	at=$((at + 1))
done
# Two replacements for each change.
[ $kills -ge 8 ] || fail "only $kills kills"
pass "killed at $kills points, restored each time"
