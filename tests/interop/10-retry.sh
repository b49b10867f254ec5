#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# With Retry on, every client is sent one Retry and then served.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu -o quic.retry=always
start_check 1000
client_sends_all "$NGTCP2" --count 1000 --connections 3
end_check
[ "$(field retries "$TMP/client.out")" -eq 3 ] || fail "$(field retries "$TMP/client.out") Retry packets for 3 connections"
[ "$(top_value quic_retried)" -ge 3 ] || fail "quic_retried counts $(top_value quic_retried)"
pass "3 connections, each after one Retry"
