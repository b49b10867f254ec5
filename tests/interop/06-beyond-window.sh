#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A stream one byte longer than its window closes the connection with FLOW_CONTROL_ERROR.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
for excess in 1 20000; do
	client "$NGTCP2" --bytes-beyond-window $excess --count 0
	client_closed transport 3
done
still_serves
pass "streams of 1 and of 20,000 bytes beyond the window are answered with FLOW_CONTROL_ERROR"
