#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The control: both clients against a quinn server set up as Agave's, without Penstock. What fails
# here is wrong in the clients.

. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "needs root for network namespaces"
need_ngtcp2
need_quinn
make_bed
for program in "$NGTCP2" "$QUINN"; do
	for retry in "" --retry; do
		# shellcheck disable=SC2086
		spawn control in_server_exec "$CONTROL" $TPU_PORT 300 $retry
		control=$PID
		wait_for 10 grep -q ready "$TMP/control.out" || fail "the control server does not start"
		client_sends_all "$program" --count 2000
		kill -INT "$control"
		wait "$control"
		[ "$(field streams "$TMP/control.out")" -eq 2000 ] || fail "server counts $(tail -n 1 "$TMP/control.out")"
		[ "$(field bytes "$TMP/control.out")" = "$(field bytes "$TMP/client.out")" ] \
			|| fail "bytes differ: $(tail -n 1 "$TMP/control.out")"
		digests="${digests:-} $(field digest "$TMP/control.out")"
	done
done
[ "$(echo "$digests" | tr ' ' '\n' | sort -u | grep -c .)" -eq 1 ] || fail "digests differ:$digests"
pass "4 times 2,000 transactions arrived at the control server with one digest"
