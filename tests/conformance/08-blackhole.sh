#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The path swallows everything for two seconds of every four (the runner: of every seven, 10 MB). A
# shorter time between would meet the doubling probes of both sides too seldom.

. "$(dirname "$0")/lib.sh"
start_bed
link="$BASE --blackhole $(by_size 2000:2000 5000:2000)"
for client in $CLIENTS; do
	run_case $client $(by_size 3000 8500) 1100-1232 "$link" "version handshakes=1"
done
end_case
