#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Debian sid: DPDK 25.11 LTS, the newest gcc, clang and libraries.

. "$(dirname "$0")/lib.sh"
compat sid 25.11
