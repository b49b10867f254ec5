#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Both sides mark what they send and tell what marks they saw.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[aioquic]="has no ECN"
NOT_FOR[quiche]="has no ECN"
for client in $CLIENTS; do
	run_case $client 90 1100-1232 "$BASE" "version handshakes=1 ecn"
done
end_case
