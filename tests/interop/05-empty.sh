#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A stream without a byte closes the connection with application code 5.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
start_tpu
client "$NGTCP2" --empty --count 0
client_closed application 5
still_serves
pass "an empty stream is answered with application close 5"
