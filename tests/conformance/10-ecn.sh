#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Both sides mark what they send and tell what marks they saw. The client on ngtcp2 marks nothing.

. "$(dirname "$0")/lib.sh"
start_bed
for client in quinn quicgo; do
	run_case $client 90 1100-1232 "$BASE" "version handshakes=1 ecn"
done
end_case
