#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The selectable TLS backend serves as well, and the key log has what a capture needs.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
make_bed
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -o tls.backend=gnutls -o "tls.key_log=$TMP/keys" -- --no-pci
start_check 1000
client_sends_all "$NGTCP2" --count 1000 --connections 2
end_check
for label in CLIENT_HANDSHAKE_TRAFFIC_SECRET SERVER_HANDSHAKE_TRAFFIC_SECRET \
	CLIENT_TRAFFIC_SECRET_0 SERVER_TRAFFIC_SECRET_0; do
	n=$(grep -cE "^$label [0-9a-f]{64} [0-9a-f]{64,96}$" "$TMP/keys")
	[ "$n" -eq 2 ] || fail "$n lines of $label for 2 connections"
done
[ "$(stat -c %a "$TMP/keys")" = 600 ] || fail "the key log can be read by others"
stop "$PENSTOCK_PID"
rm "$TMP/keys"
start_penstock "$TMP/penstock.ini" -o "tls.key_log=$TMP/keys" -- --no-pci
start_check 1000
client_sends_all "$NGTCP2" --count 1000
end_check
[ "$(grep -c TRAFFIC_SECRET "$TMP/keys")" -eq 4 ] || fail "the built-in server logs $(wc -l <"$TMP/keys") lines for a connection"
pass "GnuTLS as backend, and the keys of every connection in the log"
