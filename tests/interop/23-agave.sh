#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Agave's own client crate, solana-tpu-client-next. It does not tell what was acknowledged nor how
# it was closed: the feed is the judge.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_agave
start_tpu
transactions 10000 --seed 5
start_check 10000 --seed 5
client_sends_all "$AGAVE" --count 10000 --from-file "$TMP/transactions"
end_check
[ "$(field keys "$TMP/check.out")" -eq 10000 ] || fail "records without the client's key: $(cat "$TMP/check.out")"
transactions 1000 --large --sizes 4096-4096
start_check 1000 --large --sizes 4096-4096
client_sends_all "$AGAVE" --count 1000 --from-file "$TMP/transactions"
end_check
pass "Agave's client: 10,000 transactions and 1,000 of 4,096 bytes are in the feed, byte for byte"
