#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Both sides go on to key phase 1 in the middle of a transfer of 2 MB (the runner: 3 MB). quinn does
# so by itself, somewhere in its first thousand packets.

. "$(dirname "$0")/lib.sh"
start_bed
NOT_FOR[quiche]="cannot ask for a key update"
for client in $CLIENTS; do
	options=
	case $client in ngtcp2 | aioquic) options="--key-update-every 200" ;; esac
	# shellcheck disable=SC2086
	run_case $client $(by_size 1700 2560) 1100-1232 "$BASE" "version handshakes=1 key-update" $options
done
end_case
