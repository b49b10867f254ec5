#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# As for the port, and the address changes too.

. "$(dirname "$0")/lib.sh"
start_bed
FROM2=$SECOND_ADDR
link="$BASE --rebind 1000:$(by_size 1000 5000)"
for client in $CLIENTS; do
	rule=paths=2
	# Its empty connection ids keep tshark from reading packets to an address it does not know.
	[ $client != quicgo ] || rule=addresses=2
	run_case $client $(by_size 2500 8500) 1100-1232 "$link" "version handshakes=1 $rule"
done
end_case
