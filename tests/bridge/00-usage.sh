#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What is wrong is told in one line with what mends it: code 2 for usage, 1 for what cannot be had.

. "$(dirname "$0")/lib.sh"
[ -x "$PENSTOCK" ] || skip "$PENSTOCK is not built; ninja -C $BUILD"
begin

# refuses CODE WORDS ARGS...: one line on standard error, with these words (a pattern)
refuses() {
	local code=$1 words=$2 got
	shift 2
	timeout 10 "$PENSTOCK" bridge "$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	[ $got -eq "$code" ] || fail "bridge $*: code $got, should be $code: $(cat "$TMP/err")"
	[ "$(wc -l <"$TMP/err")" -eq 1 ] || fail "bridge $*: not one line: $(cat "$TMP/err")"
	grep -qE "$words" "$TMP/err" || fail "bridge $*: $(cat "$TMP/err")"
}

write_bridge_conf
CONF=$TMP/bridge.ini
printf 'staked_map_id: [1]\n' >"$TMP/stakes"
echo '[1, 2]' >"$TMP/key"
mkdir -p "$FEEDS"
echo "no feed" >"$FEEDS/tpu.0"
refuses 2 "give -c FILE"
refuses 2 "unknown option --no" -c "$CONF" --no
refuses 2 "unexpected 'more'" -c "$CONF" more
refuses 2 "bridge\] connections.*from 1 to 16" -c "$CONF" -o bridge.connections=17
refuses 2 "one of: quic udp" -c "$CONF" -o bridge.protocol=tcp
refuses 1 "cannot read /nonexistent" -c /nonexistent
refuses 1 "target: 'localhost:1' is not ADDRESS:PORT" -c "$CONF" -o bridge.target=localhost:1
refuses 1 "target: '127.0.0.1:0' is not" -c "$CONF" -o bridge.target=127.0.0.1:0
refuses 1 "bridge\] keys: cannot read /nonexistent.*solana-keygen" -c "$CONF" -o bridge.keys=/nonexistent
refuses 1 "bridge\] keys: $TMP/key is not a JSON array" -c "$CONF" -o "bridge.keys=$TMP/key"
refuses 1 "stakes: cannot read /nonexistent" -c "$CONF" -o bridge.stakes=/nonexistent
refuses 1 "staked_map_id" -c "$CONF" -o "bridge.stakes=$TMP/stakes"
refuses 1 "tpu.0 is not a file of a feed; name feeds only" -c "$CONF"
printf '[bridge]\ntarget = 127.0.0.1:1\n' >"$CONF"
refuses 1 "feeds is missing; name feeds" -c "$CONF"
"$PENSTOCK" help bridge | grep -q "usage: penstock bridge" || fail "there is no help"
pass
