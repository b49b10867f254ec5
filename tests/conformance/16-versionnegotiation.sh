#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A client that begins with an unknown version is told ours, under its own connection ids, and goes
# on with version 1.

. "$(dirname "$0")/lib.sh"
start_bed
run_case aioquic 10 400-500 "$BASE" "negotiation" --unknown-version
end_case
