#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quiche with BoringSSL, which cargo builds through cmake.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
need_quiche
foreign_client "$QUICHE"
pass "quiche: $FOREIGN"
