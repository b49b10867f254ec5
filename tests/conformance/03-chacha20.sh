#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A client that offers ChaCha20-Poly1305 only sends 1 MB (the runner: 3 MB).

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[quicgo]="Go's TLS has no choice of cipher suites"
NOT_FOR[quiche]="BoringSSL has no choice of TLS 1.3 cipher suites"
NOT_FOR[agave]="has no choice of cipher suites"
for client in $CLIENTS; do
	run_case $client $(by_size 850 2560) 1100-1232 "$BASE" "version handshakes=1 chacha20" --cipher chacha20
done
end_case
