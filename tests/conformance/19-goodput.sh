#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# How fast 3 MB (the runner: 10 MB) get through 10 Mbit/s; below a quarter of it is a failure.

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	MIN_KBPS=2500
	# Python is as slow as that on a busy machine.
	[ $client != aioquic ] || MIN_KBPS=1000
	run_case $client $(by_size 2500 8500) 1100-1232 "$BASE" "version handshakes=1"
done
end_case
