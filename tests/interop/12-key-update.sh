#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The client updates its keys (RFC 9001, section 6) again and again; quinn does so once by itself
# within the first thousand packets of every connection.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
start_check 20000
client_sends_all "$NGTCP2" --count 20000 --key-update-every 100
end_check
updates=$(field key_updates "$TMP/client.out")
[ "$updates" -ge 2 ] || fail "the client updated its keys $updates times only"
pass "20,000 transactions arrived across $updates key updates"
