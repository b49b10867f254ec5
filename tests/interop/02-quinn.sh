#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quinn with rustls and ring, 10,000 transactions of 134 to 1,232 bytes, byte-identical in the feed.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_quinn
start_tpu
for connections in 1 4; do
	start_check 10000 --seed $connections
	client_sends_all "$QUINN" --count 10000 --seed $connections --connections $connections
	end_check
	[ "$(field keys "$TMP/check.out")" -eq 10000 ] || fail "records without the client's key: $(cat "$TMP/check.out")"
done
pass "10,000 transactions over 1 and over 4 connections are in the feed, byte for byte"
