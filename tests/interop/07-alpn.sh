#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# No common ALPN: the TLS alert no_application_protocol (120), which is QUIC error 0x178.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
client "$NGTCP2" --alpn h3 --count 1
client_closed transport $((0x178))
still_serves
pass "ALPN h3 is refused with 0x178"
