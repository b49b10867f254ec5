#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The path swallows everything for two seconds, twice or more (the runner: 5 s on, 2 s off, 10 MB).

. "$(dirname "$0")/lib.sh"
start_bed
link="$BASE --blackhole $(by_size 1000:2000 5000:2000)"
for client in ngtcp2 quinn; do
	run_case $client $(by_size 2000 8500) 1100-1232 "$link" "version handshakes=1"
done
end_case
