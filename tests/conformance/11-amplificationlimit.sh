#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The datagrams 2 to 7 of the client are lost: the server does not send more than three times what it
# received. (The runner also makes the certificates so large that this binds; ours has 249 bytes.)

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	run_case $client 10 400-500 "$BASE --drop 2-7" "version handshakes=1 amplification"
done
end_case
