#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# 2 MB while one of fifty datagrams is damaged in each direction.

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	run_case $client 1700 1100-1232 "$BASE --corrupt 0.02 --seed 15" "handshakes=1"
done
end_case
