#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Certificates that name no Ed25519 peer key are accepted, and the records carry no key.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
for kind in rsa:0 ecdsa:0 chain2:0 ed25519:50; do
	start_check 50
	client_sends_all "$NGTCP2" --cert ${kind%:*} --count 50
	end_check
	keys=$(field keys "$TMP/check.out")
	[ "$keys" -eq ${kind#*:} ] || fail "${kind%:*}: $keys records with a key, should be ${kind#*:}"
done
pass "RSA, ECDSA and a chain of two are accepted without a key, Ed25519 with its key"
