#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# aioquic: key updates and the change of connection id.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_aioquic
start_tpu
transactions 500 --seed 8
start_check 500 --seed 8
client_sends_all "$AIOQUIC" --count 500 --from-file "$TMP/transactions" --change-cid --key-update-every 100
end_check
[ "$(field key_updates "$TMP/client.out")" -ge 2 ] || fail "fewer than two key updates"
pass "500 transactions across key updates and to another connection id"
