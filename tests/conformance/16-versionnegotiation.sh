#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A client that begins with a version of QUIC that we do not speak, a reserved one, a draft (quinn) or
# version 2 (quic-go), is told ours, under its own connection ids, and goes on with version 1.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[agave]="begins with version 1"
for client in $CLIENTS; do
	run_case $client 10 400-500 "$BASE" "negotiation" --unknown-version
done
end_case
