#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Datagrams that overtake each other and come twice.

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	run_case $client 850 1100-1232 "$BASE --reorder 0.05 --dup 0.05 --seed 20" "handshakes=1"
done
end_case
