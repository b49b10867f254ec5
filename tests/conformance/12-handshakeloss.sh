#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# 50 handshakes while three of ten datagrams are lost in each direction, for each client
# at most three in a row.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[agave]="one connection to a server"
CONNECTIONS=50
for client in $CLIENTS; do
	run_case $client 100 500-600 "$BASE --loss 0.3 --spoil-max 3 --seed 11" "version handshakes=50"
done
end_case
