#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# 1.5 s there and back, longer than a client waits before it repeats its ClientHello: that must not
# become a second connection.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[agave]="ends a handshake after 2 s"
for client in $CLIENTS; do
	run_case $client 2 134-700 "--delay 750 --rate 10000 --queue 25" "version handshakes=1 client-hellos=2"
done
end_case
