#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A penstock that hangs (SIGSTOP) gives its traffic back to the kernel, and takes it again when it
# goes on.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -- --no-pci

[ "$(kernel_gets)" = 0 ] || fail "the kernel gets datagrams while penstock runs"
kill -STOP "$PENSTOCK_PID"
sleep 1.2
got=$(kernel_gets)
[ "$got" = 50 ] || fail "the kernel got $got of 50 datagrams while penstock was stopped"
kill -CONT "$PENSTOCK_PID"
sleep 0.5
got=$(kernel_gets)
[ "$got" = 0 ] || fail "the kernel still got $got of 50 datagrams after SIGCONT"
wait_for 3 test "$(top_value passed_stale)" -ge 50 || fail "passed_stale counts $(top_value passed_stale)"
alive "$PENSTOCK_PID" || fail "penstock did not survive"
pass "stopped: the kernel serves within 1.2 s; continued: penstock serves again"
