#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# ngtcp2 with GnuTLS, 10,000 transactions of 134 to 1,232 bytes, byte-identical in the feed. The
# client lists AES-256 first; AES-128 is chosen.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
for connections in 1 4; do
	start_check 10000 --seed $connections
	client_sends_all "$NGTCP2" --count 10000 --seed $connections --connections $connections
	end_check
	[ "$(field keys "$TMP/check.out")" -eq 10000 ] || fail "records without the client's key: $(cat "$TMP/check.out")"
	[ "$(field cipher "$TMP/client.out")" = AES-128-GCM ] || fail "cipher $(field cipher "$TMP/client.out")"
	[ "$(field retries "$TMP/client.out")" -eq 0 ] || fail "Retry to a few connections: auto is for floods"
done
pass "10,000 transactions over 1 and over 4 connections are in the feed, byte for byte"
