#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Debian 13: DPDK 24.11 LTS, gcc 14.

. "$(dirname "$0")/lib.sh"
compat trixie 24.11
