#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# No client certificate: the TLS alert certificate_required (116), which is QUIC error 0x174.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
client "$NGTCP2" --cert none --count 1
client_closed transport $((0x174))
still_serves
pass "a client without a certificate is refused with 0x174"
