#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# How fast 3 MB (the runner: 10 MB) get through 10 Mbit/s; below half of it is a failure.

. "$(dirname "$0")/lib.sh"
start_bed
for client in ngtcp2 quinn quicgo; do
	run_case $client $(by_size 2500 8500) 1100-1232 "$BASE" "version handshakes=1"
	kbps=$(($(field bytes "$TMP/client.out") * 8 / MS))
	row $client "$kbps kbit/s" ""
	[ $kbps -ge 5000 ] || broken $client "$kbps kbit/s"
done
end_case
