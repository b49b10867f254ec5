#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A penstock that is killed leaves its program behind; the kernel serves, and the next run replaces
# the program and takes the service over.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -- --no-pci

program_id() { ip -n "$NSS" -d link show srv | sed -n 's/.*prog\/xdp[a-z]* id \([0-9]*\).*/\1/p'; }

[ "$(kernel_gets)" = 0 ] || fail "the kernel gets datagrams while penstock runs"
before=$(program_id)
attach=$(info port0_attach)
kill -KILL "$PENSTOCK_PID"
wait "$PENSTOCK_PID" 2>/dev/null
got=$(kernel_gets)
[ "$got" = 50 ] || fail "the kernel got $got of 50 datagrams after penstock was killed"
if [ "$attach" = bpf_link ]; then
	has_no_program || fail "the program outlives its owner"
else
	has_program || fail "the program did not stay on the interface, so nothing was tested"
fi
start_penstock "$TMP/penstock.ini" -- --no-pci
[ "$(program_id)" != "$before" ] || fail "the program of the killed penstock was not replaced"
got=$(kernel_gets)
[ "$got" = 0 ] || fail "the kernel still got $got of 50 datagrams after the restart"
# All that penstock was sent is in the feed, once, over both runs.
feed_has udp 100
pass "killed: the kernel serves; restarted: the stale program is replaced and penstock serves"
