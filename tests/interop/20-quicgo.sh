#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quic-go with Go's TLS, whose ClientHello with a post-quantum key share takes two packets.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_quicgo
foreign_client "$QUICGO"
pass "quic-go: $FOREIGN"
