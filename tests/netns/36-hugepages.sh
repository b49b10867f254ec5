#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Huge pages: check counts them against the footprint, init reserves what is missing, fini gives
# back exactly that. The machine's number is the same before and after.

. "$(dirname "$0")/host.sh"
host_begin
NODE=/sys/devices/system/node/node0/hugepages/hugepages-2048kB
[ -w $NODE/nr_hugepages ] || skip "no huge pages of 2 MiB on node 0 here"
before=$(cat $NODE/nr_hugepages)
give_back() {
	cat "$NODE/nr_hugepages" | grep -qx "$before" || echo "$before" >$NODE/nr_hugepages
	cleanup
}
trap give_back EXIT
sed -i 's/^memory = .*/memory = huge/; s/^device = mq/&\nmbufs = 4096\ndescriptors = 512/' "$CONF"

need=$(host mem -c "$CONF" --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][0]["pages_2m"])') || fail "mem"
[ "$(cat $NODE/free_hugepages)" -lt "$need" ] || skip "$need pages are free already"
host check -c "$CONF" >"$TMP/check.txt"
grep -q '^not *hugepages *node 0' "$TMP/check.txt" || fail "check does not miss the pages"

host init -c "$CONF" --undo-after 0 >"$TMP/init.txt" 2>&1
if grep -q 'cannot give more' "$TMP/init.txt"; then
	[ "$(cat $NODE/nr_hugepages)" = "$before" ] || fail "the failure was not rolled back"
	skip "this machine has no $need huge pages to give"
fi
[ "$(cat $NODE/free_hugepages)" -ge "$need" ] || fail "too few: $(cat "$TMP/init.txt")"
host check -c "$CONF" | grep -q '^ok *hugepages *node 0' || fail "check is not content"
host fini -c "$CONF" >/dev/null || fail "fini"
[ "$(cat $NODE/nr_hugepages)" = "$before" ] || fail "$(cat $NODE/nr_hugepages) pages, $before before"

# More than the machine has: said, and not even tried.
sed -i 's/^mbufs = .*/mbufs = 1048576/; s/^queues = .*/queues = 64/' "$CONF"
host check -c "$CONF" >"$TMP/big.txt" && fail "more pages than memory, and ready"
grep -q '^not *hugepages *node 0 .*more are needed' "$TMP/big.txt" || fail "the cause is not said"
! grep -q nr_hugepages "$TMP/big.txt" || fail "init would try"
pass "$need pages reserved and given back, too many refused"
