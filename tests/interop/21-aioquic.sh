#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# aioquic, QUIC and TLS in Python; also its certificates with other keys, key updates and the change
# of connection id.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_aioquic
foreign_client "$AIOQUIC"
transactions 500 --seed 8
for cert in rsa ecdsa; do
	start_check 500 --seed 8
	client_sends_all "$AIOQUIC" --count 500 --from-file "$TMP/transactions" --cert $cert
	end_check
	[ "$(field keys "$TMP/check.out")" -eq 0 ] || fail "$cert certificate, but records with a key"
done
start_check 500 --seed 8
client_sends_all "$AIOQUIC" --count 500 --from-file "$TMP/transactions" --change-cid --key-update-every 100
end_check
[ "$(field key_updates "$TMP/client.out")" -ge 2 ] || fail "fewer than two key updates"
pass "aioquic: $FOREIGN; RSA and ECDSA certificates, key updates, another connection id"
