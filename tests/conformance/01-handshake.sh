#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# One small transfer: version 1, one handshake, no Retry.

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	run_case $client 2 134-700 "$BASE" "version no-retry handshakes=1"
done
end_case
