#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quiche with BoringSSL, which cargo builds through cmake.

. "$(dirname "$0")/cases.sh"
all_cases quiche
