#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A client that offers ChaCha20-Poly1305 only.

. "$(dirname "$0")/lib.sh"
start_bed
has aioquic || skip "needs aioquic"
transactions 1
client "$AIOQUIC" --cipher chacha20 --count 1 --from-file "$TMP/transactions"
if [ "$(field close_code "$TMP/client.out")" = $((0x128)) ]; then
	row aioquic skipped "this build has no ChaCha20-Poly1305: handshake_failure"
	skip "this build has no ChaCha20-Poly1305: the client is told handshake_failure"
fi
run_case aioquic 1000 1100-1232 "$BASE" "version handshakes=1" --cipher chacha20
end_case
