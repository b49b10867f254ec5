#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# ngtcp2 with GnuTLS.

. "$(dirname "$0")/cases.sh"
all_cases ngtcp2
