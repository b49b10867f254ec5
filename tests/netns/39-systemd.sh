#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The unit is one that systemd understands, and its programs know the arguments it gives them.

. "$(dirname "$0")/lib.sh"
need_bed
command -v systemd-analyze >/dev/null || skip "needs systemd-analyze; apt-get install systemd"
begin
UNIT=$TMP/penstock.service
sed "s|/usr/local/lib/penstock/launch.sh|$ROOT/deploy/launch.sh|; s|/usr/local/bin/penstock|$PENSTOCK|" \
	"$ROOT/deploy/systemd/penstock.service" >"$UNIT"
systemd-analyze verify --man=no --recursive-errors=no "$UNIT" >"$TMP/verify.log" 2>&1 \
	|| fail "systemd-analyze refuses it"
[ ! -s "$TMP/verify.log" ] || fail "systemd-analyze complains"

# Its commands, with a configuration that is not there: an error of ours, not of usage.
grep -E '^Exec(Start|Stop)' "$UNIT" | sed 's/^[^=]*=-\?//; s|/etc/penstock/|/nonexistent/|' >"$TMP/commands"
[ "$(wc -l <"$TMP/commands")" -eq 3 ] || fail "the unit has other commands than expected"
while read -r line; do
	PENSTOCK=$PENSTOCK $line >"$TMP/command.log" 2>&1
	[ $? -eq 1 ] || fail "'$line' does not end with 1"
done <"$TMP/commands"
pass "the unit parses, and its commands run"
