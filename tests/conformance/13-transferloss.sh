#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# 2 MB while one of fifty datagrams is lost in each direction; and losses of eight in a row.

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	CASE=transferloss
	run_case $client 1700 1100-1232 "$BASE --loss 0.02 --seed 12" "version handshakes=1"
	CASE=burstloss
	run_case $client 400 1100-1232 "$BASE --loss 0.005:8 --seed 13" "version handshakes=1"
done
end_case
