#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Version 1 transactions of up to 4,096 bytes.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
for sizes in 1233-4096 4096-4096; do
	start_check 1000 --large --sizes $sizes
	client_sends_all "$NGTCP2" --count 1000 --large --sizes $sizes
	end_check
done
pass "2 times 1,000 version 1 transactions of up to 4,096 bytes are in the feed"
