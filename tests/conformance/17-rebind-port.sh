#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A NAT gives the client another port after a second and then every second (the runner: 5 s, 10 MB):
# the new path is challenged with the first packet, and answered.

. "$(dirname "$0")/lib.sh"
start_bed
link="$BASE --rebind 1000:$(by_size 1000 5000)"
for client in $CLIENTS; do
	rule=paths=2
	# Its empty connection ids keep tshark from reading packets to an address it does not know.
	[ $client != quicgo ] || rule=addresses=2
	run_case $client $(by_size 2500 8500) 1100-1232 "$link" "version handshakes=1 $rule"
done
end_case
