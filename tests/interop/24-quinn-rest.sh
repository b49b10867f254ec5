#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quinn: large transactions, certificates that name no peer key, and the ways to be refused.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_quinn
start_tpu
start_check 1000 --large --sizes 4096-4096
client_sends_all "$QUINN" --count 1000 --large --sizes 4096-4096
end_check
for cert in ecdsa chain2; do
	start_check 50
	client_sends_all "$QUINN" --cert $cert --count 50
	end_check
	[ "$(field keys "$TMP/check.out")" -eq 0 ] || fail "$cert certificate, but records with a key"
done
client "$QUINN" --alpn h3 --count 1
client_closed transport $((0x178))
client "$QUINN" --cert none --count 1
client_closed transport $((0x174))
client "$QUINN" --empty --count 0
client_closed application 5
still_serves
pass "quinn: 1,000 of 4,096 bytes, ECDSA and a chain of two without a key, closes 0x178, 0x174 and 5"
