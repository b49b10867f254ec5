#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A client that lists AES-256 first gets AES-128. Clients that offer one cipher only: 10,000
# transactions with each, and key updates, which follow the cipher's hash.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
client_sends_all "$NGTCP2" --count 0 --connections 4
[ "$(field cipher "$TMP/client.out")" = AES-128-GCM ] || fail "cipher $(field cipher "$TMP/client.out")"
[ "$(field retries "$TMP/client.out")" -eq 0 ] || fail "Retry to a few connections: auto is for floods"
for cipher in "chacha20 CHACHA20-POLY1305" "aes256 AES-256-GCM"; do
	read -r option name <<<"$cipher"
	start_check 10000 --seed 3
	client_sends_all "$NGTCP2" --count 10000 --seed 3 --connections 2 --cipher "$option" --key-update-every 1000
	end_check
	[ "$(field keys "$TMP/check.out")" -eq 10000 ] || fail "$name: records without the client's key: $(cat "$TMP/check.out")"
	[ "$(field cipher "$TMP/client.out")" = "$name" ] || fail "cipher $(field cipher "$TMP/client.out")"
	[ "$(field key_updates "$TMP/client.out")" -ge 2 ] || fail "$name: too few key updates: $(tail -n 1 "$TMP/client.out")"
done
pass "10,000 transactions with ChaCha20-Poly1305 alone and with AES-256-GCM alone, across key updates"
