#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Retry on: its token comes back, and packet numbers are not reset.

. "$(dirname "$0")/lib.sh"
start_bed -o quic.retry=always
for client in $CLIENTS; do
	run_case $client 20 500-600 "$BASE" "version handshakes=1 retry"
done
end_case
