#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# 1,999 small transactions, each a stream, over one connection.

. "$(dirname "$0")/lib.sh"
start_bed
for client in $CLIENTS; do
	run_case $client 1999 134-170 "$BASE" "version handshakes=1"
done
end_case
