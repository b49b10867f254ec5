#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A client with a ticket of another server sends early data: it is not taken, the handshake is a
# whole one, and what was early arrives all the same.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[agave]="keeps no ticket of another server"
for client in $CLIENTS; do
	run_case $client 40 250-300 "$BASE" "version handshakes=1 full-handshakes=1 early-data" --early-data
done
end_case
