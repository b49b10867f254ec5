#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# EAL's arguments after "--", whose parser differs between DPDK releases: the same ones as penstock
# gives by itself are no mistake, and a wrong one is answered by one line and exit code 1. Run by
# lib.sh in each chroot.

. "$(dirname "$0")/../netns/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

for wrong in --no-such-option --vdev=net_nothing0; do
	timeout 20 ip netns exec "$NSS" "$PENSTOCK" run -c "$TMP/penstock.ini" -- --no-pci $wrong \
		>"$TMP/wrong.out" 2>"$TMP/wrong.log"
	code=$?
	[ $code -eq 1 ] || fail "$wrong: exit code $code, expected 1"
	[ "$(wc -l <"$TMP/wrong.log")" -eq 1 ] || fail "$wrong: not one line on stderr"
	grep -q "EAL does not start" "$TMP/wrong.log" || fail "$wrong: the line does not say who refused"
done
start_penstock "$TMP/penstock.ini" -- --no-pci --no-huge --no-shconf -m 600 --iova-mode=va \
	"--file-prefix=penstock-$INSTANCE"
client_wire send $SERVER_ADDR 8001 10
feed_has udp 10
pass "a wrong EAL argument is one line, and penstock's own may be given again"
