#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A second connection does the whole handshake again, as nobody was given a ticket.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[agave]="one connection to a server"
CONNECTIONS=2
for client in $CLIENTS; do
	run_case $client 30 400-500 "$BASE" "version handshakes=2 full-handshakes=2"
done
end_case
